package zone

import (
	"strings"
	"testing"
	"time"
)

func TestLoadRefuses(t *testing.T) {
	cases := map[string]string{
		"":                       "empty",
		"Local":                  "host to host",
		"local":                  "host to host",
		"asia/shanghai":          "did you mean Asia/Shanghai?",
		"Mars/Olympus":           "no time zone",
		"../../etc/passwd":       "no time zone",
		"/etc/localtime":         "no time zone",
		"Asia":                   "no time zone",
		"Asia/":                  "no time zone",
		"Factory":                "no time zone",
		strings.Repeat("x", 1e6): "no time zone",
	}
	for name, says := range cases {
		if _, err := Load(name); err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 200 {
			t.Errorf("%.30q: %.300v, want … %s …", name, err, says)
		}
	}
}

// TestLoadIgnoresTheHost: what the environment offers changes nothing.
func TestLoadIgnoresTheHost(t *testing.T) {
	t.Setenv("ZONEINFO", "/nonexistent.zip")
	t.Setenv("TZ", "Asia/Tokyo")
	loc, err := Load("America/Lima")
	if err != nil {
		t.Fatal(err)
	}
	if _, offset := time.Unix(0, 0).In(loc).Zone(); offset != -5*60*60 {
		t.Errorf("Lima is %d s from UTC", offset)
	}
	if again, _ := Load("America/Lima"); again != loc {
		t.Error("the same name gives another pointer")
	}
}

func TestEveryZoneLoads(t *testing.T) {
	x, err := zones()
	if err != nil || len(x.files) < 500 {
		t.Fatalf("%d zones, %v", len(x.files), err)
	}
	for name := range x.files {
		if _, err := Load(name); err != nil {
			t.Error(err)
		}
	}
}

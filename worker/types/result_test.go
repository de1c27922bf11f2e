package types

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestResultsAreTakenOnceAndOnlyWhenTheyAreObjects(t *testing.T) {
	object := `{"rows": 9007199254740993, "n": 1e400, "text": "中文🚀 \u0000"}`
	full := `{"x":"` + strings.Repeat("x", ResultMax-8) + `"}`
	for text, want := range map[string]string{
		object: "", "\ufeff" + object + "\r\n": "", full: "", "": "", " \n": "",
		full[:len(full)-2] + `x"}`: "larger than 64 KB", `[1]`: "no JSON object", `"x"`: "no JSON object", `{"a":1}{"b":2}`: "no JSON object",
		`{"a":1`: "no JSON object", "{\"a\":\"\xff\"}": "no JSON object", "null": "no JSON object",
	} {
		path := filepath.Join(t.TempDir(), "1.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := TakeResult(path)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || got != nil):
			t.Errorf("%.40q: %s, %v", text, got, err)
		case want == "" && err != nil:
			t.Errorf("%.40q: %v", text, err)
		case want == "" && string(got) != strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")):
			t.Errorf("%.40q is not taken as written: %.40q", text, got)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%.40q: the file stays", text)
		}
		if again, err := TakeResult(path); again != nil || err != nil {
			t.Errorf("%.40q: taken twice: %s, %v", text, again, err)
		}
	}
}

func TestWhatIsNoOrdinaryFileIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte(`{"stolen":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(path string) error{
		"link": func(p string) error { return os.Symlink(target, p) },
		"pipe": func(p string) error { return unix.Mkfifo(p, 0o600) },
		"dir":  func(p string) error { return os.MkdirAll(filepath.Join(p, "x"), 0o700) },
	} {
		path := filepath.Join(dir, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if got, err := TakeResult(path); err == nil || got != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s stays", name)
		}
	}
	if _, err := os.Stat(target); err != nil {
		t.Errorf("the link's target: %v", err)
	}
}

package domain

import (
	"encoding/json"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"
)

// A business date has one form; what only looks like one is refused. (G-D11)
func TestParseBizDateTakesOneFormOnly(t *testing.T) {
	for _, bad := range []string{"2026-2-3", "2026-02-30", "20260203", "", "null", "2026/02/03", "２０２６-02-03",
		"2026-02-03 ", "2027-02-29", "0000-01-01", "-026-01-01", "+026-01-01", "2026-13-01", "2026-00-01", "2026-01-00"} {
		if d, err := ParseBizDate(bad); err == nil {
			t.Errorf("ParseBizDate(%q) = %v, want an error", bad, d)
		}
	}
	d, err := ParseBizDate("2028-02-29")
	if err != nil || d.String() != "2028-02-29" || d.Weekday() != time.Tuesday {
		t.Fatalf("2028-02-29: got %v %v %v", d, d.Weekday(), err)
	}
}

// A moment has one business date, also in the night of a change of clocks. (J-A17)
func TestBizDateOfUsesTheJobsZone(t *testing.T) {
	for _, c := range []struct{ at, zone, want string }{
		{"2026-02-02T16:00:00Z", "Asia/Shanghai", "2026-02-03"},
		{"2026-02-02T15:59:59Z", "Asia/Shanghai", "2026-02-02"},
		{"2024-03-10T07:30:00Z", "America/New_York", "2024-03-10"},
		{"2024-03-10T04:59:59Z", "America/New_York", "2024-03-09"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := BizDateOf(at, loc).String(); got != c.want {
			t.Errorf("%s in %s: got %s, want %s", c.at, c.zone, got, c.want)
		}
	}
}

func TestBizDateStartSkipsTheGapAtMidnight(t *testing.T) {
	loc, err := time.LoadLocation("Asia/Beirut")
	if err != nil {
		t.Fatal(err)
	}
	d, _ := ParseBizDate("2026-03-29")
	if got := d.Start(loc).UTC().Format(time.RFC3339); got != "2026-03-28T22:00:00Z" {
		t.Errorf("start of %v in Beirut = %s", d, got)
	}
	if BizDateOf(d.Start(loc), loc) != d {
		t.Error("the start is not on the day")
	}
}

func TestAddMonthsClampsToTheMonthsEnd(t *testing.T) {
	for _, c := range []struct {
		from string
		n    int
		want string
	}{{"2026-01-31", 1, "2026-02-28"}, {"2028-01-31", 1, "2028-02-29"}, {"2026-03-31", -1, "2026-02-28"},
		{"2026-12-15", 1, "2027-01-15"}, {"2026-01-15", -1, "2025-12-15"}, {"2026-01-31", -14, "2024-11-30"}} {
		d, _ := ParseBizDate(c.from)
		if got := d.AddMonths(c.n).String(); got != c.want {
			t.Errorf("%s %+d months = %s, want %s", c.from, c.n, got, c.want)
		}
	}
}

func TestBizDateTravelsUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, _ := ParseBizDate("2000-01-01")
		d := base.AddDays(rapid.IntRange(-700000, 2000000).Draw(t, "days"))
		if back, err := ParseBizDate(d.String()); err != nil || back != d {
			t.Fatalf("text: %v → %v, %v", d, back, err)
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var fromJSON, fromSQL, fromBytes BizDate
		if err := json.Unmarshal(text, &fromJSON); err != nil || fromJSON != d {
			t.Fatalf("json: %v → %v, %v", d, fromJSON, err)
		}
		v, err := d.Value()
		if err != nil || fromSQL.Scan(v) != nil || fromSQL != d || fromBytes.Scan([]byte(v.(string))) != nil || fromBytes != d {
			t.Fatalf("sql: %v → %v, %v", d, fromSQL, err)
		}
		next := d.AddDays(1)
		if !d.Before(next) || next.Before(d) || next.AddDays(-1) != d || (d.Weekday()+1)%7 != next.Weekday() {
			t.Fatalf("order around %v is wrong", d)
		}
	})
}

func TestNoBizDate(t *testing.T) {
	var none BizDate
	if v, err := none.Value(); v != nil || err != nil {
		t.Errorf("none goes to the database as %v, %v; want NULL", v, err)
	}
	if none.String() != "" || !none.AddDays(3).IsZero() || !none.AddMonths(1).IsZero() {
		t.Error("none does not stay none")
	}
	d, _ := ParseBizDate("2026-02-03")
	if err := d.Scan(nil); err != nil || !d.IsZero() {
		t.Errorf("NULL gave %v, %v", d, err)
	}
	if err := d.Scan(time.Now()); err == nil {
		t.Error("an instant was taken for a date")
	}
}

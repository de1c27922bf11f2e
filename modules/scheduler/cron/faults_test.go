package cron

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// firings lists the next n firings as local times.
func firings(t *testing.T, expr, zone, from string, n int) []string {
	t.Helper()
	at, err := time.Parse(time.RFC3339, from)
	if err != nil {
		t.Fatal(err)
	}
	loc := mustZone(t, zone)
	var out []string
	for _, f := range mustParse(t, expr, Auto).Between(at.Add(1), at.AddDate(20, 0, 0), loc, n) {
		out = append(out, f.Format(time.RFC3339))
	}
	return out
}

// TestKnownFaults holds what went wrong in schedulers in use, with the right answer.
func TestKnownFaults(t *testing.T) {
	cases := []struct{ name, expr, zone, from, want string }{
		{"last day after a long month (J-A1)", "0 37 15 L * ?", "UTC", "2025-08-31T15:37:00Z", "2025-09-30T15:37:00Z"},
		{"last day of February, today (J-A3)", "0 0 11 L * ?", "UTC", "2017-02-28T05:00:00Z", "2017-02-28T11:00:00Z"},
		{"nearest weekday before (J-A5)", "0 0 0 10W * ?", "UTC", "2026-01-01T00:00:00Z", "2026-01-09T00:00:00Z"},
		{"nearest weekday after (J-A5)", "0 0 0 10W * ?", "UTC", "2025-08-01T00:00:00Z", "2025-08-11T00:00:00Z"},
		{"1W stays in the month (J-A5)", "0 0 0 1W * ?", "UTC", "2026-07-15T00:00:00Z", "2026-08-03T00:00:00Z"},
		{"every 9 days restarts (J-A9)", "0 0 1/9 * ?", "UTC", "2025-01-01T00:00:00Z",
			"2025-01-10T00:00:00Z 2025-01-19T00:00:00Z 2025-01-28T00:00:00Z 2025-02-01T00:00:00Z"},
		{"3 is Wednesday in unix (J-A10)", "0 9 * * 3", "UTC", "2026-02-01T00:00:00Z", "2026-02-04T09:00:00Z"},
		{"3 is Tuesday in quartz (J-A10)", "0 0 9 ? * 3", "UTC", "2026-02-01T00:00:00Z", "2026-02-03T09:00:00Z"},
		{"ten seconds exactly (J-A11)", "0/10 * * * * ?", "UTC", "2026-02-01T00:00:03Z", "2026-02-01T00:00:10Z 2026-02-01T00:00:20Z"},
		{"zone of an alias (J-A12)", "0 6,20 * * *", "US/Eastern", "2026-02-01T00:00:00Z", "2026-01-31T20:00:00-05:00 2026-02-01T06:00:00-05:00"},
		{"zone changed at night (J-A13)", "0 2 * * *", "Asia/Tokyo", "2026-02-03T01:30:00+08:00", "2026-02-04T02:00:00+09:00"},
		{"gap, Paris (J-A18)", "30 2 * * *", "Europe/Paris", "2026-03-29T00:00:00+01:00", "2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00"},
		{"gap, New York (G-A1)", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00-05:00", "2026-03-08T03:00:00-04:00 2026-03-09T02:30:00-04:00"},
		{"months too short (J-A26)", "0 0 31 2,3,4,5 *", "UTC", "2018-07-27T00:00:00Z", "2019-03-31T00:00:00Z"},
		{"29 February (J-A26)", "0 0 29 2 *", "UTC", "2021-12-07T12:00:00Z", "2024-02-29T00:00:00Z"},
		{"29 February over 2100 (G-A9)", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"repeated hour, fixed (G-A2)", "30 1 * * *", "America/New_York", "2026-11-01T00:00:00-04:00", "2026-11-01T01:30:00-04:00 2026-11-02T01:30:00-05:00"},
		{"repeated hour, interval (G-A2)", "*/30 * * * *", "America/New_York", "2026-11-01T00:45:00-04:00",
			"2026-11-01T01:00:00-04:00 2026-11-01T01:30:00-04:00 2026-11-01T01:00:00-05:00 2026-11-01T01:30:00-05:00 2026-11-01T02:00:00-05:00"},
		{"gap of three hours", "0 4 * * *", "Antarctica/Casey", "2009-10-17T12:00:00+08:00", "2009-10-18T05:00:00+11:00 2009-10-19T04:00:00+11:00"},
		{"gap of seven hours", "0 4 * * *", "Antarctica/Vostok", "1994-10-31T12:00:00Z", "1994-11-02T04:00:00+07:00"},
		{"gap of a day", "0 4 * * *", "Pacific/Apia", "2011-12-29T00:00:00-10:00", "2011-12-29T04:00:00-10:00 2011-12-31T04:00:00+14:00"},
		{"the last firings are a second pass", "0 */30 1 3 11 ? 2024", "America/New_York", "2024-11-03T01:15:00-04:00",
			"2024-11-03T01:30:00-04:00 2024-11-03T01:00:00-05:00 2024-11-03T01:30:00-05:00"},
		{"gap at midnight (G-A6)", "15 0 * * *", "Asia/Beirut", "2026-03-28T12:00:00+02:00", "2026-03-29T01:00:00+03:00 2026-03-30T00:15:00+03:00"},
		{"south of the equator (G-A7)", "0 3 * * *", "Australia/Sydney", "2026-10-02T12:00:00Z",
			"2026-10-03T03:00:00+10:00 2026-10-04T03:00:00+11:00 2026-10-05T03:00:00+11:00"},
		{"no change near (G-A8)", "0 9 * * *", "Asia/Shanghai", "2026-02-01T00:00:00Z", "2026-02-01T09:00:00+08:00"},
		{"either day (G-A12)", "0 0 13 * 5", "UTC", "2026-02-07T00:00:00Z", "2026-02-13T00:00:00Z 2026-02-20T00:00:00Z 2026-02-27T00:00:00Z 2026-03-06T00:00:00Z"},
		{"both days (G-A12)", "0 0 */2 * 1", "UTC", "2026-02-01T00:00:00Z", "2026-02-09T00:00:00Z 2026-02-23T00:00:00Z"},
		{"Monday (G-A11)", "0 8 * * 1", "UTC", "2026-02-01T00:00:00Z", "2026-02-02T08:00:00Z"},
		{"5-7 ends on Sunday (G-A11)", "0 0 * * 5-7", "UTC", "2026-02-05T00:00:00Z", "2026-02-06T00:00:00Z 2026-02-07T00:00:00Z 2026-02-08T00:00:00Z 2026-02-13T00:00:00Z"},
		{"fri-sun", "0 0 * * fri-sun", "UTC", "2026-02-05T00:00:00Z", "2026-02-06T00:00:00Z 2026-02-07T00:00:00Z 2026-02-08T00:00:00Z 2026-02-13T00:00:00Z"},
		{"a/n in the weekday runs to 7", "0 0 * * 5/2", "UTC", "2026-02-05T00:00:00Z", "2026-02-06T00:00:00Z 2026-02-08T00:00:00Z 2026-02-13T00:00:00Z"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Fields(c.want)
			if got := firings(t, c.expr, c.zone, c.from, len(want)); strings.Join(got, " ") != c.want {
				t.Errorf("%q in %s from %s:\n got %s\nwant %s", c.expr, c.zone, c.from, got, want)
			}
		})
	}
}

// A rare date comes as often as the calendar has it. (G-A9)
func TestSevenRunsAYear(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := mustParse(t, "0 0 31 * *", Auto).Between(from, from.AddDate(1, 0, 0), nil, 100); len(got) != 7 {
		t.Errorf("31st: %d runs a year, want 7", len(got))
	}
}

// TestLongDay: the day on which clocks go back has 25 hours, so 50 half hours. (J-A16)
func TestLongDay(t *testing.T) {
	loc := mustZone(t, "Australia/Melbourne")
	from := time.Date(2024, 4, 7, 0, 0, 0, 0, loc)
	got := mustParse(t, "*/30 * * * *", Auto).Between(from, from.AddDate(0, 0, 1), loc, 100)
	if len(got) != 50 {
		t.Fatalf("%d firings, want 50", len(got))
	}
	for i, f := range got {
		if want := from.Add(time.Duration(i) * 30 * time.Minute); !f.Equal(want) {
			t.Errorf("firing %d: %s, want %s", i, f, want)
		}
	}
}

// TestNever: valid, found to be empty, and quickly so. (G-A9)
func TestNever(t *testing.T) {
	for _, expr := range []string{"0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "* * 31 2 *", "*/5 * * 30 2 *",
		"0 0 0 L-30 2 ?", "0 0 0 30W 2 ?", "* * * ? 2 1#5 2027", "0 0 12 * * ? 1999", "* * * 31 6 ? 2199"} {
		s := mustParse(t, expr, Auto)
		for _, zone := range []string{"UTC", "America/New_York", "Africa/Casablanca", "Pacific/Apia"} {
			loc := mustZone(t, zone)
			best := time.Hour // of three: the machine may be busy with something else
			for range 3 {
				start := time.Now()
				if got, ok := s.Next(time.Date(2026, 11, 1, 5, 45, 0, 0, time.UTC), loc); ok {
					t.Errorf("%q in %s fires at %s", expr, zone, got)
				}
				best = min(best, time.Since(start))
			}
			if best > 50*time.Millisecond {
				t.Errorf("%q in %s took %s to say never", expr, zone, best)
			}
		}
	}
}

// TestRefused: each with the place of the fault and a piece of its reason. (J-A8, G-A13)
func TestRefused(t *testing.T) {
	cases := []struct {
		expr    string
		dialect Dialect
		pos     int
		says    string
	}{
		{"", Auto, 0, "empty"},
		{"     ", Auto, 0, "empty"},
		{"TZ=Asia/Shanghai", Auto, 0, "timezone"},
		{"CRON_TZ=", Auto, 0, "timezone"},
		{" CRON_TZ=UTC 0 0 * * *", Auto, 1, "timezone"},
		{"@every", Auto, 6, "missing"},
		{"@every 0s", Auto, 7, "too short"},
		{"@every 999ms", Auto, 7, "too short"},
		{"@every -5m", Auto, 7, "not a duration"},
		{"@every +5m", Auto, 7, "not a duration"},
		{"@every 1s1ns", Auto, 7, "milliseconds"},
		{"@every 876001h", Auto, 7, "100 years"},
		{"@Daily", Auto, 0, "did you mean @daily?"},
		{"@reboot", Auto, 0, "no reboot"},
		{"*/0 * * * *", Auto, 2, "step of 0"},
		{"*/90 * * * *", Auto, 2, "larger than the field"},
		{"0 0 13/0 * * ? *", Auto, 7, "step of 0"},
		{"０ ９ * * *", Auto, 0, "half-width"},
		{"0 ９ * * *", Auto, 2, "half-width"},
		{"0 0 * * *\n", Auto, 9, "control character"},
		{strings.Repeat("*", 64<<10), Auto, 1024, "65536 bytes"},
		{"75 * * * *", Auto, 0, "outside 0-59"},
		{"0 0 * * 1-8", Auto, 10, "outside 0-7"},
		{"0 22-2 * * *", Auto, 2, "22-23,0-2"},
		{"0 0 * * sat-mon", Auto, 8, "sat-7,0-mon"},
		{"0 0 * * 5-0", Auto, 8, "5-7,0-0"},
		{"0 0 L * *", Auto, 4, "quartz"},
		{"0 0 * * 6#3", Auto, 9, "quartz"},
		{"0 0 * * FRIL", Unix, 11, "quartz"},
		{"0 0 0 1 * 6#3", Seconds, 11, "quartz"},
		{"0 0 0 1 * 6#3", Auto, 10, "? in the other"},
		{"0 0 0 ? * ?", Auto, 10, "both day fields are ?"},
		{"0 0 ?,5 * *", Auto, 4, "alone"},
		{"? 0 * * *", Auto, 0, "not a value"},
		{"0 0 0 ? * 0", Auto, 10, "Sunday is 1"},
		{"0 0 0 1 1 ? 2200", Auto, 12, "outside 1970-2199"},
		{"0 0 0 1 1 ? 2030-2020", Auto, 12, "2020-2030"},
		{"0 0 * *", Auto, 7, "there are 4 fields"},
		{"0 0 * * * *", Unix, 10, "6 fields are the seconds dialect"},
		{"0 0 * * *", Quartz, 9, "5 fields are the unix dialect"},
		{"0 0 * * *", "spring", 0, "not a dialect"},
		{"0 0 * jann *", Auto, 6, "three letters"},
	}
	for _, c := range cases {
		_, err := Parse(c.expr, c.dialect)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.40q: got %v, want an *Error", c.expr, err)
			continue
		}
		if e.Pos != c.pos || !strings.Contains(e.Error(), c.says) {
			t.Errorf("%.40q: at %d %q, want %d … %s …", c.expr, e.Pos, e, c.pos, c.says)
		}
	}
}

func TestDialectAndKind(t *testing.T) {
	cases := []struct {
		expr     string
		dialect  Dialect
		interval bool
	}{
		{"0 2 * * *", Unix, false},
		{"0 0-23 * * *", Unix, false},
		{"0,30 2 * * *", Unix, false},
		{"* 2 * * *", Unix, true},
		{"0 */2 * * *", Unix, true},
		{"5/15 2 * * *", Unix, true},
		{"5-50/15 2 * * *", Unix, false},
		{"0 0 ? * *", Unix, false},
		{"0 0 2 * * WED", Seconds, false},
		{"* 0 2 * JUL *", Seconds, true},
		{"0 0 2 ? * WED", Quartz, false},
		{"0 0 2 * * FRIL", Quartz, false},
		{"0 0 2 ? * FRIL", Quartz, false},
		{"0 0 2 l * ?", Quartz, false},
		{"0 0 2 * * ? *", Quartz, false},
		{"0 0 2/2 * * ?", Quartz, true},
		{"@daily", Unix, false},
		{"@hourly", Unix, true},
		{"@every 5m", Unix, true},
	}
	for _, c := range cases {
		s, err := Parse(c.expr, Auto)
		if c.expr == "0 0 2 * * FRIL" {
			if err == nil || !strings.Contains(err.Error(), "(quartz)") {
				t.Errorf("%q: got %v, want a refusal that names quartz", c.expr, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.expr, err)
		} else if s.Dialect() != c.dialect || s.Interval() != c.interval {
			t.Errorf("%q: %s interval=%v, want %s %v", c.expr, s.Dialect(), s.Interval(), c.dialect, c.interval)
		}
	}
}

// TestFarInstants: nothing overflows or loops at the ends of time.
func TestFarInstants(t *testing.T) {
	loc := mustZone(t, "America/New_York")
	for _, s := range []*Schedule{mustParse(t, "0 2 * * *", Auto), mustParse(t, "* * * * *", Auto), mustParse(t, "@every 1h", Auto)} {
		for _, from := range []time.Time{{}, time.Unix(-1<<62, 0), time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC)} {
			if got, ok := s.Next(from, loc); !ok || !got.After(from) {
				t.Errorf("from %v: %v %v", from, got, ok)
			}
		}
		for _, from := range []time.Time{time.Unix(1<<62, 0), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
			if got, ok := s.Next(from, loc); ok {
				t.Errorf("from %v: %v", from, got)
			}
		}
	}
}

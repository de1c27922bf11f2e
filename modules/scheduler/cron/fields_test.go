package cron

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// TestFieldsAreTheSchedule: what is read field by field decides every firing.
func TestFieldsAreTheSchedule(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range rounds(3000) {
		expr, d := writtenAnyhow(rng, true)
		f, o := mustParse(t, expr, d).Fields(), consult(expr, d)
		for field, want := range map[*[]int]map[int]bool{&f.Seconds: o.seconds, &f.Minutes: o.minutes, &f.Hours: o.hours, &f.Months: o.months} {
			if len(*field) != len(want) {
				t.Fatalf("%q: %v, want %v", expr, *field, want)
			}
			for _, v := range *field {
				if !want[v] {
					t.Fatalf("%q: %d in %v", expr, v, *field)
				}
			}
		}
		if f.Interval != o.interval || f.Both != o.both || (f.Years == nil) != (o.years == nil) {
			t.Fatalf("%q: %+v", expr, f)
		}
	}
	got := mustParse(t, "15 30 7 1-3,L,L-2,15W,LW 2 ? 2027-2029", Auto).Fields()
	want := Fields{Seconds: []int{15}, Minutes: []int{30}, Hours: []int{7}, Days: []int{1, 2, 3}, FromLast: []int{0, 2}, Nearest: []int{15}, LastWorkday: true,
		Months: []int{2}, Weekdays: []int{0, 1, 2, 3, 4, 5, 6}, Both: true, Years: []int{2027, 2028, 2029}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestChangesThatTouch(t *testing.T) {
	const none = ""
	cases := []struct{ expr, zone, skip, repeat string }{
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T03:00:00+02:00 02:00 03:00 02:30 made up", "2026-10-25T02:00:00+01:00 03:00 02:00 02:30"},
		{"*/30 2 * * *", "Europe/Berlin", "2026-03-29T03:00:00+02:00 02:00 03:00 02:00", "2026-10-25T02:00:00+01:00 03:00 02:00 02:00"},
		{"0 3 * * *", "Europe/Berlin", none, none},
		{"0 2 * * *", "Asia/Shanghai", none, none},
		{"30 2 * * 1-5", "Europe/Berlin", none, none},
		{"30 1 * * *", "America/New_York", none, "2026-11-01T01:00:00-05:00 02:00 01:00 01:30"},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-04T02:30:00+11:00 02:00 02:30 02:15 made up", none},
		{"40 1 * * *", "Australia/Lord_Howe", none, "2026-04-05T01:30:00+10:30 02:00 01:30 01:40"},
		{"0 2 * * *", "Antarctica/Troll", "2026-03-29T03:00:00+02:00 01:00 03:00 02:00 made up", "2026-10-25T01:00:00Z 03:00 01:00 02:00"},

		{"0 30 2 31 3 ?", "Europe/Berlin", "2030-03-31T03:00:00+02:00 02:00 03:00 02:30 made up", none},
		{"@every 1h", "Europe/Berlin", none, none},
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	say := func(c Change) string {
		if c.At.IsZero() {
			return none
		}
		text := c.At.Format(time.RFC3339) + " " + c.Before.Format("15:04") + " " + c.After.Format("15:04") + " " + c.Touched.Format("15:04")
		if c.MadeUp {
			text += " made up"
		}
		return text
	}
	for _, c := range cases {
		skip, repeat := mustParse(t, c.expr, Auto).Changes(from, from.AddDate(5, 0, 0), mustZone(t, c.zone))
		if got := say(skip); got != c.skip {
			t.Errorf("%q in %s: skip %q, want %q", c.expr, c.zone, got, c.skip)
		}
		if got := say(repeat); got != c.repeat {
			t.Errorf("%q in %s: repeat %q, want %q", c.expr, c.zone, got, c.repeat)
		}
	}
	apia := time.Date(2011, 12, 1, 0, 0, 0, 0, time.UTC)
	if skip, _ := mustParse(t, "0 4 * * *", Auto).Changes(apia, apia.AddDate(0, 2, 0), mustZone(t, "Pacific/Apia")); skip.MadeUp || skip.At.IsZero() {
		t.Errorf("a whole day is skipped, and not made up: %+v", skip)
	}
}

package domain

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func biz(t interface{ Fatal(...any) }, s string) BizDate {
	d, err := ParseBizDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDepDatesAreReadInOneForm(t *testing.T) {
	for text, want := range map[string]DepDates{
		"current": "current", "day(current)": "current", "day(current-1d)": "current-1d", "current-1d": "current-1d", "current+2w": "current+2w",
		"month(current-1m)": "month(current-1m)", "month( current - 1m )": "month(current-1m)", "week(current)": "week(current)", "prev_workday": "prev_workday",
		"current-366d": "current-366d", "current-1y": "current-1y",
	} {
		if got, ok := ParseDepDates(text); !ok || got != want {
			t.Errorf("%q is %q, %t; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "Current", "current-", "current-1", "current-d", "current-0d", "current-01d", "current-367d", "current-1h", "current1d", "current--1d",
		"month(current", "month()", "month(prev_workday)", "day(week(current))", "week(month(current))", "current-1d)", "2026-02-03", "yesterday", "current-99999999999999999999d"} {
		if got, ok := ParseDepDates(text); ok {
			t.Errorf("%q was read as %q", text, got)
		}
	}
}

// Rules over the ends of months, leap days and years. (G-D11)
func TestDepDatesOf(t *testing.T) {
	for _, c := range []struct {
		rule             DepDates
		day, first, last string
	}{
		{"current", "2026-05-01", "2026-05-01", "2026-05-01"},
		{"current-1d", "2026-03-01", "2026-02-28", "2026-02-28"},
		{"current-1m", "2026-03-31", "2026-02-28", "2026-02-28"},
		{"current-1y", "2028-02-29", "2027-02-28", "2027-02-28"},
		{"month(current-1m)", "2026-03-31", "2026-02-01", "2026-02-28"},
		{"month(current-1m)", "2026-06-01", "2026-05-01", "2026-05-31"},
		{"month(current-1m)", "2028-03-01", "2028-02-01", "2028-02-29"},
		{"week(current-1w)", "2026-05-04", "2026-04-27", "2026-05-03"},
		{"week(current)", "2026-05-03", "2026-04-27", "2026-05-03"},
		{"prev_workday", "2026-05-04", "2026-05-01", "2026-05-01"},
		{"current+1d", "2026-12-31", "2027-01-01", "2027-01-01"},
	} {
		first, last := c.rule.Of(biz(t, c.day), nil)
		if first.String() != c.first || last.String() != c.last {
			t.Errorf("%s of %s is %s to %s, want %s to %s", c.rule, c.day, first, last, c.first, c.last)
		}
	}
}

// No date of a set lies further ahead than Ahead says, and a set holds at most MaxDepDates.
func TestDepDatesNeverReachFurtherThanTheySay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rule := rapid.SampledFrom([]DepDates{"current", "prev_workday", "current-1d", "current+3d", "current-2w", "current-1m", "current+1m", "current-13m", "current-1y",
			"week(current)", "week(current-1w)", "week(current-1d)", "month(current)", "month(current-1m)", "month(current-2m)", "month(current-1y)", "month(current+1m)",
			"month(current-7d)", "week(current-1m)"}).Draw(rt, "rule")
		day := fromUTC(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).AddDays(rapid.IntRange(0, 4000).Draw(rt, "day"))
		first, last := rule.Of(day, nil)
		if limit := day.AddDays(rule.Ahead()); limit.Before(last) {
			rt.Fatalf("%s of %s ends on %s, %d days ahead were promised", rule, day, last, rule.Ahead())
		}
		if last.Before(first) || first.AddDays(MaxDepDates-1).Before(last) {
			rt.Fatalf("%s of %s is %s to %s", rule, day, first, last)
		}
	})
}

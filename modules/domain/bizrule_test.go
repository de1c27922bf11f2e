package domain

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func mustDate(t testing.TB, text string) BizDate {
	t.Helper()
	d, err := ParseBizDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// autumn2025 is China's October of 2025: 28 September and 11 October are worked, 1 to 8 October are off.
func autumn2025(t testing.TB) *Calendar {
	c := &Calendar{Name: "cn", Rest: UsualRest(), Years: []int{2025}, Days: map[BizDate]CalendarDay{
		mustDate(t, "2025-09-28"): {Work: true}, mustDate(t, "2025-10-11"): {Work: true}}}
	for d := mustDate(t, "2025-10-01"); d.Before(mustDate(t, "2025-10-09")); d = d.AddDays(1) {
		c.Days[d] = CalendarDay{Label: "国庆节、中秋节"}
	}
	return c
}

func TestRulesOfBusinessDates(t *testing.T) {
	cn := autumn2025(t)
	for _, c := range []struct {
		rule, day string
		calendar  *Calendar
		want      string
	}{
		{"T", "2026-02-03", nil, "2026-02-03"},
		{"T-1", "2024-03-01", nil, "2024-02-29"},
		{"T+1", "2023-02-28", nil, "2023-03-01"},
		{"T-366", "2025-01-01", nil, "2024-01-01"},
		{"month_start", "2024-02-29", nil, "2024-02-01"},
		{"month_end", "2024-02-03", nil, "2024-02-29"},
		{"month_end", "2023-02-28", nil, "2023-02-28"},
		{"month_end", "1900-02-01", nil, "1900-02-28"},
		{"month_end", "2000-02-01", nil, "2000-02-29"},
		{"prev_month_start", "2026-03-31", nil, "2026-02-01"},
		{"prev_month_end", "2026-01-31", nil, "2025-12-31"},
		{"prev_month_end", "2024-03-31", nil, "2024-02-29"},
		{"prev_workday", "2026-02-02", nil, "2026-01-30"}, // Monday: Friday
		{"prev_workday", "2026-02-01", nil, "2026-01-30"},
		{"next_workday", "2026-01-30", nil, "2026-02-02"},
		{"workday-2", "2026-02-03", nil, "2026-01-30"},
		{"workday+2", "2026-01-30", nil, "2026-02-03"},
		{"prev_workday", "2025-10-09", cn, "2025-09-30"},
		{"prev_workday", "2025-10-12", cn, "2025-10-11"}, // the Saturday before is worked
		{"prev_workday", "2025-09-29", cn, "2025-09-28"}, // and so is this Sunday
		{"next_workday", "2025-09-30", cn, "2025-10-09"},
		{"workday-3", "2025-10-10", cn, "2025-09-29"},
	} {
		r, ok := ParseBizDateRule(c.rule)
		if !ok {
			t.Errorf("%s is no rule", c.rule)
			continue
		}
		if got := r.Of(mustDate(t, c.day), c.calendar).String(); got != c.want {
			t.Errorf("%s of %s is %s, want %s", c.rule, c.day, got, c.want)
		}
	}
}

func TestOneFormOfEachRule(t *testing.T) {
	for _, bad := range []string{"", "t", "T-", "T-0", "T+0", "T-01", "T-367", "T--1", "T-1d", "T -1", "T1", "month-end", "MONTH_END", "workday", "workday-0",
		"workday-400", "prev_month", "T-１", "T+-1", "T+99999999999999999999"} {
		if r, ok := ParseBizDateRule(bad); ok {
			t.Errorf("%q is taken for the rule %q", bad, r)
		}
	}
	for _, r := range BizDateRules() {
		if got, ok := ParseBizDateRule(r); !ok || string(got) != r {
			t.Errorf("%q reads as %q, %t", r, got, ok)
		}
	}
	if r, ok := ParseBizDateRule("workday-1"); !ok || r != BizDatePrevWorkday {
		t.Errorf("workday-1 is %q", r)
	}
}

func drawRule(rt *rapid.T) BizDateRule {
	text := rapid.OneOf(rapid.SampledFrom(BizDateRules()), rapid.Custom(func(rt *rapid.T) string {
		return rapid.SampledFrom([]string{"T-", "T+", "workday-", "workday+"}).Draw(rt, "stem") + rapid.StringMatching(`[1-9][0-9]?`).Draw(rt, "n")
	})).Draw(rt, "rule")
	r, ok := ParseBizDateRule(text)
	if !ok {
		rt.Fatalf("%q is no rule", text)
	}
	return r
}

func drawDate(rt *rapid.T, name string, from, to int) BizDate {
	return NewBizDate(rapid.IntRange(from, to).Draw(rt, name+".year"), time.Month(rapid.IntRange(1, 12).Draw(rt, name+".month")), rapid.IntRange(1, 28).Draw(rt, name+".day")).
		AddDays(rapid.IntRange(0, 3).Draw(rt, name+".more"))
}

func drawCalendar(rt *rapid.T, around BizDate) *Calendar {
	if rapid.Bool().Draw(rt, "none") {
		return nil
	}
	c := &Calendar{Days: map[BizDate]CalendarDay{}}
	for i := range 6 {
		c.Rest[(i+rapid.IntRange(0, 6).Draw(rt, "turn"))%7] = rapid.Bool().Draw(rt, "rest")
	}
	if !strings.Contains(boolsText(c.Rest), "0") {
		c.Rest[3] = false
	}
	for range rapid.IntRange(0, 40).Draw(rt, "special") {
		c.Days[around.AddDays(rapid.IntRange(-30, 30).Draw(rt, "off"))] = CalendarDay{Work: rapid.Bool().Draw(rt, "work")}
	}
	return c
}

func boolsText(bs [7]bool) string {
	var b strings.Builder
	for _, on := range bs {
		if on {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}

// The days of a date are all the days that have it, whatever the rule and the calendar; and a
// later day never has an earlier date.
func TestDaysInvertsOf(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		day := drawDate(rt, "day", 2, 9997)
		c, r := drawCalendar(rt, day), drawRule(rt)
		date := r.Of(day, c)
		first, last, ok := r.Days(date, c)
		if !ok || day.Before(first) || last.Before(day) {
			rt.Fatalf("%s: %s has %s, whose days are %s to %s (%t)", r, day, date, first, last, ok)
		}
		for _, edge := range []struct {
			day  BizDate
			same bool
		}{{first, true}, {last, true}, {first.AddDays(-1), false}, {last.AddDays(1), false}} {
			if got := r.Of(edge.day, c); (got == date) != edge.same {
				rt.Fatalf("%s: %s has %s; the days of %s are %s to %s", r, edge.day, got, date, first, last)
			}
		}
		if next := r.Of(day.AddDays(1), c); next.Before(date) {
			rt.Fatalf("%s: %s has %s and the day after %s", r, day, date, next)
		}
		if first, last, ok := r.Days(day, c); ok && (r.Of(first, c) != day || r.Of(last, c) != day || last.Before(first)) {
			rt.Fatalf("%s: the days of %s are %s to %s", r, day, first, last)
		}
	})
}

func TestWorkdaysAgainstAWalk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		day := drawDate(rt, "day", 1900, 2100)
		c, n := drawCalendar(rt, day), rapid.IntRange(-40, 40).Draw(rt, "n")
		got := c.AddWorkdays(day, n)
		worked, step := 0, 1
		if n < 0 {
			step = -1
		}
		for d := day; d != got; {
			if d = d.AddDays(step); c.Workday(d) {
				worked++
			}
		}
		if worked != n*step || n != 0 && !c.Workday(got) {
			rt.Fatalf("%d working days from %s lead to %s after %d", n, day, got, worked)
		}
	})
}

// Months are calendar months in all years there are: the day is kept or becomes the month's last.
func TestMonthsInAllYears(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawDate(rt, "day", 1, 9999)
		n := rapid.IntRange(-120, 120).Draw(rt, "n")
		got := d.AddMonths(n)
		if !got.Writable() {
			return
		}
		_, _, day := d.Date()
		year, month, gotDay := got.Date()
		_, _, most := got.MonthEnd().Date()
		y, m, _ := d.Date()
		if months := (year*12 + int(month)) - (y*12 + int(m)); months != n || gotDay != min(day, most) {
			rt.Fatalf("%s and %d months are %s", d, n, got)
		}
		if back, err := ParseBizDate(got.String()); err != nil || back != got {
			rt.Fatalf("%s does not read back: %v", got, err)
		}
		if got.MonthEnd().AddDays(1) != got.MonthStart().AddMonths(1) || got.MonthEnd().AddDays(1).MonthStart() != got.MonthEnd().AddDays(1) {
			rt.Fatalf("the month of %s ends %s", got, got.MonthEnd())
		}
	})
}

func TestCoveredYears(t *testing.T) {
	c := &Calendar{Years: []int{2024, 2025, 2027}}
	for day, want := range map[string]string{"2024-05-01": "2025-12-31", "2025-12-31": "2025-12-31", "2026-01-01": "", "2027-01-01": "2027-12-31", "2023-12-31": ""} {
		if got := c.CoveredTo(mustDate(t, day)).String(); got != want {
			t.Errorf("from %s covered to %q, want %q", day, got, want)
		}
	}
}

func FuzzBizDateRule(f *testing.F) {
	for _, r := range BizDateRules() {
		f.Add(r, "2024-02-29")
	}
	f.Add("T-0", "9999-12-31")
	f.Fuzz(func(t *testing.T, text, day string) {
		r, ok := ParseBizDateRule(text)
		d, err := ParseBizDate(day)
		if !ok || err != nil {
			return
		}
		again, ok := ParseBizDateRule(string(r))
		if !ok || again != r {
			t.Fatalf("%q reads as %q, and that as %q", text, r, again)
		}
		date := r.Of(d, nil)
		if first, last, ok := r.Days(date, nil); date.Writable() && (!ok || d.Before(first) || last.Before(d)) {
			t.Fatalf("%s of %s is %s, whose days are %s to %s", r, d, date, first, last)
		}
	})
}

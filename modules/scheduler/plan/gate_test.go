package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/zone"
)

func date(t testing.TB, text string) domain.BizDate {
	t.Helper()
	d, err := domain.ParseBizDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// calendarOf is a calendar with rest on Saturday and Sunday, holidays "2025-10-01..2025-10-08", and worked days "+2025-09-28".
func calendarOf(t testing.TB, version int, special ...string) *domain.Calendar {
	t.Helper()
	c := &domain.Calendar{ID: 9, Name: "cn", Version: version, Rest: domain.UsualRest(), Years: []int{2024, 2025, 2026}, Days: map[domain.BizDate]domain.CalendarDay{}}
	for _, s := range special {
		text, work := strings.CutPrefix(s, "+")
		from, to, _ := strings.Cut(text, "..")
		if to == "" {
			to = from
		}
		for d := date(t, from); !date(t, to).Before(d); d = d.AddDays(1) {
			c.Days[d] = domain.CalendarDay{Work: work}
		}
	}
	return c
}

func gated(timing Timing, c *domain.Calendar, on domain.GateDay, otherwise domain.GateElse) Timing {
	timing.Gate = Gate{Calendar: c.ID, Version: c.Version, On: on, Else: otherwise}
	return timing
}

func TestGates(t *testing.T) {
	autumn := []string{"2025-10-01..2025-10-08", "+2025-09-28", "+2025-10-11"}
	for _, c := range []struct {
		name      string
		expr      string
		on        domain.GateDay
		otherwise domain.GateElse
		special   []string
		from, to  string
		want      string
	}{
		{"each workday at eight", "0 8 * * *", domain.GateWorkday, domain.ElseSkip, autumn, "2025-09-26", "2025-10-14", "09-26 09-28 09-29 09-30 10-09 10-10 10-11 10-13 10-14"},
		{"each rest day", "0 8 * * *", domain.GateRestday, domain.ElseSkip, autumn, "2025-09-26", "2025-10-14", "09-27 10-01 10-02 10-03 10-04 10-05 10-06 10-07 10-08 10-12"},
		{"the first of the month, else the next workday", "0 8 1 * *", domain.GateWorkday, domain.ElseNext, autumn, "2025-09-01", "2025-12-31", "09-01 10-09 11-03 12-01"},
		{"the first of the month, else the workday before", "0 8 1 * *", domain.GateWorkday, domain.ElsePrevious, autumn, "2025-08-15", "2025-12-31", "09-01 09-30 10-31 12-01"},
		{"each Saturday, else the Monday after", "0 8 * * 6", domain.GateWorkday, domain.ElseNext, autumn, "2025-09-20", "2025-10-20", "09-22 09-28 10-09 10-11 10-20"},
		{"two that are moved to one instant are one", "0 8 * * 6,0", domain.GateWorkday, domain.ElseNext, autumn, "2025-09-20", "2025-10-20", "09-22 09-28 10-09 10-11 10-13 10-20"},
		{"moved ones that fall on another's time are one with it", "0 8 * * *", domain.GateWorkday, domain.ElseNext, autumn, "2025-09-26", "2025-10-10", "09-26 09-28 09-29 09-30 10-09 10-10"},
		{"too far to be moved", "0 8 15 8 *", domain.GateWorkday, domain.ElseNext, []string{"2025-08-01..2025-10-01"}, "2025-01-01", "2025-12-31", ""},
		{"by any day", "0 8 1 * *", domain.GateAny, domain.ElseSkip, autumn, "2025-09-01", "2025-11-30", "09-01 10-01 11-01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			calendar := calendarOf(t, 1, c.special...)
			spans := []Span{{Timing: gated(cronOf(c.expr, "Asia/Shanghai", domain.BizDateT), calendar, c.on, c.otherwise), Calendar: calendar, From: at(t, "2020-01-01T00:00:00Z")}}
			loc, _ := zone.Load("Asia/Shanghai")
			fires, err := Between(spans, date(t, c.from).Start(loc), date(t, c.to).AddDays(1).Start(loc))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range fires {
				local := f.Expected.In(loc)
				if local.Format("15:04") != "08:00" {
					t.Errorf("fires at %s", local)
				}
				if f.BizDate != domain.BizDateOf(local, loc) {
					t.Errorf("%s has the date %s", local, f.BizDate)
				}
				got = append(got, local.Format("01-02"))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), c.want)
			}
		})
	}
}

func TestWhatTheCalendarSaid(t *testing.T) {
	calendar := calendarOf(t, 1, "2025-10-01..2025-10-08")
	ask := func(otherwise domain.GateElse) (out []string) {
		spans := []Span{{Timing: gated(cronOf("0 8 1 * *", "UTC", domain.BizDateT), calendar, domain.GateWorkday, otherwise), Calendar: calendar, From: at(t, "2020-01-01T00:00:00Z")}}
		fires, err := Asked(spans, at(t, "2025-09-01T00:00:00Z"), at(t, "2025-11-30T00:00:00Z"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fires {
			out = append(out, fmt.Sprintf("%s from %q %s", f.Expected.Format("01-02"), f.From, f.Refused))
		}
		return out
	}
	if got, want := ask(domain.ElseSkip), []string{`09-01 from "" `, `10-01 from "" calendar cn: rest day`, `11-01 from "" calendar cn: rest day`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := ask(domain.ElseNext), []string{`09-01 from "" `, `10-09 from "2025-10-01" `, `11-03 from "2025-11-01" `}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGateRefusals(t *testing.T) {
	c := calendarOf(t, 2)
	for name, timing := range map[string]Timing{
		"an interval has no time of day":      gated(every(time.Hour, at(t, "2025-01-01T00:00:00Z")), c, domain.GateWorkday, domain.ElseNext),
		"neither has @every":                  gated(cronOf("@every 1h", "UTC", domain.BizDateT), c, domain.GateWorkday, domain.ElsePrevious),
		"the version of the gate is not here": {Schedule: cronOf("0 8 * * *", "UTC", domain.BizDateT).Schedule, Zone: "UTC", Rule: domain.BizDateT, Gate: Gate{Calendar: 9, Version: 1, On: domain.GateWorkday, Else: domain.ElseSkip}},
	} {
		if _, err := Compile(timing, c); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := Compile(gated(every(time.Hour, at(t, "2025-01-01T00:00:00Z")), c, domain.GateWorkday, domain.ElseSkip), c); err != nil {
		t.Error(err)
	}
	times, err := Compile(gated(cronOf("0 8 * * 6", "UTC", domain.BizDateT), c, domain.GateWorkday, domain.ElseSkip), c)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if next, ok := times.Next(at(t, "2025-01-01T00:00:00Z")); ok {
		t.Errorf("Saturdays that are workdays: %s", next)
	}
	if took := time.Since(began); took > 50*time.Millisecond {
		t.Errorf("never was found after %s", took)
	}
}

func drawCalendar(rt *rapid.T, version int, around domain.BizDate) *domain.Calendar {
	c := &domain.Calendar{ID: 9, Name: "any", Version: version, Rest: domain.UsualRest(), Days: map[domain.BizDate]domain.CalendarDay{}}
	for range rapid.IntRange(0, 5).Draw(rt, "stretches") {
		from, work := around.AddDays(rapid.IntRange(-20, 50).Draw(rt, "from")), rapid.Bool().Draw(rt, "work")
		for n := range rapid.IntRange(1, 9).Draw(rt, "days") {
			c.Days[from.AddDays(n)] = domain.CalendarDay{Work: work}
		}
	}
	return c
}

// onDay is a time of day on another day: the first instant after a gap, the first pass of a repeated hour.
func onDay(at time.Time, d domain.BizDate, loc *time.Location) time.Time {
	y, m, day := d.Date()
	to := time.Date(y, m, day, at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), loc)
	if to.Hour() != at.Hour() || to.Minute() != at.Minute() {
		start, _ := to.ZoneBounds()
		if before := to.Add(-time.Hour); start.IsZero() || before.Before(start) {
			return start.UTC()
		}
	}
	if earlier := to.Add(-time.Hour); earlier.In(loc).Format("15:04:05") == to.Format("15:04:05") {
		return earlier.UTC()
	}
	return to.UTC()
}

// image is where one fire of the schedule goes, found by walking. wall is what the clock on the wall shows, as if in UTC.
func image(wall time.Time, c *domain.Calendar, on domain.GateDay, otherwise domain.GateElse, loc *time.Location) (time.Time, bool) {
	d := domain.BizDateOf(wall, time.UTC)
	fits := func(d domain.BizDate) bool { return c.Workday(d) == (on == domain.GateWorkday) }
	step := map[domain.GateElse]int{domain.ElseNext: 1, domain.ElsePrevious: -1}[otherwise]
	for n := 0; n <= MaxMove; n++ {
		if to := d.AddDays(n * step); fits(to) {
			return onDay(wall, to, loc), true
		}
	}
	return time.Time{}, false
}

// Every fire is where a walk over the schedule's own fires, each moved by itself, puts it.
func TestGateAgainstAWalk(t *testing.T) {
	base := at(t, "2026-03-20T00:00:00Z") // clocks change in Berlin and New York around it
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "Asia/Beirut"}).Draw(rt, "zone")
		loc, err := zone.Load(name)
		if err != nil {
			rt.Fatal(err)
		}
		expr := rapid.SampledFrom([]string{"0 8 * * *", "30 2 * * *", "0 8,20 1,15 * *", "15 0 * * 6", "0 23 L * ?", "45 1 * * 0,3", "0 6 13 * 5", "5 9 1-7 * *"}).Draw(rt, "expr")
		timing := cronOf(expr, name, domain.BizDateT)
		if strings.Contains(expr, "L") {
			timing.Schedule.Expr = "0 0 23 L * ?"
		}
		c := drawCalendar(rt, 1, domain.BizDateOf(base, loc))
		on := rapid.SampledFrom([]domain.GateDay{domain.GateWorkday, domain.GateRestday}).Draw(rt, "on")
		otherwise := rapid.SampledFrom([]domain.GateElse{domain.ElseSkip, domain.ElseNext, domain.ElsePrevious}).Draw(rt, "else")
		wall := timing
		wall.Zone = "UTC"
		raw, err := Compile(wall, nil)
		if err != nil {
			rt.Fatal(err)
		}
		want := map[time.Time]bool{}
		end := base.AddDate(0, 0, 45)
		for at, ok := raw.Next(base.AddDate(0, 0, -40)); ok && at.Before(end.AddDate(0, 0, 40)); at, ok = raw.Next(at) {
			if to, ok := image(at, c, on, otherwise, loc); ok && to.After(base) && to.Before(end) {
				want[to] = true
			}
		}
		times, err := Compile(gated(timing, c, on, otherwise), c)
		if err != nil {
			rt.Fatal(err)
		}
		for at, ok := times.Next(base); ok && at.Before(end); at, ok = times.Next(at) {
			if !want[at] {
				rt.Fatalf("%s in %s on %s else %s fires at %s", expr, name, on, otherwise, at.In(loc))
			}
			delete(want, at)
		}
		if len(want) > 0 {
			rt.Fatalf("%s in %s on %s else %s does not fire at %v", expr, name, on, otherwise, want)
		}
	})
}

// book plays the fires of a schedule one by one through changes of the calendar.
type book struct {
	raws []time.Time             // by the clock on the wall, as if in UTC
	to   map[time.Time]time.Time // where each goes as things stand; zero: nowhere
	kept map[time.Time]bool      // it keeps what an older calendar promised
	done map[time.Time]bool
}

func (b *book) change(now time.Time, loc *time.Location, plan func(time.Time) (time.Time, bool), wanted func(domain.BizDate) bool) {
	asked := map[domain.BizDate]bool{}
	for _, r := range b.raws {
		asked[domain.BizDateOf(r, time.UTC)] = true
	}
	for _, r := range b.raws {
		was, next := b.to[r], time.Time{}
		if n, ok := plan(r); ok {
			next = n
		}
		own := domain.BizDateOf(was, loc)
		merged := !was.IsZero() && !b.kept[r] && own != domain.BizDateOf(r, time.UTC) && asked[own]
		switch {
		case b.done[r]:
		case was.IsZero() || merged:
			b.to[r], b.kept[r] = next, false
		case !was.After(now):
			b.done[r] = true
		case next.After(now):
			b.to[r], b.kept[r] = next, false
		default:
			b.kept[r] = true
			for n := range MaxMove {
				if wanted(own.AddDays(n)) {
					b.to[r] = onDay(r, own.AddDays(n), loc)
					break
				}
			}
		}
	}
}

// Whatever the changes of a calendar and their moments, a fire that is moved happens once: what
// the spans plan is what the fires, followed one by one, do.
func TestChangesOfACalendarLoseAndDoubleNothing(t *testing.T) {
	base := at(t, "2026-05-04T00:00:00Z")
	loc, _ := zone.Load("Asia/Shanghai")
	rapid.Check(t, func(rt *rapid.T) {
		expr := rapid.SampledFrom([]string{"0 8,20 * * 6", "0 8 1,9,16 * *", "30 2 * * 0,3", "0 8,12,20 * * *", "0 9 * * 5,6"}).Draw(rt, "expr")
		on := rapid.SampledFrom([]domain.GateDay{domain.GateWorkday, domain.GateRestday}).Draw(rt, "on")
		otherwise := rapid.SampledFrom([]domain.GateElse{domain.ElseNext, domain.ElsePrevious}).Draw(rt, "else")
		timing := cronOf(expr, "Asia/Shanghai", domain.BizDateT)
		b := &book{to: map[time.Time]time.Time{}, kept: map[time.Time]bool{}, done: map[time.Time]bool{}}
		wall := timing
		wall.Zone = "UTC"
		raw, err := Compile(wall, nil)
		if err != nil {
			rt.Fatal(err)
		}
		end := base.AddDate(0, 0, 40)
		for at, ok := raw.Next(base.AddDate(0, 0, -70)); ok && at.Before(end.AddDate(0, 0, 70)); at, ok = raw.Next(at) {
			b.raws = append(b.raws, at)
		}
		var spans []Span
		var got, want []string
		now, changes := base, rapid.IntRange(1, 5).Draw(rt, "changes")
		for version := 1; version <= changes; version++ {
			c := drawCalendar(rt, version, domain.BizDateOf(base, loc))
			plan := func(r time.Time) (time.Time, bool) { return image(r, c, on, otherwise, loc) }
			s := Span{Timing: gated(timing, c, on, otherwise), Calendar: c, From: now}
			if version == 1 {
				for _, r := range b.raws {
					b.to[r], _ = plan(r)
				}
			} else {
				old := &spans[len(spans)-1]
				old.To = now
				if s.Carried, err = Carry(old, s.Timing, c, now); err != nil {
					rt.Fatal(err)
				}
				b.change(now, loc, plan, func(d domain.BizDate) bool { return c.Workday(d) == (on == domain.GateWorkday) })
			}
			spans = append(spans, s)
			until := now.Add(time.Duration(rapid.IntRange(0, 8*24*60).Draw(rt, "minutes")) * time.Minute)
			at := map[string]bool{}
			for _, r := range b.raws {
				if to := b.to[r]; !b.done[r] && to.After(now) && !to.After(until) {
					at[to.Format(time.RFC3339)] = true
				}
			}
			for text := range at {
				want = append(want, text)
			}
			now = until
		}
		spans[len(spans)-1].To = now
		fires, err := Between(spans, base, now.Add(time.Millisecond))
		if err != nil {
			rt.Fatal(err)
		}
		for _, f := range fires {
			got = append(got, f.Expected.Format(time.RFC3339))
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			for _, s := range spans {
				rt.Logf("from %s to %s carried %q days %v", s.From.In(loc).Format("01-02T15:04 Mon"), s.To.In(loc).Format("01-02T15:04 Mon"), s.Carried, s.Calendar.Days)
			}
			rt.Fatalf("%s on %s else %s\ngot  %s\nwant %s", expr, on, otherwise, strings.Join(got, " "), strings.Join(want, " "))
		}
	})
}

func TestCarriedReadsBack(t *testing.T) {
	all := []carried{{date(t, "2026-05-02"), wholeDay(), date(t, "2026-05-04")}, {date(t, "2026-05-03"), clockRange{-1, 43_200_000}, domain.BizDate{}}}
	got, err := parseCarried(carriedText(all))
	if err != nil || !slices.Equal(got, all) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"x", "2026-05-02", ">2026-05-02", "2026-05-02@1>", "2026-5-2>"} {
		if _, err := parseCarried(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestComingTellsWhatWasPassedOver(t *testing.T) {
	c := calendarOf(t, 1, "2025-10-01..2025-10-08", "+2025-10-11")
	c.Days[date(t, "2025-10-01")] = domain.CalendarDay{Label: "国庆节"}
	show := func(expr string, otherwise domain.GateElse, rule domain.BizDateRule) (out []string) {
		s := Span{Timing: gated(cronOf(expr, "Asia/Shanghai", rule), c, domain.GateWorkday, otherwise), Calendar: c}
		coming, err := s.Coming(at(t, "2025-09-29T16:00:00Z"), 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range coming {
			text := fmt.Sprintf("%s of %s", f.At.Format("Mon 01-02 15:04"), f.BizDate)
			if !f.From.IsZero() {
				text += " from " + f.From.String()
			}
			for _, p := range f.Passed {
				text += fmt.Sprintf(" | %s %s>%s", p.Day, p.Label, p.To)
			}
			out = append(out, text)
		}
		return out
	}
	for _, one := range []struct {
		expr      string
		otherwise domain.GateElse
		rule      domain.BizDateRule
		want      []string
	}{
		{"0 8 * * *", domain.ElseSkip, domain.BizDatePrevWorkday, []string{"Tue 09-30 08:00 of 2025-09-29",
			"Thu 10-09 08:00 of 2025-09-30 | 2025-10-01 国庆节> | 2025-10-02 > | 2025-10-03 > | 2025-10-04 > | 2025-10-05 > | 2025-10-06 > | 2025-10-07 > | 2025-10-08 >", "Fri 10-10 08:00 of 2025-10-09"}},
		{"0 8 1 * *", domain.ElseNext, domain.BizDatePrevMonthEnd, []string{"Thu 10-09 08:00 of 2025-09-30 from 2025-10-01 | 2025-10-01 国庆节>2025-10-09",
			"Mon 11-03 08:00 of 2025-10-31 from 2025-11-01 | 2025-11-01 >2025-11-03", "Mon 12-01 08:00 of 2025-11-30"}},
		{"0 8 1 * *", domain.ElsePrevious, domain.BizDateT, []string{"Tue 09-30 08:00 of 2025-09-30 from 2025-10-01",
			"Fri 10-31 08:00 of 2025-10-31 from 2025-11-01 | 2025-10-01 国庆节>2025-09-30", "Mon 12-01 08:00 of 2025-12-01 | 2025-11-01 >2025-10-31"}},
	} {
		if got := show(one.expr, one.otherwise, one.rule); !slices.Equal(got, one.want) {
			t.Errorf("%s else %s\ngot  %s\nwant %s", one.expr, one.otherwise, strings.Join(got, "\n     "), strings.Join(one.want, "\n     "))
		}
	}
}

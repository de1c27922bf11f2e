package words

import (
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/cron"
)

// Cautions lists what of a schedule people may not expect: months that it passes over,
// steps that begin anew, two day fields of which either will do, more than one fire a
// minute, and the next clock changes of the zone that touch it. Each ID has a sentence
// in the catalogs under "problem.cron.".
func (Wording) Cautions(s domain.Schedule, zone *time.Location, from time.Time) []domain.Caution {
	every := time.Duration(s.EveryMs) * time.Millisecond
	var out []domain.Caution
	if s.Kind == domain.ScheduleCron {
		parsed, err := cron.Parse(s.Expr, cron.Dialect(s.Dialect))
		if err != nil {
			return nil
		}
		if d, ok := parsed.Every(); ok {
			every = d
		} else {
			out = cautions(parsed.Fields(), stepped(s.Expr))
			skip, repeat := parsed.Changes(from, from.Add(ahead), zone)
			out = append(out, clockCautions(parsed.Fields(), skip, repeat, zone)...)
		}
	}
	if every > 0 && every < time.Minute {
		out = append(out, caution("often", "n", number(int((time.Minute+every-1)/every)))) // a minute holds as many at most
	}
	return out
}

func caution(id string, pairs ...string) domain.Caution {
	c := domain.Caution{ID: id, Args: map[string]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		c.Args[pairs[i]] = pairs[i+1]
	}
	return c
}

// stepped tells of each field, counted from the last of five or six or seven, whether it is written
// with a step; of a descriptor none is.
func stepped(expr string) map[string]bool {
	fields := strings.Fields(expr)
	names := []string{"restarts_minute", "restarts_hour", "restarts_day", "restarts_month", "restarts_year"}
	if len(fields) == 5 {
		names = names[1:]
	}
	out := map[string]bool{}
	for i := range min(len(fields), len(names)) {
		out[names[i]] = strings.Contains(fields[i], "/")
	}
	return out
}

// cautions are those of the fields; stepped names the rows of values that are written with a step.
func cautions(f cron.Fields, stepped map[string]bool) []domain.Caution {
	var out []domain.Caution
	byMonth, byWeek := restricted(f)
	if byMonth {
		out = append(out, shortMonths(f)...)
	}
	if byMonth && byWeek && !f.Both {
		out = append(out, caution("either"))
	}
	if n := len(f.Seconds); n > 1 {
		out = append(out, caution("often", "n", number(n)))
	}
	for _, r := range []struct {
		id          string
		values      []int
		least, size int
		matters     bool
	}{
		{"restarts_minute", f.Seconds, 0, 60, neighbours(f.Minutes, 60)},
		{"restarts_hour", f.Minutes, 0, 60, neighbours(f.Hours, 24)},
		{"restarts_day", f.Hours, 0, 24, true},
		{"restarts_month", f.Days, 1, 31, byMonth},
		{"restarts_year", f.Months, 1, 12, true},
	} {
		if step, last, ok := restarts(r.values, r.least, r.size, r.id == "restarts_month"); ok && r.matters && (len(r.values) > 2 || stepped[r.id]) {
			out = append(out, caution(r.id, "step", number(step), "last", number(last)))
		}
	}
	return out
}

// restarts finds a step that begins anew before it has come round: values at one distance from
// the least one on to the end of the field (two may be meant as a list: the caller judges those by how
// they are written). Months have not one length: there a step of any size begins anew.
func restarts(values []int, least, size int, always bool) (step, last int, found bool) {
	n := len(values)
	if n < 2 || values[0] != least {
		return 0, 0, false
	}
	step, last = values[1]-values[0], values[n-1]
	for i := 1; i < n; i++ {
		if values[i]-values[i-1] != step {
			return 0, 0, false
		}
	}
	end := least + size
	return step, last, step > 1 && last+step >= end && (always || last+step > end)
}

// neighbours tells whether two values follow each other, round the end too.
func neighbours(values []int, size int) bool {
	for i, v := range values {
		if next := values[(i+1)%len(values)]; (v+1)%size == next {
			return true
		}
	}
	return false
}

// shortMonths speaks of the latest of a few named days that some of the months lack.
func shortMonths(f cron.Fields) []domain.Caution {
	days := slices.Clone(f.Nearest)
	if len(f.Days) <= 10 {
		days = append(days, f.Days...)
	}
	var out []domain.Caution
	if len(days) > 0 {
		out = lacking(f, "short_months", slices.Max(days))
	}
	if len(f.FromLast) > 0 {
		out = append(out, lacking(f, "short_last", slices.Max(f.FromLast)+1)...) // a month of n days has none n before its last
	}
	return out
}

// lacking speaks of the months that have fewer days than day.
func lacking(f cron.Fields, id string, day int) []domain.Caution {
	var months []string
	for _, m := range f.Months {
		if usual := time.Date(2001, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day(); day > usual {
			months = append(months, number(m))
		}
	}
	switch {
	case len(months) == 0:
		return nil
	case day == 29:
		return []domain.Caution{caution("leap_day")}
	}
	c := caution(id, "day", number(day), "months", strings.Join(months, ", "), "n", number(len(months)))
	if id == "short_last" {
		delete(c.Args, "day")
		c.Args["days"] = number(day - 1)
	}
	return []domain.Caution{c}
}

// clockCautions speaks of the next clock changes. What fires in each hour by its interval
// goes on as everybody expects; of that nothing is said.
func clockCautions(f cron.Fields, skip, repeat cron.Change, zone *time.Location) []domain.Caution {
	if f.Interval && len(f.Hours) == 24 {
		return nil
	}
	var out []domain.Caution
	say := func(id string, c cron.Change) {
		if c.At.IsZero() {
			return
		}
		before, after := clockText(c.Before), clockText(c.After)
		if c.Before.Format(time.DateOnly) != c.After.Format(time.DateOnly) { // over midnight, or a whole day that is left out
			before, after = c.Before.Format(time.DateOnly+" ")+before, c.After.Format(time.DateOnly+" ")+after
		}
		out = append(out, caution(id, "date", c.Touched.Format(time.DateOnly), "zone", zone.String(), "before", before, "after", after, "time", clockText(c.Touched)))
	}
	switch {
	case skip.MadeUp:
		say("clock_made_up", skip)
	default:
		say("clock_skipped", skip)
	}
	switch {
	case f.Interval:
		say("clock_twice", repeat)
	default:
		say("clock_once", repeat)
	}
	return out
}

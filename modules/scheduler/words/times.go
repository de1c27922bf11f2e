package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/modules/scheduler/cron"
)

const (
	perMinute = 60
	perHour   = 60 * perMinute
	perDay    = 24 * perHour

	fewTimes = 6 // as many are told one by one
)

func number(n int) string { return strconv.Itoa(n) }

// clock writes a second of the day; the seconds only where they are wanted.
func clock(sec int, seconds bool) string {
	if !seconds {
		return fmt.Sprintf("%02d:%02d", sec/perHour, sec/perMinute%60)
	}
	return fmt.Sprintf("%02d:%02d:%02d", sec/perHour, sec/perMinute%60, sec%60)
}

func clockText(t time.Time) string {
	switch {
	case t.Nanosecond() != 0:
		return t.Format("15:04:05.000")
	case t.Second() != 0:
		return t.Format(time.TimeOnly)
	}
	return t.Format("15:04")
}

// times says the times of a day. rhythm tells that it reads like an interval, which a
// person expects to go on whatever clocks do; allDay that it goes evenly round the day,
// so that "every day" need not be said.
func (w speaker) times(f cron.Fields) (text string, rhythm, allDay bool) {
	count := len(f.Seconds) * len(f.Minutes) * len(f.Hours)
	if run, ok := even(f); ok {
		round := perDay%run.step == 0 && count == perDay/run.step
		switch {
		case round && (f.Interval || count > 4):
			return w.round(run), true, true
		case f.Interval && count > 2 || count > 4:
			return w.spans([]stretch{run}), true, false
		}
	}
	if runs, ok := evenHours(f); ok && count > fewTimes {
		return w.spans(runs), true, false
	}
	if count <= fewTimes {
		return w.say("at", "list", w.list(clocks(f))), false, false
	}
	return w.fields(f)
}

// clocks are all times of a day.
func clocks(f cron.Fields) []string {
	seconds := !slices.Equal(f.Seconds, []int{0})
	var out []string
	for _, h := range f.Hours {
		for _, m := range f.Minutes {
			for _, s := range f.Seconds {
				out = append(out, clock(h*perHour+m*perMinute+s, seconds))
			}
		}
	}
	return out
}

// even finds out whether the times of a day, two or more, keep one distance.
func even(f cron.Fields) (stretch, bool) {
	count := len(f.Seconds) * len(f.Minutes) * len(f.Hours)
	first := f.Hours[0]*perHour + f.Minutes[0]*perMinute + f.Seconds[0]
	last := f.Hours[len(f.Hours)-1]*perHour + f.Minutes[len(f.Minutes)-1]*perMinute + f.Seconds[len(f.Seconds)-1]
	if count < 2 || (last-first)%(count-1) != 0 {
		return stretch{}, false
	}
	step := (last - first) / (count - 1)
	at := first
	for _, h := range f.Hours {
		for _, m := range f.Minutes {
			for _, s := range f.Seconds {
				if h*perHour+m*perMinute+s != at {
					return stretch{}, false
				}
				at += step
			}
		}
	}
	return stretch{first, last, step}, true
}

// evenHours finds out whether the times go evenly round each hour, so that rows of hours
// can be told by their ends; a few rows, and no hour alone that has one time only.
func evenHours(f cron.Fields) ([]stretch, bool) {
	hour := f
	hour.Hours = []int{0}
	inHour := stretch{step: perHour}
	if len(f.Minutes)*len(f.Seconds) > 1 {
		run, ok := even(hour)
		if !ok || perHour%run.step != 0 || len(f.Minutes)*len(f.Seconds) != perHour/run.step {
			return nil, false
		}
		inHour = run
	} else {
		inHour.from = f.Minutes[0]*perMinute + f.Seconds[0]
		inHour.to = inHour.from
	}
	var out []stretch
	for i := 0; i < len(f.Hours); i++ {
		j := i
		for j+1 < len(f.Hours) && f.Hours[j+1] == f.Hours[j]+1 {
			j++
		}
		run := stretch{f.Hours[i]*perHour + inHour.from, f.Hours[j]*perHour + inHour.to, inHour.step}
		if run.from == run.to {
			return nil, false
		}
		out = append(out, run)
		i = j
	}
	return out, len(out) <= 4
}

// round says what goes evenly round the day.
func (w speaker) round(r stretch) string {
	switch {
	case r.from == 0 && r.step == perHour:
		return w.say("hour.full")
	case r.from == 0 || r.step == 1:
		return w.step(r.step)
	case r.step == perHour && r.from%perMinute == 0:
		return w.say("hour.minute", "m", number(r.from/perMinute))
	case r.step == perHour:
		return w.say("hour.second", "m", number(r.from/perMinute), "s", number(r.from%perMinute))
	case r.step == perMinute:
		return w.say("minute.second", "s", number(r.from))
	}
	return w.spans([]stretch{r})
}

// spans says stretches that keep one distance.
func (w speaker) spans(runs []stretch) string {
	parts := make([]string, len(runs))
	for i, r := range runs {
		seconds := r.from%perMinute+r.to%perMinute > 0
		parts[i] = w.say("span", "from", clock(r.from, seconds), "to", clock(r.to, seconds))
	}
	return w.say("spans", "every", w.step(runs[0].step), "list", w.list(parts))
}

// step says a distance of seconds in the largest unit that fits.
func (w speaker) step(sec int) string {
	n, unit := sec, "second"
	switch {
	case sec%perHour == 0:
		n, unit = sec/perHour, "hour"
	case sec%perMinute == 0:
		n, unit = sec/perMinute, "minute"
	}
	if n == 1 {
		return w.say("every." + unit)
	}
	return w.say("every."+unit+"s", "n", n)
}

// every says a distance exactly, in all its units; a day among them has 24 hours, which a
// day of the calendar need not have.
func (w speaker) every(d time.Duration) string {
	switch day := 24 * time.Hour; {
	case d > day && d%day == 0:
		return w.say("every.days", "n", int(d/day))
	case d%time.Hour == 0, d%time.Minute == 0 && d < time.Hour, d%time.Second == 0 && d < 2*time.Minute:
		return w.step(int(d / time.Second))
	}
	var parts []string
	for _, u := range []struct {
		key  string
		size time.Duration
	}{{"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		if n := d / u.size; n > 0 {
			parts = append(parts, w.say("unit."+u.key, "n", number(int(n))))
			d -= n * u.size
		}
	}
	return w.say("every.long", "d", strings.Join(parts, w.say("unit.gap")))
}

// fields says the times field by field, which always can be said.
func (w speaker) fields(f cron.Fields) (text string, rhythm, allDay bool) {
	allDay = len(f.Hours) == 24
	hours := w.part("of.hour", f.Hours, 24)
	if slices.Equal(f.Seconds, []int{0}) {
		minutes, steady := w.lead("minute", f.Minutes)
		return w.say("fields.two", "minutes", minutes, "hours", hours), steady || allDay, allDay
	}
	seconds, steady := w.lead("second", f.Seconds)
	minutes := w.part("of.minute", f.Minutes, 60)
	if allDay && len(f.Minutes) == 60 {
		return w.say("fields.minutely", "seconds", seconds, "minutes", minutes), true, true
	}
	return w.say("fields.three", "seconds", seconds, "minutes", minutes, "hours", hours), steady || allDay, allDay
}

// lead says the smallest field; steady tells that it keeps a distance.
func (w speaker) lead(key string, values []int) (text string, steady bool) {
	if all := stretches(values); len(all) == 1 && all[0].step > 1 {
		return w.say(key+".steps", "from", number(all[0].from), "to", number(all[0].to), "step", number(all[0].step)), true
	}
	return w.part(key, values, 60), len(values) == 60
}

// part says one field: each of its values, one, or some.
func (w speaker) part(key string, values []int, all int) string {
	switch len(values) {
	case all:
		return w.say(key + ".each")
	case 1:
		return w.say(key+".one", "list", number(values[0]))
	}
	return w.say(key+".some", "list", w.set(values, number))
}

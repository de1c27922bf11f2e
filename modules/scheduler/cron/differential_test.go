package cron

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/kit/zone"
)

// rounds is how often a random test repeats: n, or n times AX_CRON_ROUNDS for a long run.
func rounds(n int) int {
	if more, err := strconv.Atoi(os.Getenv("AX_CRON_ROUNDS")); err == nil {
		return n * more
	}
	return n
}

// tick is one instant of a stretch: what the wall shows, and what it showed or left out before.
type tick struct {
	sec     int64
	shows   wall
	again   bool   // the wall has shown this before
	skipped []wall // what it left out just before, unless that was more than three hours
}

// stretchOf looks at a zone's wall each step seconds from one instant to another. It
// begins two days early, to know what was shown.
func stretchOf(loc *time.Location, from, to, step int64) []tick {
	var out []tick
	shown := map[int64]bool{}
	n := naive{loc: loc}
	before := n.offset(from - 2*perDay - step)
	for sec := from - 2*perDay; sec <= to; sec += step {
		offset := n.offset(sec)
		shows := sec + offset
		t := tick{sec: sec, shows: wallAt(shows), again: shown[shows]}
		if offset > before && offset-before <= 3*60*60 {
			for w := sec + before; w < shows; w += step {
				t.skipped = append(t.skipped, wallAt(w))
			}
		}
		before, shown[shows] = offset, true
		if sec >= from {
			out = append(out, t)
		}
	}
	return out
}

// firings of a stretch, by looking at each of its instants.
func (o oracle) firings(stretch []tick) []int64 {
	var out []int64
	for _, t := range stretch {
		fires := o.matches(t.shows) && (o.interval || !t.again)
		if !o.interval {
			fires = fires || slices.ContainsFunc(t.skipped, o.matches)
		}
		if fires {
			out = append(out, t.sec)
		}
	}
	return out
}

// TestEveryMinuteOfManyStretches compares Next with a walk over every minute of two
// months, for random expressions of all dialects, in zones with every kind of change.
func TestEveryMinuteOfManyStretches(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, uint64(rounds(12))))
	names, err := zone.Names()
	if err != nil {
		t.Fatal(err)
	}
	fires, exprs := 0, 0
	for range rounds(8) {
		name, from := names[rng.IntN(len(names))], time.Date(1975+rng.IntN(75), 1, 1+rng.IntN(365), 0, 0, 0, 0, time.UTC)
		if rng.IntN(2) == 0 {
			var day time.Time
			name, day = randomDay(rng)
			from = day.AddDate(0, 0, -1-rng.IntN(57))
		}
		loc := mustZone(t, name)
		stretch := stretchOf(loc, from.Unix(), from.AddDate(0, 0, 60).Unix(), stepFor(loc, from.AddDate(0, 0, 59)))
		for range 25 {
			expr, d := writtenAnyhow(rng, false)
			fires += sameFirings(t, expr, d, loc, stretch, rng)
			exprs++
		}
	}
	t.Logf("%d expressions, %d firings compared", exprs, fires)
	if fires < 400_000 {
		t.Errorf("only %d firings were compared", fires)
	}
}

// TestEverySecondOfManyStretches is the same to the second, over the hours around a change.
func TestEverySecondOfManyStretches(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, uint64(rounds(14))))
	fires := 0
	for range rounds(4) {
		name, day := randomDay(rng)
		loc := mustZone(t, name)
		p := periodAt(day.AddDate(0, 0, -2).Unix(), loc)
		at := p.end
		if at > day.AddDate(0, 0, 3).Unix() { // a zone where nothing changes
			at = day.Unix()
		}
		stretch := stretchOf(loc, at-3600-rng.Int64N(9000), at+3600+rng.Int64N(9000), 1)
		for range 40 {
			expr, d := writtenAnyhow(rng, true)
			fires += sameFirings(t, expr, d, loc, stretch, rng)
		}
	}
	t.Logf("%d firings compared", fires)
	if fires < 10_000 {
		t.Errorf("only %d firings were compared", fires)
	}
}

// sameFirings walks Next over the stretch and asks it from instants in between.
func sameFirings(t *testing.T, expr string, d Dialect, loc *time.Location, stretch []tick, rng *rand.Rand) int {
	t.Helper()
	s := mustParse(t, expr, d)
	want := consult(expr, d).firings(stretch)
	first, last := stretch[0].sec-1, stretch[len(stretch)-1].sec
	var got []int64
	for _, at := range s.Between(time.Unix(first+1, 0), time.Unix(last+1, 0), loc, len(want)+2) {
		got = append(got, at.Unix())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q (%s) in %s: %s", expr, d, loc, firstDifference(got, want, loc))
		return len(want)
	}
	for range 5 {
		from := time.Unix(first+rng.Int64N(last-first), rng.Int64N(1e9))
		i, _ := slices.BinarySearch(want, from.Unix()+1)
		next, ok := s.Next(from, loc)
		if i == len(want) {
			if ok && next.Unix() <= last {
				t.Errorf("%q in %s from %s: %s, want none by %s", expr, loc, from.In(loc), next, time.Unix(last, 0).In(loc))
			}
		} else if !ok || next.Unix() != want[i] {
			t.Errorf("%q in %s from %s: %s, want %s", expr, loc, from.In(loc), next, time.Unix(want[i], 0).In(loc))
		}
	}
	return len(want)
}

func firstDifference(got, want []int64, loc *time.Location) string {
	say := func(all []int64, i int) string {
		if i >= len(all) {
			return "nothing"
		}
		return time.Unix(all[i], 0).In(loc).Format(time.RFC3339)
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	return fmt.Sprintf("firing %d is %s, want %s", i+1, say(got, i), say(want, i))
}

// pen writes random fields.
type pen struct {
	rng    *rand.Rand
	quartz bool
}

func (p pen) of(words ...string) string { return words[p.rng.IntN(len(words))] }

// value of a field, as a number with or without leading zeros, or as a name in any case.
func (p pen) value(v, least int, names []string) string {
	if names != nil && v-least < len(names) && p.rng.IntN(3) == 0 {
		return p.of(names[v-least], strings.ToLower(names[v-least]))
	}
	if p.rng.IntN(6) == 0 {
		return fmt.Sprintf("%03d", v)
	}
	return strconv.Itoa(v)
}

// element is one of *, a, a-b, each also with a step.
func (p pen) element(least, most int, names []string, widest int) string {
	a, b := least+p.rng.IntN(most-least+1), least+p.rng.IntN(most-least+1)
	if a > b && (!p.quartz || p.rng.IntN(3) > 0) {
		a, b = b, a
	}
	step := 1 + p.rng.IntN(widest)
	if p.rng.IntN(3) > 0 {
		step = 1 + p.rng.IntN(min(widest, 9))
	}
	stepped := "/" + p.value(step, 0, nil)
	switch p.rng.IntN(10) {
	case 0:
		return "*" + stepped
	case 1:
		return p.value(a, least, names) + stepped
	case 2, 3:
		return p.value(a, least, names) + "-" + p.value(b, least, names) + stepped
	case 4, 5:
		return p.value(a, least, names) + "-" + p.value(b, least, names)
	}
	return p.value(a, least, names)
}

func (p pen) field(least, most int, names []string) string {
	if p.rng.IntN(3) == 0 {
		return "*"
	}
	elements := make([]string, 1+p.rng.IntN(4)*p.rng.IntN(2))
	for i := range elements {
		elements[i] = p.element(least, most, names, most)
	}
	return strings.Join(elements, ",")
}

func (p pen) quartzDays() (day, weekday string) {
	if p.rng.IntN(2) == 0 {
		n := 1 + p.rng.IntN(7)
		return "?", p.of(p.field(1, 7, weekdayNames()), p.field(1, 7, weekdayNames()), p.value(n, 1, weekdayNames())+"#"+strconv.Itoa(1+p.rng.IntN(5)),
			p.value(n, 1, weekdayNames())+p.of("L", "l"), "L")
	}
	elements := []string{p.field(1, 31, nil)}
	for range p.rng.IntN(3) {
		elements = append(elements, p.of("L", "LW", "lw", "L-"+strconv.Itoa(p.rng.IntN(31)), p.of("1", "2", "28", "30", "31", strconv.Itoa(1+p.rng.IntN(31)))+"W", strconv.Itoa(1+p.rng.IntN(31))))
	}
	if p.rng.IntN(2) == 0 && len(elements) > 1 {
		elements = elements[1:]
	}
	return strings.Join(elements, ","), "?"
}

// writtenAnyhow is a random expression of a random dialect that uses all of its syntax.
// Without seconds it fires at second 0 only.
func writtenAnyhow(rng *rand.Rand, seconds bool) (string, Dialect) {
	p := pen{rng: rng}
	d := []Dialect{Unix, Seconds, Quartz}[rng.IntN(3)]
	if seconds && d == Unix {
		d = Seconds
	}
	p.quartz = d == Quartz
	second := p.of("0", "00")
	if seconds {
		second = p.field(0, 59, nil)
	}
	day, month, weekday := p.field(1, 31, nil), p.field(1, 12, monthNames()), p.unixWeekday()
	if p.quartz {
		day, weekday = p.quartzDays()
	}
	if rng.IntN(2) == 0 { // so that some fires of most meet a change
		month = "*"
	}
	fields := []string{second, p.field(0, 59, nil), p.field(0, 23, nil), day, month, weekday}
	if d == Unix {
		fields = fields[1:]
	}
	if p.quartz && rng.IntN(4) == 0 {
		fields = append(fields, p.of("*", "1970-2199", "1970/2", "*/3", "2000-2030"))
	}
	return p.of("", "", " \t") + strings.Join(fields, p.of(" ", "  ", "\t")) + p.of("", "", " "), d
}

func (p pen) unixWeekday() string {
	if p.rng.IntN(3) > 0 {
		return "*"
	}
	elements := make([]string, 1+p.rng.IntN(2))
	for i := range elements {
		elements[i] = p.of(p.element(0, 6, weekdayNames(), 7), p.element(0, 7, nil, 7), "fri-sun", "7", "0")
	}
	return strings.Join(elements, ",")
}

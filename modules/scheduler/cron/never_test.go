package cron

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cycle is every date of 400 years, after which the calendar is the same again.
func cycle() []wall {
	from := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).Unix() / perDay
	out := make([]wall, 0, 146_097)
	for i := range int64(146_097) {
		out = append(out, wallAt((from+i)*perDay))
	}
	return out
}

// rareDay is an expression for midnight whose date comes seldom or never.
func rareDay(rng *rand.Rand) (string, Dialect) {
	p := pen{rng: rng}
	few := func(n, least, most int) string {
		out := make([]string, 1+rng.IntN(n))
		for i := range out {
			out[i] = strconv.Itoa(least + rng.IntN(most-least+1))
		}
		return strings.Join(out, ",")
	}
	month := p.of("2", "2", "2,4", "4,6,9,11", "2,4,6,9,11", few(3, 1, 12))
	if rng.IntN(2) == 0 {
		day := p.of("29", "30", "31", "30-31", "*/29", "*/30", "*/31", few(2, 27, 31))
		weekday := p.of("*", "?", "*/7", "*/6", "*/5", "*/3")
		return fmt.Sprintf("0 0 %s %s %s", day, month, weekday), Unix
	}
	day := p.of("29", "30", "31", "29W", "30W", "31W", "L-27", "L-28", "L-29", "L-30", "L-28,L-29,L-30", "30W,31W,L-29", few(2, 28, 31))
	weekday := "?"
	if rng.IntN(3) == 0 {
		day, weekday = "?", p.of(few(1, 1, 7)+"#5", few(1, 1, 7)+"#5", few(1, 1, 7)+"L")
	}
	year := p.of("*", "1970-2199", "2001/2", "1970/4", "2100", "2199", "2196-2199", "1999", "2096-2104", few(4, 1970, 2199))
	return fmt.Sprintf("0 0 0 %s %s %s %s", day, month, weekday, year), Quartz
}

// TestRareDatesAndNever walks all dates of 400 years: Next finds each that the oracle
// finds, and says never exactly where there is none.
func TestRareDatesAndNever(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, uint64(rounds(18))))
	all := cycle()
	never, longest := 0, 0
	for range rounds(150) {
		expr, d := rareDay(rng)
		s, o := mustParse(t, expr, d), consult(expr, d)
		at, before := time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), -1
		for i, w := range all {
			if !o.dateMatches(w) {
				continue
			}
			want := time.Date(w.year, time.Month(w.month), w.day, 0, 0, 0, 0, time.UTC)
			got, ok := s.Next(at, time.UTC)
			if !ok || !got.Equal(want) {
				t.Fatalf("%q after %s: %s %v, want %s", expr, at, got, ok, want)
			}
			if at = want; o.years == nil && before >= 0 {
				longest = max(longest, i-before)
			}
			before = i
		}
		if got, ok := s.Next(at, time.UTC); ok && (before < 0 || o.years != nil) {
			t.Errorf("%q fires at %s, want never after %s", expr, got, at)
		} else if !ok && before >= 0 && o.years == nil {
			t.Errorf("%q is said to end with %s", expr, at)
		}
		if before < 0 {
			never++
		}
	}
	t.Logf("%d never fire; the longest wait is %d days", never, longest)
	if never < 15 || longest < 8*365 || longest > 40*366 {
		t.Errorf("%d never fire, the longest wait is %d days", never, longest)
	}
}

// TestNeverIsSoonFound times the worst that could be found: days that no month has, in
// years that are over, of both kinds, in the zones that change most, far and near.
func TestNeverIsSoonFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, uint64(rounds(20))))
	times := []string{"0 0 0", "* * *", "0/7 3-59/4 *", "59 59 23", "*/59 59 1,2"}
	zones := []string{"UTC", "America/New_York", "Africa/Casablanca", "Antarctica/Troll", "Australia/Lord_Howe", "Pacific/Apia", "Europe/Dublin", "Asia/Gaza"}
	var worst time.Duration
	var said string
	for range rounds(400) {
		expr, d := rareDay(rng)
		if clock := times[rng.IntN(len(times))]; d == Quartz {
			expr = clock + strings.TrimPrefix(expr, "0 0 0")
		} else if _, last, ok := strings.Cut(clock, " "); ok {
			expr = last + strings.TrimPrefix(expr, "0 0")
		}
		loc := mustZone(t, zones[rng.IntN(len(zones))])
		from := time.Date(1900+rng.IntN(310), time.Month(1+rng.IntN(12)), 1+rng.IntN(31), rng.IntN(24), 0, 0, 0, time.UTC)
		s := mustParse(t, expr, d)
		best := time.Hour // of three: the machine may be busy with something else
		for range 3 {
			start := time.Now()
			s.Next(from, loc)
			best = min(best, time.Since(start))
		}
		if best > worst {
			worst, said = best, fmt.Sprintf("%q in %s from %s", expr, loc, from.Format(time.DateOnly))
		}
	}
	t.Logf("the slowest took %s: %s", worst, said)
	if worst > 50*time.Millisecond {
		t.Errorf("%s took %s", said, worst)
	}
}

package cron

import (
	"github.com/axsched/ax/modules/kit/zone"

	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// changes are days around which clocks do something, by zone.
var changes = []struct {
	zone string
	days []string
}{
	{"America/New_York", []string{"2024-03-10", "2024-11-03", "2026-03-08"}},
	{"Europe/Berlin", []string{"2024-03-31", "2024-10-27", "2040-12-31"}},
	{"Europe/Dublin", []string{"2024-03-31", "2024-10-27"}},
	{"Australia/Lord_Howe", []string{"2024-10-06", "2024-04-07"}},
	{"Antarctica/Troll", []string{"2024-03-31", "2024-10-27"}},
	{"Africa/Cairo", []string{"2024-04-26", "2024-10-31"}},
	{"America/Havana", []string{"2024-03-10", "2024-11-03"}},
	{"Asia/Beirut", []string{"2026-03-29", "2025-10-26"}},
	{"Pacific/Chatham", []string{"2024-04-07", "2024-09-29"}},
	{"America/Nuuk", []string{"2024-03-30", "2024-10-26"}},
	{"America/Santiago", []string{"2024-04-06", "2022-09-11"}},
	{"Pacific/Apia", []string{"2011-12-30"}},
	{"Pacific/Kwajalein", []string{"1969-10-01", "1993-08-21"}},
	{"Asia/Pyongyang", []string{"2018-05-04", "2015-08-14"}},
	{"Africa/Casablanca", []string{"2023-03-19", "2023-04-23"}},
	{"America/Caracas", []string{"2007-12-09", "2016-05-01"}},
	{"Asia/Kathmandu", []string{"1986-01-01"}},
	{"Africa/Monrovia", []string{"1972-01-07"}},
	{"America/St_Johns", []string{"2007-03-11", "1988-04-03"}},
	{"Asia/Shanghai", []string{"2026-02-28"}},
	{"Antarctica/Casey", []string{"2009-10-18", "2020-10-04"}},
	{"Antarctica/Vostok", []string{"1994-11-01"}},
	{"UTC", []string{"2024-12-31"}},
}

// TestNextIsTheBruteForceMinimum compares whole days around each change, minute by minute.
func TestNextIsTheBruteForceMinimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	compared := 0
	for _, c := range changes {
		loc := mustZone(t, c.zone)
		for _, text := range c.days {
			day, err := time.ParseInLocation("2006-01-02", text, time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			for range 40 {
				expr, d := randomExpr(rng, false)
				compared += compareWindow(t, mustParse(t, expr, d), naive{consult(expr, d), loc, stepFor(loc, day)}, expr, day)
			}
		}
	}
	if compared < 10_000 {
		t.Errorf("only %d firings compared", compared)
	}
}

// stepFor is a minute, or half of one where an offset has seconds (Monrovia, 44:30).
func stepFor(loc *time.Location, day time.Time) int64 {
	if _, offset := day.AddDate(0, 0, -1).In(loc).Zone(); offset%60 != 0 {
		return 30
	}
	return 60
}

// compareWindow walks Next over three days and expects exactly the naive firings.
func compareWindow(t *testing.T, s *Schedule, n naive, expr string, day time.Time) int {
	t.Helper()
	from, until := day.Unix()-30*60*60, day.Unix()+42*60*60
	at, count := from, 0
	for {
		want, ok := n.next(at, until)
		got, fires := s.Next(time.Unix(at, 0), n.loc)
		if !ok {
			if fires && got.Unix() <= until {
				t.Errorf("%q %s from %s: got %s, want none by %s", expr, n.loc, time.Unix(at, 0).In(n.loc), got, time.Unix(until, 0).In(n.loc))
			}
			return count
		}
		if !fires || got.Unix() != want {
			t.Errorf("%q %s from %s: got %s %v, want %s", expr, n.loc, time.Unix(at, 0).In(n.loc), got, fires, time.Unix(want, 0).In(n.loc))
			return count
		}
		at = want
		count++
	}
}

// TestSecondsAreTheBruteForceMinimum is the same to the second, in a shorter window.
func TestSecondsAreTheBruteForceMinimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	loc := mustZone(t, "Europe/Berlin")
	for _, change := range []string{"2024-03-31T01:00:00Z", "2024-10-27T01:00:00Z"} {
		at, _ := time.Parse(time.RFC3339, change)
		for range 60 {
			expr, d := randomExpr(rng, true)
			s, n := mustParse(t, expr, d), naive{consult(expr, d), loc, 1}
			from := at.Unix() - 3000 - rng.Int64N(3000)
			want, ok := n.next(from, from+9000)
			got, fires := s.Next(time.Unix(from, 0), loc)
			if ok && (!fires || got.Unix() != want) || !ok && fires && got.Unix() <= from+9000 {
				t.Errorf("%q from %s: got %s, want %s %v", expr, time.Unix(from, 0).In(loc), got, time.Unix(want, 0).In(loc), ok)
			}
		}
	}
}

// TestNextProperties: later than from, the same from anywhere before it, the same
// whatever offset the instant is written in.
func TestNextProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 4000 {
		expr, d := randomExpr(rng, rng.IntN(2) == 0)
		s := mustParse(t, expr, d)
		zone, day := randomDay(rng)
		loc := mustZone(t, zone)
		from := day.Add(time.Duration(rng.Int64N(int64(72 * time.Hour)))).Add(-24 * time.Hour)
		next, ok := s.Next(from, loc)
		if !ok {
			t.Fatalf("%q never fires", expr)
		}
		if !next.After(from) || next.Nanosecond() != 0 {
			t.Fatalf("%q %s: %s is not a second later than %s", expr, zone, next, from)
		}
		between := from.Add(time.Duration(rng.Int64N(int64(next.Sub(from)))))
		if again, _ := s.Next(between, loc); !again.Equal(next) {
			t.Fatalf("%q %s: from %s %s, from %s %s", expr, zone, from.In(loc), next, between.In(loc), again)
		}
		elsewhere := from.In(time.FixedZone("", rng.IntN(28*60*60)-14*60*60))
		if again, _ := s.Next(elsewhere, loc); !again.Equal(next) {
			t.Fatalf("%q %s: from %s %s, written as %s %s", expr, zone, from, next, elsewhere, again)
		}
	}
}

func randomDay(rng *rand.Rand) (string, time.Time) {
	c := changes[rng.IntN(len(changes))]
	day, _ := time.Parse("2006-01-02", c.days[rng.IntN(len(c.days))])
	return c.zone, day
}

// randomExpr makes expressions that fire often enough to meet a change.
func randomExpr(rng *rand.Rand, seconds bool) (string, Dialect) {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	minute := pick("*", "*/15", "0", "30", "0,45", "7-50/13", "10/20", strconv.Itoa(rng.IntN(60)))
	hour := pick("*", "*/2", "0", "1-3", "0,2,23", "22-23", "0-23", strconv.Itoa(rng.IntN(24)))
	second := pick("0", "0,59", "*/7", "30")
	if rng.IntN(3) > 0 {
		if seconds {
			return fmt.Sprintf("%s %s %s * * %s", second, minute, hour, pick("*", "0-6", "*/2")), Seconds
		}
		day := pick("*", "*/2", "1-31", "8-14", "10,30")
		return fmt.Sprintf("%s %s %s %s %s", minute, hour, day, pick("*", "*/3", "1-12"), pick("*", "0,7", "5-7", "mon-fri")), Unix
	}
	if !seconds {
		second = "0"
	}
	days := pick("? * *", "? * SUN", "? * 1#2", "? * SUNL", "? * FRI-MON", "L * ?", "LW * ?", "L-1,15W,30W * ?", "25-10 * ?", "* * ?")
	if strings.HasSuffix(days, "?") && rng.IntN(4) == 0 {
		days += " 1970/2"
	}
	return fmt.Sprintf("%s %s %s %s", second, minute, hour, days), Quartz
}

// TestOffsetsStayNear pins what the search relies on, in every zone of the archive:
// periods follow each other without a hole, and no change is larger than near.
func TestOffsetsStayNear(t *testing.T) {
	names, err := zone.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		loc := mustZone(t, name)
		at := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		end := time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		for p := periodAt(at, loc); p.end < end; {
			next := periodAt(p.end, loc)
			if next.start > p.end || next.end <= p.end {
				t.Fatalf("%s: the period after %d is %+v", name, p.end, next)
			}
			if d := next.offset - p.offset; d > near || d < -near {
				t.Fatalf("%s: the offset moves by %d s", name, d)
			}
			p = next
		}
	}
}

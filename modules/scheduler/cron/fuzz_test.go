package cron

import (
	"errors"
	"testing"
	"time"
)

// Whatever the text, it is read or refused in place, and neither panics nor hangs. (G-A13)
func FuzzParse(f *testing.F) {
	for _, c := range readCorpus(f) {
		f.Add(c.Expr, string(c.dialect()))
	}
	f.Fuzz(func(t *testing.T, expr, dialect string) {
		s, err := Parse(expr, Dialect(dialect))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || s != nil || e.Pos < 0 || e.Pos > len(expr) || e.Msg == "" || len(e.Error()) > 1000 {
				t.Fatalf("%q: %v %+v", expr, s, e)
			}
			return
		}
		if s.Dialect() == Auto {
			t.Fatalf("%q has no dialect", expr)
		}
		again, err := Parse(expr, s.Dialect())
		if err != nil || *again != *s {
			t.Fatalf("%q is not the same when its dialect %q is stated: %v", expr, s.Dialect(), err)
		}
		checkNext(t, expr, s, time.Date(2026, 3, 29, 0, 59, 59, 5, time.UTC), mustZone(t, "Europe/Berlin"))
	})
}

func FuzzNext(f *testing.F) {
	for i, c := range readCorpus(f) {
		if c.Valid == nil {
			f.Add(c.Expr, c.From.Unix(), int64(i))
		}
	}
	f.Fuzz(func(t *testing.T, expr string, from, pick int64) {
		s, err := Parse(expr, Auto)
		if err != nil {
			return
		}
		checkNext(t, expr, s, time.Unix(from, pick), mustZone(t, changes[uint64(pick)%uint64(len(changes))].zone))
	})
}

// checkNext: strictly later, in time, the same from halfway, on a second that fits by the
// oracle, and with nothing that fits before it.
func checkNext(t *testing.T, expr string, s *Schedule, from time.Time, loc *time.Location) {
	t.Helper()
	start := time.Now()
	next, ok := s.Next(from, loc)
	if took := time.Since(start); took > 500*time.Millisecond { // 50 ms is meant; fuzzing shares the machine
		t.Fatalf("%q from %s took %s", expr, from, took)
	}
	if _, every := s.Every(); every {
		return
	}
	n := naive{consult(expr, s.Dialect()), loc, 1}
	if !ok {
		nothingBetween(t, expr, n, from.Unix(), min(max(from.Unix(), firstInstant)+perDay, lastInstant))
		return
	}
	if !next.After(from) {
		t.Fatalf("%q: %s is not after %s", expr, next, from)
	}
	if gap := next.Unix() - from.Unix(); gap > 1 {
		half := time.Unix(from.Unix()+gap/2, 0)
		if again, _ := s.Next(half, loc); !again.Equal(next) {
			t.Fatalf("%q: from %s %s, from %s %s", expr, from, next, half, again)
		}
	}
	if sec := next.Unix(); sec > firstInstant+86400 && !n.fires(sec) {
		t.Fatalf("%q: nothing fires at %s", expr, next)
	}
	nothingBetween(t, expr, n, from.Unix(), next.Unix())
}

// nothingBetween looks at 300 seconds between two instants, both excluded: those after
// the first, those before the second, and minutes and hours in between.
func nothingBetween(t *testing.T, expr string, n naive, from, to int64) {
	t.Helper()
	from = max(from, firstInstant+perDay)
	for i := int64(1); i <= 100; i++ {
		for _, sec := range []int64{from + i, to - i, from - from%60 + (to-from)/100*i/60*60} {
			if sec > from && sec < to && n.fires(sec) {
				t.Fatalf("%q %s: %s fires and was passed over from %s", expr, n.loc, time.Unix(sec, 0).In(n.loc), time.Unix(from, 0).In(n.loc))
			}
		}
	}
}

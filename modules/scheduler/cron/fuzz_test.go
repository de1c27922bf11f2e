package cron

import (
	"errors"
	"testing"
	"time"
)

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
		checkNext(t, s, time.Date(2026, 3, 29, 0, 59, 59, 5, time.UTC), mustZone(t, "Europe/Berlin"))
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
		checkNext(t, s, time.Unix(from, pick), mustZone(t, changes[uint64(pick)%uint64(len(changes))].zone))
	})
}

// checkNext: strictly later, in time, the same from halfway, and on a fitting second.
func checkNext(t *testing.T, s *Schedule, from time.Time, loc *time.Location) {
	t.Helper()
	start := time.Now()
	next, ok := s.Next(from, loc)
	if took := time.Since(start); took > 500*time.Millisecond { // 50 ms is meant; fuzzing shares the machine
		t.Fatalf("%+v from %s took %s", s, from, took)
	}
	if _, every := s.Every(); !ok || every {
		return
	}
	if !next.After(from) {
		t.Fatalf("%+v: %s is not after %s", s, next, from)
	}
	if gap := next.Unix() - from.Unix(); gap > 1 && gap > 0 {
		half := time.Unix(from.Unix()+gap/2, 0)
		if again, _ := s.Next(half, loc); !again.Equal(next) {
			t.Fatalf("%+v: from %s %s, from %s %s", s, from, next, half, again)
		}
	}
	n := naive{s, loc, 1}
	if sec := next.Unix(); sec > firstInstant+86400 && !n.fires(sec) {
		t.Fatalf("%+v: nothing fires at %s", s, next)
	}
}

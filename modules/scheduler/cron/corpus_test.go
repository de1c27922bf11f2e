package cron

import (
	"github.com/axsched/ax/modules/kit/zone"

	"bufio"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"
)

// corpusCase is a case that at least two independent implementations agree on.
type corpusCase struct {
	ID, Dialect, Expr, TZ string
	From                  time.Time
	Next                  []time.Time
	Valid                 *bool
}

func readCorpus(t testing.TB) []corpusCase {
	t.Helper()
	f, err := os.Open("testdata/cron.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []corpusCase
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c corpusCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("line %d: %v", len(cases)+1, err)
		}
		cases = append(cases, c)
	}
	if len(cases) != 932 {
		t.Fatalf("the corpus has %d cases, want 932", len(cases))
	}
	return cases
}

func (c corpusCase) dialect() Dialect {
	if c.Dialect == "descriptor" {
		return Auto
	}
	return Dialect(c.Dialect)
}

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := zone.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func mustParse(t testing.TB, expr string, d Dialect) *Schedule {
	t.Helper()
	s, err := Parse(expr, d)
	if err != nil {
		t.Fatalf("Parse(%q, %q): %v", expr, d, err)
	}
	return s
}

func TestCorpus(t *testing.T) {
	for _, c := range readCorpus(t) {
		t.Run(c.ID, func(t *testing.T) {
			s, err := Parse(c.Expr, c.dialect())
			if c.Valid != nil && !*c.Valid {
				checkRefused(t, c.Expr, err)
				return
			}
			if err != nil {
				t.Fatalf("%q refused: %v", c.Expr, err)
			}
			checkFirings(t, c, s)
		})
	}
}

// TestCorpusGuess: where the dialect is not stated, the fields show it.
func TestCorpusGuess(t *testing.T) {
	guessed := 0
	for _, c := range readCorpus(t) {
		if c.Valid != nil || c.Dialect == "descriptor" {
			continue
		}
		s, err := Parse(c.Expr, Auto)
		if err != nil {
			t.Errorf("%s: %q refused: %v", c.ID, c.Expr, err)
			continue
		}
		if got := s.Dialect(); got != c.dialect() {
			t.Errorf("%s: %q read as %s, want %s", c.ID, c.Expr, got, c.Dialect)
		}
		guessed++
	}
	if guessed < 700 {
		t.Errorf("only %d cases were tried", guessed)
	}
}

func checkRefused(t *testing.T, expr string, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%.60q: got %v, want an *Error", expr, err)
	}
	if e.Msg == "" || e.Pos < 0 || e.Pos > len(expr) || len(e.Error()) > 400 {
		t.Errorf("%.60q: bad error %+v", expr, e)
	}
}

func checkFirings(t *testing.T, c corpusCase, s *Schedule) {
	t.Helper()
	loc, from := mustZone(t, c.TZ), c.From
	for i, want := range c.Next {
		got, ok := s.Next(from, loc)
		if !ok || !got.Equal(want) {
			t.Fatalf("%q in %s, firing %d after %s:\n got %s %v\nwant %s", c.Expr, c.TZ, i+1, from.In(loc), got, ok, want.In(loc))
		}
		from = got
	}
	if len(c.Next) == 0 {
		if got, ok := s.Next(from, loc); ok {
			t.Fatalf("%q in %s fires at %s, want never", c.Expr, c.TZ, got)
		}
	}
}

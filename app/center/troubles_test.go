package center

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// From what the looks of a process find comes what is told: from when to when, one for what comes again within a while, and
// nothing of what was over at once.
func TestWhatAProcessSawOfADatabaseInTrouble(t *testing.T) {
	const away, refuses, locked = domain.IncidentDatabaseAway, domain.IncidentDatabaseRefuses, domain.IncidentDatabaseLocked
	wait := errors.New("database is locked (5) (SQLITE_BUSY)")
	readOnly := errors.New("attempt to write a readonly database (8)")
	type second struct {
		lease domain.IncidentKind // what the lease is in
		heard error               // of a statement
		still bool                // the process stands still, and looks at nothing
		idle  bool                // a life begins, and nothing is known
	}
	span := func(n int, s second) (out []second) {
		for range n {
			out = append(out, s)
		}
		return out
	}
	cat := func(parts ...[]second) (out []second) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return append(out, span(8, second{})...)
	}
	for name, c := range map[string]struct {
		seconds []second
		want    string
	}{
		"nothing":                 {cat(), ""},
		"away":                    {cat(span(3, second{}), span(10, second{lease: away})), "database_away 2-13 ×1"},
		"a connection broke":      {cat(span(3, second{}), span(1, second{lease: away})), ""},
		"comes and goes":          {cat(span(3, second{}), span(2, second{lease: away}), span(2, second{}), span(2, second{lease: away}), span(2, second{}), span(2, second{lease: away})), "database_away 2-13 ×3"},
		"a life begins":           {cat(span(3, second{}), span(4, second{lease: away}), span(12, second{idle: true}), span(2, second{lease: away})), "database_away 2-21 ×1"},
		"twice":                   {cat(span(3, second{}), span(4, second{lease: away}), span(8, second{}), span(4, second{lease: away})), "database_away 2-7 ×1; database_away 14-19 ×1"},
		"one cause after another": {cat(span(3, second{}), span(6, second{lease: away}), span(2, second{lease: refuses})), "database_away 2-9 ×1; database_refuses 8-11 ×1"},
		"a refused write":         {cat(span(3, second{}), span(1, second{heard: readOnly})), "database_refuses 3-3 ×1"},
		"a lock":                  {cat(span(3, second{}), span(10, second{heard: wait})), "database_locked 0-12 ×10"},
		"one short wait":          {cat(span(3, second{}), span(1, second{heard: wait})), ""},
		"a lease that waits":      {cat(span(3, second{}), span(9, second{lease: locked})), "database_locked 2-12 ×1"},
		// Who stood still himself cannot know that nobody answered meanwhile.
		"stood still":       {cat(span(3, second{}), span(60, second{still: true}), span(1, second{lease: away})), ""},
		"from the start on": {cat(span(10, second{lease: away})), "database_away 0-10 ×1"},
	} {
		var s troubles
		began := time.Now()
		at := func(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }
		renewed := at(0)
		for n, sec := range c.seconds {
			if sec.heard != nil {
				s.heard(sec.heard, at(n))
			}
			if sec.still {
				continue
			}
			if sec.idle {
				s.idle(at(n))
				continue
			}
			if sec.lease == "" {
				renewed = at(n)
			}
			s.look(sec.lease, renewed, "it said this", at(n))
		}
		var got []string
		for _, o := range s.Past() {
			if o.Said == "" {
				t.Errorf("%s: nothing is said", name)
			}
			got = append(got, fmt.Sprintf("%s %d-%d ×%d", o.Kind, int(o.Since.Sub(began).Seconds()), int(o.Until.Sub(began).Seconds()), o.Times))
			s.Told(o)
		}
		if text := strings.Join(got, "; "); text != c.want || len(s.Past()) != 0 {
			t.Errorf("%s: %q, want %q; %d are not told", name, text, c.want, len(s.Past()))
		}
	}
}

// A fault is called what it is: a lease that was lost is none of the database's.
func TestWhichTroubleAFaultIsOf(t *testing.T) {
	s := &site{}
	for want, errs := range map[domain.IncidentKind][]error{
		"":                             {nil, errors.New("Error 1146: no such table"), domain.Fail(domain.Unavailable, "all node numbers are held")},
		domain.IncidentDatabaseRefuses: {dbx.Translate(errors.New("database or disk is full (13)"))},
		domain.IncidentDatabaseLocked:  {dbx.Translate(errors.New("database is locked (5) (SQLITE_BUSY)"))},
		domain.IncidentDatabaseAway:    {dbx.Translate(fmt.Errorf("renewing: %w", context.DeadlineExceeded)), dbx.Translate(fmt.Errorf("renewing: %w", io.EOF))},
	} {
		for _, err := range errs {
			if got := s.kindOf(t.Context(), err, nil); got != want {
				t.Errorf("%v is %q, want %q", err, got, want)
			}
		}
	}
	s.troubles.heard(errors.New("database is locked (5) (SQLITE_BUSY)"), time.Now())
	if got := s.kindOf(t.Context(), context.DeadlineExceeded, nil); got != domain.IncidentDatabaseLocked {
		t.Errorf("it answers to others, and not to the lease: %q", got)
	}
}

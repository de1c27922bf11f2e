package instance

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

var outcomes = []domain.Outcome{domain.OutcomeSuccess, domain.OutcomeError, domain.OutcomeTimeout, domain.OutcomeKilled, domain.OutcomeWorkerLost, domain.OutcomeRefused}

var attemptStates = []domain.AttemptState{domain.AttemptSent, domain.AttemptGranted, domain.AttemptEnded, domain.AttemptWithdrawn, domain.AttemptLost}

// TestReportsOverStates walks every state of instance and attempt with every
// outcome: what is decided must be a move of the table, and only what may count
// counts.
func TestReportsOverStates(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	policies := map[string]domain.JobSpec{
		"retry":    {Retry: domain.Retry{Times: 1, BackoffSec: []int{30}}, OnWorkerLost: domain.LossRetry},
		"no retry": {OnWorkerLost: domain.LossRetry},
		"hold":     {OnWorkerLost: domain.LossHold},
	}
	n := 0
	for name, spec := range policies {
		for _, status := range everyStatus() {
			for _, state := range attemptStates {
				for _, inForce := range []bool{true, false} {
					for _, outcome := range outcomes {
						in := domain.Instance{Status: status, RunID: 1, AttemptID: 5}
						a := domain.Attempt{ID: 5, RunID: 1, State: state}
						if !inForce {
							a.ID = 4
						}
						s := decideReport(in, a, nil, spec, Outcome{Outcome: outcome}, now)
						n++
						checkStep(t, name, in, a, outcome, s)
					}
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("walked over %d cases only", n)
	}
}

func everyStatus() []domain.Status {
	out := []domain.Status{{State: domain.Success}}
	for _, s := range domain.States {
		for _, l := range domain.Labels[s] {
			out = append(out, domain.Status{State: s, Label: l})
		}
	}
	return out
}

func checkStep(t *testing.T, policy string, in domain.Instance, a domain.Attempt, outcome domain.Outcome, s step) {
	t.Helper()
	fail := func(text string) {
		t.Helper()
		t.Errorf("%s, instance %s, attempt %s (in force: %t), %s: %s: %+v", policy, in.Status, a.State, in.AttemptID == a.ID, outcome, text, s)
	}
	if (s.Move == "") != (s.Late != "") {
		fail("a report either moves or is late")
	}
	if s.Move == "" {
		return
	}
	switch {
	case in.State.Terminal():
		fail("what has ended was moved")
	case a.State == domain.AttemptEnded:
		fail("a second outcome counted")
	case a.State == domain.AttemptSent || a.State == domain.AttemptWithdrawn:
		fail("an attempt that was never granted counted")
	case outcome != domain.OutcomeSuccess && !orphaned(in, a) && (in.AttemptID != a.ID || a.State != domain.AttemptGranted):
		fail("a superseded attempt's failure counted")
	case orphaned(in, a) && (outcome == domain.OutcomeWorkerLost || s.To.State == domain.Retrying):
		fail("an orphan was moved by what is not known, or retried by itself")
	case outcome == domain.OutcomeSuccess && s.To.State != domain.Success:
		fail("a true success was not one")
	case in.Label == domain.Stopping && outcome != domain.OutcomeSuccess && s.To != killed:
		fail("a kill did not end as killed")
	case (outcome == domain.OutcomeRefused || outcome == domain.OutcomeWorkerLost) && s.Spent:
		fail("a retry was spent")
	case s.To.State == domain.Retrying && policy != "retry":
		fail("a retry that the job does not have")
	}
	// The labels in which an attempt in force can be granted, or an orphan's, lead on by the table.
	granted := []domain.Label{domain.Dispatched, domain.Executing, domain.Stopping}
	if in.AttemptID == a.ID && a.State == domain.AttemptGranted && slices.Contains(granted, in.Label) || orphaned(in, a) {
		if err := domain.CheckMove(s.Move, in.Status, s.To); err != nil {
			fail(err.Error())
		}
	}
}

func TestLateSuccessRule(t *testing.T) {
	in := domain.Instance{Status: running(domain.Dispatched), RunID: 1, AttemptID: 6}
	lost := domain.Attempt{ID: 5, RunID: 1, State: domain.AttemptLost}
	for state, counts := range map[domain.AttemptState]bool{domain.AttemptSent: true, domain.AttemptWithdrawn: true,
		domain.AttemptGranted: false, domain.AttemptEnded: false, domain.AttemptLost: false} {
		current := &domain.Attempt{ID: 6, RunID: 1, State: state}
		s := decideReport(in, lost, current, domain.JobSpec{}, Outcome{Outcome: domain.OutcomeSuccess}, time.Now())
		if (s.Move == domain.MoveSucceed) != counts {
			t.Errorf("the later attempt is %s: decided %+v, should count: %t", state, s, counts)
		}
	}
	lost.RunID = 0
	if s := decideReport(in, lost, nil, domain.JobSpec{}, Outcome{Outcome: domain.OutcomeSuccess}, time.Now()); s.Late == "" {
		t.Errorf("a success of a replaced run counted: %+v", s)
	}
}

func TestCutMessage(t *testing.T) {
	long := strings.Repeat("日终对账🚀", 1<<16)
	for name, text := range map[string]string{"short": "fine", "long": long, "nul": "a\x00b", "no utf-8": "a\xffb\xc3", "long nul": strings.Repeat("\x00", 1<<20),
		"emoji at the cut": strings.Repeat("x", protocol.MaxMessage-1) + "🚀🚀"} {
		got := CutMessage(text)
		if len(got) > protocol.MaxMessage || !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Errorf("%s: %d bytes, valid %t", name, len(got), utf8.ValidString(got))
		}
	}
	if got := CutMessage("fine"); got != "fine" {
		t.Errorf("a short message became %q", got)
	}
	if got := CutMessage(long); !strings.HasPrefix(got, "日终对账🚀日终") || !strings.Contains(got, "bytes in all") {
		t.Errorf("a long message became %.40q…%q", got, got[len(got)-40:])
	}
	if got := CutMessage("a\x00b"); got != `a\0b` {
		t.Errorf("NUL became %q", got)
	}
}

func TestNumbering(t *testing.T) {
	g := numbering{{Place: 4, Lines: 100}, {Place: 8, Lines: 1}, {Place: 9, Lines: 10}}
	last := int64(0)
	for place := int64(1); place <= 20; place++ {
		no := g.no(place)
		if no <= last {
			t.Fatalf("place %d has number %d after %d", place, no, last)
		}
		for between := last + 1; between < no; between++ {
			if got := g.place(between); got != place-1 {
				t.Fatalf("number %d, which was not kept, is at place %d, want %d", between, got, place-1)
			}
		}
		if got := g.place(no); got != place {
			t.Fatalf("number %d is at place %d, want %d", no, got, place)
		}
		last = no
	}
	if g.no(5) != 104 || g.place(0) != 0 || g.place(-1) != 0 {
		t.Errorf("after 3 lines and 100 that were not kept comes %d", g.no(5))
	}
}

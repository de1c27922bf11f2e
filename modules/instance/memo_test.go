package instance

import (
	"testing"

	"github.com/axsched/ax/modules/domain"
)

func flightOf(attempt domain.ID, ver int64) flight {
	return flight{in: &domain.Instance{ID: attempt + 100, Ver: ver, AttemptID: attempt, Status: running(domain.Dispatched)},
		a: &domain.Attempt{ID: attempt, State: domain.AttemptSent}}
}

func TestAMemoIsTheLastUsersAlone(t *testing.T) {
	var m Memo
	ids := []domain.ID{1}
	first, known := m.take(ids)
	if len(known) != 0 {
		t.Fatalf("an empty memo knew %v", known)
	}
	second, _ := m.take(ids)
	m.put(second, []flight{flightOf(1, 2)})
	m.put(first, []flight{flightOf(1, 1)}) // committed before, told after
	m.release(first, ids)
	third, known := m.take(ids)
	if known[1].in.Ver != 2 {
		t.Fatalf("known %+v, want what the last user put", known)
	}
	if _, known := m.take(ids); len(known) != 0 {
		t.Error("rows that somebody works with were handed out")
	}
	m.put(third, []flight{flightOf(1, 3)})
	if _, known := m.take(ids); len(known) != 0 {
		t.Error("a put counted although somebody else had taken the attempt since")
	}
}

// A grant leaves the instance's ver alone: whoever took the memo before it must not rely on the memo after it.
func TestAMemoDoesNotCountWhenSomebodyWasThereSince(t *testing.T) {
	var m Memo
	ids := []domain.ID{1, 2}
	use, _ := m.take(ids)
	m.put(use, []flight{flightOf(1, 1), flightOf(2, 1)})
	use, known := m.take(ids)
	granting, none := m.take(ids[:1])
	if len(none) != 0 || len(known) != 2 {
		t.Fatalf("known %+v and %+v", known, none)
	}
	m.put(granting, []flight{flightOf(1, 1)})
	m.still(use, known)
	if _, ok := known[1]; ok || len(known) != 1 {
		t.Errorf("still known: %+v, want the second alone", known)
	}
	m.forget()
	if m.still(use, known); len(known) != 0 {
		t.Errorf("known after a new term began: %+v", known)
	}
}

func TestAMemoKeepsNothingThatFailed(t *testing.T) {
	var m Memo
	ids := []domain.ID{1, 2}
	use, _ := m.take(ids)
	m.put(use, []flight{flightOf(1, 1)})
	m.release(use, ids)
	if len(m.of) != 1 {
		t.Errorf("%d entries, want the one that was put", len(m.of))
	}
	use, _ = m.take(ids)
	m.release(use, ids) // rolled back
	if len(m.of) != 0 {
		t.Errorf("%d entries left by a transaction that failed", len(m.of))
	}
	use, _ = m.take(ids)
	m.forget()
	m.put(use, []flight{flightOf(1, 1)})
	if _, known := m.take(ids); len(known) != 0 {
		t.Error("what was forgotten came back")
	}
}

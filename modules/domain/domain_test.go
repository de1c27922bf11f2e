package domain

import (
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTraceIDCarriesItsRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := ID(rapid.Int64Min(1).Draw(t, "id"))
		trace := NewTraceID(id)
		got, ok := RunOfTrace(trace)
		if !ok || got != id || len(trace) != 36 {
			t.Fatalf("run %d became %s, which carries %d (%v)", id, trace, got, ok)
		}
	})
	for _, foreign := range []string{"", "x", "a1b2c3d4-e5f6-7890-abcd-ef1234567890", NewTraceID(1)[1:]} {
		if id, ok := RunOfTrace(foreign); ok {
			t.Errorf("%q is taken for a trace id of run %d", foreign, id)
		}
	}
}

func TestIDsNeverGoBackNorTwice(t *testing.T) {
	clock := time.UnixMilli(idEpoch + 1_000_000)
	var mu sync.Mutex
	calls := 0
	ids, err := NewIDs(7, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls == 5000 {
			clock = clock.Add(-time.Hour)
		}
		return clock
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []ID
	for range 20000 {
		all = append(all, ids.Next())
	}
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Fatal("ids went back or came twice")
	}
	if _, err := NewIDs(MaxNode+1, time.Now); err == nil {
		t.Fatal("node number over the limit was taken")
	}
}

func TestMovesTableIsSound(t *testing.T) {
	seen := map[MoveName]bool{}
	for _, m := range Moves {
		if seen[m.Name] {
			t.Errorf("move %s stands twice", m.Name)
		}
		seen[m.Name] = true
		for _, s := range append(slices.Clone(m.From), m.To...) {
			if !s.Valid() {
				t.Errorf("move %s names %s, which is no status", m.Name, s)
			}
		}
		for _, from := range m.From {
			if from.State.Terminal() && m.Name != MoveRerun && m.Name != MoveRestore {
				t.Errorf("move %s leaves the terminal %s", m.Name, from)
			}
		}
	}
}

// Every status can be reached from a birth, and every one that is not terminal
// has a way to a terminal one.
func TestEveryStatusIsReachedAndLeft(t *testing.T) {
	reached := map[Status]bool{}
	next := slices.Clone(Births)
	for len(next) > 0 {
		s := next[0]
		next = next[1:]
		if reached[s] {
			continue
		}
		reached[s] = true
		for _, m := range Moves {
			if slices.Contains(m.From, s) {
				next = append(next, m.To...)
			}
		}
	}
	built := map[Label]bool{WaitingApproval: false}
	for state, labels := range Labels {
		for _, l := range labels {
			s := Status{state, l}
			if _, later := built[l]; later {
				continue
			}
			if !reached[s] {
				t.Errorf("%s is never reached", s)
			}
			leaves := slices.ContainsFunc(Moves, func(m Move) bool { return slices.Contains(m.From, s) })
			if !leaves {
				t.Errorf("%s has no way out", s)
			}
		}
	}
}

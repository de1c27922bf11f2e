// Package docs holds what people read about AX; its tests keep the pages that are printed from code true to it.
package docs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
)

// writeVar makes the test write the page instead of comparing it.
const writeVar = "AX_TEST_WRITE_DOCS"

func TestStatesPageIsFresh(t *testing.T) {
	const page = "states.md"
	want := statesPage()
	if os.Getenv(writeVar) != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/%s is not what the table of moves says: run %s=1 go test ./docs, look at the difference and commit it", page, writeVar)
	}
}

// statesPage prints the states, labels and moves from the code that owns them.
func statesPage() string {
	var b strings.Builder
	b.WriteString(`# States, labels and moves

Printed from modules/domain by ` + "`" + writeVar + "=1 go test ./docs`" + `; do not edit.

An instance has one of five states, with a label beside all but success. It changes only by a move of the table
below: the row must still stand as it was read, or the move is refused.

## States

| state | label | counted with | stays until a rerun |
|---|---|---|---|
`)
	for _, s := range domain.States {
		labels := domain.Labels[s]
		if len(labels) == 0 {
			labels = []domain.Label{""}
		}
		for _, l := range labels {
			status := domain.Status{State: s, Label: l}
			stays := "no"
			if s.Terminal() {
				stays = "yes"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s, orDash(string(l)), orDash(status.Phase()), stays)
		}
	}
	b.WriteString(`
## Moves

An ordinary move leaves its moment in a column of the instance or the attempt; each of the others also writes a row of
history in the same transaction.

| move | from | to | ordinary | happens when |
|---|---|---|---|---|
`)
	for _, m := range domain.Moves {
		ordinary := "no"
		if m.Ordinary {
			ordinary = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", m.Name, statuses(m.From), statuses(m.To), ordinary, m.Means)
	}
	return b.String()
}

func statuses(all []domain.Status) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = s.String()
	}
	return strings.Join(words, ", ")
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// A page can only be true if every move is between statuses that exist and every status can be reached and, unless it
// is an end, left.
func TestMovesAreBetweenStatusesThatExist(t *testing.T) {
	entered, left := map[domain.Status]bool{}, map[domain.Status]bool{}
	for _, m := range domain.Moves {
		for _, s := range m.From {
			left[s] = true
		}
		for _, s := range m.To {
			entered[s] = true
		}
		for _, s := range append(append([]domain.Status{}, m.From...), m.To...) {
			if !s.Valid() {
				t.Errorf("move %s: %s is no status", m.Name, s)
			}
		}
	}
	for s := range left {
		if s.State == domain.Running && !entered[s] && s.Label != domain.WaitingDeps && s.Label != domain.WaitingApproval {
			t.Errorf("%s is left by a move and entered by none", s)
		}
	}
	for s := range entered {
		if !s.State.Terminal() && !left[s] {
			t.Errorf("an instance that is %s is there for ever", s)
		}
	}
}

package incident

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/kit/i18n"
)

// saw is what a process saw of the database; the answer to its first forget commits is lost.
type saw struct {
	all    []Trouble
	forget int
}

// Past is what is not told yet.
func (s *saw) Past() []Trouble { return slices.Clone(s.all) }

// Told drops one.
func (s *saw) Told(t Trouble) {
	if s.forget > 0 {
		s.forget--
		return
	}
	s.all = slices.DeleteFunc(s.all, func(o Trouble) bool { return o == t })
}

// past are the incidents that are over, with what is said of each.
func (w *world) past() []domain.Incident {
	w.t.Helper()
	all, err := w.store.List(w.t.Context(), store.Filter{Seen: domain.ProjectSet{All: true}, Closed: true, Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// A database that was away is told once it is back: one incident for all who saw it, with its beginning and its end, and one
// notice of each, however often a process tells it.
func TestADatabaseThatWasAwayIsToldAfterwards(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.begin(deaf{})
		mono := time.Now()
		ago := func(d time.Duration) time.Time { return mono.Add(-d) }
		first := &saw{all: []Trouble{{Kind: domain.IncidentDatabaseAway, Since: ago(60 * time.Second), Until: ago(15 * time.Second), Times: 1, Said: "connection refused"}}, forget: 1}
		second := &saw{all: []Trouble{
			{Kind: domain.IncidentDatabaseAway, Since: ago(61 * time.Second), Until: ago(14 * time.Second), Times: 3, Said: "bad connection"},
			{Kind: domain.IncidentDatabaseRefuses, Since: ago(13 * time.Second), Until: ago(8 * time.Second), Times: 1, Said: "read-only (error 1290)"},
		}}
		long := &saw{all: []Trouble{{Kind: domain.IncidentDatabaseAway, Since: ago(600 * time.Second), Until: ago(500 * time.Second), Times: 1, Said: "no answer in time"}}}
		looks := []*Lookout{{Store: w.store, Triggers: w, Process: "center h pid 1", Database: first}, {Store: w.store, Triggers: w, Process: "web h pid 2", Database: second},
			{Store: w.store, Triggers: w, Process: "center h pid 3", Database: long}}
		for range 3 {
			for _, l := range looks {
				if err := l.Look(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			w.round()
		}
		w.want("database_refuses the database×1→answers; database_away the database×3→answers; database_away the database×1→answers")
		all := w.past()
		away := all[1]
		if from, to := now().Sub(away.OpenedAt), now().Sub(away.ResolvedAt); from < 61*time.Second || from > 90*time.Second || to < 14*time.Second || to > 40*time.Second || away.ResolvedAt.Sub(away.OpenedAt).Round(time.Second) != 47*time.Second {
			t.Errorf("it was from %s to %s ago", from, to)
		}
		for lang, want := range map[string]string{
			i18n.English: "did not answer from " + stamp(away.OpenedAt) + " to " + stamp(away.ResolvedAt) + ": connection refused. That is what center h pid 1, web h pid 2 saw.",
			i18n.Chinese: "从 " + stamp(away.OpenedAt) + " 到 " + stamp(away.ResolvedAt) + " 没有应答：connection refused。观察到的进程：center h pid 1, web h pid 2。",
		} {
			if said := Said(i18n.With(t.Context(), lang), away); !strings.Contains(said, want) || strings.ContainsAny(said, "⟦⟧{}") {
				t.Errorf("%s: %q, want %q", lang, said, want)
			}
		}
		var told []string
		for _, b := range w.notices() {
			told = append(told, fmt.Sprintf("%s %v", b.Kind, b.Recovered))
			if !b.Recovered && !strings.Contains(b.Message, " from ") {
				t.Errorf("a notice does not say from when to when: %+v", b)
			}
		}
		slices.Sort(told)
		if want := []string{"database_away false", "database_away false", "database_away true", "database_away true", "database_refuses false", "database_refuses true"}; !slices.Equal(told, want) {
			t.Errorf("told was %v, want %v", told, want)
		}
	})
}

package center

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
)

// model is a graph of jobs, each with one instance by hand for the date, and what becomes of
// each by a plain reading: in order of the graph, so that no order of events comes into it.
type model struct {
	jobs []modelJob
}

type modelJob struct {
	deps    []modelDep
	policy  domain.FailurePolicy
	outcome domain.Outcome // if it runs
	made    int            // how many instances it has: 0, 1 or 2; the outcome of a second is a success
}

type modelDep struct {
	up             int
	require, check string
}

func drawModel(r *rand.Rand) model {
	var m model
	for i := range 3 + r.IntN(6) {
		j := modelJob{policy: pick(r, domain.FailureCancel, domain.FailureCancel, domain.FailureHold, domain.FailureRun),
			outcome: pick(r, domain.OutcomeSuccess, domain.OutcomeSuccess, domain.OutcomeError), made: pick(r, 1, 1, 1, 1, 2, 0)}
		for up := range i {
			if r.IntN(3) == 0 {
				j.deps = append(j.deps, modelDep{up, pick(r, domain.RequireAll, domain.RequireAll, domain.RequireAny, domain.RequireLatest),
					pick(r, domain.CheckSuccess, domain.CheckSuccess, domain.CheckDone, domain.CheckFailed)})
			}
		}
		m.jobs = append(m.jobs, j)
	}
	return m
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func name(i int) string { return fmt.Sprintf("j%d", i) }

func (m model) files() []string {
	var out []string
	for i, j := range m.jobs {
		text := noop(name(i), "on_upstream_failure: "+string(j.policy))
		if len(j.deps) > 0 {
			text += "  deps:\n"
		}
		for _, d := range j.deps {
			text += fmt.Sprintf("    - {name: %s, require: %s, check: %s}\n", name(d.up), d.require, d.check)
		}
		out = append(out, text)
	}
	return out
}

// ends are the statuses in which the instances of each job end, the first first.
func (m model) ends() [][]string {
	out := make([][]string, len(m.jobs))
	for i, j := range m.jobs {
		fate := "runs"
		waits := false
		for _, d := range j.deps {
			switch m.reads(out[d.up], d) {
			case "no":
				switch j.policy {
				case domain.FailureCancel:
					fate = "cancelled/upstream_failed"
				case domain.FailureHold:
					waits = true
				}
			case "wait":
				waits = true
			}
		}
		if fate == "runs" && waits {
			fate = "running/waiting_deps"
		}
		for n := range j.made {
			switch {
			case fate != "runs":
				out[i] = append(out[i], fate)
			case n == 0 && j.outcome == domain.OutcomeError:
				out[i] = append(out[i], "failed/error")
			default:
				out[i] = append(out[i], "success")
			}
		}
	}
	return out
}

func open(status string) bool { return strings.HasPrefix(status, "running") }

// reads is what a dependency makes of the ends of its upstream: yes, no or wait. All are made by
// hand and nothing is planned: a good one is enough, whatever is required, and none is once all have ended otherwise.
func (m model) reads(ends []string, d modelDep) string {
	good := func(s string) bool {
		return !open(s) && (d.check == domain.CheckDone || (s == "success") == (d.check == domain.CheckSuccess))
	}
	switch {
	case slices.ContainsFunc(ends, good):
		return "yes"
	case len(ends) == 0, slices.ContainsFunc(ends, open):
		return "wait"
	}
	return "no"
}

// Whatever the graph, the outcomes and the order in which things happen and are looked at, each
// instance ends as the plain reading says. AX_TEST_GRAPHS sets how many graphs are drawn.
func TestGraphsEndAsAPlainReadingSays(t *testing.T) {
	graphs := 25
	if n, err := strconv.Atoi(os.Getenv("AX_TEST_GRAPHS")); err == nil {
		graphs = n
	}
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		first, _ := month()
		for seed := range graphs {
			r := rand.New(rand.NewPCG(uint64(seed), 5))
			m := drawModel(r)
			b.put(m.files()...)
			date := first.AddDays(seed)
			made := make([][]domain.Instance, len(m.jobs))
			var births []int
			for i, j := range m.jobs {
				for range j.made {
					births = append(births, i)
				}
			}
			r.Shuffle(len(births), func(i, k int) { births[i], births[k] = births[k], births[i] })
			for _, i := range births {
				made[i] = append(made[i], b.on(name(i), date))
			}
			b.play(r, m, made)
			want := m.ends()
			for i := range m.jobs {
				for n, in := range made[i] {
					if got := b.get(in.ID).Status.String(); got != want[i][n] {
						t.Fatalf("seed %d: instance %d of %s is %s, want %s\n%s", seed, n, name(i), got, want[i][n], strings.Join(m.files(), ""))
					}
				}
			}
		}
	})
}

// play ends what can run, in any order, and looks now and then, until nothing moves.
func (b *bench) play(r *rand.Rand, m model, made [][]domain.Instance) {
	b.t.Helper()
	for {
		type turn struct{ job, n int }
		var ready []turn
		for i := range made {
			for n, in := range made[i] {
				if b.get(in.ID).Label == domain.Queued {
					ready = append(ready, turn{i, n})
				}
			}
		}
		if len(ready) == 0 {
			before := b.standing(made)
			b.sweep()
			if b.standing(made) == before {
				return
			}
			continue
		}
		one := pick(r, ready...)
		outcome := m.jobs[one.job].outcome
		if one.n > 0 {
			outcome = domain.OutcomeSuccess
		}
		b.end(made[one.job][one.n].ID, outcome)
		if r.IntN(2) == 0 {
			b.sweep()
		}
	}
}

func (b *bench) standing(made [][]domain.Instance) string {
	out := ""
	for i := range made {
		for _, in := range made[i] {
			now := b.get(in.ID)
			out += fmt.Sprint(now.Status, now.Ver, " ")
		}
	}
	return out
}

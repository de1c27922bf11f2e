package job

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

// mixed is a small set of jobs that wait for one another on all kinds of dates.
type mixed struct {
	deps map[string][]domain.Dep
}

func mixedRules() []domain.DepDates {
	return []domain.DepDates{"current", "current", "current", "current-1d", "current-1d", "current+1d", "current-2d", "current+2d", "current-1w", "current+1w", "prev_workday",
		"week(current)", "week(current-1w)", "week(current-1d)", "month(current)", "month(current-1m)", "current-1m", "current+1m", "current-1y"}
}

// shifts are those of which ways around add up to just 0 often.
func shifts() []domain.DepDates {
	return []domain.DepDates{"current", "current-1d", "current+1d", "current-2d", "current+2d", "prev_workday"}
}

func drawMixed(rt *rapid.T, rules []domain.DepDates) mixed {
	n := rapid.IntRange(1, 5).Draw(rt, "jobs")
	m := mixed{map[string][]domain.Dep{}}
	for i := range n {
		var deps []domain.Dep
		for range rapid.IntRange(0, 3).Draw(rt, "deps") {
			deps = append(deps, domain.Dep{Project: "default", Name: name(rapid.IntRange(0, n-1).Draw(rt, "on")), BizDate: rapid.SampledFrom(rules).Draw(rt, "dates")})
		}
		m.deps[name(i)] = deps
	}
	return m
}

func name(i int) string { return string(rune('a' + i)) }

func (m mixed) names() []string {
	var out []string
	for i := range len(m.deps) {
		out = append(out, name(i))
	}
	return out
}

func (m mixed) parsed(job string, deps []domain.Dep) Parsed {
	return Parsed{Spec: domain.JobSpec{Project: "default", Name: job, Deps: deps}}
}

// worst is the largest sum of days ahead over all ways around that pass no job twice, each taking the
// furthest of several dependencies on the same job; false: there is no way around.
func (m mixed) worst() (sum int, round bool) {
	var walk func(start, at string, days int, seen []string)
	walk = func(start, at string, days int, seen []string) {
		for _, d := range m.deps[at] {
			switch n := days + d.BizDate.Ahead(); {
			case d.Name == start:
				if !round || n > sum {
					sum, round = n, true
				}
			case d.Name > start && !slices.Contains(seen, d.Name): // each round is walked from its first name
				walk(start, d.Name, n, append(slices.Clone(seen), d.Name))
			}
		}
	}
	for _, j := range m.names() {
		walk(j, j, 0, nil)
	}
	return sum, round
}

// TestACycleOfMixedDates: whatever the dates, jobs are refused just where a way around exists that does not
// lead back in time (adr/0017), the path told is such a way, and what is taken can be met on each date.
func TestACycleOfMixedDates(t *testing.T) {
	for _, rules := range [][]domain.DepDates{mixedRules(), shifts(), shifts()} {
		rapid.Check(t, func(rt *rapid.T) { drawMixed(rt, rules).judge(rt) })
	}
}

func (m mixed) judge(rt *rapid.T) {
	var all []Parsed
	for _, j := range m.names() {
		all = append(all, m.parsed(j, m.deps[j]))
	}
	problems := CheckGraph(Graph{}, all)
	sum, round := m.worst()
	if refused := len(problems) > 0; refused != (round && sum >= 0) {
		rt.Fatalf("refused %t; there is a way around %t, of at most %d days ahead: %v", refused, round, sum, m.deps)
	}
	for _, p := range problems {
		m.isRound(rt, p)
	}
	if len(problems) == 0 {
		m.isMet(rt)
	}
	m.oneByOne(rt)
}

// isRound follows a path that was told.
func (m mixed) isRound(rt *rapid.T, p Problem) {
	path := strings.Split(p.Args["path"], " → ")
	if p.ID != idCycle || len(path) < 2 || path[0] != path[len(path)-1] {
		rt.Fatalf("no round: %+v", p)
	}
	days := 0
	for i := range len(path) - 1 {
		furthest := -1 << 30
		for _, d := range m.deps[path[i]] {
			if d.Name == path[i+1] {
				furthest = max(furthest, d.BizDate.Ahead())
			}
		}
		days += furthest
	}
	if days < 0 {
		rt.Fatalf("%v of %v can be met: it leads %d days", path, m.deps, days)
	}
}

// isMet plays a year in which nothing was planned before the first day: each instance is met once all that it
// waits for is. What looks past the year's end is not asked about.
func (m mixed) isMet(rt *rapid.T) {
	const days = 366
	first := domain.NewBizDate(2024, 1, 1)
	met := map[string][]bool{}
	for _, j := range m.names() {
		met[j] = make([]bool, days)
	}
	place := func(d domain.BizDate) int { return int(d.Start(time.UTC).Sub(first.Start(time.UTC)).Hours() / 24) }
	ready := func(j string, day int) bool {
		for _, dep := range m.deps[j] {
			from, to := dep.BizDate.Of(first.AddDays(day), nil)
			for n := max(0, place(from)); n <= place(to); n++ {
				if n < days && !met[dep.Name][n] {
					return false
				}
			}
		}
		return true
	}
	for moved := true; moved; {
		moved = false
		for _, j := range m.names() {
			for day := range days {
				if !met[j][day] && ready(j, day) {
					met[j][day], moved = true, true
				}
			}
		}
	}
	for _, j := range m.names() {
		if day := slices.Index(met[j], false); day >= 0 {
			rt.Fatalf("%s of day %d is never met: %v", j, day, m.deps)
		}
	}
}

// oneByOne saves the jobs without their dependencies and then one after the other with them, in any order: what
// is refused changes nothing, and all are taken just where they are taken together.
func (m mixed) oneByOne(rt *rapid.T) {
	var there Graph
	for _, j := range m.names() {
		there.Jobs = append(there.Jobs, domain.ParseJobKey(j))
	}
	taken := mixed{map[string][]domain.Dep{}}
	for _, j := range m.names() {
		taken.deps[j] = nil
	}
	for _, j := range rapid.Permutation(m.names()).Draw(rt, "order") {
		next := mixed{map[string][]domain.Dep{}}
		for k, deps := range taken.deps {
			next.deps[k] = deps
		}
		next.deps[j] = m.deps[j]
		problems := CheckGraph(there, []Parsed{m.parsed(j, m.deps[j])})
		sum, round := next.worst()
		if refused := len(problems) > 0; refused != (round && sum >= 0) {
			rt.Fatalf("saving %s after %v: refused %t, most days ahead %d: %v", j, taken.deps, refused, sum, m.deps[j])
		}
		for _, p := range problems {
			next.isRound(rt, p)
		}
		if len(problems) == 0 {
			taken = next
			for _, d := range m.deps[j] {
				there.Edges = append(there.Edges, Edge{Job: domain.ParseJobKey(j), On: d.Key(), Ahead: d.BizDate.Ahead()})
			}
		}
	}
}

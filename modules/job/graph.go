package job

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/axsched/ax/modules/domain"
)

// Edge says that Job depends on On, on dates that lie at most Ahead days after its own;
// below 0 it only looks back.
type Edge struct {
	Job, On domain.JobKey
	Ahead   int
}

// Graph is the jobs that are there and what they depend on.
type Graph struct {
	Jobs  []domain.JobKey
	Edges []Edge
}

// CheckGraph judges whether the changed jobs, taken together and in any order, fit what is
// there: each job given once, every dependency there, no cycle that leads back to the same date
// or a later one: whoever waits for its own yesterday is met some day, whoever waits for its own
// tomorrow never. A changed job's dependencies replace those it had. Every missing name is listed, and
// each cycle with its path a → b → c → a.
func CheckGraph(there Graph, changed []Parsed) Problems {
	var problems Problems
	g := newGraph(there)
	first := map[domain.JobKey]Parsed{}
	for _, p := range changed {
		key := p.Spec.Key()
		if before, twice := first[key]; twice {
			at := before.At("job.name")
			problems = append(problems, p.problem("job.name", idJobTwice, hintJobTwice,
				pairs("job", key.String(), "file", before.file, "line", strconv.Itoa(at.Line))))
			continue
		}
		first[key] = p
		g.replace(p.Spec)
	}
	problems = append(problems, g.missing(changed)...)
	return append(problems, g.cycles(changed, first)...)
}

// Dependents lists the jobs that depend on key, sorted, without itself: a job that depends on
// its own earlier dates may still be deleted.
func Dependents(there Graph, key domain.JobKey) []domain.JobKey {
	found := map[domain.JobKey]bool{}
	for _, e := range there.Edges {
		if e.On == key && e.Job != key {
			found[e.Job] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), domain.JobKey.Compare)
}

// graph is the state after a change.
type graph struct {
	jobs map[domain.JobKey]bool
	on   map[domain.JobKey][]arc
}

// arc is an edge seen from the job that depends, one for each upstream.
type arc struct {
	to    domain.JobKey
	ahead int
}

func newGraph(there Graph) *graph {
	g := &graph{jobs: make(map[domain.JobKey]bool, len(there.Jobs)), on: map[domain.JobKey][]arc{}}
	for _, j := range there.Jobs {
		g.jobs[j] = true
	}
	for _, e := range there.Edges {
		g.on[e.Job] = append(g.on[e.Job], arc{e.On, e.Ahead})
	}
	for job, on := range g.on {
		g.on[job] = furthest(on)
	}
	return g
}

func (g *graph) replace(spec domain.JobSpec) {
	g.jobs[spec.Key()] = true
	on := make([]arc, len(spec.Deps))
	for i, d := range spec.Deps {
		on[i] = arc{d.Key(), d.BizDate.Ahead()}
	}
	g.on[spec.Key()] = furthest(on)
}

// furthest sorts arcs and keeps of several to one job the one that reaches furthest ahead.
func furthest(on []arc) []arc {
	slices.SortFunc(on, func(a, b arc) int { return cmp.Or(a.to.Compare(b.to), b.ahead-a.ahead) })
	return slices.CompactFunc(on, func(a, b arc) bool { return a.to == b.to })
}

// missing reports every dependency that is neither there nor among the changed.
func (g *graph) missing(changed []Parsed) Problems {
	var problems Problems
	var known []string
	for _, p := range changed {
		for i, d := range p.Spec.Deps {
			if g.jobs[d.Key()] {
				continue
			}
			if known == nil {
				known = g.names()
			}
			args := pairs("job", p.Spec.Key().String(), "on", d.Key().String())
			hint := hintDepMissing
			if near := nearest(d.Key().String(), known); near != "" {
				args["suggestion"], hint = near, hintMeant
			}
			problems = append(problems, p.problem("job.deps["+strconv.Itoa(i)+"].name", idDepMissing, hint, args))
		}
	}
	return problems
}

func (g *graph) names() []string {
	keys := slices.SortedFunc(maps.Keys(g.jobs), domain.JobKey.Compare)
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.String()
	}
	return out
}

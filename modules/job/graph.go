package job

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// Edge says that Job depends on On.
type Edge struct{ Job, On domain.JobKey }

// Graph is the jobs that are there and what they depend on.
type Graph struct {
	Jobs  []domain.JobKey
	Edges []Edge
}

// CheckGraph judges whether the changed jobs, taken together and in any order, fit what is
// there: each job given once, every dependency there, no cycle. A changed job's dependencies
// replace those it had. Every missing name is listed, and each cycle with its path
// a → b → c → a.
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
	on   map[domain.JobKey][]domain.JobKey
}

func newGraph(there Graph) *graph {
	g := &graph{jobs: make(map[domain.JobKey]bool, len(there.Jobs)), on: map[domain.JobKey][]domain.JobKey{}}
	for _, j := range there.Jobs {
		g.jobs[j] = true
	}
	for _, e := range there.Edges {
		g.on[e.Job] = append(g.on[e.Job], e.On)
	}
	for _, on := range g.on {
		slices.SortFunc(on, domain.JobKey.Compare)
	}
	return g
}

func (g *graph) replace(spec domain.JobSpec) {
	g.jobs[spec.Key()] = true
	on := make([]domain.JobKey, len(spec.Deps))
	for i, d := range spec.Deps {
		on[i] = d.Key()
	}
	slices.SortFunc(on, domain.JobKey.Compare)
	g.on[spec.Key()] = on
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

// cycles reports each knot of jobs that wait for one another, once, as the shortest path around
// it from a changed job.
func (g *graph) cycles(changed []Parsed, first map[domain.JobKey]Parsed) Problems {
	knots := g.knots()
	var problems Problems
	told := map[int]bool{}
	for _, p := range changed {
		start := p.Spec.Key()
		knot, in := knots[start]
		if !in || told[knot] {
			continue
		}
		told[knot] = true
		path := g.around(start, knots)
		names := make([]string, len(path))
		for i, k := range path {
			names[i] = k.String()
		}
		where := "job.deps"
		owner := first[start]
		for i, d := range owner.Spec.Deps {
			if d.Key() == path[1] {
				where = "job.deps[" + strconv.Itoa(i) + "].name"
			}
		}
		problems = append(problems, owner.problem(where, idCycle, hintCycle,
			pairs("job", start.String(), "path", strings.Join(names, " → "))))
	}
	return problems
}

// around finds the shortest way from start back to itself inside its knot, by breadth.
func (g *graph) around(start domain.JobKey, knots map[domain.JobKey]int) []domain.JobKey {
	from := map[domain.JobKey]domain.JobKey{}
	queue := []domain.JobKey{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, on := range g.on[at] {
			if on == start {
				path := []domain.JobKey{start, at}
				for at != start {
					at = from[at]
					path = append(path, at)
				}
				if path[1] == start { // a job that depends on itself
					return []domain.JobKey{start, start}
				}
				slices.Reverse(path)
				return path
			}
			if _, seen := from[on]; !seen && knots[on] == knots[start] && knots[on] != 0 {
				from[on] = at
				queue = append(queue, on)
			}
		}
	}
	return []domain.JobKey{start, start}
}

// knots numbers, from 1, the sets of jobs that reach one another, single jobs only when they
// depend on themselves. It is Tarjan's search with an explicit stack, so that a chain of any
// length fits.
func (g *graph) knots() map[domain.JobKey]int {
	t := &tarjan{g: g, index: map[domain.JobKey]int{}, low: map[domain.JobKey]int{},
		onStack: map[domain.JobKey]bool{}, knots: map[domain.JobKey]int{}}
	for _, j := range slices.SortedFunc(maps.Keys(g.on), domain.JobKey.Compare) {
		if t.index[j] == 0 {
			t.walk(j)
		}
	}
	return t.knots
}

type tarjan struct {
	g       *graph
	index   map[domain.JobKey]int // from 1, in order of discovery
	low     map[domain.JobKey]int
	stack   []domain.JobKey
	onStack map[domain.JobKey]bool
	knots   map[domain.JobKey]int
	count   int
}

// frame is one job whose dependencies are being walked.
type frame struct {
	job  domain.JobKey
	next int
}

func (t *tarjan) open(j domain.JobKey) frame {
	t.index[j] = len(t.index) + 1
	t.low[j] = t.index[j]
	t.stack = append(t.stack, j)
	t.onStack[j] = true
	return frame{job: j}
}

func (t *tarjan) walk(root domain.JobKey) {
	frames := []frame{t.open(root)}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if on := t.g.on[f.job]; f.next < len(on) {
			j := on[f.next]
			f.next++
			if _, seen := t.index[j]; !seen {
				frames = append(frames, t.open(j))
			} else if t.onStack[j] {
				t.low[f.job] = min(t.low[f.job], t.index[j])
			}
			continue
		}
		t.shut(f.job)
		job := f.job
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			above := frames[len(frames)-1].job
			t.low[above] = min(t.low[above], t.low[job])
		}
	}
}

// shut closes a job; a job that reaches none older than itself ends its knot.
func (t *tarjan) shut(j domain.JobKey) {
	if t.low[j] != t.index[j] {
		return
	}
	at := len(t.stack)
	for t.onStack[j] {
		at--
		t.onStack[t.stack[at]] = false
	}
	members := t.stack[at:]
	t.stack = t.stack[:at]
	if len(members) > 1 || slices.Contains(t.g.on[j], j) {
		t.count++
		for _, m := range members {
			t.knots[m] = t.count
		}
	}
}

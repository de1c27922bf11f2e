package job

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// cycles reports the cycles that can never be met, one of each knot of jobs: where all
// arcs stay on the date or lead ahead the shortest way around from a changed job, else one on which
// those ahead outweigh those back.
func (g *graph) cycles(changed []Parsed, first map[domain.JobKey]Parsed) Problems {
	knots := g.knots(func(a arc) bool { return a.ahead >= 0 })
	var problems Problems
	told := map[int]bool{}
	in := map[domain.JobKey]bool{}
	for _, p := range changed {
		start := p.Spec.Key()
		knot, is := knots[start]
		if !is || told[knot] {
			continue
		}
		told[knot] = true
		path := g.around(start, knots)
		for _, k := range path {
			in[k] = true
		}
		problems = append(problems, cycle(first[start], path))
	}
	if !g.anyAhead() {
		return problems
	}
	for _, path := range g.forward() {
		start := slices.IndexFunc(path, func(k domain.JobKey) bool { _, is := first[k]; return is })
		if start < 0 || slices.ContainsFunc(path, func(k domain.JobKey) bool { return in[k] }) {
			continue // it was there before, or is told already
		}
		path = append(slices.Concat(path[start:], path[:start]), path[start])
		problems = append(problems, cycle(first[path[0]], path))
	}
	return problems
}

// cycle is the problem of a job from which a way leads around to itself.
func cycle(owner Parsed, path []domain.JobKey) Problem {
	names := make([]string, len(path))
	for i, k := range path {
		names[i] = k.String()
	}
	where := "job.deps"
	for i, d := range owner.Spec.Deps {
		if d.Key() == path[1] {
			where = "job.deps[" + strconv.Itoa(i) + "].name"
		}
	}
	return owner.problem(where, idCycle, hintCycle, pairs("job", path[0].String(), "path", strings.Join(names, " → ")))
}

// around finds the shortest way from start back to itself inside its knot, by breadth, over
// arcs that do not lead back in time.
func (g *graph) around(start domain.JobKey, knots map[domain.JobKey]int) []domain.JobKey {
	from := map[domain.JobKey]domain.JobKey{}
	queue := []domain.JobKey{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, a := range g.on[at] {
			if a.ahead < 0 {
				continue
			}
			if a.to == start {
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
			if _, seen := from[a.to]; !seen && knots[a.to] == knots[start] {
				from[a.to] = at
				queue = append(queue, a.to)
			}
		}
	}
	return []domain.JobKey{start, start}
}

func (g *graph) anyAhead() bool {
	for _, on := range g.on {
		if slices.ContainsFunc(on, func(a arc) bool { return a.ahead > 0 }) {
			return true
		}
	}
	return false
}

// forward finds, in each knot that holds an arc ahead, a cycle on which the days add up to 0
// or more. In a knot of n jobs a cycle has at most n arcs, so with d(n+1)+1 for an arc of
// d days the sum around is above 0 just then; such a cycle is where the longest ways never
// end growing.
func (g *graph) forward() [][]domain.JobKey {
	members := map[int][]domain.JobKey{}
	knots := g.knots(func(arc) bool { return true })
	for _, j := range slices.SortedFunc(maps.Keys(knots), domain.JobKey.Compare) {
		members[knots[j]] = append(members[knots[j]], j)
	}
	var out [][]domain.JobKey
	for _, k := range slices.Sorted(maps.Keys(members)) {
		if path := g.growing(members[k]); path != nil {
			out = append(out, path)
		}
	}
	return out
}

// link is an arc inside of one knot, by places in it.
type link struct{ from, to, weight int }

func (g *graph) growing(jobs []domain.JobKey) []domain.JobKey {
	place := make(map[domain.JobKey]int, len(jobs))
	for i, j := range jobs {
		place[j] = i
	}
	var links []link
	ahead := false
	for i, j := range jobs {
		for _, a := range g.on[j] {
			if to, in := place[a.to]; in {
				links = append(links, link{i, to, a.ahead*(len(jobs)+1) + 1})
				ahead = ahead || a.ahead > 0
			}
		}
	}
	if !ahead {
		return nil
	}
	way, before := make([]int, len(jobs)), make([]int, len(jobs))
	last := -1
	for range len(jobs) {
		last = -1
		for _, l := range links {
			if n := way[l.from] + l.weight; n > way[l.to] {
				way[l.to], before[l.to], last = n, l.from, l.to
			}
		}
		if last < 0 {
			return nil
		}
	}
	for range jobs { // into the cycle
		last = before[last]
	}
	path := []domain.JobKey{jobs[last]}
	for at := before[last]; at != last; at = before[at] {
		path = append(path, jobs[at])
	}
	slices.Reverse(path)
	return path
}

// knots numbers, from 1, the sets of jobs that reach one another over the arcs that count,
// single jobs only when they depend on themselves. It is Tarjan's search with an explicit stack, so
// that a chain of any length fits.
func (g *graph) knots(counts func(arc) bool) map[domain.JobKey]int {
	t := &tarjan{g: g, counts: counts, index: map[domain.JobKey]int{}, low: map[domain.JobKey]int{},
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
	counts  func(arc) bool
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
			a := on[f.next]
			f.next++
			if !t.counts(a) {
				continue
			}
			if _, seen := t.index[a.to]; !seen {
				frames = append(frames, t.open(a.to))
			} else if t.onStack[a.to] {
				t.low[f.job] = min(t.low[f.job], t.index[a.to])
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
	if len(members) > 1 || slices.ContainsFunc(t.g.on[j], func(a arc) bool { return a.to == j && t.counts(a) }) {
		t.count++
		for _, m := range members {
			t.knots[m] = t.count
		}
	}
}

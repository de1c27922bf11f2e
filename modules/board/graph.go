package board

import (
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// Graph is jobs, the edges between them, and how each stands on one business date. A
// job without an instance on that date has no day.
type Graph struct {
	Jobs  []domain.JobName
	Edges []domain.JobEdge
	Days  map[domain.ID]domain.JobDay
}

// Graph reads the definitions in force and the states of a business date.
func (r *Reader) Graph(ctx context.Context, date domain.BizDate, seen domain.ProjectSet) (Graph, error) {
	jobs, edges, err := r.Jobs.Graph(ctx, seen)
	if err != nil {
		return Graph{}, err
	}
	ids := make([]domain.ID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	days, err := r.Instances.OnDate(ctx, ids, date)
	if err != nil {
		return Graph{}, err
	}
	g := Graph{Jobs: jobs, Edges: edges, Days: make(map[domain.ID]domain.JobDay, len(days))}
	for _, d := range days {
		g.Days[d.Job] = d
	}
	return g, nil
}

// Choice says which part of a graph is wanted. The zero value is every job that has an
// edge.
type Choice struct {
	Around  domain.JobKey // the neighbourhood of this job, two steps each way
	Named   bool          // Around means something
	Failing bool          // what failed, and what waits for it, step by step
}

// hops is how far the neighbourhood of a job reaches.
const hops = 2

// Choose gives the part that is wanted, in the order of g.
func (g Graph) Choose(c Choice) Graph {
	keep := map[domain.ID]bool{}
	if c.Named {
		for _, j := range g.Jobs {
			if j.Key == c.Around {
				g.reach(keep, []domain.ID{j.ID}, hops, true)
				g.reach(keep, []domain.ID{j.ID}, hops, false)
			}
		}
	} else {
		for _, e := range g.Edges {
			keep[e.Up], keep[e.Down] = true, true
		}
	}
	if c.Failing {
		chain := map[domain.ID]bool{}
		g.reach(chain, g.failed(), len(g.Jobs), false)
		for id := range keep {
			keep[id] = chain[id]
		}
		if !c.Named {
			for _, id := range g.failed() {
				keep[id] = true // also one without an edge
			}
		}
	}
	return g.only(keep)
}

// Ran reports whether any of its jobs has an instance on the date.
func (g Graph) Ran() bool {
	return slices.ContainsFunc(g.Jobs, func(j domain.JobName) bool {
		_, ran := g.Days[j.ID]
		return ran
	})
}

// First gives the first n jobs.
func (g Graph) First(n int) Graph {
	keep := map[domain.ID]bool{}
	for _, j := range g.Jobs[:min(n, len(g.Jobs))] {
		keep[j.ID] = true
	}
	return g.only(keep)
}

// WaitingFor lists the jobs that depend on one and have not succeeded on the date.
func (g Graph) WaitingFor(job domain.ID) []domain.JobName {
	waits := map[domain.ID]bool{}
	for _, e := range g.Edges {
		waits[e.Down] = waits[e.Down] || e.Up == job && e.Down != job
	}
	var out []domain.JobName
	for _, j := range g.Jobs {
		if waits[j.ID] && g.Days[j.ID].State != domain.Success {
			out = append(out, j)
		}
	}
	return out
}

func (g Graph) failed() []domain.ID {
	var out []domain.ID
	for _, j := range g.Jobs {
		if d := g.Days[j.ID]; d.State == domain.Failed || d.Label == domain.UpstreamFailed {
			out = append(out, j.ID)
		}
	}
	return out
}

// reach adds what can be reached from start within so many steps, up or down.
func (g Graph) reach(into map[domain.ID]bool, start []domain.ID, steps int, up bool) {
	next := map[domain.ID][]domain.ID{}
	for _, e := range g.Edges {
		if up {
			next[e.Down] = append(next[e.Down], e.Up)
		} else {
			next[e.Up] = append(next[e.Up], e.Down)
		}
	}
	seen := map[domain.ID]bool{}
	for _, id := range start {
		seen[id], into[id] = true, true
	}
	for ; steps > 0 && len(start) > 0; steps-- {
		var further []domain.ID
		for _, id := range start {
			for _, to := range next[id] {
				if !seen[to] {
					seen[to], into[to] = true, true
					further = append(further, to)
				}
			}
		}
		start = further
	}
}

func (g Graph) only(keep map[domain.ID]bool) Graph {
	out := Graph{Days: g.Days}
	for _, j := range g.Jobs {
		if keep[j.ID] {
			out.Jobs = append(out.Jobs, j)
		}
	}
	for _, e := range g.Edges {
		if keep[e.Up] && keep[e.Down] {
			out.Edges = append(out.Edges, e)
		}
	}
	return out
}

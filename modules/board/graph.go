package board

import (
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// Graph is jobs, by name, the edges between them, and how each stands on one business
// date. A job without an instance on that date has no day.
type Graph struct {
	Date  domain.BizDate
	Jobs  []domain.JobName
	Edges []domain.JobEdge
	Days  map[domain.ID]domain.JobDay
	// Wanted is how many jobs were asked for. When they are more than MostDrawn, none is
	// read: Jobs, Edges and Days are empty.
	Wanted int
}

// MostDrawn is how many jobs one graph holds: more can be neither laid out in time nor read.
const MostDrawn = 1000

// Choice says which part of the graph is wanted. The zero value is every job that has an
// edge.
type Choice struct {
	Around  domain.JobKey // the neighbourhood of this job, two steps each way
	Named   bool          // Around means something
	Failing bool          // what failed, and what waits for it, step by step
}

// hops is how far the neighbourhood of a job reaches.
const hops = 2

// lookBack is how many days a graph that was asked for no date looks back.
const lookBack = 7

// mostFailed bounds the failures from which failing chains are followed to the
// neighbourhood of a job.
const mostFailed = 20_000

// Graph reads a part of the definitions in force and its states on a business date. The
// zero date is today's, that now is in, or that of the last date in the days before on
// which anything of the part ran: an empty picture tells nobody anything.
func (r *Reader) Graph(ctx context.Context, c Choice, date, today domain.BizDate, seen domain.ProjectSet) (Graph, error) {
	all, err := r.links(ctx, seen)
	if err != nil {
		return Graph{}, err
	}
	whole, wanted, err := r.part(ctx, all, c, seen)
	if err != nil {
		return Graph{}, err
	}
	if date.IsZero() {
		if date, err = r.lastRun(ctx, c, whole, today, seen); err != nil {
			return Graph{}, err
		}
	}
	if c.Failing {
		if whole, err = r.failing(ctx, all, c, whole, date, seen); err != nil {
			return Graph{}, err
		}
		wanted = len(whole)
	}
	g := Graph{Date: date, Wanted: wanted, Days: map[domain.ID]domain.JobDay{}}
	if wanted > MostDrawn {
		return g, nil
	}
	return g, r.fill(ctx, &g, all, whole)
}

// fill reads names and days of the jobs.
func (r *Reader) fill(ctx context.Context, g *Graph, all links, jobs set) error {
	ids := jobs.sorted()
	names, err := r.Jobs.NamesOf(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if name, ok := names[id]; ok {
			g.Jobs = append(g.Jobs, name)
		}
	}
	slices.SortFunc(g.Jobs, func(a, b domain.JobName) int { return a.Key.Compare(b.Key) })
	g.Edges = all.between(jobs)
	days, err := r.Instances.OnDate(ctx, ids, g.Date)
	for _, d := range days {
		g.Days[d.Job] = d
	}
	return err
}

func (r *Reader) links(ctx context.Context, seen domain.ProjectSet) (links, error) {
	byUp, byDown, err := r.Jobs.Edges(ctx, seen)
	return links{byUp, byDown}, err
}

// part is what a choice means by the definitions alone, and how many jobs that is. All
// that have an edge are counted only, when they are more than can be drawn.
func (r *Reader) part(ctx context.Context, all links, c Choice, seen domain.ProjectSet) (set, int, error) {
	if !c.Named {
		whole, wanted := all.linked(MostDrawn)
		return whole, wanted, nil
	}
	name, ok, err := r.named(ctx, c.Around, seen)
	if err != nil || !ok {
		return nil, 0, err
	}
	near := all.around(name.ID, hops)
	return near, len(near), nil
}

// named finds a job of the projects.
func (r *Reader) named(ctx context.Context, key domain.JobKey, seen domain.ProjectSet) (name domain.JobName, ok bool, err error) {
	found, err := r.Jobs.Resolve(ctx, []domain.JobKey{key})
	id, there := found[key]
	if err != nil || !there {
		return name, false, err
	}
	names, err := r.Jobs.NamesOf(ctx, []domain.ID{id})
	name, there = names[id]
	return name, there && seen.Has(name.ProjectID), err
}

// failing cuts a part to what failed on the date and what waits for it. Without a named
// job what failed belongs to it also when it has no edge.
func (r *Reader) failing(ctx context.Context, all links, c Choice, whole set, date domain.BizDate, seen domain.ProjectSet) (set, error) {
	limit := mostFailed
	if !c.Named { // all of these are wanted, and what is more than can be drawn is not
		limit = MostDrawn + 1
	}
	failed, err := r.Instances.FailedOn(ctx, seen, date, limit)
	if err != nil {
		return nil, err
	}
	chain := all.below(failed)
	if c.Named {
		for id := range chain {
			if !whole[id] {
				delete(chain, id)
			}
		}
	}
	return chain, nil
}

// lastRun is today, or the latest of the days before on which any of the jobs ran, or,
// when failing ones are wanted, one failed.
func (r *Reader) lastRun(ctx context.Context, c Choice, whole set, today domain.BizDate, seen domain.ProjectSet) (domain.BizDate, error) {
	oldest := today.AddDays(-lookBack)
	date, err := r.Instances.LastDate(ctx, whole.sorted(), oldest, today)
	if err != nil {
		return today, err
	}
	if c.Failing && !c.Named {
		for at := today; at.Compare(date) > 0 && !at.Before(oldest); at = at.AddDays(-1) {
			failed, err := r.Instances.FailedOn(ctx, seen, at, 1)
			if err != nil || len(failed) > 0 {
				return at, err
			}
		}
	}
	if date.IsZero() {
		date = today
	}
	return date, nil
}

// Node is one job of the graph.
type Node struct {
	Job domain.JobName
	Day domain.JobDay // zero without an instance on the date
	// WaitingFor are the jobs that depend on it and have not succeeded on the date.
	WaitingFor []domain.JobName
}

// Node reads one job and what waits for it on a date; false if there is none of the
// projects.
func (r *Reader) Node(ctx context.Context, key domain.JobKey, date domain.BizDate, seen domain.ProjectSet) (Node, bool, error) {
	job, ok, err := r.named(ctx, key, seen)
	if err != nil || !ok {
		return Node{}, false, err
	}
	all, err := r.links(ctx, seen)
	if err != nil {
		return Node{}, false, err
	}
	near := set{job.ID: true}
	for _, id := range all.downs(job.ID) {
		near[id] = true
	}
	g := Graph{Date: date, Days: map[domain.ID]domain.JobDay{}}
	if err := r.fill(ctx, &g, all, near); err != nil {
		return Node{}, false, err
	}
	n := Node{Job: job, Day: g.Days[job.ID]}
	for _, j := range g.Jobs {
		if j.ID != job.ID && g.Days[j.ID].State != domain.Success {
			n.WaitingFor = append(n.WaitingFor, j)
		}
	}
	return n, true, nil
}

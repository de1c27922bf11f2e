package board

import (
	"cmp"
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// Graph is jobs, by name, the edges between them, and how each stands on one business date: as they were on that date.
type Graph struct {
	Date  domain.BizDate
	Jobs  []domain.JobName // with the titles that they had
	Edges []domain.JobEdge
	Days  map[domain.ID]domain.JobDay
	// Absent tells why a job has no day; one of which nothing is known is in neither.
	Absent map[domain.ID]domain.Absence
	Since  Since
	// Wanted is how many jobs were asked for. When they are more than MostDrawn, none is
	// read: all but Date and Wanted is empty.
	Wanted int

	then then
}

// MostDrawn is how many jobs one graph holds: more can be neither laid out in time nor read.
const MostDrawn = 1500

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

// Graph reads a part of the graph as it was on a business date, and its states on it. The
// zero date is today's, that now is in, or that of the last date in the days before on
// which anything of the part ran: an empty picture tells nobody anything.
func (r *Reader) Graph(ctx context.Context, c Choice, date, today domain.BizDate, seen domain.ProjectSet) (Graph, error) {
	now, err := r.links(ctx, seen)
	if err != nil {
		return Graph{}, err
	}
	g := Graph{Date: date}
	if g.Date.IsZero() {
		whole, _, err := r.part(ctx, then{links: now}, c, seen)
		if err != nil {
			return g, err
		}
		if g.Date, err = r.lastRun(ctx, c, whole, today, seen); err != nil {
			return g, err
		}
	}
	if g.then, err = r.then(ctx, now, g.Date, seen); err != nil {
		return g, err
	}
	drawn, current, err := r.chosen(ctx, &g, c, seen)
	if err != nil || g.Wanted > MostDrawn {
		return g, err
	}
	return g, r.fill(ctx, &g, drawn, current)
}

// chosen are the jobs of a choice as they are drawn, and as they would be today; it sets how many are wanted.
func (r *Reader) chosen(ctx context.Context, g *Graph, c Choice, seen domain.ProjectSet) (drawn, current set, err error) {
	if drawn, g.Wanted, err = r.part(ctx, g.then, c, seen); err != nil {
		return nil, nil, err
	}
	if c.Failing {
		drawn, err = r.failing(ctx, g.then.links, c, drawn, g.Date, seen)
		g.Wanted = len(drawn)
		return drawn, drawn, err
	}
	if len(g.then.other) == 0 {
		return drawn, drawn, nil
	}
	current, _, err = r.part(ctx, then{links: g.then.now}, c, seen)
	return drawn, current, err
}

// fill reads names and days of the jobs drawn, and what is otherwise today.
func (r *Reader) fill(ctx context.Context, g *Graph, drawn, current set) error {
	var fresh []domain.ID
	for _, id := range current.sorted() {
		if !drawn[id] {
			fresh = append(fresh, id)
		}
	}
	ids := drawn.sorted()
	names, err := r.Jobs.NamesOf(ctx, slices.Concat(ids, fresh))
	if err != nil {
		return err
	}
	g.Jobs, g.Since, g.Edges = titled(names, ids, g.then.shapes), g.then.since(drawn, current), g.then.between(drawn)
	g.Since.NewJobs = titled(names, fresh, nil)
	days, err := r.Instances.OnDate(ctx, ids, g.Date)
	if err != nil {
		return err
	}
	g.Days = make(map[domain.ID]domain.JobDay, len(days))
	for _, d := range days {
		g.Days[d.Job] = d
	}
	return r.absences(ctx, g, slices.DeleteFunc(ids, func(id domain.ID) bool { return g.Days[id].Instance != 0 }))
}

// titled are the jobs with the titles that they had, by name.
func titled(names map[domain.ID]domain.JobName, ids []domain.ID, shapes map[domain.ID]domain.JobShape) []domain.JobName {
	var out []domain.JobName
	for _, id := range ids {
		name, ok := names[id]
		if !ok {
			continue
		}
		if shape, other := shapes[id]; other {
			name.Title = shape.Title
		}
		out = append(out, name)
	}
	slices.SortFunc(out, func(a, b domain.JobName) int { return cmp.Or(a.Key.Compare(b.Key), cmp.Compare(a.ID, b.ID)) })
	return out
}

// absences tells why jobs have no instance on the date.
func (r *Reader) absences(ctx context.Context, g *Graph, jobs []domain.ID) error {
	if r.Plans == nil || len(jobs) == 0 {
		return nil
	}
	absent, err := r.Plans.Absences(ctx, jobs, g.Date)
	if err != nil {
		return err
	}
	edges, err := r.Jobs.Starts(ctx)
	if err != nil {
		return err
	}
	started := set{}
	for _, e := range edges {
		started[e.Down] = true
	}
	for id, shape := range g.then.shapes {
		started[id] = shape.Started
	}
	for id, a := range absent {
		if a.Kind == domain.AbsentUnplanned && started[id] {
			a.Kind = domain.AbsentUpstream
			absent[id] = a
		}
	}
	g.Absent = absent
	return nil
}

func (r *Reader) links(ctx context.Context, seen domain.ProjectSet) (links, error) {
	byUp, byDown, err := r.Jobs.Edges(ctx, seen)
	return links{byUp, byDown}, err
}

// part is what a choice means by the definitions alone, and how many jobs that is. All
// that have an edge are counted only, when they are more than can be drawn.
func (r *Reader) part(ctx context.Context, t then, c Choice, seen domain.ProjectSet) (set, int, error) {
	if !c.Named {
		whole, wanted := t.linked(MostDrawn)
		return whole, wanted, nil
	}
	name, ok, err := r.named(ctx, c.Around, t, seen)
	if err != nil || !ok {
		return nil, 0, err
	}
	near := t.around(name.ID, hops)
	return near, len(near), nil
}

// named finds a job of the projects by its name or id: one that bore the name on the date and has been deleted since goes before
// the one that bears it now.
func (r *Reader) named(ctx context.Context, key domain.JobKey, t then, seen domain.ProjectSet) (name domain.JobName, ok bool, err error) {
	var gone []domain.ID
	for _, j := range t.other {
		if j.Now == 0 && j.Then != 0 {
			gone = append(gone, j.Job)
		}
	}
	if len(gone) > 0 {
		names, err := r.Jobs.NamesOf(ctx, gone)
		if err != nil {
			return name, false, err
		}
		for _, id := range gone {
			if n := names[id]; n.Key == key && seen.Has(n.ProjectID) {
				return n, true, nil
			}
		}
	}
	found, err := r.Jobs.Resolve(ctx, []domain.JobKey{key})
	if err != nil {
		return name, false, err
	}
	id, there := found[key]
	if !there {
		if id, err = domain.ParseID(key.Name); err != nil {
			return name, false, nil
		}
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
	Job    domain.JobName
	Day    domain.JobDay  // zero without an instance on the date
	Absent domain.Absence // why there is none
	// Stand is set for a job that has another version now than is drawn, or none.
	Stand domain.JobThen
	// WaitingFor are the jobs that depend on it and have not succeeded on the date.
	WaitingFor []domain.JobName
}

// Node reads one job of the date of a graph, and what waits for it; false if there is none of the projects.
func (r *Reader) Node(ctx context.Context, of Graph, key domain.JobKey, seen domain.ProjectSet) (Node, bool, error) {
	job, ok, err := r.named(ctx, key, of.then, seen)
	if err != nil || !ok {
		return Node{}, false, err
	}
	near := set{job.ID: true}
	for _, id := range of.then.downs(job.ID) {
		near[id] = true
	}
	g := Graph{Date: of.Date, then: of.then}
	if err := r.fill(ctx, &g, near, near); err != nil {
		return Node{}, false, err
	}
	n := Node{Day: g.Days[job.ID], Absent: g.Absent[job.ID], Stand: g.Since.Versions[job.ID]}
	for _, j := range g.Jobs {
		switch {
		case j.ID == job.ID:
			n.Job = j
		case g.Days[j.ID].State != domain.Success:
			n.WaitingFor = append(n.WaitingFor, j)
		}
	}
	return n, true, nil
}

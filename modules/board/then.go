package board

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// then is the graph of a business date: what ran is there as the version that ran has it, all else as it was defined
// at the end of that date, in the zone in which days are counted. For a date to come that is as it is defined now.
type then struct {
	links
	now links
	// other are the jobs that are drawn otherwise than they are defined now, in the order of their ids.
	other  []domain.JobThen // Then is the version drawn; 0: it is not drawn
	shapes map[domain.ID]domain.JobShape
}

// handAhead is for how many days ahead the instances of a job are looked for that was deleted before the date.
const handAhead = 62

// then reads it. now is the graph as it is defined now.
func (r *Reader) then(ctx context.Context, now links, date domain.BizDate, seen domain.ProjectSet) (then, error) {
	t := then{links: now, now: now}
	end := date.AddDays(1).Start(r.Zone)
	jobs, err := r.Jobs.Otherwise(ctx, seen, end, date.AddDays(-handAhead).Start(time.UTC))
	if err != nil || len(jobs) == 0 {
		return t, err
	}
	ids := make([]domain.ID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.Job
	}
	ran, err := r.Instances.OnDate(ctx, ids, date)
	if err != nil {
		return t, err
	}
	used := make(map[domain.ID]domain.JobDay, len(ran))
	for _, d := range ran {
		used[d.Job] = d
	}
	t.other = drawnOtherwise(jobs, used)
	return t, r.redraw(ctx, &t, used, end, seen)
}

// drawnOtherwise are the jobs whose instance of the date, or whose definition then, has another version than is in force now.
func drawnOtherwise(jobs []domain.JobThen, used map[domain.ID]domain.JobDay) []domain.JobThen {
	var out []domain.JobThen
	for _, j := range jobs {
		if d, ran := used[j.Job]; ran {
			j.Then = d.Version
		}
		if j.Then != j.Now {
			out = append(out, j)
		}
	}
	return out
}

// redraw puts in the place of the edges of those jobs the ones that they had: for what ran, what its instance waited for.
func (r *Reader) redraw(ctx context.Context, t *then, used map[domain.ID]domain.JobDay, end time.Time, seen domain.ProjectSet) error {
	var versions []domain.JobVersion
	var instances []domain.ID
	for _, j := range t.other {
		if j.Then != 0 {
			versions = append(versions, domain.JobVersion{JobID: j.Job, Version: j.Then})
		}
		if d, ran := used[j.Job]; ran {
			instances = append(instances, d.Instance)
		}
	}
	var err error
	if t.shapes, err = r.Jobs.Shapes(ctx, versions, end); err != nil {
		return err
	}
	old, err := r.waitedFor(ctx, instances, used)
	if err != nil {
		return err
	}
	for id, s := range t.shapes {
		if _, ran := used[id]; !ran {
			old = append(old, s.Ups...)
		}
	}
	if old, err = r.inSight(ctx, old, seen); err != nil {
		return err
	}
	replaced := set{}
	for _, j := range t.other {
		replaced[j.Job] = true
	}
	t.links = t.now.with(replaced, old)
	return nil
}

// waitedFor are the edges of instances to other jobs.
func (r *Reader) waitedFor(ctx context.Context, instances []domain.ID, used map[domain.ID]domain.JobDay) ([]domain.JobEdge, error) {
	if r.Deps == nil || len(instances) == 0 {
		return nil, nil
	}
	rows, err := r.Deps.WaitedFor(ctx, instances)
	if err != nil {
		return nil, err
	}
	jobs := make(map[domain.ID]domain.ID, len(used))
	for job, d := range used {
		jobs[d.Instance] = job
	}
	var out []domain.JobEdge
	for _, row := range rows {
		if down := jobs[row.InstanceID]; down != row.Upstream {
			out = append(out, domain.JobEdge{Up: row.Upstream, Down: down, Back: row.Rule.Ahead() < 0})
		}
	}
	return out, nil
}

// inSight leaves out the edges whose upstream is in none of the projects.
func (r *Reader) inSight(ctx context.Context, edges []domain.JobEdge, seen domain.ProjectSet) ([]domain.JobEdge, error) {
	if seen.All || len(edges) == 0 {
		return edges, nil
	}
	ups := set{}
	for _, e := range edges {
		ups[e.Up] = true
	}
	names, err := r.Jobs.NamesOf(ctx, ups.sorted())
	return slices.DeleteFunc(edges, func(e domain.JobEdge) bool { return !seen.Has(names[e.Up].ProjectID) }), err
}

// with are the links with the edges that lead to some jobs replaced by others. Of several from one job to another the one
// that stays on the date counts.
func (l links) with(replaced set, edges []domain.JobEdge) links {
	out := slices.Clone(edges)
	for _, e := range l.byUp {
		if !replaced[e.Down] {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b domain.JobEdge) int { return cmp.Or(byUp(a, b), order(a.Back)-order(b.Back)) })
	out = slices.CompactFunc(out, func(a, b domain.JobEdge) bool { return byUp(a, b) == 0 })
	return links{out, slices.SortedFunc(slices.Values(out), func(a, b domain.JobEdge) int { return cmp.Or(cmp.Compare(a.Down, b.Down), cmp.Compare(a.Up, b.Up)) })}
}

func byUp(a, b domain.JobEdge) int {
	return cmp.Or(cmp.Compare(a.Up, b.Up), cmp.Compare(a.Down, b.Down))
}

func order(back bool) int {
	if back {
		return 1
	}
	return 0
}

// Since is what of a drawn part is otherwise today.
type Since struct {
	Versions  map[domain.ID]domain.JobThen // of the jobs drawn that have another version now, or none
	NewJobs   []domain.JobName             // that the part has today and are not drawn
	NewEdges  []domain.JobEdge             // between jobs of both
	GoneEdges []domain.JobEdge             // drawn, and defined no more
}

// Changes counts them.
func (s Since) Changes() int {
	return len(s.Versions) + len(s.NewJobs) + len(s.NewEdges) + len(s.GoneEdges)
}

// since compares the part as it is drawn with what the same choice would draw today.
func (t then) since(drawn, today set) Since {
	out := Since{Versions: map[domain.ID]domain.JobThen{}}
	for _, j := range t.other {
		if drawn[j.Job] {
			out.Versions[j.Job] = j
		}
	}
	if len(t.other) == 0 {
		return out
	}
	both := set{}
	for _, s := range []set{drawn, today} {
		for id := range s {
			both[id] = true
		}
	}
	was, is := t.between(drawn), t.now.between(both)
	out.GoneEdges, out.NewEdges = without(was, is), without(is, was)
	return out
}

// without are the edges that join no two jobs that the others join.
func without(edges, others []domain.JobEdge) []domain.JobEdge {
	there := make(map[[2]domain.ID]bool, len(others))
	for _, e := range others {
		there[[2]domain.ID{e.Up, e.Down}] = true
	}
	return slices.DeleteFunc(slices.Clone(edges), func(e domain.JobEdge) bool { return there[[2]domain.ID{e.Up, e.Down}] })
}

package dag

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/axsched/ax/modules/domain"
)

// due is one job that an end of an upstream starts for a date.
type due struct {
	down  domain.ID
	day   domain.BizDate
	cause domain.DepOutcome
}

// start makes the instances of jobs that these ends start: the first end of one of its
// upstreams for a date makes one, whoever sees it; it then waits for the rest.
func (g *Graph) start(ctx context.Context, ended []domain.Instance) error {
	edges, err := g.Jobs.Starts(ctx)
	if err != nil || len(edges) == 0 || len(ended) == 0 {
		return err
	}
	byUp := map[domain.ID][]domain.StartEdge{}
	for _, e := range edges {
		byUp[e.Up] = append(byUp[e.Up], e)
	}
	var all []due
	for _, in := range ended {
		for _, e := range byUp[in.JobID] {
			if starts(e, in.Status) {
				all = append(all, due{e.Down, in.BizDate, domain.DepOutcome{ID: in.ID, RunID: in.RunID, Status: in.Status}})
			}
		}
	}
	return g.make(ctx, all)
}

// starts reports whether an end so is one that the edge waits for.
func starts(e domain.StartEdge, s domain.Status) bool {
	return s.Label != domain.Skipped && kindOf(s, e.Check) == domain.PartDone
}

// make makes the instances that are not there yet, for jobs that are there and enabled.
func (g *Graph) make(ctx context.Context, all []due) error {
	slices.SortStableFunc(all, func(a, b due) int { return cmp.Or(cmp.Compare(a.down, b.down), a.day.Compare(b.day)) })
	all = slices.CompactFunc(all, func(a, b due) bool { return a.down == b.down && a.day == b.day })
	for part := range slices.Chunk(all, batchRows) {
		err := g.makeSome(ctx, part)
		if domain.Is(err, domain.Exists) && len(part) > 1 { // somebody else was at it too
			err = nil
			for _, one := range part {
				if one := g.makeSome(ctx, []due{one}); one != nil && !domain.Is(one, domain.Exists) {
					err = errors.Join(err, one)
				}
			}
		}
		if err != nil && !domain.Is(err, domain.Exists) {
			return err
		}
	}
	return nil
}

// makeSome makes instances in one transaction, each only while its cause stands.
func (g *Graph) makeSome(ctx context.Context, part []due) error {
	return g.Store.Tx(ctx, func(ctx context.Context) error {
		part, err := g.unmade(ctx, part)
		if err != nil || len(part) == 0 {
			return err
		}
		var downs, causes []domain.ID
		for _, d := range part {
			downs, causes = append(downs, d.down), append(causes, d.cause.ID)
		}
		locked, err := g.Instances.Lock(ctx, causes)
		if err != nil {
			return err
		}
		found, err := g.Jobs.InForce(ctx, slices.Compact(downs))
		if err != nil {
			return err
		}
		jobs := map[domain.ID]domain.Job{}
		for _, j := range found {
			jobs[j.ID] = j
		}
		var news []domain.NewInstance
		for _, d := range part {
			j, ok := jobs[d.down]
			up := locked[d.cause.ID]
			if !ok || j.Spec.Trigger != domain.TriggerUpstream || up.RunID != d.cause.RunID || up.State != d.cause.State {
				continue
			}
			news = append(news, domain.NewInstance{ProjectID: j.ProjectID, JobID: j.ID, JobName: j.Name, Version: j.Version,
				FireKey: domain.UpstreamFireKey(d.day), Trigger: domain.TriggerUpstream, BizDate: d.day, Expected: g.Now()})
		}
		if len(news) == 0 {
			return nil
		}
		_, err = g.Lifecycle.Create(ctx, news)
		return err
	})
}

// unmade are those whose instance is not there.
func (g *Graph) unmade(ctx context.Context, part []due) ([]due, error) {
	var jobs []domain.ID
	var keys []string
	for _, d := range part {
		jobs, keys = append(jobs, d.down), append(keys, domain.UpstreamFireKey(d.day))
	}
	slices.Sort(keys)
	there, err := g.Instances.FiredOf(ctx, slices.Compact(jobs), slices.Compact(keys))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(part), func(d due) bool {
		return slices.Contains(there[d.down], domain.UpstreamFireKey(d.day))
	}), nil
}

// walk is where the sweeper goes on, so that each of its rounds is bounded.
type walk struct {
	sync.Mutex
	down  domain.ID // the job whose starts were looked after last
	rerun domain.ID // the run after which staleness is looked for; 0: from the beginning of the window
}

// The sweeper looks after the starts of at most startsAtOnce jobs a round, and at ends of the
// last recentEnds.
const (
	startsAtOnce = 100
	recentEnds   = domain.StartsLookBack
	recentDays   = 5000
)

// sweepStarts looks again whether recent ends have started what they were to start: the look
// after their commit may have died with its process. What ended before the job depended on it, or
// while it was paused, starts nothing.
func (g *Graph) sweepStarts(ctx context.Context) error {
	edges, err := g.Jobs.Starts(ctx)
	if err != nil || len(edges) == 0 {
		return err
	}
	edges = g.walk.next(edges)
	var ups, downs []domain.ID
	for _, e := range edges {
		ups, downs = append(ups, e.Up), append(downs, e.Down)
	}
	spans, err := g.Jobs.StartSpans(ctx, slices.Compact(downs))
	if err != nil || len(spans) == 0 {
		return err
	}
	slices.Sort(ups)
	days, err := g.Instances.RecentDays(ctx, slices.Compact(ups), domain.IDAt(g.Now().Add(-recentEnds)), recentDays)
	if err != nil {
		return err
	}
	dates := map[domain.ID][]domain.BizDate{}
	for _, d := range days {
		dates[d.Job] = append(dates[d.Job], d.BizDate)
	}
	var open []due
	ofDay := map[domain.BizDate][]domain.StartEdge{}
	for _, e := range edges {
		for _, day := range dates[e.Up] {
			if len(spans[e]) > 0 {
				open = append(open, due{down: e.Down, day: day})
				ofDay[day] = append(ofDay[day], e)
			}
		}
	}
	return g.catchUp(ctx, open, ofDay, spans)
}

// catchUp makes what is due of the open ones.
func (g *Graph) catchUp(ctx context.Context, open []due, ofDay map[domain.BizDate][]domain.StartEdge, spans map[domain.StartEdge][]domain.StartSpan) error {
	missing := map[domain.ID]map[domain.BizDate]bool{}
	for part := range slices.Chunk(open, batchRows) {
		left, err := g.unmade(ctx, part)
		if err != nil {
			return err
		}
		for _, d := range left {
			if missing[d.down] == nil {
				missing[d.down] = map[domain.BizDate]bool{}
			}
			missing[d.down][d.day] = true
		}
	}
	var all []due
	for day, edges := range ofDay {
		edges = slices.DeleteFunc(edges, func(e domain.StartEdge) bool { return !missing[e.Down][day] })
		if len(edges) == 0 {
			continue
		}
		ups := make([]domain.ID, len(edges))
		for i, e := range edges {
			ups[i] = e.Up
		}
		outcomes, err := g.Instances.Outcomes(ctx, ups, day, day)
		if err != nil {
			return err
		}
		for _, e := range edges {
			for _, o := range outcomes[e.Up] {
				if starts(e, o.Status) && slices.ContainsFunc(spans[e], func(s domain.StartSpan) bool { return s.Holds(o.EndedAt) }) {
					all = append(all, due{e.Down, day, o})
				}
			}
		}
	}
	return g.make(ctx, all)
}

// next are the edges of the jobs whose turn it is.
func (w *walk) next(edges []domain.StartEdge) []domain.StartEdge {
	w.Lock()
	defer w.Unlock()
	at, _ := slices.BinarySearchFunc(edges, w.down, func(e domain.StartEdge, id domain.ID) int {
		if e.Down <= id {
			return -1
		}
		return 1
	})
	if at == len(edges) {
		at = 0
	}
	end, jobs := at, 0
	for end < len(edges) {
		if end == at || edges[end].Down != edges[end-1].Down {
			if jobs++; jobs > startsAtOnce {
				break
			}
		}
		end++
	}
	w.down = edges[end-1].Down
	return edges[at:end]
}

package dag

import (
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/dag/store"
	"github.com/axsched/ax/modules/domain"
)

// mostStale bounds how many instances one rerun marks.
const mostStale = 10_000

// markStale marks what had started on the success of an upstream, or without it, that has
// succeeded anew since: a rerun, another one made by hand, or one that a backfill added to its
// date. A rerun of what is marked takes the mark away.
func (g *Graph) markStale(ctx context.Context, ended []domain.Instance) error {
	var again []domain.Instance
	var dates []store.Date
	for _, in := range ended {
		if in.State == domain.Success && (in.RunNo > 1 || domain.ByHand(in.FireKey) || in.Trigger == domain.TriggerBackfill) {
			again = append(again, in)
			dates = append(dates, store.Date{Job: in.JobID, Day: in.BizDate})
		}
	}
	rows, err := g.Store.Covering(ctx, dates, domain.DepMet, domain.DepPassed)
	if err != nil || len(rows) == 0 {
		return err
	}
	rows = rows[:min(len(rows), mostStale)]
	seen := owners(rows)
	for _, r := range rows {
		seen = append(seen, r.By)
	}
	known, err := g.Instances.ByIDs(ctx, seen)
	if err != nil {
		return err
	}
	var marks []domain.StaleMark
	for _, r := range rows {
		down := known[r.InstanceID]
		i := slices.IndexFunc(again, func(up domain.Instance) bool {
			return up.JobID == r.Upstream && r.Covers(up.BizDate) && outdates(up, down, r) && (up.RunNo > 1 || domain.ByHand(up.FireKey) || adds(up, known[r.By], r.Require))
		})
		if i >= 0 {
			up := again[i]
			marks = append(marks, domain.StaleMark{Instance: down.ID, ProjectID: down.ProjectID, By: up.ID, Run: up.RunID, At: up.FinishedAt})
		}
	}
	return g.Store.MarkStale(ctx, marks)
}

// outdates reports whether the upstream succeeded after the instance had begun on an earlier
// success of it.
func outdates(up, down domain.Instance, r domain.InstanceDep) bool {
	if up.ID == down.ID || down.StartedAt.IsZero() || !down.StartedAt.Before(up.FinishedAt) {
		return false
	}
	if up.RunNo == 1 && (r.By == up.ID || !r.ChangedAt.Before(up.FinishedAt)) {
		return false // this is the success that met it
	}
	return down.State == domain.Success || down.State == domain.Running
}

// adds reports whether the first success of a fire that joined its date later says more than the
// one by which the row was decided.
func adds(up, by domain.Instance, require string) bool {
	switch require {
	case domain.RequireAny:
		return false
	case domain.RequireLatest:
		return up.Expected.After(by.Expected)
	}
	return true
}

// sweepStale looks again at reruns that succeeded, page by page through those of the last week.
func (g *Graph) sweepStale(ctx context.Context) error {
	oldest := domain.IDAt(g.Now().Add(-recentEnds))
	after := g.walk.from(oldest)
	again, err := g.Instances.Reran(ctx, after, sweepPage)
	if err != nil {
		return err
	}
	if err := g.markStale(ctx, again); err != nil {
		return err
	}
	last := oldest
	if len(again) == sweepPage {
		last = again[len(again)-1].RunID
	}
	g.walk.to(last)
	return nil
}

func (w *walk) from(oldest domain.ID) domain.ID {
	w.Lock()
	defer w.Unlock()
	return max(w.rerun, oldest)
}

func (w *walk) to(run domain.ID) {
	w.Lock()
	defer w.Unlock()
	w.rerun = run
}

// Stale reads the marks of instances; those that are not stale are absent.
func (g *Graph) Stale(ctx context.Context, instances []domain.ID) (map[domain.ID]domain.StaleMark, error) {
	marks, err := g.Store.Stale(ctx, instances)
	if err != nil || len(marks) == 0 {
		return nil, err
	}
	var by []domain.ID
	for _, m := range marks {
		by = append(by, m.By)
	}
	ups, err := g.Instances.ByIDs(ctx, by)
	if err != nil {
		return nil, err
	}
	out := make(map[domain.ID]domain.StaleMark, len(marks))
	for _, m := range marks {
		m.Name, m.BizDate = ups[m.By].JobName, ups[m.By].BizDate
		if before, ok := out[m.Instance]; !ok || before.At.Before(m.At) {
			out[m.Instance] = m
		}
	}
	return out, nil
}

// sweepPage bounds the rows of one page of the sweeper.
const sweepPage = 500

// restoreWindow is how old what a rerun brings back may be.
const restoreWindow = 7 * 24 * time.Hour

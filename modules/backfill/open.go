package backfill

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol/crash"
)

// open makes and reruns what may begin. Where another was first, its run stands for
// the item: a fire has one instance, and a run is opened once.
func (t *turn) open(ctx context.Context, items []plan.Item, names map[domain.ID]domain.JobName) error {
	var makes, again []plan.Item
	for _, it := range items {
		if it.Act == plan.Make {
			makes = append(makes, it)
		} else {
			again = append(again, it)
		}
	}
	// Reruns first, so that what is made finds its upstreams open again.
	if err := t.reopen(ctx, again); err != nil {
		return err
	}
	if err := t.make(ctx, makes, names); err != nil {
		return err
	}
	crash.At("backfill.made")
	return nil
}

// make makes the instances that are not there yet.
func (t *turn) make(ctx context.Context, items []plan.Item, names map[domain.ID]domain.JobName) error {
	byJob := map[domain.ID][]string{}
	for _, it := range items {
		byJob[it.JobID] = append(byJob[it.JobID], it.FireKey)
	}
	there := map[domain.ID]map[string]domain.ID{}
	for job, keys := range byJob {
		var err error
		if there[job], err = t.Instances.Fired(ctx, job, keys); err != nil {
			return err
		}
	}
	var news []domain.NewInstance
	var follow []plan.Item
	of := map[string]plan.Item{}
	for _, it := range items {
		if id, ok := there[it.JobID][it.FireKey]; ok {
			it.Instance = id
			follow = append(follow, it)
			continue
		}
		n := domain.NewInstance{ProjectID: it.ProjectID, JobID: it.JobID, JobName: names[it.JobID].Key.Name, Version: it.Version, FireKey: it.FireKey,
			Trigger: domain.TriggerBackfill, BizDate: it.BizDate, Expected: it.Expected, Params: maps.Clone(t.b.Params), RequestedBy: t.b.CreatedBy, Reason: reasonOf(t.b)}
		if n.Expected.IsZero() {
			n.Expected = t.now
		}
		of[it.JobID.String()+" "+it.FireKey] = it
		news = append(news, n)
	}
	if len(news) > 0 {
		made, err := t.Lifecycle.Create(ctx, news)
		if err != nil {
			return err
		}
		for _, in := range made {
			t.opened(of[in.JobID.String()+" "+in.FireKey], in)
		}
	}
	return t.follow(ctx, follow)
}

// reopen opens new runs of those instances that stand as they did in the plan.
func (t *turn) reopen(ctx context.Context, items []plan.Item) error {
	if len(items) == 0 {
		return nil
	}
	ids := make([]domain.ID, len(items))
	for i, it := range items {
		ids[i] = it.Instance
	}
	ins, err := t.Instances.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	var again []domain.Reopening
	of := map[domain.ID]plan.Item{}
	for _, it := range items {
		of[it.Instance] = it
		in, ok := ins[it.Instance]
		if late := in.State == domain.Success && it.Was.State != domain.Success; !ok || late || in.RunNo != it.RunNo {
			continue // a success that came after the plan is not run again
		}
		r := domain.Reopening{Instance: it.Instance, RunNo: it.RunNo, Waits: it.Waits, Trigger: domain.TriggerBackfill, Reason: reasonOf(t.b)}
		if len(t.b.Params) > 0 {
			r.Params = maps.Clone(in.Params)
			if r.Params == nil {
				r.Params = map[string]string{}
			}
			maps.Copy(r.Params, t.b.Params)
		}
		again = append(again, r)
	}
	done, err := t.Lifecycle.Reopen(ctx, again, t.b.CreatedBy)
	if err != nil {
		return err
	}
	for _, in := range done {
		t.opened(of[in.ID], in)
		delete(of, in.ID)
	}
	return t.follow(ctx, sorted(of))
}

// opened notes the run that was opened for an item.
func (t *turn) opened(it plan.Item, in domain.Instance) {
	it.Instance, it.RunNo, it.State = in.ID, in.RunNo, plan.ItemRunning
	t.running = append(t.running, it)
	t.move(plan.ItemWaiting, it)
}

// follow lets the run that is in force stand for each item.
func (t *turn) follow(ctx context.Context, items []plan.Item) error {
	changed, err := t.judged(ctx, items, false)
	if err != nil {
		return err
	}
	for _, it := range changed {
		if it.State == plan.ItemRunning {
			t.running = append(t.running, it)
		}
		t.move(plan.ItemWaiting, it)
	}
	return nil
}

func reasonOf(b plan.Backfill) string {
	text := "backfill " + b.ID.String()
	if b.Reason != "" {
		text += ": " + b.Reason
	}
	if cut := []rune(text); len(cut) > plan.MaxReason {
		text = string(cut[:plan.MaxReason])
	}
	return text
}

// sorted gives items in order.
func sorted[K comparable](m map[K]plan.Item) []plan.Item {
	return slices.SortedFunc(maps.Values(m), func(a, b plan.Item) int { return cmp.Compare(a.No, b.No) })
}

package web

import (
	"context"
	"maps"
	"slices"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/views/backfills"
	"github.com/axsched/ax/views/ui"
)

// previewOf is a plan as the page shows it.
func previewOf(ctx context.Context, p plan.Plan) backfills.Preview {
	r := p.Request
	v := backfills.Preview{Job: ui.Ref{ID: p.JobName, URL: "/jobs/" + r.Job.String()}, Runs: p.Works(), Make: p.Make, Again: p.Again, Forced: p.Forced, Leave: p.Leave,
		Dates: p.Dates, Steps: p.Steps, Degree: r.Degree, InDates: r.Reach != plan.Alone, Estimate: p.Estimate, NotBetween: r.Not.String(), Zone: p.Zone.String(),
		MoreEffects: p.MoreEffects, Since: r.Since, Until: r.Until}
	for _, it := range p.Items[:min(len(p.Items), shownItems)] {
		v.Items = append(v.Items, itemOf(ctx, it))
	}
	v.MoreItems = len(p.Items) - len(v.Items)
	for _, e := range p.Effects {
		v.Effects = append(v.Effects, backfills.Effect{Kind: string(e.Kind), Job: ui.Ref{ID: e.JobName}, BizDate: e.BizDate.String(), URL: "/instances/" + e.Instance.String(), Because: e.Because})
	}
	for _, w := range p.Warnings {
		v.Warnings = append(v.Warnings, warningText(ctx, w))
	}
	return v
}

func itemOf(ctx context.Context, it plan.Item) backfills.Item {
	out := backfills.Item{No: it.No, Step: it.Step, Job: ui.Ref{ID: it.JobName, URL: "/jobs/" + it.JobID.String()}, BizDate: it.BizDate.String(), Expected: it.Expected,
		Does: string(it.Act), Why: whySaid(ctx, it.Why), Version: it.Version, Was: statusOf(it.Was), State: string(it.State)}
	if it.Instance != 0 {
		out.URL = "/instances/" + it.Instance.String()
	}
	return out
}

func statusOf(s domain.Status) ui.Status {
	return ui.Status{State: string(s.State), Label: string(s.Label)}
}

func rowOf(b plan.Backfill) backfills.Row {
	return backfills.Row{URL: backfillURL(b.ID), Job: ui.Ref{ID: b.JobName, URL: "/jobs/" + b.JobID.String()}, Reach: string(b.Reach), From: b.First.String(), To: b.Last.String(),
		State: string(b.State), Runs: b.Counts.Works(), Ended: b.Counts.Ended(), Failed: b.Counts.Failed, CreatedBy: b.CreatedBy, CreatedAt: b.CreatedAt}
}

// params are the values in the order of their names.
func params(b plan.Backfill) []backfills.Param {
	var out []backfills.Param
	for _, name := range slices.Sorted(maps.Keys(b.Params)) {
		out = append(out, backfills.Param{Name: name, Value: b.Params[name]})
	}
	return out
}

package web

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/instances"
)

// stepsOf walks the chain from due to done. The first step that is not done is why
// the instance does not run.
func stepsOf(ctx context.Context, w whole) []instances.Step {
	in := w.facts.Instance
	met := 0
	for _, d := range w.deps {
		if d.State == domain.DepMet {
			met++
		}
	}
	deps := instances.Step{Mark: "none", Text: i18n.T(ctx, "step.no_deps")}
	if len(w.deps) > 0 {
		deps = instances.Step{Mark: done(met == len(w.deps)), Text: i18n.T(ctx, "step.deps", "met", met, "all", len(w.deps))}
	}
	var a domain.Attempt
	if w.facts.Attempt != nil && isOf(in, *w.facts.Attempt) {
		a = *w.facts.Attempt
		a.StartedAt = instance.StartOf(in, a)
	}
	steps := []instances.Step{
		{Mark: "done", Text: i18n.T(ctx, "step.made"), Note: i18n.DateTime(ctx, in.CreatedAt)},
		deps,
		{Mark: done(!in.ReadyAt.IsZero()), Text: i18n.T(ctx, "step.ready", "lane", string(in.Lane)), Note: noted(ctx, in.ReadyAt)},
		{Mark: done(a.ID != 0), Text: i18n.T(ctx, "step.sent"), Note: a.Target},
		{Mark: done(!a.AckedAt.IsZero()), Text: i18n.T(ctx, "step.acked"), Note: noted(ctx, a.AckedAt)},
		{Mark: done(!a.GrantedAt.IsZero()), Text: i18n.T(ctx, "step.granted"), Note: noted(ctx, a.GrantedAt)},
		{Mark: done(!a.StartedAt.IsZero()), Text: i18n.T(ctx, "step.started"), Note: noted(ctx, a.StartedAt)},
		{Mark: done(in.State == domain.Success), Text: i18n.T(ctx, "step.succeeded"), Note: noted(ctx, in.FinishedAt)},
	}
	if in.IsSplit() {
		steps = append(steps[:3], sentAsShards(ctx, in)...)
	}
	for i := range steps {
		if steps[i].Mark == "open" {
			steps[i].Mark = "blocked"
			break
		}
	}
	return steps
}

// noted is a moment beside a step; none for one that has not come.
func noted(ctx context.Context, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return i18n.DateTime(ctx, t)
}

func done(is bool) string {
	if is {
		return "done"
	}
	return "open"
}

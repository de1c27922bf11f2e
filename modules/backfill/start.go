package backfill

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
)

// Changed says that the list is not the one that was previewed. Plan is what it is now.
type Changed struct {
	Plan plan.Plan
	err  error
}

// Error says it.
func (c *Changed) Error() string { return c.err.Error() }

// Unwrap gives an error of kind Conflict.
func (c *Changed) Unwrap() error { return c.err }

// Start stores what the preview with the hash showed, with its line of the audit trail;
// nothing runs before that is committed. It plans again: *Changed when the list differs. allow is
// asked about the plan. Invalid when there is nothing to do.
func (b *Backfills) Start(ctx context.Context, r plan.Request, hash string, allow func(plan.Plan) error) (plan.Backfill, error) {
	var out plan.Backfill
	err := b.Store.Tx(ctx, func(ctx context.Context) error {
		p, err := b.Preview(ctx, r)
		if err != nil {
			return err
		}
		if err := allow(p); err != nil {
			return err
		}
		switch {
		case hash == "":
			return domain.Fail(domain.Invalid, "a start names the preview that it follows").At("hash").WithHint("ask for a preview first, and give its hash").Coded("backfill.no_hash")
		case hash != p.Hash:
			return &Changed{p, domain.Fail(domain.Conflict, "what would run has changed since the preview: it is %d runs now", p.Works()).
				WithHint("look at the new preview and confirm that").Coded("backfill.changed", "n", fmt.Sprint(p.Works()))}
		case p.Works() == 0:
			return domain.Fail(domain.Invalid, "there is nothing to do: all of it is left alone").Coded("backfill.nothing")
		}
		out = b.stored(ctx, p)
		if err := b.Store.Insert(ctx, out, p.Items); err != nil {
			return err
		}
		b.ring(ctx)
		return b.Audit.Changed(ctx, out.ProjectID, string(domain.ActBackfillStart), object(out.ID), "", described(out, p))
	})
	return out, err
}

// ring tells the pump after the commit.
func (b *Backfills) ring(ctx context.Context) {
	if b.Nudge != nil {
		b.Store.AfterCommit(ctx, b.Nudge)
	}
}

// stored is the backfill of a plan, and puts the plan's items at their beginning.
func (b *Backfills) stored(ctx context.Context, p plan.Plan) plan.Backfill {
	r, now := p.Request, b.Now()
	out := plan.Backfill{ID: b.IDs.Next(), ProjectID: p.Project, JobID: r.Job, JobName: p.JobName, Reach: r.Reach, Wanted: r.Wanted, Dates: p.Dates,
		Degree: r.Degree, NewestFirst: r.NewestFirst, GoesOn: r.GoesOn, Not: r.Not, Zone: p.Zone.String(), Params: maps.Clone(r.Params), Reason: r.Reason,
		Hash: p.Hash, Estimate: p.Estimate, State: plan.Running, CreatedBy: domain.ActorOf(ctx), CreatedAt: now, ChangedAt: now, Ver: 1}
	for i := range p.Items {
		it := &p.Items[i]
		it.State = plan.ItemLeft
		if it.Works() {
			it.State = plan.ItemWaiting
			if it.FireKey == "" {
				it.FireKey = domain.ManualFireKey(b.IDs.Next())
			}
		}
		out.Counts.Add(it.State)
		if out.First.IsZero() || it.BizDate.Before(out.First) {
			out.First = it.BizDate
		}
		if out.Last.Before(it.BizDate) {
			out.Last = it.BizDate
		}
	}
	return out
}

// described is what was started, one line a value, for the audit trail.
func described(b plan.Backfill, p plan.Plan) string {
	var t strings.Builder
	fmt.Fprintf(&t, "job: %s\nreach: %s\nwanted: %s\nfirst: %s\nlast: %s\nmake: %d\nagain: %d\nforced: %d\nleave: %d\ndegree: %d\nhash: %s",
		b.JobName, b.Reach, b.Wanted, b.First, b.Last, p.Make, p.Again, p.Forced, p.Leave, b.Degree, b.Hash)
	if not := b.Not.String(); not != "" {
		fmt.Fprintf(&t, "\nnotBetween: %s %s", not, b.Zone)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Params)) {
		fmt.Fprintf(&t, "\nparams.%s: %q", name, b.Params[name])
	}
	if b.Reason != "" {
		fmt.Fprintf(&t, "\nreason: %q", b.Reason)
	}
	return t.String()
}

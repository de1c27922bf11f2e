package instance

import (
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance/store"
)

// Records answers questions about instances and changes nothing. All fields but
// Broker, Pools and Outages must be set. Safe for concurrent use.
type Records struct {
	Store   *store.Store
	Specs   Specs
	Deps    DepsOf
	Workers Workers
	Broker  Presence // nil: nothing is known of the broker
	Pools   PoolsOf  // nil: there are none
	Outages Outages  // nil: nothing is known of outages
	// LostAfter is how long a worker may be silent; 0 = 10 s.
	LostAfter time.Duration
	Now       func() time.Time
}

// Explain gathers what says why an instance stands where it does.
func (r *Records) Explain(ctx context.Context, in domain.Instance) (Facts, error) {
	f := Facts{Instance: in, Now: r.Now(), LostAfter: r.LostAfter}
	var err error
	if f.Spec, err = r.Specs.Spec(ctx, in.JobID, in.Version); err != nil {
		return f, err
	}
	if in.AttemptID != 0 {
		m, err := r.Store.Attempts(ctx, []domain.ID{in.AttemptID})
		if err != nil {
			return f, err
		}
		if a, ok := m[in.AttemptID]; ok {
			f.Attempt = &a
		}
	}
	if in.IsSplit() {
		if err = r.explainShards(ctx, &f); err != nil {
			return f, err
		}
	}
	switch in.Label {
	case domain.WaitingDeps, domain.DepsTimeout:
		err = r.explainDeps(ctx, &f)
	case domain.HeldOverlap:
		err = r.explainOverlap(ctx, &f)
	case domain.Queued:
		if f.Workers, err = r.Workers.List(ctx); err == nil && in.Shards == 0 && (f.Spec.Overlap == domain.OverlapQueue || f.Spec.Overlap == domain.OverlapReplace) {
			err = r.explainOverlap(ctx, &f) // the broker holds it at its next look
		}
	case domain.Dispatched, domain.Executing, domain.Stopping:
		f.Workers, err = r.Workers.List(ctx)
	case domain.UpstreamFailed:
		err = r.explainCause(ctx, &f)
	case domain.Killed:
		err = r.explainKill(ctx, &f)
	}
	if err == nil && in.Pool != "" && (in.Label == domain.Queued || in.Label == domain.HeldPool) {
		err = r.explainPool(ctx, &f)
	}
	if err == nil && (in.Label == domain.Queued || in.Label == domain.WaitingDeps || moves(in)) {
		err = r.explainBroker(ctx, &f)
	}
	if err == nil && settled(in, f.Attempt) {
		err = r.explainSettle(ctx, &f)
	}
	return f, err
}

// settled reports whether a run may have ended by what a person said of its lost attempt.
func settled(in domain.Instance, a *domain.Attempt) bool {
	return a != nil && a.Outcome == domain.OutcomeWorkerLost && (in.State == domain.Success || in.Label == domain.WorkerLost)
}

func (r *Records) explainDeps(ctx context.Context, f *Facts) error {
	deps, err := r.Deps.Of(ctx, f.Instance.ID)
	if err != nil {
		return err
	}
	for _, d := range deps {
		if d.State == domain.DepWaiting {
			f.Missing = append(f.Missing, d)
		}
	}
	return nil
}

func (r *Records) explainShards(ctx context.Context, f *Facts) (err error) {
	if f.Shards, err = r.Store.ShardsOf(ctx, f.Instance.JobID, f.Instance.RunID); err != nil {
		return err
	}
	if s := firstWaiting(f.Shards); s != nil {
		of, err := r.Explain(ctx, *s)
		if err != nil {
			return err
		}
		f.Waits = &of
	}
	return nil
}

func (r *Records) explainOverlap(ctx context.Context, f *Facts) error {
	const most = 10
	begun, err := r.Store.Begun(ctx, f.Instance.JobID, most)
	for i := range begun {
		if begun[i].ID != f.Instance.ID {
			f.InWay = &begun[i]
			break
		}
	}
	return err
}

func (r *Records) explainBroker(ctx context.Context, f *Facts) (err error) {
	if f.BrokerKnown = r.Broker != nil; f.BrokerKnown {
		f.BrokerThere, err = r.Broker.Present(ctx)
	}
	if err == nil && r.Outages != nil {
		f.Outage, err = r.Outages.Outage(ctx)
	}
	return err
}

func (r *Records) explainCause(ctx context.Context, f *Facts) error {
	m, err := r.Store.ByIDs(ctx, []domain.ID{f.Instance.CancelledBy.InstanceID})
	if err != nil {
		return err
	}
	up, ok := m[f.Instance.CancelledBy.InstanceID]
	if !ok {
		return nil
	}
	f.Cause = &up
	if up.ProjectID == f.Instance.ProjectID {
		return nil
	}
	spec, err := r.Specs.Spec(ctx, up.JobID, up.Version)
	if err != nil {
		return err
	}
	f.CauseJob = domain.JobKey{Project: spec.Project, Name: up.JobName}
	return nil
}

func (r *Records) explainKill(ctx context.Context, f *Facts) error {
	es, err := r.eventsOf(ctx, f.Instance, domain.MoveStop, domain.MoveKill)
	if len(es) > 0 {
		f.Kill = &es[0] // the order; its fulfilment may follow
	}
	return err
}

func (r *Records) explainSettle(ctx context.Context, f *Facts) error {
	es, err := r.eventsOf(ctx, f.Instance, domain.MoveSettle)
	if n := len(es); n > 0 {
		f.Settle = &es[n-1] // what was said of the last lost attempt
	}
	return err
}

// eventsOf are the moves of these names in the run in force, oldest first.
func (r *Records) eventsOf(ctx context.Context, in domain.Instance, moves ...domain.MoveName) ([]domain.Event, error) {
	es, err := r.Store.Events(ctx, in.ID)
	return slices.DeleteFunc(es, func(e domain.Event) bool { return e.RunID != in.RunID || !slices.Contains(moves, e.Move) }), err
}

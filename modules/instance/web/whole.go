package web

import (
	"context"
	"maps"
	"slices"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
)

// whole is an instance with all that is known of it.
type whole struct {
	facts    instance.Facts
	attempts []domain.Attempt // oldest first, of all runs
	runs     []domain.Run     // first to last, with the one in force
	deps     []instance.Dependency
	events   []domain.Event
	stale    domain.StaleMark // zero: it is not
}

func (h *Handlers) whole(ctx context.Context, in domain.Instance) (whole, error) {
	w := whole{}
	var err error
	if w.facts, err = h.Records.Explain(ctx, in); err != nil {
		return w, err
	}
	st := h.Records.Store
	if in.IsShard() { // they are kept once, in its instance
		of, err := st.Get(ctx, in.PartOf)
		if err != nil {
			return w, err
		}
		w.facts.Instance.Params = of.Params
	}
	if w.attempts, err = st.AttemptsOf(ctx, in.ID); err != nil {
		return w, err
	}
	for i, a := range w.attempts {
		w.attempts[i].StartedAt = instance.StartOf(in, a)
	}
	if w.runs, err = st.Runs(ctx, in.ID); err != nil {
		return w, err
	}
	w.runs = withCurrent(w.runs, in)
	if w.deps, err = h.Records.Deps.Of(ctx, in.ID); err != nil {
		return w, err
	}
	marks, err := h.Records.Deps.Stale(ctx, []domain.ID{in.ID})
	if err != nil {
		return w, err
	}
	w.stale = marks[in.ID]
	w.events, err = st.Events(ctx, in.ID)
	return w, err
}

// withCurrent puts the run that stands in the instance at the end of those filed;
// the row of that run, if there is one, is of its opening.
func withCurrent(filed []domain.Run, in domain.Instance) []domain.Run {
	now := domain.Run{ID: in.RunID, InstanceID: in.ID, No: in.RunNo, TraceID: in.TraceID, Version: in.Version, Params: in.Params, Status: in.Status,
		RequestedBy: in.RequestedBy, Reason: in.Reason, CreatedAt: in.CreatedAt, StartedAt: in.StartedAt, FinishedAt: in.FinishedAt, Message: in.Message}
	if n := len(filed); n > 0 && filed[n-1].ID == in.RunID {
		now.CreatedAt = filed[n-1].CreatedAt
		filed = filed[:n-1]
	}
	return append(slices.Clone(filed), now)
}

// runNo is the number of a run.
func (w whole) runNo(id domain.ID) int {
	for _, r := range w.runs {
		if r.ID == id {
			return r.No
		}
	}
	return 0
}

type param struct {
	name, value string
	own         bool // given with the run, not by the job
}

// params are the job's and the run's own, by name; the job's as they are written. Of a secret it is the name that was
// picked: its value is opened for the task alone.
func (w whole) params() []param {
	all := map[string]param{}
	for name, v := range w.facts.Spec.Params {
		all[name] = param{name: name, value: v}
	}
	for _, in := range w.facts.Spec.Inputs {
		if in.Default != "" {
			all[in.Name] = param{name: in.Name, value: in.Default}
		}
	}
	for name, v := range w.facts.Instance.Params {
		all[name] = param{name: name, value: v, own: true}
	}
	out := make([]param, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}

package instance

import (
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// early dispatches, in the transaction in ctx that is about to insert them, those of the
// instances that are given a target at once: each stands then as if it had been made and
// dispatched. It returns their attempts, and what to call with them after the commit; nil if there are none.
func (l *Lifecycle) early(ctx context.Context, ins []domain.Instance, specs []domain.JobSpec) (sent []domain.Attempt, settle func([]domain.Attempt, bool), err error) {
	if l.Early == nil {
		return nil, nil, nil
	}
	ready, theirs := onlyReady(ins, specs)
	as, settle, err := l.Early.Assign(ctx, ready, theirs)
	if err != nil || len(as) == 0 {
		return nil, nil, err
	}
	ids := make([]domain.ID, len(as))
	for i, a := range as {
		ids[i] = a.Attempt
	}
	use, _ := l.Memo.take(ids)
	back := func(known bool) func() {
		return func() {
			settle(nil, known)
			l.Memo.release(use, ids)
		}
	}
	l.Store.IfUndone(ctx, back(true))
	l.Store.IfUnsure(ctx, back(false))
	b := l.batch("broker", len(as))
	if born := as[0].Instance.CreatedAt; b.now.Before(born) {
		b.now = born
	}
	sent = make([]domain.Attempt, len(as))
	next := 0
	for i, a := range as { // in the order of the instances
		for ins[next].ID != a.Instance.ID {
			next++
		}
		in := &ins[next]
		if sent[i], err = b.dispatch(ctx, *in, a); err != nil {
			return nil, nil, err
		}
		*in = *b.moved[in.ID]
		in.Ver++
	}
	l.remember(ctx, b, use, apart(sent))
	return sent, settle, nil
}

// onlyReady are those that wait for a target, nearly always all, with their definitions.
func onlyReady(ins []domain.Instance, specs []domain.JobSpec) (ready []domain.Instance, theirs []domain.JobSpec) {
	if !slices.ContainsFunc(ins, func(in domain.Instance) bool { return in.Label != domain.Queued }) {
		return ins, specs
	}
	for i, in := range ins {
		if in.Label == domain.Queued {
			ready, theirs = append(ready, in), append(theirs, specs[i])
		}
	}
	return ready, theirs
}

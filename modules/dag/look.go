package dag

import (
	"context"
	"errors"
	"slices"

	"github.com/axsched/ax/modules/dag/store"
	"github.com/axsched/ax/modules/domain"
)

// after is the look after a commit, of both sides. What one part of it can't do keeps the
// others from nothing.
func (g *Graph) after(ctx context.Context, changes []domain.Change) error {
	var dates []store.Date
	var born []domain.ID
	var ended []domain.Instance
	var faults []error
	for _, c := range changes {
		switch {
		case c.Instance.State.Terminal():
			ended = append(ended, c.Instance)
			dates = append(dates, store.Date{Job: c.Instance.JobID, Day: c.Instance.BizDate})
			if c.Instance.State == domain.Success && c.Instance.RunNo > 1 {
				faults = append(faults, g.Lifecycle.Restore(ctx, c.Instance))
			}
		case c.Instance.Label == domain.WaitingDeps:
			born = append(born, c.Instance.ID)
		}
	}
	faults = append(faults, g.start(ctx, ended), g.markStale(ctx, ended))
	waiting, err := g.Store.Covering(ctx, dates, domain.DepWaiting)
	faults = append(faults, err)
	own, err := g.Store.WaitingOf(ctx, born)
	faults = append(faults, err, g.settle(ctx, append(waiting, own...)))
	return errors.Join(faults...)
}

// question is one job over some business dates.
type question struct {
	job      domain.ID
	from, to domain.BizDate
}

func questionOf(r domain.InstanceDep) question { return question{r.Upstream, r.BizDate, r.To} }

func wantOf(r domain.InstanceDep) want { return want{r.Require, r.Check} }

// decided is a row with what it is to become.
type decided struct {
	row domain.InstanceDep // its State and By are those to come
	v   *verdict
}

// settle decides the rows and acts: first what can't be met, then what is.
func (g *Graph) settle(ctx context.Context, rows []domain.InstanceDep) error {
	rows = distinct(rows)
	known, err := g.verdicts(ctx, rows)
	if err != nil {
		return err
	}
	var lost, met []decided
	for i, r := range rows {
		v := known[i]
		if v == nil {
			continue
		}
		r.By = v.By.ID
		switch r.State = act(*v, wantOf(r), r.OnFailure); r.State {
		case domain.DepFailed:
			lost = append(lost, decided{r, v})
		case domain.DepMet, domain.DepPassed:
			met = append(met, decided{r, v})
		}
	}
	if err := g.each(ctx, lost, g.fail); err != nil {
		return err
	}
	return g.each(ctx, met, g.meet)
}

// distinct sorts the rows by their key and drops those that come twice.
func distinct(rows []domain.InstanceDep) []domain.InstanceDep {
	slices.SortFunc(rows, rowOrder)
	return slices.CompactFunc(rows, sameRow)
}

// verdicts judges each row; nil where its upstream is gone.
func (g *Graph) verdicts(ctx context.Context, rows []domain.InstanceDep) ([]*verdict, error) {
	asked := map[question]bool{}
	for _, r := range rows {
		if r.Upstream > 0 {
			asked[questionOf(r)] = true
		}
	}
	found, err := g.gather(ctx, asked, maxChain)
	if err != nil {
		return nil, err
	}
	type judged struct {
		question
		want
	}
	done := map[judged]*verdict{}
	out := make([]*verdict, len(rows))
	for i, r := range rows {
		f, ok := found[questionOf(r)]
		if !ok {
			continue
		}
		k := judged{questionOf(r), wantOf(r)}
		if done[k] == nil {
			v := decide(f, k.want)
			done[k] = &v
		}
		out[i] = done[k]
	}
	return out, nil
}

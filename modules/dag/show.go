package dag

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// Dependency is one dependency of an instance with how its upstream stands. Standing is zero
// where the upstream is gone, and where there are too many to judge each.
type Dependency struct {
	domain.InstanceDep
	Standing domain.DepStanding
}

// mostJudged bounds how many dependencies of one instance are judged for a page.
const mostJudged = 100

// Of lists what an instance depends on, and how each stands: those that wait first.
func (g *Graph) Of(ctx context.Context, instance domain.ID) ([]Dependency, error) {
	rows, err := g.Store.Of(ctx, instance)
	if err != nil {
		return nil, err
	}
	judged := rows[:min(len(rows), mostJudged)]
	known, err := g.verdicts(ctx, judged)
	if err != nil {
		return nil, err
	}
	out := make([]Dependency, len(rows))
	for i, r := range rows {
		out[i] = Dependency{InstanceDep: r}
		if i < len(known) && known[i] != nil {
			out[i].Standing = known[i].DepStanding
		}
	}
	return out, nil
}

// Waiters lists the dependency rows that are about a job on a business date, whatever
// their state, at most a page of them.
func (g *Graph) Waiters(ctx context.Context, job domain.ID, day domain.BizDate) ([]domain.InstanceDep, error) {
	return g.Store.About(ctx, job, day, sweepPage)
}

// WaitedFor lists what each of the instances depends on, in the order of their ids.
func (g *Graph) WaitedFor(ctx context.Context, instances []domain.ID) ([]domain.InstanceDep, error) {
	return g.Store.OfAll(ctx, instances)
}

package instance

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// PoolFacts is how the pool of an instance stands.
type PoolFacts struct {
	domain.Pool
	Gone    bool // there is none of the name any more
	Used    int
	Holders []domain.Instance // the first of those that have a place
}

// full reports whether nobody gets a place now.
func (p *PoolFacts) full() bool { return p != nil && !p.Gone && p.Used >= p.Limit }

// whyPool says why there is no place for an instance in its pool.
func whyPool(f Facts) Sentence {
	in, p := f.Instance, f.Pool
	switch {
	case p == nil || p.Gone:
		return say("why.held_pool", "at", in.ReadyAt, "pool", in.Pool)
	case !p.full():
		return say("why.pool_free", "at", in.ReadyAt, "pool", p.Name, "used", p.Used, "limit", p.Limit)
	}
	var names []Sentence
	for _, h := range p.Holders[:min(len(p.Holders), maxNamed)] {
		names = append(names, say("why.pool_holder", "job", h.JobName, "date", h.BizDate, "id", h.ID.String(), "status", h.Status))
	}
	if more := p.Used - len(names); more > 0 {
		names = append(names, say("why.and_more", "n", more))
	}
	switch {
	case p.Limit == 0 && p.Used == 0:
		return say("why.pool_paused", "at", in.ReadyAt, "pool", p.Name)
	case p.Limit == 0:
		return say("why.pool_paused_by", "at", in.ReadyAt, "pool", p.Name, "used", p.Used, "list", names)
	case p.Used > p.Limit:
		return say("why.pool_over", "at", in.ReadyAt, "pool", p.Name, "used", p.Used, "limit", p.Limit, "list", names)
	}
	return say("why.pool_full", "at", in.ReadyAt, "pool", p.Name, "used", p.Used, "limit", p.Limit, "list", names)
}

// explainPool reads who has the places of an instance's pool.
func (r *Records) explainPool(ctx context.Context, f *Facts) error {
	key := f.Instance.PoolKey()
	if r.Pools == nil {
		return nil
	}
	pools, err := r.Pools.ByKeys(ctx, []domain.PoolKey{key})
	if err != nil {
		return err
	}
	one, there := pools[key]
	facts := &PoolFacts{Pool: one, Gone: !there}
	if there {
		if facts.Used, err = r.Store.CountInPool(ctx, key); err != nil {
			return err
		}
		facts.Holders, err = r.Store.InPool(ctx, key, maxNamed)
	}
	f.Pool = facts
	return err
}

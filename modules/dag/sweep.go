package dag

import (
	"context"
	"errors"

	"github.com/axsched/ax/modules/domain"
)

// Sweep repeats the looks of both sides for everything that waits, page by page, and all that
// else follows an end: what it starts, what it brings back, what it makes stale. It is one round; what
// one part of it can't do keeps the others from nothing.
func (g *Graph) Sweep(ctx context.Context) error {
	return errors.Join(g.sweepWaiting(ctx), g.sweepRestores(ctx), g.sweepStarts(ctx), g.sweepStale(ctx))
}

func (g *Graph) sweepWaiting(ctx context.Context) error {
	var after domain.InstanceDep
	for {
		rows, err := g.Store.Waiting(ctx, after, sweepPage)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			after = rows[len(rows)-1] // settle puts them into another order
		}
		full := len(rows) == sweepPage
		if err := g.settle(ctx, rows); err != nil {
			return err
		}
		if !full {
			return nil
		}
	}
}

func (g *Graph) sweepRestores(ctx context.Context) error {
	causes, err := g.Instances.Restorable(ctx, domain.IDAt(g.Now().Add(-restoreWindow)), sweepPage)
	if err != nil {
		return err
	}
	for _, c := range causes {
		if c.RunNo > 1 {
			if err := g.Lifecycle.Restore(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

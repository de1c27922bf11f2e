package dag

import (
	"cmp"
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol/crash"
)

// One transaction moves at most batchRows waiting instances, and locks about as many as
// batchProof instances besides.
const (
	batchRows  = 200
	batchProof = 2000
)

// each hands the rows over in bounded batches.
func (g *Graph) each(ctx context.Context, all []decided, do func(context.Context, []decided) error) error {
	for len(all) > 0 {
		n, proof := 0, 0
		seen := map[*verdict]bool{}
		for n < len(all) && n < batchRows && (n == 0 || proof < batchProof) {
			if v := all[n].v; !seen[v] {
				seen[v] = true
				proof += len(v.Proof)
			}
			n++
		}
		if err := do(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// meet flips the rows and lowers the in-degrees in one transaction, under the locks of the
// waiting instances and of those that are the proof, which must still stand.
func (g *Graph) meet(ctx context.Context, part []decided) error {
	err := g.Store.Tx(ctx, func(ctx context.Context) error {
		flip, void, err := g.standing(ctx, part)
		if err != nil {
			return err
		}
		met := map[domain.ID]int{}
		for _, r := range flip {
			met[r.InstanceID]++
		}
		if err := g.Store.Set(ctx, append(flip, void...), g.Now()); err != nil {
			return err
		}
		crash.At("release.written")
		return g.Lifecycle.Met(ctx, met)
	})
	if err == nil {
		crash.At("release.committed")
	}
	return err
}

// fail cancels, step by step, what waits for an upstream that ended otherwise. The
// next step follows when this one's change is heard or swept.
func (g *Graph) fail(ctx context.Context, part []decided) error {
	err := g.Store.Tx(ctx, func(ctx context.Context) error {
		flip, void, err := g.standing(ctx, part)
		if err != nil {
			return err
		}
		causes := map[domain.ID]domain.Cause{}
		for _, r := range flip {
			if _, ok := causes[r.InstanceID]; !ok {
				causes[r.InstanceID] = causeOf(part, r)
			}
		}
		done, err := g.Lifecycle.CancelUpstream(ctx, causes)
		if err != nil {
			return err
		}
		crash.At("cancel.written")
		flip = slices.DeleteFunc(flip, func(r domain.InstanceDep) bool {
			return !slices.ContainsFunc(done, func(in domain.Instance) bool { return in.ID == r.InstanceID })
		})
		return g.Store.Set(ctx, append(flip, void...), g.Now())
	})
	if err == nil {
		crash.At("cancel.committed")
	}
	return err
}

// causeOf is the cause in the verdict of a row.
func causeOf(part []decided, r domain.InstanceDep) domain.Cause {
	i := slices.IndexFunc(part, func(d decided) bool { return sameRow(d.row, r) })
	by := part[i].v.By
	return domain.Cause{Instance: by.ID, Run: by.RunID, State: by.State, Name: by.JobName}
}

// standing locks the waiting instances and the proofs, and reads the rows again: those to
// flip, whose verdicts still stand, and those whose instance waits no more.
func (g *Graph) standing(ctx context.Context, part []decided) (flip, void []domain.InstanceDep, err error) {
	rows := make([]domain.InstanceDep, len(part))
	verdicts := map[*verdict]bool{}
	for i, d := range part {
		rows[i], verdicts[d.v] = d.row, true
	}
	ids := owners(rows)
	for v := range verdicts {
		for _, o := range v.Proof {
			ids = append(ids, o.ID)
		}
	}
	locked, err := g.Instances.Lock(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	for v := range verdicts {
		verdicts[v] = stands(*v, locked)
	}
	waiting, err := g.Store.StillWaiting(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range part {
		if _, still := slices.BinarySearchFunc(waiting, d.row, rowOrder); !still {
			continue
		}
		switch in, ok := locked[d.row.InstanceID]; {
		case !ok || in.Label != domain.WaitingDeps:
			d.row.State, d.row.By = domain.DepVoid, 0
			void = append(void, d.row)
		case verdicts[d.v]: // else something runs again; its next end looks again
			flip = append(flip, d.row)
		}
	}
	return flip, void, nil
}

func sameRow(a, b domain.InstanceDep) bool { return rowOrder(a, b) == 0 }

// rowOrder is the order of the primary key.
func rowOrder(a, b domain.InstanceDep) int {
	return cmp.Or(cmp.Compare(a.InstanceID, b.InstanceID), cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.No, b.No))
}

// stands reports whether all that a verdict rests on is still as it was.
func stands(v verdict, locked map[domain.ID]domain.Instance) bool {
	return !slices.ContainsFunc(v.Proof, func(o domain.DepOutcome) bool {
		in, ok := locked[o.ID]
		return !ok || in.RunID != o.RunID || in.State != o.State
	})
}

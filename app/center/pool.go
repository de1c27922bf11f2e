package center

import (
	"context"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/pool"
	poolstore "github.com/axsched/ax/modules/pool/store"
	"github.com/axsched/ax/worker/protocol"
)

// newPools joins pools to who names them and who is in them.
func (l *life) newPools(c *core) *pool.Pools {
	return &pool.Pools{Store: poolstore.New(c.db), IDs: l.ids, Now: l.clock.now, Projects: projects{c.access}, Instances: c.instances,
		Jobs: c.jobs.Store, Audit: audit{c.access}, Nudge: l.poolsChanged}
}

// poolsChanged lets the active broker, wherever it is, look again at what waits.
func (l *life) poolsChanged() {
	if l.broker != nil && l.broker.Active() {
		l.broker.Nudge(protocol.NudgeReady)
		return
	}
	l.nudger.Nudge(protocol.NudgeReady)
}

// jobPools lets definitions find pools.
type jobPools struct{ s *poolstore.Store }

// Share tells whether there is one, and keeps it.
func (j jobPools) Share(ctx context.Context, key domain.PoolKey) (bool, error) {
	_, there, err := j.s.Share(ctx, key)
	return there, err
}

// Names lists those of a project.
func (j jobPools) Names(ctx context.Context, project domain.ID) ([]string, error) {
	found, err := j.s.List(ctx, domain.ProjectSet{IDs: []domain.ID{project}})
	out := make([]string, len(found))
	for i, p := range found {
		out[i] = p.Name
	}
	return out, err
}

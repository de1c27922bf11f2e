package pool

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// Projects finds projects.
type Projects interface {
	ByName(ctx context.Context, name string) (domain.ID, error)
	// Ensure finds a project or makes it, where the caller may.
	Ensure(ctx context.Context, name string) (domain.ID, error)
	Names(ctx context.Context) (map[domain.ID]string, error)
}

// Instances tells who is in pools.
type Instances interface {
	// PoolUse counts, for all pools of the projects, who has a place and who waits for one.
	PoolUse(ctx context.Context, projects []domain.ID) (map[domain.PoolKey]domain.PoolUse, error)
}

// Jobs tells who names pools.
type Jobs interface {
	// PoolJobs counts the jobs that name each pool of the projects.
	PoolJobs(ctx context.Context, projects []domain.ID) (map[domain.PoolKey]int, error)
	// NamePool lists jobs that name a pool, by name, at most limit.
	NamePool(ctx context.Context, key domain.PoolKey, limit int) ([]string, error)
}

// Audit records a change in the transaction of ctx.
type Audit interface {
	Changed(ctx context.Context, project domain.ID, action, object, before, after string) error
}

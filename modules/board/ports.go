package board

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// Instances reads instances; unknown ids are absent.
type Instances interface {
	ByIDs(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
}

// Jobs reads the names of jobs and their graph.
type Jobs interface {
	// NamesOf reads names, of deleted jobs too; unknown ids are absent.
	NamesOf(ctx context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error)
	// Dependents counts the jobs that depend on each of these.
	Dependents(ctx context.Context, jobs []domain.ID) (map[domain.ID]int, error)
	// Graph reads the jobs of the projects, by name, and every edge between two of them.
	Graph(ctx context.Context, seen domain.ProjectSet) ([]domain.JobName, []domain.JobEdge, error)
}

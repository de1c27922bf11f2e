package board

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// Instances reads instances; unknown ids are absent.
type Instances interface {
	ByIDs(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
	// LatestDays reads the most recent business dates of jobs, newest first, at most n each.
	LatestDays(ctx context.Context, jobs []domain.ID, n int) (map[domain.ID][]domain.JobDay, error)
	// OnDate reads the latest instances of jobs on a business date.
	OnDate(ctx context.Context, jobs []domain.ID, date domain.BizDate) ([]domain.JobDay, error)
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

// JobFinder finds jobs that are not deleted.
type JobFinder interface {
	// Named finds one by [project/]name or id; NotFound if there is none.
	Named(ctx context.Context, text string) (domain.JobName, error)
	// Alike lists at most limit jobs of the projects, by name, in whose name, title or
	// owner the text stands; project/text asks in one project alone.
	Alike(ctx context.Context, text string, seen domain.ProjectSet, limit int) ([]domain.JobName, error)
}

// InstanceFinder finds instances.
type InstanceFinder interface {
	ByIDs(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
	// ByTrace finds the instance of a run by its trace id; 0 if there is none.
	ByTrace(ctx context.Context, trace string) (domain.ID, error)
}

// WorkerLister lists the workers that are known, by name.
type WorkerLister interface {
	List(ctx context.Context) ([]domain.Worker, error)
}

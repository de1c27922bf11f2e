package board

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Instances reads instances; unknown ids are absent.
type Instances interface {
	ByIDs(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
	// LatestDays reads the most recent business dates of jobs, newest first, at most n each.
	LatestDays(ctx context.Context, jobs []domain.ID, n int) (map[domain.ID][]domain.JobDay, error)
	// OnDate reads the latest instances of jobs on a business date.
	OnDate(ctx context.Context, jobs []domain.ID, date domain.BizDate) ([]domain.JobDay, error)
	// LastDate finds the latest business date in [from, to] on which one of the jobs has
	// an instance; zero when there is none.
	LastDate(ctx context.Context, jobs []domain.ID, from, to domain.BizDate) (domain.BizDate, error)
	// FailedOn lists jobs of the projects whose latest instance of the date failed or was
	// cancelled because an upstream failed, at most limit.
	FailedOn(ctx context.Context, seen domain.ProjectSet, date domain.BizDate, limit int) ([]domain.ID, error)
}

// Jobs reads the names of jobs and their graph.
type Jobs interface {
	// NamesOf reads names, of deleted jobs too; unknown ids are absent.
	NamesOf(ctx context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error)
	// Dependents counts the jobs that depend on each of these.
	Dependents(ctx context.Context, jobs []domain.ID) (map[domain.ID]int, error)
	// Edges reads every edge between two jobs of the projects, once in the order of the
	// upstreams and once in that of the downstreams; the slices may be shared.
	Edges(ctx context.Context, seen domain.ProjectSet) (byUp, byDown []domain.JobEdge, err error)
	// Resolve finds jobs by name; those that are not there are absent.
	Resolve(ctx context.Context, keys []domain.JobKey) (map[domain.JobKey]domain.ID, error)
	// Otherwise reads the jobs of the projects of which it can't be said without a look that they
	// stood at a moment as they stand now, without those deleted before deletedSince, by id.
	Otherwise(ctx context.Context, seen domain.ProjectSet, at, deletedSince time.Time) ([]domain.JobThen, error)
	// Shapes reads what versions say of their place in the graph, names as they were meant at the moment.
	Shapes(ctx context.Context, versions []domain.JobVersion, at time.Time) (map[domain.ID]domain.JobShape, error)
	// Starts reads the edges of the definitions in force over which an upstream starts a job.
	Starts(ctx context.Context) ([]domain.StartEdge, error)
	// FirstNames reads the first jobs of the projects by name, at most limit.
	FirstNames(ctx context.Context, seen domain.ProjectSet, limit int) ([]domain.JobName, error)
}

// Deps reads what instances wait or waited for.
type Deps interface {
	WaitedFor(ctx context.Context, instances []domain.ID) ([]domain.InstanceDep, error)
}

// Plans tells why jobs have no instance about a business date, as if none had; of some it may know nothing.
type Plans interface {
	Absences(ctx context.Context, jobs []domain.ID, date domain.BizDate) (map[domain.ID]domain.Absence, error)
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

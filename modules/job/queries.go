package job

import (
	"cmp"
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job/store"
)

// Query chooses jobs for a list, by name and then id; zero fields do not filter.
type Query struct {
	Seen      domain.ProjectSet // outside of it nothing is found
	Project   string            // NotFound if there is none, or it is not in Seen
	Text      string            // part of name, title or owner
	Enabled   *bool
	AfterName string
	AfterID   domain.ID
	Limit     int
}

// List reads one page of jobs with their definitions.
func (d *Definitions) List(ctx context.Context, q Query) ([]domain.Job, error) {
	f := store.Filter{Text: q.Text, Enabled: q.Enabled, AfterName: q.AfterName, AfterID: q.AfterID, Limit: q.Limit, Projects: ids(q.Seen)}
	if q.Project != "" {
		id, err := d.Projects.ByName(ctx, q.Project)
		if err == nil && !q.Seen.Has(id) {
			err = domain.Fail(domain.NotFound, "there is no project %q", q.Project).At("project").Coded("access.no_project", "name", q.Project)
		}
		if err != nil {
			return nil, err
		}
		f.Projects = []domain.ID{id}
	}
	return d.Store.List(ctx, f)
}

// ids is a set as a store filters by it: nil for every project.
func ids(s domain.ProjectSet) []domain.ID {
	if s.All {
		return nil
	}
	return append([]domain.ID{}, s.IDs...)
}

// Count tells how many jobs there are in the projects, and how many are enabled.
func (d *Definitions) Count(ctx context.Context, seen domain.ProjectSet) (total, enabled int64, err error) {
	return d.Store.Count(ctx, ids(seen))
}

// Get reads a job that is not deleted by [project/]name or by its id.
func (d *Definitions) Get(ctx context.Context, name string) (domain.Job, error) {
	j, err := d.Find(ctx, name)
	if err == nil && !j.DeletedAt.IsZero() {
		err = noJob(name)
	}
	return j, err
}

func noJob(name string) error {
	return domain.Fail(domain.NotFound, "there is no job %q", name).Coded("error.no_job", "job", name)
}

// Neighbour is a job at the other end of a dependency.
type Neighbour struct {
	Job  domain.JobName
	Rule domain.Dep // its BizDate, Check and Require
}

// Neighbours reads what a job depends on and what depends on it, each by name.
func (d *Definitions) Neighbours(ctx context.Context, job domain.ID) (up, down []Neighbour, err error) {
	edges, err := d.Store.EdgesOf(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	var others []domain.ID
	for _, e := range edges {
		others = append(others, e.JobID, e.Upstream)
	}
	names, err := d.NamesOf(ctx, others)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range edges {
		if e.JobID == job {
			up = append(up, Neighbour{names[e.Upstream], e.Dep})
		}
		if e.Upstream == job && e.JobID != job {
			down = append(down, Neighbour{names[e.JobID], e.Dep})
		}
	}
	for _, side := range [][]Neighbour{up, down} {
		slices.SortFunc(side, func(a, b Neighbour) int { return cmp.Or(a.Job.Key.Compare(b.Job.Key), cmp.Compare(a.Job.ID, b.Job.ID)) })
	}
	return up, down, nil
}

// NamesOf reads the names of jobs, deleted ones too; unknown ids are absent.
func (d *Definitions) NamesOf(ctx context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error) {
	found, err := d.Store.NamesOf(ctx, slices.Compact(slices.Sorted(slices.Values(jobs))))
	if err != nil {
		return nil, err
	}
	projects, err := d.Projects.Names(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[domain.ID]domain.JobName, len(found))
	for _, j := range found {
		out[j.ID] = jobName(j, projects)
	}
	return out, nil
}

// Dependents counts the jobs that depend on each of these.
func (d *Definitions) Dependents(ctx context.Context, jobs []domain.ID) (map[domain.ID]int, error) {
	return d.Store.Dependents(ctx, jobs)
}

// Edges reads every edge between two jobs of the projects, once in the order of the
// upstreams and once in that of the downstreams. The slices may be shared: they must
// not be changed.
func (d *Definitions) Edges(ctx context.Context, seen domain.ProjectSet) (byUp, byDown []domain.JobEdge, err error) {
	all, err := d.Store.Edges(ctx)
	if err != nil || seen.All {
		return all.ByUp, all.ByDown, err
	}
	outside := func(e domain.JobEdge) bool { return !seen.Has(all.Project[e.Up]) || !seen.Has(all.Project[e.Down]) }
	return slices.DeleteFunc(slices.Clone(all.ByUp), outside), slices.DeleteFunc(slices.Clone(all.ByDown), outside), nil
}

func jobName(n store.Name, projects map[domain.ID]string) domain.JobName {
	return domain.JobName{ID: n.ID, ProjectID: n.ProjectID, Key: domain.JobKey{Project: projects[n.ProjectID], Name: n.Name}, Title: n.Title, DeletedAt: n.DeletedAt}
}

// FirstNames reads the first jobs of the projects by name, at most limit: what can be offered to choose from.
func (d *Definitions) FirstNames(ctx context.Context, seen domain.ProjectSet, limit int) ([]domain.JobName, error) {
	there, err := d.Store.FirstNames(ctx, ids(seen), limit)
	if err != nil {
		return nil, err
	}
	projects, err := d.Projects.Names(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]domain.JobName, len(there))
	for i, n := range there {
		out[i] = jobName(n, projects)
	}
	slices.SortFunc(out, func(a, b domain.JobName) int { return a.Key.Compare(b.Key) })
	return out, nil
}

// Spec reads the definition of a version, also of a deleted job. Versions never
// change, so they are kept in memory.
func (d *Definitions) Spec(ctx context.Context, job domain.ID, version int) (domain.JobSpec, error) {
	versions := d.versions()
	if spec, ok := versions.get(job, version); ok {
		return spec, nil
	}
	v, err := d.Store.Version(ctx, job, version)
	if err != nil {
		return domain.JobSpec{}, err
	}
	versions.put(job, version, v.Spec)
	return v.Spec, nil
}

// Resolve finds jobs by name; those that are not there are absent.
func (d *Definitions) Resolve(ctx context.Context, keys []domain.JobKey) (map[domain.JobKey]domain.ID, error) {
	byProject := map[string][]string{}
	for _, k := range keys {
		byProject[k.Project] = append(byProject[k.Project], k.Name)
	}
	out := map[domain.JobKey]domain.ID{}
	for project, names := range byProject {
		id, err := d.Projects.ByName(ctx, project)
		if domain.Is(err, domain.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found, err := d.Store.Resolve(ctx, id, names)
		if err != nil {
			return nil, err
		}
		for name, job := range found {
			out[domain.JobKey{Project: project, Name: name}] = job
		}
	}
	return out, nil
}

// Find reads a job by [project/]name or by its id.
func (d *Definitions) Find(ctx context.Context, name string) (domain.Job, error) {
	key := domain.ParseJobKey(name)
	project, err := d.Projects.ByName(ctx, key.Project)
	if err == nil {
		var j domain.Job
		if j, err = d.Store.ByName(ctx, project, key.Name); err == nil {
			return j, nil
		}
	}
	if !domain.Is(err, domain.NotFound) {
		return domain.Job{}, err
	}
	if id, bad := domain.ParseID(name); bad == nil {
		return d.Store.ByID(ctx, id)
	}
	return domain.Job{}, noJob(name)
}

// Starts reads the edges of the definitions in force over which an end of an upstream starts a
// job, in order of Down and Up. The slice may be shared: it must not be changed.
func (d *Definitions) Starts(ctx context.Context) ([]domain.StartEdge, error) {
	return d.Store.Starts(ctx)
}

// StartSpans reads when ends of upstreams started these jobs, by the edge, for as far back as
// domain.StartsLookBack.
func (d *Definitions) StartSpans(ctx context.Context, downs []domain.ID) (map[domain.StartEdge][]domain.StartSpan, error) {
	return d.Store.StartSpans(ctx, downs)
}

// InForce reads those of the jobs that are there and enabled.
func (d *Definitions) InForce(ctx context.Context, jobs []domain.ID) ([]domain.Job, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	on := true
	return d.Store.List(ctx, store.Filter{IDs: jobs, Enabled: &on, Limit: len(jobs)})
}

package job

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job/store"
)

// Definitions has the use cases of definitions. All exported fields must be set.
// Safe for concurrent use.
type Definitions struct {
	Store       *store.Store
	IDs         *domain.IDs
	Now         func() time.Time
	Schedules   Schedules
	Triggers    Triggers
	Projects    Projects
	Audit       Audit
	DefaultZone string // IANA name, for files that give none

	specs specCache
}

// File is one job file of an apply.
type File struct {
	Name string // for problems
	Text string
}

// Change is what an apply does to a job.
type Change string

// What an apply can do to a job.
const (
	Created   Change = "created"
	Updated   Change = "updated" // a new version
	Unchanged Change = "unchanged"
)

// Applied is one job of an apply.
type Applied struct {
	Job      domain.Job
	Key      domain.JobKey
	Change   Change
	Next     []time.Time // the next fires, at most five
	Warnings Problems
}

// Apply takes job files, all or nothing and in any order: with any problem nothing
// is changed and the problems are returned. allow is asked, once per project,
// whether the caller may write there. A dry run does everything but keep it.
func (d *Definitions) Apply(ctx context.Context, files []File, dryRun bool, allow func(ctx context.Context, project domain.ID) error) ([]Applied, Problems, error) {
	parsed, problems := d.Read(files)
	if len(problems.Errors()) > 0 {
		return nil, problems, nil
	}
	var out []Applied
	err := d.Store.Tx(ctx, func(ctx context.Context) error {
		out = nil
		faults, err := d.applyAll(ctx, parsed, allow, &out)
		problems = append(slices.Clone(problems.Warnings()), faults...)
		if err == nil && (len(faults.Errors()) > 0 || dryRun) {
			err = errNothingKept
		}
		return err
	})
	if err == errNothingKept {
		err = nil
	}
	if len(problems.Errors()) > 0 {
		out = nil
	}
	return out, problems, err
}

// errNothingKept rolls an apply back that had problems or was a dry run.
var errNothingKept = domain.Fail(domain.Invalid, "nothing was kept")

// Read parses job files and judges each alone; the graph is judged by Apply.
func (d *Definitions) Read(files []File) ([]Parsed, Problems) {
	var parsed []Parsed
	var problems Problems
	for _, f := range files {
		p, faults := ParseFile([]byte(f.Text), Options{File: f.Name, DefaultZone: d.DefaultZone, Now: d.Now(), Schedules: d.Schedules})
		parsed, problems = append(parsed, p...), append(problems, faults...)
	}
	return parsed, problems
}

func (d *Definitions) applyAll(ctx context.Context, parsed []Parsed, allow func(context.Context, domain.ID) error, out *[]Applied) (Problems, error) {
	if err := d.Store.LockGraph(ctx); err != nil {
		return nil, err
	}
	there, byKey, err := d.graph(ctx)
	if err != nil {
		return nil, err
	}
	if faults := CheckGraph(there, parsed); len(faults.Errors()) > 0 {
		return faults, nil
	}
	projects := map[string]domain.ID{}
	for _, p := range parsed {
		id, ok := projects[p.Spec.Project]
		if !ok {
			if id, err = d.Projects.Ensure(ctx, p.Spec.Project); err != nil {
				return nil, err
			}
			if err := allow(ctx, id); err != nil {
				return nil, err
			}
			projects[p.Spec.Project] = id
		}
		a, err := d.applyOne(ctx, id, p, byKey[p.Spec.Key()])
		if err != nil {
			return nil, err
		}
		byKey[a.Key] = a.Job.ID
		*out = append(*out, a)
	}
	for _, a := range *out { // all are there now, whatever their order
		if a.Change == Unchanged {
			continue
		}
		if err := d.Store.SetEdges(ctx, a.Job.ID, edges(a, byKey)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func edges(a Applied, byKey map[domain.JobKey]domain.ID) []store.Edge {
	out := make([]store.Edge, len(a.Job.Spec.Deps))
	for i, dep := range a.Job.Spec.Deps {
		out[i] = store.Edge{JobID: a.Job.ID, Upstream: byKey[dep.Key()], ProjectID: a.Job.ProjectID, Dep: dep}
	}
	return out
}

// graph is what is there now, by names, and the id of each job.
func (d *Definitions) graph(ctx context.Context) (Graph, map[domain.JobKey]domain.ID, error) {
	names, err := d.Store.Names(ctx)
	if err != nil {
		return Graph{}, nil, err
	}
	links, err := d.Store.Links(ctx)
	if err != nil {
		return Graph{}, nil, err
	}
	projects, err := d.Projects.Names(ctx)
	if err != nil {
		return Graph{}, nil, err
	}
	g := Graph{Jobs: make([]domain.JobKey, len(names))}
	byKey, byID := map[domain.JobKey]domain.ID{}, map[domain.ID]domain.JobKey{}
	for i, n := range names {
		key := domain.JobKey{Project: projects[n.ProjectID], Name: n.Name}
		g.Jobs[i], byKey[key], byID[n.ID] = key, n.ID, key
	}
	for _, l := range links {
		job, ok := byID[l.Job]
		on, there := byID[l.On]
		if ok && there {
			g.Edges = append(g.Edges, Edge{Job: job, On: on})
		}
	}
	return g, byKey, nil
}

// applyOne creates a job or gives it a new version, when its meaning changed.
func (d *Definitions) applyOne(ctx context.Context, project domain.ID, p Parsed, existing domain.ID) (Applied, error) {
	now, by := d.Now(), domain.PrincipalOf(ctx).Name
	a := Applied{Key: p.Spec.Key(), Next: p.Next, Change: Created}
	if existing == 0 {
		a.Job = domain.Job{ID: d.IDs.Next(), ProjectID: project, Name: p.Spec.Name, Title: p.Spec.Title, Owner: p.Spec.Owner, Version: 1,
			Enabled: p.Spec.Enabled, CreatedAt: now, UpdatedAt: now, Spec: p.Spec, Source: p.Text}
		if err := d.Store.Insert(ctx, a.Job); err != nil {
			return a, err
		}
		return a, d.newVersion(ctx, a, "", by)
	}
	old, err := d.Store.Lock(ctx, existing)
	if err != nil {
		return a, err
	}
	a.Job = old
	a.Job.Title, a.Job.Owner, a.Job.Spec, a.Job.Source, a.Job.UpdatedAt = p.Spec.Title, p.Spec.Owner, p.Spec, p.Text, now
	if p.Spec.EnabledGiven {
		a.Job.Enabled = p.Spec.Enabled
	}
	if old.Spec.Digest() == p.Spec.Digest() {
		a.Change = Unchanged
		if a.Job.Enabled != old.Enabled {
			return a, d.setEnabled(ctx, old, a.Job.Enabled)
		}
		return a, d.Store.SetSource(ctx, old.ID, old.Version, p.Text)
	}
	a.Change = Updated
	a.Job.Version++
	if err := d.Store.Update(ctx, a.Job); err != nil {
		return a, err
	}
	return a, d.newVersion(ctx, a, old.Source, by)
}

func (d *Definitions) newVersion(ctx context.Context, a Applied, before, by string) error {
	j := a.Job
	v := store.Version{JobID: j.ID, Version: j.Version, ProjectID: j.ProjectID, Source: j.Source, Spec: j.Spec, CreatedBy: by, CreatedAt: d.Now()}
	if err := d.Store.InsertVersion(ctx, v); err != nil {
		return err
	}
	if err := d.Triggers.Put(ctx, j); err != nil {
		return err
	}
	return d.Audit.Changed(ctx, j.ProjectID, "job."+string(a.Change), "job:"+a.Key.String(), before, j.Source)
}

// SetEnabled resumes or pauses a job. Resuming never fires the past.
func (d *Definitions) SetEnabled(ctx context.Context, id domain.ID, enabled bool) (domain.Job, error) {
	var out domain.Job
	err := d.Store.Tx(ctx, func(ctx context.Context) error {
		j, err := d.Store.Lock(ctx, id)
		if err != nil {
			return err
		}
		if !j.DeletedAt.IsZero() {
			return domain.Fail(domain.NotFound, "job %s was deleted", j.Name)
		}
		out = j
		if j.Enabled == enabled {
			return nil
		}
		out.Enabled = enabled
		return d.setEnabled(ctx, j, enabled)
	})
	return out, err
}

func (d *Definitions) setEnabled(ctx context.Context, j domain.Job, enabled bool) error {
	j.Enabled, j.UpdatedAt = enabled, d.Now()
	if err := d.Store.Update(ctx, j); err != nil {
		return err
	}
	if err := d.Triggers.Put(ctx, j); err != nil {
		return err
	}
	act, before, after := "job.pause", "enabled", "paused"
	if enabled {
		act, before, after = "job.resume", "paused", "enabled"
	}
	return d.Audit.Changed(ctx, j.ProjectID, act, "job:"+j.Spec.Key().String(), before, after)
}

// Delete removes a job. Its history stays. Conflict, with their names, while
// other jobs depend on it.
func (d *Definitions) Delete(ctx context.Context, id domain.ID) error {
	return d.Store.Tx(ctx, func(ctx context.Context) error {
		if err := d.Store.LockGraph(ctx); err != nil {
			return err
		}
		j, err := d.Store.Lock(ctx, id)
		if err != nil {
			return err
		}
		if !j.DeletedAt.IsZero() {
			return domain.Fail(domain.NotFound, "job %s was deleted already", j.Name)
		}
		there, _, err := d.graph(ctx)
		if err != nil {
			return err
		}
		if on := Dependents(there, j.Spec.Key()); len(on) > 0 {
			return dependedOn(j.Spec.Key(), on)
		}
		j.DeletedAt, j.UpdatedAt, j.Enabled = d.Now(), d.Now(), false
		if err := d.Store.Update(ctx, j); err != nil {
			return err
		}
		if err := d.Store.SetEdges(ctx, j.ID, nil); err != nil {
			return err
		}
		if err := d.Triggers.Remove(ctx, j); err != nil {
			return err
		}
		return d.Audit.Changed(ctx, j.ProjectID, "job.delete", "job:"+j.Spec.Key().String(), j.Source, "")
	})
}

func dependedOn(key domain.JobKey, on []domain.JobKey) error {
	names := ""
	for i, k := range on {
		if i > 0 {
			names += ", "
		}
		names += k.String()
	}
	return domain.Fail(domain.Conflict, "job %s cannot be deleted: %s depends on it", key, names).
		WithHint("delete or change what depends on it first").Coded("error.depended_on", "job", key.String(), "jobs", names)
}

// Spec reads the definition of a version, also of a deleted job. Versions never
// change, so they are kept in memory.
func (d *Definitions) Spec(ctx context.Context, job domain.ID, version int) (domain.JobSpec, error) {
	if spec, ok := d.specs.get(job, version); ok {
		return spec, nil
	}
	v, err := d.Store.Version(ctx, job, version)
	if err != nil {
		return domain.JobSpec{}, err
	}
	d.specs.put(job, version, v.Spec)
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
	return domain.Job{}, domain.Fail(domain.NotFound, "there is no job %q", name).Coded("error.no_job", "job", name)
}

// specCache keeps definitions by version, at most maxSpecs of them.
type specCache struct {
	mu sync.RWMutex
	m  map[specKey]domain.JobSpec
}

type specKey struct {
	job     domain.ID
	version int
}

const maxSpecs = 50_000

func (c *specCache) get(job domain.ID, version int) (domain.JobSpec, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s, ok := c.m[specKey{job, version}]
	return s, ok
}

func (c *specCache) put(job domain.ID, version int, s domain.JobSpec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= maxSpecs {
		c.m = map[specKey]domain.JobSpec{}
	}
	c.m[specKey{job, version}] = s
}

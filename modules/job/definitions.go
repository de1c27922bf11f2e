package job

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
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

// Request is an apply. Files is required.
type Request struct {
	Files  []File
	DryRun bool // do everything but keep it
	// Allow is asked, once per project, whether the caller may write there; nil = yes.
	// Its answer for EveryProject is only recorded: the caller named a project that is
	// not there and may not be made.
	Allow func(ctx context.Context, project domain.ID) error
	// Seen is the projects of whose jobs the caller may know. A dependency on any other
	// is missing, unless a job that the caller sees has it already.
	Seen domain.ProjectSet
	// Base is what an edit of one job began from; nil = no edit.
	Base *Base
}

// Base is the version of a job that an edit began from.
type Base struct {
	Job     domain.ID
	Version int
}

// Apply is Submit for a caller who sees every project.
func (d *Definitions) Apply(ctx context.Context, files []File, dryRun bool, allow func(ctx context.Context, project domain.ID) error) ([]Applied, Problems, error) {
	return d.Submit(ctx, Request{Files: files, DryRun: dryRun, Allow: allow, Seen: domain.ProjectSet{All: true}})
}

// Submit takes job files, all or nothing and in any order: with any problem nothing
// is changed and the problems are returned. Denied, with its name, when the caller
// may not write in a project or not make it; Conflict when Base was overtaken.
func (d *Definitions) Submit(ctx context.Context, r Request) ([]Applied, Problems, error) {
	parsed, problems := d.Read(r.Files)
	if len(problems.Errors()) > 0 {
		return nil, problems, nil
	}
	var out []Applied
	err := d.Store.Tx(ctx, func(ctx context.Context) error {
		out = nil
		faults, err := d.applyAll(ctx, parsed, r, &out)
		problems = append(slices.Clone(problems.Warnings()), faults...)
		if err == nil && (len(faults.Errors()) > 0 || r.DryRun) {
			err = errNothingKept
		}
		return err
	})
	if errors.Is(err, errNothingKept) {
		err = nil
	}
	if err != nil || len(problems.Errors()) > 0 {
		out = nil
	}
	return out, problems, err
}

// errNothingKept rolls an apply back that had problems or was a dry run.
var errNothingKept = errors.New("nothing was kept")

// Read parses job files and judges each alone; the graph is judged by Submit.
func (d *Definitions) Read(files []File) ([]Parsed, Problems) {
	var parsed []Parsed
	var problems Problems
	for _, f := range files {
		p, faults := ParseFile([]byte(f.Text), Options{File: f.Name, DefaultZone: d.DefaultZone, Now: d.Now(), Schedules: d.Schedules})
		parsed, problems = append(parsed, p...), append(problems, faults...)
	}
	return parsed, problems
}

// Check judges job files like Submit, against what is there now, and writes nothing.
func (d *Definitions) Check(ctx context.Context, files []File, seen domain.ProjectSet) ([]Parsed, Problems, error) {
	parsed, problems := d.Read(files)
	if len(parsed) == 0 {
		return nil, problems, nil
	}
	there, _, err := d.graph(ctx, seen)
	if err != nil {
		return nil, nil, err
	}
	return parsed, append(problems, CheckGraph(there, parsed)...), nil
}

func (d *Definitions) applyAll(ctx context.Context, parsed []Parsed, r Request, out *[]Applied) (Problems, error) {
	if err := d.Store.LockGraph(ctx); err != nil {
		return nil, err
	}
	if err := d.checkBase(ctx, r.Base, parsed); err != nil {
		return nil, err
	}
	projects, err := d.projects(ctx, parsed, r.Allow)
	if err != nil {
		return nil, err
	}
	there, byKey, err := d.graph(ctx, r.Seen)
	if err != nil {
		return nil, err
	}
	if faults := CheckGraph(there, parsed); len(faults.Errors()) > 0 {
		return faults, nil
	}
	var faults Problems
	for _, p := range parsed {
		a, err := d.applyOne(ctx, projects[p.Spec.Project], p, byKey[p.Spec.Key()])
		var never *domain.Error
		if errors.As(err, &never) && never.Kind == domain.Invalid {
			faults = append(faults, p.problem("job."+never.Field, idScheduleWrong, "", pairs("key", never.Field, "reason", never.Msg)))
			continue
		}
		if err != nil {
			return nil, err
		}
		byKey[a.Key] = a.Job.ID
		*out = append(*out, a)
	}
	if len(faults) > 0 {
		return faults, nil
	}
	return nil, d.keepEdges(ctx, *out, byKey)
}

// keepEdges writes the dependencies of what changed: all jobs are there now, whatever
// their order.
func (d *Definitions) keepEdges(ctx context.Context, applied []Applied, byKey map[domain.JobKey]domain.ID) error {
	for _, a := range applied {
		if a.Change == Unchanged {
			continue
		}
		if err := d.Store.SetEdges(ctx, a.Job.ID, edges(a, byKey)); err != nil {
			return err
		}
	}
	return nil
}

// projects finds or makes the projects of the jobs and asks whether the caller may
// write there.
func (d *Definitions) projects(ctx context.Context, parsed []Parsed, allow func(context.Context, domain.ID) error) (map[string]domain.ID, error) {
	if allow == nil {
		allow = func(context.Context, domain.ID) error { return nil }
	}
	out := map[string]domain.ID{}
	for _, p := range parsed {
		name := p.Spec.Project
		if _, done := out[name]; done {
			continue
		}
		id, err := d.Projects.Ensure(ctx, name)
		if domain.Is(err, domain.NotFound) {
			_ = allow(ctx, domain.EveryProject) // for the record of what was refused
			return nil, mayNotSave(name)
		}
		if err != nil {
			return nil, err
		}
		if err := allow(ctx, id); domain.Is(err, domain.NotFound) || domain.Is(err, domain.Denied) {
			return nil, mayNotSave(name)
		} else if err != nil {
			return nil, err
		}
		out[name] = id
	}
	return out, nil
}

// mayNotSave is the same whether the project exists or not.
func mayNotSave(project string) error {
	return domain.Fail(domain.Denied, "you may not save jobs in project %q", project).At("project").
		WithHint("this needs job.write there; a new project is made by an editor of all projects").Coded("error.may_not_save", "project", project)
}

// checkBase refuses an edit whose base was overtaken, or whose text is another job.
func (d *Definitions) checkBase(ctx context.Context, base *Base, parsed []Parsed) error {
	if base == nil {
		return nil
	}
	j, err := d.Store.Lock(ctx, base.Job)
	if err != nil {
		return err
	}
	if !j.DeletedAt.IsZero() {
		return domain.Fail(domain.Conflict, "job %s was deleted meanwhile", j.Name).Coded("error.edit_deleted", "job", j.Spec.Key().String())
	}
	if j.Version != base.Version {
		v, err := d.Store.Version(ctx, j.ID, j.Version)
		if err != nil {
			return err
		}
		at := v.CreatedAt.Format(time.RFC3339)
		return domain.Fail(domain.Conflict, "%s saved version %d of job %s at %s, while you edited version %d", v.CreatedBy, j.Version, j.Name, at, base.Version).
			Coded("error.overtaken", "job", j.Spec.Key().String(), "by", v.CreatedBy, "version", strconv.Itoa(j.Version), "at", at, "base", strconv.Itoa(base.Version))
	}
	if len(parsed) != 1 || parsed[0].Spec.Key() != j.Spec.Key() {
		return domain.Fail(domain.Invalid, "this is the page of job %s: its text must hold that job alone, under that name", j.Spec.Key()).
			WithHint("make another job on the page for new jobs").At("job.name").Coded("error.other_job", "job", j.Spec.Key().String())
	}
	return nil
}

func edges(a Applied, byKey map[domain.JobKey]domain.ID) []store.Edge {
	out := make([]store.Edge, len(a.Job.Spec.Deps))
	for i, dep := range a.Job.Spec.Deps {
		out[i] = store.Edge{JobID: a.Job.ID, Upstream: byKey[dep.Key()], ProjectID: a.Job.ProjectID, Dep: dep}
	}
	return out
}

// graph is what is there now, by names, and the id of each job. Jobs outside of seen
// that no seen job depends on are left out.
func (d *Definitions) graph(ctx context.Context, seen domain.ProjectSet) (Graph, map[domain.JobKey]domain.ID, error) {
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
	var g Graph
	byKey, byID, shown := map[domain.JobKey]domain.ID{}, map[domain.ID]domain.JobKey{}, map[domain.ID]bool{}
	for _, n := range names {
		key := domain.JobKey{Project: projects[n.ProjectID], Name: n.Name}
		byKey[key], byID[n.ID], shown[n.ID] = n.ID, key, seen.Has(n.ProjectID)
	}
	known := maps.Clone(shown)
	for _, l := range links {
		job, ok := byID[l.Job]
		on, there := byID[l.On]
		if ok && there {
			g.Edges = append(g.Edges, Edge{Job: job, On: on})
			known[l.On] = known[l.On] || shown[l.Job]
		}
	}
	for _, n := range names {
		if known[n.ID] {
			g.Jobs = append(g.Jobs, byID[n.ID])
		}
	}
	return g, byKey, nil
}

// applyOne creates a job or gives it a new version, when its meaning changed.
func (d *Definitions) applyOne(ctx context.Context, project domain.ID, p Parsed, existing domain.ID) (Applied, error) {
	now, by := d.Now(), domain.PrincipalOf(ctx).Name
	a := Applied{Key: p.Spec.Key(), Next: p.Next, Change: Created, Warnings: p.Warnings}
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
		a.Job.UpdatedAt = old.UpdatedAt
		if a.Job.Enabled != old.Enabled {
			if err := d.setEnabled(ctx, old, a.Job.Enabled); err != nil {
				return a, err
			}
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
	return d.Audit.Changed(ctx, j.ProjectID, "job.write", object(a.Key), before, j.Source)
}

// object names a job in the audit trail.
func object(key domain.JobKey) string { return "job/" + key.Project + "/" + key.Name }

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
	return d.Audit.Changed(ctx, j.ProjectID, act, object(j.Spec.Key()), before, after)
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
		there, _, err := d.graph(ctx, domain.ProjectSet{All: true})
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
		return d.Audit.Changed(ctx, j.ProjectID, "job.delete", object(j.Spec.Key()), j.Source, "")
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

package job

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Request is an apply. Files is required.
type Request struct {
	Files  []File
	DryRun bool // do everything but keep it
	// Allow is asked, once per project, whether the caller may write there; nil = yes.
	// Its answer for EveryProject is only recorded: the caller named a project that is
	// not there and may not be made.
	Allow func(ctx context.Context, project domain.ID) error
	// MaySecrets is asked, once per project in which a job names secrets, whether the caller may use them; nil = yes.
	MaySecrets func(ctx context.Context, project domain.ID) error
	// Seen is the projects of whose jobs the caller may know. A dependency on any other
	// is missing, unless a job that the caller sees has it already.
	Seen domain.ProjectSet
	// Base is what an edit of one job began from; nil = no edit.
	Base *Base
	// New says that every job must be one that is not there yet.
	New bool
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
	there, byKey, err := d.graph(ctx, seen)
	if err != nil {
		return nil, nil, err
	}
	faults := CheckGraph(there, parsed)
	gates, err := d.Foretell(ctx, parsed)
	if err != nil {
		return nil, nil, err
	}
	named, err := d.named(ctx, parsed, seen, byKey)
	if err != nil {
		return nil, nil, err
	}
	if faults = append(append(faults, gates...), named...); len(faults.Errors()) == 0 {
		warnings, err := d.preview(ctx, parsed, byKey)
		if err != nil {
			return nil, nil, err
		}
		faults = append(faults, warnings...)
	}
	return parsed, append(problems, faults...), nil
}

func (d *Definitions) applyAll(ctx context.Context, parsed []Parsed, r Request, out *[]Applied) (Problems, error) {
	if err := d.Store.LockGraph(ctx); err != nil {
		return nil, err
	}
	if err := d.checkBase(ctx, r.Base, parsed); err != nil {
		return nil, err
	}
	projects, err := d.projects(ctx, parsed, r.Allow)
	if err == nil {
		err = maySecrets(ctx, parsed, projects, r.MaySecrets)
	}
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
	if err := checkNew(r.New, parsed, byKey); err != nil {
		return nil, err
	}
	faults, err := d.Foretell(ctx, parsed)
	if err != nil {
		return nil, err
	}
	named, err := d.named(ctx, parsed, r.Seen, byKey)
	if faults = append(faults, named...); err != nil || len(faults.Errors()) > 0 {
		return faults, err
	}
	if err := d.caveats(ctx, parsed, byKey); err != nil {
		return nil, err
	}
	for _, p := range parsed {
		a, err := d.applyOne(ctx, projects[p.Spec.Project], p, byKey[p.Spec.Key()])
		if fault, is := p.triggerFault(err); is {
			faults = append(faults, fault)
			continue
		}
		if err != nil {
			return nil, err
		}
		byKey[a.Key] = a.Job.ID
		*out = append(*out, a)
	}
	if len(faults.Errors()) > 0 {
		return faults, nil
	}
	if err := d.keepEdges(ctx, *out, byKey); err != nil {
		return nil, err
	}
	secrets, err := d.keepSecrets(ctx, parsed, *out)
	if err != nil {
		return nil, err
	}
	pools, err := d.keepPools(ctx, parsed, projects)
	return append(append(faults, secrets...), pools...), err
}

// named holds what jobs name of their projects, and of their upstreams, against what is there.
func (d *Definitions) named(ctx context.Context, parsed []Parsed, seen domain.ProjectSet, byKey map[domain.JobKey]domain.ID) (Problems, error) {
	pools, err := d.inPools(ctx, parsed, seen)
	if err != nil {
		return nil, err
	}
	secrets, err := d.inSecrets(ctx, parsed, seen)
	if err != nil {
		return nil, err
	}
	results, err := d.inResults(ctx, parsed, byKey)
	return append(append(pools, secrets...), results...), err
}

// checkNew refuses jobs that are there already, where only new ones are wanted.
func checkNew(wanted bool, parsed []Parsed, byKey map[domain.JobKey]domain.ID) error {
	for _, p := range parsed {
		if key := p.Spec.Key(); wanted && byKey[key] != 0 {
			return domain.Fail(domain.Exists, "there is a job %s already", key).WithHint("edit it on its own page, or choose another name").
				At("job.name").Coded("error.job_exists", "job", key.String())
		}
	}
	return nil
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
		if a.startsByUpstream {
			if err := d.Store.KeepStarts(ctx, a.Job.ID, a.Job.Enabled, a.Job.UpdatedAt); err != nil {
				return err
			}
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

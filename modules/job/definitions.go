package job

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
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
	// Waiting counts instances that wait; nil: nothing is said of them.
	Waiting Waiting
	// Workers are those that run tasks; nil: nothing is said of them.
	Workers Workers
	// Types are those that targets announce; nil: nothing is said of them.
	Types Types
	// Calendars finds those that jobs name; nil: there are none.
	Calendars Calendars
	// Pools finds those that jobs name; nil: there are none.
	Pools Pools
	// Secrets finds those that jobs name; nil: there are none.
	Secrets Secrets

	// Versions keeps definitions in memory; several may share one. nil: its own.
	Versions *Versions

	own Versions
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
	Next     []time.Time     // the next fires, at most five
	Coming   []domain.Coming // the same, with what a calendar makes of them
	NextWas  time.Time       // when it was due next before the change, if that is another moment now; else zero
	Warnings Problems

	startsByUpstream bool // it does so now, or did so before
	namedSecrets     bool // it may have named some before
}

func edges(a Applied, byKey map[domain.JobKey]domain.ID) []store.Edge {
	out := make([]store.Edge, len(a.Job.Spec.Deps))
	for i, dep := range a.Job.Spec.Deps {
		out[i] = store.Edge{JobID: a.Job.ID, Upstream: byKey[dep.Key()], ProjectID: a.Job.ProjectID, Dep: dep,
			Starts: a.Job.Spec.Trigger == domain.TriggerUpstream && dep.BizDate == domain.DepCurrent && byKey[dep.Key()] != a.Job.ID}
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
			g.Edges = append(g.Edges, Edge{Job: job, On: on, Ahead: l.Dates.Ahead()})
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
	a := Applied{Key: p.Spec.Key(), Next: p.Next, Coming: p.Coming, Change: Created, Warnings: p.Warnings, startsByUpstream: p.Spec.Trigger == domain.TriggerUpstream}
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
	a.namedSecrets = strings.Contains(old.Source, "secret")
	a.startsByUpstream = a.startsByUpstream || old.Spec.Trigger == domain.TriggerUpstream
	a.Job.Title, a.Job.Owner, a.Job.Spec, a.Job.Source, a.Job.UpdatedAt = p.Spec.Title, p.Spec.Owner, p.Spec, p.Text, now
	if p.Spec.EnabledGiven {
		a.Job.Enabled = p.Spec.Enabled
	}
	if old.Spec.Digest() == p.Spec.Digest() {
		a.Change = Unchanged
		a.Job.UpdatedAt = old.UpdatedAt
		if a.Job.Enabled != old.Enabled {
			if err := d.setEnabled(ctx, old, a.Job.Enabled, "by its file"); err != nil {
				return a, err
			}
		}
		return a, d.Store.SetSource(ctx, old.ID, old.Version, p.Text)
	}
	kept, err := d.kept(ctx, old, p)
	if err != nil {
		return a, err
	}
	a.Warnings = append(slices.Clone(a.Warnings), kept...)
	a.Change = Updated
	a.Job.Version++
	if err := d.Store.Update(ctx, a.Job); err != nil {
		return a, err
	}
	was, err := d.Triggers.Next(ctx, old.ID)
	if err != nil {
		return a, err
	}
	if err := d.newVersion(ctx, a, old.Source, by); err != nil {
		return a, err
	}
	if is, err := d.Triggers.Next(ctx, old.ID); err != nil || !is.Equal(was) {
		a.NextWas = was
		return a, err
	}
	return a, nil
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

// SetEnabled resumes or pauses a job; reason, which may be empty, goes into the audit
// trail. Resuming never fires the past.
func (d *Definitions) SetEnabled(ctx context.Context, id domain.ID, enabled bool, reason string) (domain.Job, error) {
	var out domain.Job
	err := d.Store.Tx(ctx, func(ctx context.Context) error {
		j, err := d.Store.Lock(ctx, id)
		if err != nil {
			return err
		}
		if !j.DeletedAt.IsZero() {
			return domain.Fail(domain.NotFound, "job %s was deleted", j.Name).Coded("error.edit_deleted", "job", j.Name)
		}
		out = j
		if j.Enabled == enabled {
			return nil
		}
		out.Enabled = enabled
		return d.setEnabled(ctx, j, enabled, reason)
	})
	return out, err
}

func (d *Definitions) setEnabled(ctx context.Context, j domain.Job, enabled bool, reason string) error {
	j.Enabled, j.UpdatedAt = enabled, d.Now()
	if err := d.Store.Update(ctx, j); err != nil {
		return err
	}
	if j.Spec.Trigger == domain.TriggerUpstream {
		if err := d.Store.KeepStarts(ctx, j.ID, enabled, j.UpdatedAt); err != nil {
			return err
		}
	}
	if err := d.Triggers.Put(ctx, j); err != nil {
		return err
	}
	act, before, after := "job.pause", "enabled", "paused"
	if enabled {
		act, before, after = "job.resume", "paused", "enabled"
	}
	if reason != "" {
		after += ": " + reason
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
		if err := d.Store.SetSecrets(ctx, j.ID, j.ProjectID, nil); err != nil {
			return err
		}
		if err := d.Store.KeepStarts(ctx, j.ID, false, j.UpdatedAt); err != nil {
			return err
		}
		if err := d.Triggers.Remove(ctx, j); err != nil {
			return err
		}
		return d.Audit.Changed(ctx, j.ProjectID, "job.delete", object(j.Spec.Key()), j.Source, "")
	})
}

func dependedOn(key domain.JobKey, on []domain.JobKey) error {
	names, verb := "", "depends"
	for i, k := range on {
		if i > 0 {
			names, verb = names+", ", "depend"
		}
		names += k.String()
	}
	return domain.Fail(domain.Conflict, "job %s cannot be deleted: %s %s on it", key, names, verb).
		WithHint("delete or change what depends on it first").Coded("error.depended_on", "job", key.String(), "n", strconv.Itoa(len(on)), "jobs", names)
}

package job

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Otherwise reads the jobs of the projects of which it can't be said without a look that they stood
// at a moment as they stand now; those deleted before deletedSince are left out.
func (d *Definitions) Otherwise(ctx context.Context, seen domain.ProjectSet, at, deletedSince time.Time) ([]domain.JobThen, error) {
	return d.Store.Otherwise(ctx, ids(seen), at, deletedSince)
}

// Shapes reads what versions say of their place in the graph. A name means the job that bore it at the moment, else the one
// that bears it now or did last; those that mean none have no edge.
func (d *Definitions) Shapes(ctx context.Context, versions []domain.JobVersion, at time.Time) (map[domain.ID]domain.JobShape, error) {
	if err := d.Warm(ctx, versions); err != nil {
		return nil, err
	}
	specs := make(map[domain.ID]domain.JobSpec, len(versions))
	names := map[string][]string{}
	for _, v := range versions {
		spec, err := d.Spec(ctx, v.JobID, v.Version)
		if err != nil {
			return nil, err
		}
		specs[v.JobID] = spec
		for _, dep := range spec.Deps {
			names[dep.Project] = append(names[dep.Project], dep.Name)
		}
	}
	meant, err := d.meant(ctx, names, at)
	if err != nil {
		return nil, err
	}
	out := make(map[domain.ID]domain.JobShape, len(specs))
	for id, spec := range specs {
		shape := domain.JobShape{Job: id, Title: spec.Title, Started: spec.Trigger == domain.TriggerUpstream}
		for _, dep := range spec.Deps {
			if up := meant[dep.Key()]; up != 0 && up != id {
				shape.Ups = append(shape.Ups, domain.JobEdge{Up: up, Down: id, Back: dep.BizDate.Ahead() < 0})
			}
		}
		out[id] = shape
	}
	return out, nil
}

// meant finds whom names of projects meant at a moment.
func (d *Definitions) meant(ctx context.Context, names map[string][]string, at time.Time) (map[domain.JobKey]domain.ID, error) {
	out := map[domain.JobKey]domain.ID{}
	for project, of := range names {
		id, err := d.Projects.ByName(ctx, project)
		if domain.Is(err, domain.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found, err := d.Store.BearersOf(ctx, id, of)
		if err != nil {
			return nil, err
		}
		sure := map[string]bool{}
		for _, b := range found { // the later ones come later
			if key := (domain.JobKey{Project: project, Name: b.Name}); !sure[b.Name] {
				out[key] = b.ID
				sure[b.Name] = b.CreatedAt.Before(at) && (b.Deleted.IsZero() || !b.Deleted.Before(at))
			}
		}
	}
	return out, nil
}

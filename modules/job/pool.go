package job

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// inPools holds the pools that jobs name against those that are there. In a transaction they
// stay there until it has ended. Of a project out of sight nothing is told.
func (d *Definitions) inPools(ctx context.Context, parsed []Parsed, seen domain.ProjectSet) (Problems, error) {
	var out Problems
	for _, p := range parsed {
		if p.Spec.Pool == "" {
			continue
		}
		names, there, err := d.poolOf(ctx, p.Spec, seen)
		if err != nil {
			return nil, err
		}
		if there {
			continue
		}
		args, hint := pairs("pool", p.Spec.Pool, "project", p.Spec.Project), hintPoolMissing
		if near := nearest(p.Spec.Pool, names); near != "" {
			args["suggestion"], hint = near, hintMeant
		}
		out = append(out, p.problem("job.pool", idPoolMissing, hint, args))
	}
	return out, nil
}

// poolOf tells whether the pool that a definition names is there, and if not which are.
func (d *Definitions) poolOf(ctx context.Context, spec domain.JobSpec, seen domain.ProjectSet) (names []string, there bool, err error) {
	project, err := d.Projects.ByName(ctx, spec.Project)
	switch {
	case err != nil && !domain.Is(err, domain.NotFound):
		return nil, false, err
	case err != nil || d.Pools == nil || !seen.Has(project):
		return nil, false, nil
	}
	if there, err = d.Pools.Share(ctx, domain.PoolKey{Project: project, Name: spec.Pool}); err != nil || there {
		return nil, there, err
	}
	names, err = d.Pools.Names(ctx, project)
	return names, false, err
}

package job

import (
	"cmp"
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// inPools holds the pools that jobs name against those that are there, and locks none of them. Of a
// project out of sight nothing is told.
func (d *Definitions) inPools(ctx context.Context, parsed []Parsed, seen domain.ProjectSet) (Problems, error) {
	var out Problems
	known := map[string][]string{} // by project
	for _, p := range parsed {
		if p.Spec.Pool == "" {
			continue
		}
		names, is := known[p.Spec.Project]
		if !is {
			var err error
			if names, err = d.poolsOf(ctx, p.Spec.Project, seen); err != nil {
				return nil, err
			}
			known[p.Spec.Project] = names
		}
		if !slices.Contains(names, p.Spec.Pool) {
			out = append(out, p.poolMissing(names))
		}
	}
	return out, nil
}

// poolMissing is the problem of a job whose pool is not among those of its project.
func (p Parsed) poolMissing(names []string) Problem {
	args, hint := pairs("pool", p.Spec.Pool, "project", p.Spec.Project), hintPoolMissing
	if near := nearest(p.Spec.Pool, names); near != "" {
		args["suggestion"], hint = near, hintMeant
	}
	return p.problem("job.pool", idPoolMissing, hint, args)
}

// poolsOf lists the pools of a project.
func (d *Definitions) poolsOf(ctx context.Context, name string, seen domain.ProjectSet) ([]string, error) {
	project, err := d.Projects.ByName(ctx, name)
	switch {
	case domain.Is(err, domain.NotFound) || err == nil && (d.Pools == nil || !seen.Has(project)):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return d.Pools.Names(ctx, project)
}

// keepPools lets nobody delete the pools that jobs name before the transaction of ctx has ended; one that is gone is
// a problem of those who name it. It is the last thing that a save does: from then on nobody changes those pools' limits
// either, and a save of thousands of jobs takes long.
func (d *Definitions) keepPools(ctx context.Context, parsed []Parsed, projects map[string]domain.ID) (Problems, error) {
	of := map[domain.PoolKey][]Parsed{}
	var keys []domain.PoolKey // in order, so that two saves meet no deadlock
	for _, p := range parsed {
		key := domain.PoolKey{Project: projects[p.Spec.Project], Name: p.Spec.Pool}
		if key.Name == "" {
			continue
		}
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], p)
	}
	slices.SortFunc(keys, func(a, b domain.PoolKey) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Name, b.Name))
	})
	var out Problems
	for _, key := range keys {
		there, err := d.Pools.Share(ctx, key)
		if err != nil {
			return nil, err
		}
		if !there {
			for _, p := range of[key] {
				out = append(out, p.poolMissing(nil))
			}
		}
	}
	return out, nil
}

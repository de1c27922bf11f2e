package job

import (
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// namesakesMost is how many jobs of one name are told of.
const namesakesMost = 20

// InHistory finds the job that a name means where the past is looked at: [project/]name
// of the one that is there, else of the one that was deleted last, or an id. others are
// the further jobs that bear or bore its name, the one that is there first, then the
// last deleted: each is told apart by its id.
func (d *Definitions) InHistory(ctx context.Context, name string) (j domain.Job, others []domain.JobName, err error) {
	j, err = d.Find(ctx, name)
	switch {
	case err == nil:
		others, err = d.bearers(ctx, j.ProjectID, j.Name)
		return j, slices.DeleteFunc(others, func(n domain.JobName) bool { return n.ID == j.ID }), err
	case !domain.Is(err, domain.NotFound):
		return j, nil, err
	}
	key := domain.ParseJobKey(name)
	project, missing := d.Projects.ByName(ctx, key.Project)
	if domain.Is(missing, domain.NotFound) {
		return j, nil, noJob(name)
	}
	if missing != nil {
		return j, nil, missing
	}
	all, err := d.bearers(ctx, project, key.Name)
	if err != nil {
		return j, nil, err
	}
	if len(all) == 0 {
		return j, nil, noJob(name)
	}
	j, err = d.Store.ByID(ctx, all[0].ID)
	return j, all[1:], err
}

func (d *Definitions) bearers(ctx context.Context, project domain.ID, name string) ([]domain.JobName, error) {
	found, err := d.Store.Bearers(ctx, project, name, namesakesMost)
	if err != nil {
		return nil, err
	}
	projects, err := d.Projects.Names(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]domain.JobName, len(found))
	for i, n := range found {
		out[i] = jobName(n, projects)
	}
	return out, nil
}

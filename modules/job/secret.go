package job

import (
	"cmp"
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job/template"
)

// namesSecrets lists the secrets that a job names, in order, without doubles.
func (p Parsed) namesSecrets() []string {
	var out []string
	for _, use := range p.secrets {
		out = append(out, use.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inSecrets holds the secrets that jobs name against those that are there, and locks none of them. Of a project out of
// sight nothing is told.
func (d *Definitions) inSecrets(ctx context.Context, parsed []Parsed, seen domain.ProjectSet) (Problems, error) {
	var out Problems
	known := map[string][]string{} // by project
	for _, p := range parsed {
		if len(p.secrets) == 0 {
			continue
		}
		names, is := known[p.Spec.Project]
		if !is {
			var err error
			if names, err = d.secretsOf(ctx, p.Spec.Project, seen); err != nil {
				return nil, err
			}
			known[p.Spec.Project] = names
		}
		for _, use := range p.secrets {
			if !slices.Contains(names, use.Name) {
				out = append(out, p.secretMissing(use, names))
			}
		}
	}
	return out, nil
}

// secretMissing is the problem of a job that names a secret which is not among those of its project.
func (p Parsed) secretMissing(use template.SecretUse, names []string) Problem {
	args, hint := pairs("secret", use.Name, "project", p.Spec.Project), hintSecretMissing
	if near := nearest(use.Name, names); near != "" {
		args["suggestion"], hint = near, hintMeant
	}
	return p.problem("job."+use.Field, idSecretMissing, hint, args)
}

// secretsOf lists the secrets of a project.
func (d *Definitions) secretsOf(ctx context.Context, name string, seen domain.ProjectSet) ([]string, error) {
	project, err := d.Projects.ByName(ctx, name)
	switch {
	case domain.Is(err, domain.NotFound) || err == nil && (d.Secrets == nil || !seen.Has(project)):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return d.Secrets.Names(ctx, project)
}

// maySecrets asks, for each project in which a job names secrets, whether the caller may use them.
func maySecrets(ctx context.Context, parsed []Parsed, projects map[string]domain.ID, may func(context.Context, domain.ID) error) error {
	asked := map[domain.ID]bool{}
	for _, p := range parsed {
		id := projects[p.Spec.Project]
		if may == nil || len(p.secrets) == 0 || asked[id] {
			continue
		}
		asked[id] = true
		if err := may(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// keepSecrets notes which secrets the changed jobs name and lets nobody delete these before the transaction of ctx has
// ended; one that is gone is a problem of those who name it. Like keepPools it comes last.
func (d *Definitions) keepSecrets(ctx context.Context, parsed []Parsed, applied []Applied) (Problems, error) {
	byKey := map[domain.JobKey]Parsed{}
	for _, p := range parsed {
		byKey[p.Spec.Key()] = p
	}
	of := map[domain.SecretKey][]Parsed{}
	var keys []domain.SecretKey // in order, so that two saves meet no deadlock
	for _, a := range applied {
		p := byKey[a.Key]
		names := p.namesSecrets()
		if a.Change == Unchanged || len(names) == 0 && !a.namedSecrets {
			continue
		}
		if err := d.Store.SetSecrets(ctx, a.Job.ID, a.Job.ProjectID, names); err != nil {
			return nil, err
		}
		for _, name := range names {
			key := domain.SecretKey{Project: a.Job.ProjectID, Name: name}
			if of[key] == nil {
				keys = append(keys, key)
			}
			of[key] = append(of[key], p)
		}
	}
	slices.SortFunc(keys, func(a, b domain.SecretKey) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Name, b.Name))
	})
	var out Problems
	for _, key := range keys {
		there, err := d.Secrets.Share(ctx, key)
		if err != nil {
			return nil, err
		}
		if !there {
			for _, p := range of[key] {
				out = append(out, p.secretMissing(p.useOf(key.Name), nil))
			}
		}
	}
	return out, nil
}

// useOf is where a job names a secret first.
func (p Parsed) useOf(name string) template.SecretUse {
	for _, use := range p.secrets {
		if use.Name == name {
			return use
		}
	}
	return template.SecretUse{Name: name}
}

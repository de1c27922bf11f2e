package center

import (
	"context"
	"errors"
	"maps"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job/template"
	"github.com/axsched/ax/modules/secret"
)

// values judges what a run is given.
type values struct{ secrets *secret.Secrets }

// Check holds the run's own params against the inputs that the job declares, and all of it against what a task can take.
func (v values) Check(ctx context.Context, project domain.ID, spec domain.JobSpec, own map[string]string) []error {
	var out []error
	for _, e := range domain.CheckInputs(spec.Inputs, own) {
		out = append(out, e)
	}
	if len(out) > 0 {
		return out
	}
	if len(own) > 0 {
		all := map[string]string{}
		maps.Copy(all, spec.Params)
		maps.Copy(all, own)
		if err := template.Check(all, spec.Env); errors.Is(err, template.ErrTooLarge) {
			return []error{domain.Fail(domain.TooLarge, "%v", err).At("params")}
		} else if err != nil {
			return []error{domain.Fail(domain.Invalid, "%v", err).At("params")}
		}
	}
	for _, in := range spec.Inputs {
		if in.Type != domain.InputSecret || own[in.Name] == "" {
			continue
		}
		if _, err := v.secrets.Get(ctx, domain.SecretKey{Project: project, Name: own[in.Name]}); domain.Is(err, domain.NotFound) {
			out = append(out, domain.Fail(domain.Invalid, "input %s: the project has no secret of this name", in.Name).At(in.Field()).Coded("input.no_secret", "name", in.Name))
		} else if err != nil {
			return []error{err}
		}
	}
	return out
}

package job

import (
	"context"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// inResults holds the results that jobs read against what their upstreams promise: one that declares outputs has these
// keys and no other.
func (d *Definitions) inResults(ctx context.Context, parsed []Parsed, byKey map[domain.JobKey]domain.ID) (Problems, error) {
	outputs := map[domain.JobKey][]string{}
	for _, p := range parsed {
		outputs[p.Spec.Key()] = p.Spec.Outputs
	}
	var out Problems
	for _, p := range parsed {
		for _, use := range p.results {
			promised, known := outputs[use.Job]
			if id := byKey[use.Job]; !known && id != 0 {
				j, err := d.Store.ByID(ctx, id)
				if err != nil {
					return nil, err
				}
				promised = j.Spec.Outputs
				outputs[use.Job] = promised
			}
			if len(promised) == 0 || slices.Contains(promised, use.Key) {
				continue
			}
			args, hint := pairs("key", use.Key, "job", use.Job.String(), "known", strings.Join(promised, ", ")), hintOneOf
			if near := nearest(use.Key, promised); near != "" {
				args["suggestion"], hint = near, hintMeant
			}
			out = append(out, p.problem("job."+use.Field, idResultMissing, hint, args))
		}
	}
	return out, nil
}

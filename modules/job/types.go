package job

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// unoffered warns about jobs of a type that AX does not know and no target that is up announces. Where no target is up at
// all nothing is said: that is no fault of the file.
func (d *Definitions) unoffered(ctx context.Context, parsed []Parsed) error {
	if d.Types == nil {
		return nil
	}
	known := map[string]map[string]domain.TypeOffer{} // by project
	for i, p := range parsed {
		kind := p.Spec.Exec.Type
		if domain.BuiltIn(kind) {
			continue
		}
		offers, asked := known[p.Spec.Project]
		if !asked {
			var err error
			if offers, err = d.Types.Offered(ctx, p.Spec.Project); err != nil {
				return err
			}
			known[p.Spec.Project] = offers
		}
		if _, there := offers[kind]; there || len(offers) == 0 {
			continue
		}
		names := slices.Sorted(maps.Keys(offers))
		args := pairs("type", kind, "known", strings.Join(names, ", "))
		hint := hintExecNobody
		if near := nearest(kind, append(names, domain.BuiltInTypes()...)); near != "" {
			args["suggestion"], hint = near, hintMeant
		}
		w := p.problem("job.exec.type", idExecNobody, hint, args)
		w.Warning = true
		parsed[i].Warnings = append(parsed[i].Warnings, w)
	}
	return nil
}

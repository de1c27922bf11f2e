package center

import (
	"context"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/netguard"
)

// firstNetworks are what tasks of the default project may connect to beside the public network, where it is made now: on one
// machine that is for one person, what that person runs there.
func firstNetworks(mode config.Mode) []string {
	if mode == config.ModeAll {
		return []string{netguard.WordLoopback}
	}
	return nil
}

// connects are the types whose tasks connect to a URL that a person typed.
var connects = map[string]bool{"http": true}

// net is where an attempt may connect to; nil for types that connect nowhere by themselves. The stores are those that the
// last look found: the rows of instances are locked meanwhile.
func (r renderer) net(ctx context.Context, spec domain.JobSpec, in domain.Instance) (*protocol.Net, error) {
	if !connects[spec.Exec.Type] {
		return nil, nil
	}
	project, err := r.access.ProjectByID(ctx, in.ProjectID)
	if err != nil {
		return nil, err
	}
	out := &protocol.Net{Allow: project.Networks}
	for _, at := range r.stores.Known() {
		out.Stores = append(out.Stores, at.String())
	}
	return out, nil
}

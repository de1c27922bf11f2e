package center

import (
	"context"

	"github.com/axsched/ax/modules/domain"
	fleetstore "github.com/axsched/ax/modules/fleet/store"
)

// offers tells definitions which types can be run: what the workers that are up announce.
type offers struct{ workers *fleetstore.Store }

// Offered gives them by their word.
func (o offers) Offered(ctx context.Context, _ string) (map[string]domain.TypeOffer, error) {
	all, err := o.workers.List(ctx)
	out := map[string]domain.TypeOffer{}
	for _, w := range all {
		if w.State == domain.WorkerGone || !w.LostAt.IsZero() {
			continue
		}
		for _, kind := range w.Types {
			offer := out[kind]
			out[kind] = domain.TypeOffer{Type: kind, By: append(offer.By, w.Name)}
		}
	}
	return out, err
}

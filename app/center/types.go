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
	return o.workers.Offers(ctx)
}

package fleet

import (
	"context"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/fleet/store"
)

// Drains asks workers to take no more, or to go on; the broker hears of it at its next
// look. Safe for concurrent use; all fields must be set.
type Drains struct {
	Store *store.Store
	Audit Audit
}

// Set asks one worker, and gives it as it stands then. Asking again changes nothing.
// NotFound if there is none of the name.
func (d Drains) Set(ctx context.Context, name string, drain bool) (domain.Worker, error) {
	var out domain.Worker
	err := d.Store.Tx(ctx, func(ctx context.Context) error {
		w, err := d.Store.ByName(ctx, name)
		if err != nil {
			return err
		}
		if w.Drain != drain {
			if err := d.Store.SetDrain(ctx, name, drain); err != nil {
				return err
			}
			if err := d.Audit.Changed(ctx, domain.EveryProject, "worker.drain", "worker/"+name, asked(w.Drain), asked(drain)); err != nil {
				return err
			}
		}
		out, err = d.Store.ByName(ctx, name)
		return err
	})
	return out, err
}

func asked(drain bool) string {
	if drain {
		return "draining"
	}
	return "taking work"
}

package center

import (
	"context"
	"errors"

	"github.com/axsched/ax/modules/broker"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/lease"
)

// early lets what the scheduler makes be given a target by the active broker of the same
// process, under the broker's fence in the scheduler's transaction.
type early struct {
	broker *broker.Broker
	office *lease.Office
	db     *dbx.DB // the scheduler's
}

var _ instance.Early = early{}

// Assign gives what nothing holds up a target. Where the broker has been succeeded, all of
// it waits for the successor.
func (e early) Assign(ctx context.Context, ready []domain.Instance, specs []domain.JobSpec) ([]domain.Assignment, func([]domain.Attempt, bool), error) {
	as, epoch, settle := e.broker.Early(ready, specs)
	if len(as) == 0 {
		return nil, nil, nil
	}
	err := e.office.Fence(e.db, epoch)(ctx)
	if err == nil {
		return as, settle, nil
	}
	settle(nil, true)
	if errors.Is(err, lease.ErrFenced) {
		err = nil
	}
	return nil, nil, err
}

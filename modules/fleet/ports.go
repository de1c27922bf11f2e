package fleet

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// Audit records a change in the transaction of ctx.
type Audit interface {
	Changed(ctx context.Context, project domain.ID, action, object, before, after string) error
}

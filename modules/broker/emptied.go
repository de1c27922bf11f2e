package broker

import (
	"context"
	"log/slog"

	"github.com/axsched/ax/modules/domain"
)

// takeBackUnclaimed takes back all that was sent and not claimed, because the registry
// lost what was last written to it, and very likely the messages with it: waiting for
// their acks would make late what can be sent again now. One that was claimed meanwhile
// keeps its grant, since that is decided by the row; one that arrives after all is
// denied.
func (b *Broker) takeBackUnclaimed(ctx context.Context) error {
	var ids []domain.ID
	b.mem.mu.Lock()
	for _, f := range b.mem.flights {
		if !f.granted {
			ids = append(ids, f.attempt)
		}
	}
	b.mem.mu.Unlock()
	slog.Warn("Redis lost what was last written to it; what no worker has claimed is sent again", "attempts", len(ids))
	if len(ids) == 0 {
		return nil
	}
	return b.withdraw(ctx, ids, domain.OutcomeNoAck, "Redis lost its data; the message with it")
}

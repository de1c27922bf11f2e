package store

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// EventsAfter reads the history of all instances in the order of ids, which is that of
// making, from after on.
func (s *Store) EventsAfter(ctx context.Context, after domain.ID, limit int) ([]domain.Event, error) {
	var rows []eventRow
	err := s.db.Scan(ctx, &rows, "SELECT * FROM event WHERE id > ? ORDER BY id LIMIT ?", after, limit)
	out := make([]domain.Event, len(rows))
	for i, r := range rows {
		out[i] = r.event()
	}
	return out, err
}

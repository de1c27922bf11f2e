package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Untaken counts the triggers that were due before an instant and have not moved
// since, up to most, and gives the time of the one due first. A trigger that makes up
// many fires is due for long and moves all the time.
func (s *Store) Untaken(ctx context.Context, before time.Time, most int) (n int, first time.Time, err error) {
	var rows []struct{ NextFireAt int64 }
	err = s.db.Scan(ctx, &rows, "SELECT next_fire_at FROM `trigger` WHERE next_fire_at > 0 AND next_fire_at <= ? AND updated_at <= ? ORDER BY next_fire_at LIMIT ?",
		domain.Millis(before), domain.Millis(before), most)
	if err != nil || len(rows) == 0 {
		return 0, time.Time{}, err
	}
	return len(rows), domain.FromMillis(rows[0].NextFireAt), nil
}

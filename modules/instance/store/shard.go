package store

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// InsertShards writes the rows of new shards. No day and no list knows of them.
func (s *Store) InsertShards(ctx context.Context, shards []domain.Instance) error {
	if len(shards) == 0 {
		return nil
	}
	rows := make([][]any, len(shards))
	for i, in := range shards {
		rows[i] = toRow(in).values()
	}
	return s.db.InsertRows(ctx, "instance", columnNames, zeroColumns, rows)
}

// ShardsOf reads the shards of a run of a job, in order, without locking; none if it was
// not split.
func (s *Store) ShardsOf(ctx context.Context, job, run domain.ID) ([]domain.Instance, error) {
	first := domain.ShardFirePrefix(run)
	beyond := first[:len(first)-1] + string(first[len(first)-1]+1)
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE job_id = ? AND fire_key >= ? AND fire_key < ? ORDER BY fire_key", job, first, beyond)
}

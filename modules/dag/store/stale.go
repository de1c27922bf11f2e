package store

import (
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// MarkStale writes marks, or renews those that are there.
func (s *Store) MarkStale(ctx context.Context, marks []domain.StaleMark) error {
	rows := make([][]any, len(marks))
	for i, m := range marks {
		rows[i] = []any{m.Instance, m.By, m.ProjectID, m.Run, domain.Millis(m.At)}
	}
	return s.db.Upsert(ctx, "stale", []string{"instance_id", "by_instance"}, []string{"instance_id", "by_instance", "project_id", "by_run", "at"},
		"by_run = NEW(by_run), at = NEW(at)", rows)
}

// ClearStale takes all marks of instances away.
func (s *Store) ClearStale(ctx context.Context, instances []domain.ID) error {
	for part := range slices.Chunk(instances, chunk) {
		if _, err := s.db.Exec(ctx, "DELETE FROM stale WHERE instance_id IN ?", part); err != nil {
			return err
		}
	}
	return nil
}

// Stale reads the marks of instances, without the names of what made them.
func (s *Store) Stale(ctx context.Context, instances []domain.ID) ([]domain.StaleMark, error) {
	var out []domain.StaleMark
	for part := range slices.Chunk(instances, chunk) {
		var rows []struct{ InstanceID, ByInstance, ProjectID, ByRun, At int64 }
		if err := s.db.Scan(ctx, &rows, "SELECT instance_id, by_instance, project_id, by_run, at FROM stale WHERE instance_id IN ? ORDER BY instance_id, by_instance", part); err != nil {
			return nil, err
		}
		for _, r := range rows {
			out = append(out, domain.StaleMark{Instance: domain.ID(r.InstanceID), By: domain.ID(r.ByInstance), ProjectID: domain.ID(r.ProjectID),
				Run: domain.ID(r.ByRun), At: domain.FromMillis(r.At)})
		}
	}
	return out, nil
}

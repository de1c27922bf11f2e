package store

import (
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

type gapRow struct {
	ID        int64
	ProjectID int64
	JobID     int64
	Kind      string
	Reason    string
	BizDate   string
	FromAt    int64
	ToAt      int64
	Fires     int
	CreatedAt int64
}

// TableName is gorm's.
func (gapRow) TableName() string { return "fire_gap" }

// InsertGaps writes gaps.
func (s *Store) InsertGaps(ctx context.Context, gaps []plan.Gap) error {
	if len(gaps) == 0 {
		return nil
	}
	rows := make([]gapRow, len(gaps))
	for i, g := range gaps {
		rows[i] = gapRow{ID: int64(g.ID), ProjectID: int64(g.ProjectID), JobID: int64(g.JobID), Kind: string(g.Kind), Reason: g.Reason,
			BizDate: g.BizDate.String(), FromAt: domain.Millis(g.From), ToAt: domain.Millis(g.To), Fires: g.Fires, CreatedAt: domain.Millis(g.CreatedAt)}
	}
	return s.db.Insert(ctx, &rows)
}

// Gaps reads a job's gaps that touch [from, to), in order.
func (s *Store) Gaps(ctx context.Context, job domain.ID, from, to time.Time) ([]plan.Gap, error) {
	m, err := s.GapsOf(ctx, []domain.ID{job}, from, to)
	return m[job], err
}

// GapsOf reads the gaps of jobs that touch [from, to), in order, by job.
func (s *Store) GapsOf(ctx context.Context, jobs []domain.ID, from, to time.Time) (map[domain.ID][]plan.Gap, error) {
	out := map[domain.ID][]plan.Gap{}
	for part := range slices.Chunk(jobs, chunk) {
		var rows []gapRow
		if err := s.db.Scan(ctx, &rows, "SELECT * FROM fire_gap WHERE job_id IN ? AND from_at < ? AND to_at >= ? ORDER BY job_id, from_at, id",
			ints(part), domain.Millis(to), domain.Millis(from)); err != nil {
			return nil, err
		}
		for _, r := range rows {
			biz, err := domain.ParseBizDate(r.BizDate)
			if err != nil {
				return nil, err
			}
			out[domain.ID(r.JobID)] = append(out[domain.ID(r.JobID)], plan.Gap{ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), JobID: domain.ID(r.JobID),
				Kind: plan.GapKind(r.Kind), Reason: r.Reason, BizDate: biz, From: domain.FromMillis(r.FromAt), To: domain.FromMillis(r.ToAt), Fires: r.Fires,
				CreatedAt: domain.FromMillis(r.CreatedAt)})
		}
	}
	return out, nil
}

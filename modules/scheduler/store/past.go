package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// TriggerOf reads the trigger of a job without locking it; false if it has none.
func (s *Store) TriggerOf(ctx context.Context, job domain.ID) (plan.Trigger, bool, error) {
	var rows []triggerRow
	if err := s.db.Scan(ctx, &rows, "SELECT * FROM `trigger` WHERE job_id = ?", job); err != nil || len(rows) == 0 {
		return plan.Trigger{}, false, err
	}
	t, err := rows[0].trigger()
	return t, true, err
}

// GapFilter chooses gaps of one kind, the newest first.
type GapFilter struct {
	Projects []domain.ID // nil: all
	Job      domain.ID   // 0: all
	Kind     plan.GapKind
	From, To domain.BizDate // both counted; zero: no bound
	// Before is the beginning and the id of the last of the page before; zero: from the newest.
	Before   time.Time
	BeforeID domain.ID
	Limit    int
}

// dateMargin is more than any rule puts between a fire and its business date.
const dateMargin = 400 * 24 * time.Hour

// GapsIn reads one page of gaps.
func (s *Store) GapsIn(ctx context.Context, f GapFilter) ([]plan.Gap, error) {
	query, args := "SELECT * FROM fire_gap WHERE kind = ?", []any{string(f.Kind)}
	add := func(cond string, values ...any) { query, args = query+" AND "+cond, append(args, values...) }
	if f.Job != 0 {
		add("job_id = ?", f.Job)
	}
	if f.Projects != nil {
		add("project_id IN ?", append([]int64{0}, ints(f.Projects)...))
	}
	if !f.From.IsZero() {
		add("biz_date >= ? AND from_at >= ?", f.From.String(), domain.Millis(f.From.Start(time.UTC).Add(-dateMargin)))
	}
	if !f.To.IsZero() {
		add("biz_date <= ? AND from_at <= ?", f.To.String(), domain.Millis(f.To.Start(time.UTC).Add(dateMargin)))
	}
	if f.BeforeID != 0 {
		at := domain.Millis(f.Before)
		add("from_at <= ? AND (from_at < ? OR id < ?)", at, at, f.BeforeID)
	}
	var rows []gapRow
	if err := s.db.Scan(ctx, &rows, query+" ORDER BY from_at DESC, id DESC LIMIT ?", append(args, f.Limit)...); err != nil {
		return nil, err
	}
	out := make([]plan.Gap, len(rows))
	for i, r := range rows {
		biz, err := domain.ParseBizDate(r.BizDate)
		if err != nil {
			return nil, err
		}
		out[i] = plan.Gap{ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), JobID: domain.ID(r.JobID), Kind: plan.GapKind(r.Kind), Reason: r.Reason,
			BizDate: biz, From: domain.FromMillis(r.FromAt), To: domain.FromMillis(r.ToAt), Fires: r.Fires, CreatedAt: domain.FromMillis(r.CreatedAt)}
	}
	return out, nil
}

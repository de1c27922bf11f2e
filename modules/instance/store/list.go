package store

import (
	"context"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Filter chooses instances; zero fields do not filter. With Job the order is
// biz_date and id falling, else id falling.
type Filter struct {
	Projects []domain.ID // nil: all
	Job      domain.ID
	BizDate  domain.BizDate
	State    domain.State
	Labels   []domain.Label
	From, To int64 // expected time in milliseconds, [From, To)
	// MadeFrom and MadeTo choose by when an instance was made, [MadeFrom, MadeTo).
	MadeFrom, MadeTo time.Time
	// After is the last row of the page before.
	AfterID   domain.ID
	AfterDate domain.BizDate
	Limit     int
}

// List reads one page.
func (s *Store) List(ctx context.Context, f Filter) ([]domain.Instance, error) {
	var where []string
	var args []any
	add := func(cond string, a ...any) { where, args = append(where, cond), append(args, a...) }
	if f.Projects != nil {
		add("project_id IN ?", append([]domain.ID{0}, f.Projects...))
	}
	if f.Job != 0 {
		add("job_id = ?", f.Job)
	}
	if !f.BizDate.IsZero() {
		add("biz_date = ?", f.BizDate.String())
	}
	if f.State != "" {
		add("state = ?", string(f.State))
	}
	if len(f.Labels) > 0 {
		add("label IN ?", f.Labels)
	}
	if f.From > 0 {
		add("expected_at >= ?", f.From)
	}
	if f.To > 0 {
		add("expected_at < ?", f.To)
	}
	if !f.MadeFrom.IsZero() { // ids are made with the clock or a little ahead of it, so the key helps
		add("id >= ? AND created_at >= ?", domain.IDAt(f.MadeFrom), domain.Millis(f.MadeFrom))
	}
	if !f.MadeTo.IsZero() {
		add("id < ? AND created_at < ?", domain.IDAt(f.MadeTo.Add(time.Minute)), domain.Millis(f.MadeTo))
	}
	order := "id DESC"
	switch {
	case f.Job != 0:
		order = "biz_date DESC, id DESC"
		if f.AfterID != 0 {
			add("(biz_date < ? OR (biz_date = ? AND id < ?))", f.AfterDate.String(), f.AfterDate.String(), f.AfterID)
		}
	case f.AfterID != 0:
		add("id < ?", f.AfterID)
	}
	query := "SELECT " + columns + " FROM instance"
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	return s.read(ctx, query+" ORDER BY "+order+" LIMIT ?", append(args, f.Limit)...)
}

// ByTrace finds the instance one of whose runs carries the trace id; 0 if there is
// none.
func (s *Store) ByTrace(ctx context.Context, trace string) (domain.ID, error) {
	run, ok := domain.RunOfTrace(trace)
	if !ok {
		return 0, nil
	}
	var rows []struct{ ID int64 }
	err := s.db.Scan(ctx, &rows, "SELECT id FROM instance WHERE id = ? AND trace_id = ?"+
		" UNION SELECT instance_id FROM run WHERE id = ? AND trace_id = ?", run, trace, run, trace)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return domain.ID(rows[0].ID), nil
}

// begun are the labels of an instance that has left the queue and has not ended.
var begun = []domain.Label{domain.Dispatched, domain.Executing, domain.Stopping, domain.Orphan}

// Begun reads the instances of a job that were sent to a target and have not ended,
// oldest first.
func (s *Store) Begun(ctx context.Context, job domain.ID, limit int) ([]domain.Instance, error) {
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE state = 'running' AND label IN ? AND job_id = ? ORDER BY id LIMIT ?", begun, job, limit)
}

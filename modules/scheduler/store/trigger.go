package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/scheduler/plan"
)

type triggerRow struct {
	ID          int64
	ProjectID   int64
	JobID       int64
	Version     int
	Kind        string
	Expr        string
	Dialect     string
	Timezone    string
	BizDateRule string
	Misfire     string
	AnchorAt    int64
	Enabled     bool
	NextFireAt  int64
	LastFireAt  int64
	Ver         int64
	UpdatedAt   int64

	CalendarID      int64
	CalendarVersion int
	Gate            string
}

// TableName is gorm's.
func (triggerRow) TableName() string { return "trigger" }

func rowOf(t plan.Trigger, at time.Time) triggerRow {
	return triggerRow{
		ID: int64(t.ID), ProjectID: int64(t.ProjectID), JobID: int64(t.JobID), Version: t.Version,
		Kind: string(t.Schedule.Kind), Expr: t.Expr(), Dialect: t.Schedule.Dialect, Timezone: t.Zone, BizDateRule: string(t.Rule),
		Misfire: string(t.Misfire), AnchorAt: domain.Millis(t.Anchor), Enabled: t.Enabled,
		NextFireAt: domain.Millis(t.Next), LastFireAt: domain.Millis(t.Last), Ver: t.Ver, UpdatedAt: domain.Millis(at),
		CalendarID: int64(t.Gate.Calendar), CalendarVersion: t.Gate.Version, Gate: t.Gate.Text(),
	}
}

func (r triggerRow) trigger() (plan.Trigger, error) {
	s, err := plan.ParseSchedule(domain.ScheduleKind(r.Kind), r.Expr, r.Dialect)
	if err != nil {
		return plan.Trigger{}, fmt.Errorf("trigger %d: %w", r.ID, err)
	}
	return plan.Trigger{
		ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), JobID: domain.ID(r.JobID), Version: r.Version,
		Timing: plan.Timing{Schedule: s, Zone: r.Timezone, Rule: domain.BizDateRule(r.BizDateRule), Anchor: domain.FromMillis(r.AnchorAt),
			Gate: plan.ParseGate(domain.ID(r.CalendarID), r.CalendarVersion, r.Gate)},
		Misfire: domain.Misfire(r.Misfire), Enabled: r.Enabled,
		Next: domain.FromMillis(r.NextFireAt), Last: domain.FromMillis(r.LastFireAt), Ver: r.Ver,
	}, nil
}

// LockOf locks and reads the trigger of a job; NotFound if it has none.
func (s *Store) LockOf(ctx context.Context, job domain.ID) (plan.Trigger, error) {
	var id int64
	if err := s.db.Scan(ctx, &id, "SELECT id FROM `trigger` WHERE job_id = ?", job); err != nil {
		return plan.Trigger{}, err
	}
	var rows []triggerRow
	if err := s.db.Scan(ctx, &rows, "SELECT * FROM `trigger` WHERE id = ?"+s.db.ForUpdate(), id); err != nil {
		return plan.Trigger{}, err
	}
	if len(rows) == 0 {
		return plan.Trigger{}, domain.Fail(domain.NotFound, "job %s has no trigger", job)
	}
	return rows[0].trigger()
}

// LockAllOf locks, by primary key in order, and reads the triggers of jobs; jobs without one
// are absent. The first that can't be read is the error.
func (s *Store) LockAllOf(ctx context.Context, jobs []domain.ID) ([]plan.Trigger, error) {
	var out []plan.Trigger
	var ids []int64
	for part := range slices.Chunk(jobs, chunk) {
		var some []int64
		if err := s.db.Scan(ctx, &some, "SELECT id FROM `trigger` WHERE job_id IN ?", ints(part)); err != nil {
			return nil, err
		}
		ids = append(ids, some...)
	}
	slices.Sort(ids)
	for part := range slices.Chunk(ids, chunk) {
		var rows []triggerRow
		if err := s.db.Scan(ctx, &rows, "SELECT * FROM `trigger` WHERE id IN ? ORDER BY id"+s.db.ForUpdate(), part); err != nil {
			return nil, err
		}
		for _, r := range rows {
			t, err := r.trigger()
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// LockSkipping locks the triggers by primary key in order, passing over those that
// somebody else holds, and returns their vers.
func (s *Store) LockSkipping(ctx context.Context, ids []domain.ID) (map[domain.ID]int64, error) {
	vers := make(map[domain.ID]int64, len(ids))
	for part := range slices.Chunk(slices.Sorted(slices.Values(ids)), chunk) {
		err := s.db.Each(ctx, func(scan func(...any) error) error {
			var id, ver int64
			err := scan(&id, &ver)
			vers[domain.ID(id)] = ver
			return err
		}, "SELECT id, ver FROM `trigger` WHERE id IN ? ORDER BY id"+s.db.ForUpdateSkipLocked(), ints(part))
		if err != nil {
			return nil, err
		}
	}
	return vers, nil
}

// Read reads triggers. One that can't be read is reported in broken.
func (s *Store) Read(ctx context.Context, ids []domain.ID) (found []plan.Trigger, broken map[domain.ID]error, err error) {
	broken = map[domain.ID]error{}
	for part := range slices.Chunk(ids, chunk) {
		var rows []triggerRow
		if err := s.db.Scan(ctx, &rows, "SELECT * FROM `trigger` WHERE id IN ?", ints(part)); err != nil {
			return nil, nil, err
		}
		for _, r := range rows {
			t, err := r.trigger()
			if err != nil {
				broken[domain.ID(r.ID)] = err
				continue
			}
			found = append(found, t)
		}
	}
	return found, broken, nil
}

// Due reads, without locking, the triggers that are due up to an instant, the oldest first.
func (s *Store) Due(ctx context.Context, until time.Time, limit int) ([]plan.Due, error) {
	return s.due(ctx, "next_fire_at > 0 AND next_fire_at <= ? ORDER BY next_fire_at LIMIT ?", domain.Millis(until), limit)
}

// Soon reads the versions of the jobs that are due up to an instant, the oldest first.
func (s *Store) Soon(ctx context.Context, until time.Time, limit int) ([]domain.JobVersion, error) {
	var rows []struct {
		JobID   int64
		Version int
	}
	err := s.db.Scan(ctx, &rows, "SELECT job_id, version FROM `trigger` WHERE next_fire_at > 0 AND next_fire_at <= ? ORDER BY next_fire_at LIMIT ?", domain.Millis(until), limit)
	out := make([]domain.JobVersion, len(rows))
	for i, r := range rows {
		out[i] = domain.JobVersion{JobID: domain.ID(r.JobID), Version: r.Version}
	}
	return out, err
}

// Peek reads where the triggers stand, without locking; deleted ones are absent.
func (s *Store) Peek(ctx context.Context, ids []domain.ID) ([]plan.Due, error) {
	var out []plan.Due
	for part := range slices.Chunk(ids, chunk) {
		found, err := s.due(ctx, "id IN ?", ints(part))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Of reads where the triggers of jobs stand, by job; jobs without one are absent.
func (s *Store) Of(ctx context.Context, jobs []domain.ID) (map[domain.ID]plan.Due, error) {
	out := map[domain.ID]plan.Due{}
	for part := range slices.Chunk(jobs, chunk) {
		var rows []struct {
			ID, JobID, NextFireAt, Ver int64
		}
		if err := s.db.Scan(ctx, &rows, "SELECT id, job_id, next_fire_at, ver FROM `trigger` WHERE job_id IN ?", ints(part)); err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[domain.ID(r.JobID)] = plan.Due{ID: domain.ID(r.ID), Next: domain.FromMillis(r.NextFireAt), Ver: r.Ver}
		}
	}
	return out, nil
}

func (s *Store) due(ctx context.Context, where string, args ...any) ([]plan.Due, error) {
	var rows []struct {
		ID, NextFireAt, Ver int64
	}
	if err := s.db.Scan(ctx, &rows, "SELECT id, next_fire_at, ver FROM `trigger` WHERE "+where, args...); err != nil {
		return nil, err
	}
	out := make([]plan.Due, len(rows))
	for i, r := range rows {
		out[i] = plan.Due{ID: domain.ID(r.ID), Next: domain.FromMillis(r.NextFireAt), Ver: r.Ver}
	}
	return out, nil
}

// Insert writes a new trigger; Exists if the job has one.
func (s *Store) Insert(ctx context.Context, t plan.Trigger, at time.Time) error {
	r := rowOf(t, at)
	return s.db.Insert(ctx, &r)
}

// Save writes a locked trigger back whole; t.Ver is the version as read. Conflict if
// the row has moved.
func (s *Store) Save(ctx context.Context, t plan.Trigger, at time.Time) error {
	r := rowOf(t, at)
	n, err := s.db.Exec(ctx, "UPDATE `trigger` SET version = ?, kind = ?, expr = ?, dialect = ?, timezone = ?, biz_date_rule = ?, misfire = ?, "+
		"anchor_at = ?, calendar_id = ?, calendar_version = ?, gate = ?, enabled = ?, next_fire_at = ?, ver = ver + 1, updated_at = ? WHERE id = ? AND ver = ?",
		r.Version, r.Kind, r.Expr, r.Dialect, r.Timezone, r.BizDateRule, r.Misfire, r.AnchorAt, r.CalendarID, r.CalendarVersion, r.Gate, r.Enabled, r.NextFireAt, r.UpdatedAt, r.ID, r.Ver)
	if err == nil && n != 1 {
		err = domain.Fail(domain.Conflict, "trigger %s moved meanwhile", t.ID)
	}
	return err
}

// Rearm writes the version of the calendar and Next of locked triggers; Ver is the version as
// read. Conflict if any row has moved.
func (s *Store) Rearm(ctx context.Context, ts []plan.Trigger, at time.Time) error {
	u := dbx.Update{Table: "trigger", Keys: []string{"id", "ver"}, Cols: []string{"calendar_version", "next_fire_at", "updated_at"},
		Extra: "ver = ver + 1", Rows: make([][]any, len(ts))}
	for i, t := range ts {
		u.Rows[i] = []any{int64(t.ID), t.Ver, t.Gate.Version, domain.Millis(t.Next), domain.Millis(at)}
	}
	return s.update(ctx, u)
}

func (s *Store) update(ctx context.Context, u dbx.Update) error {
	if len(u.Rows) == 0 {
		return nil
	}
	n, err := s.db.UpdateRows(ctx, u)
	if err == nil && n != int64(len(u.Rows)) {
		err = domain.Fail(domain.Conflict, "%d of %d triggers moved meanwhile", int64(len(u.Rows))-n, len(u.Rows))
	}
	return err
}

// Advance writes Next and Last of locked triggers; Ver is the version as read.
// Conflict if any row has moved.
func (s *Store) Advance(ctx context.Context, ts []plan.Trigger, at time.Time) error {
	u := dbx.Update{Table: "trigger", Keys: []string{"id", "ver"}, Cols: []string{"next_fire_at", "last_fire_at", "updated_at"},
		Extra: "ver = ver + 1", Rows: make([][]any, len(ts))}
	for i, t := range ts {
		u.Rows[i] = []any{int64(t.ID), t.Ver, domain.Millis(t.Next), domain.Millis(t.Last), domain.Millis(at)}
	}
	return s.update(ctx, u)
}

// Delete removes triggers.
func (s *Store) Delete(ctx context.Context, ids []domain.ID) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := s.db.Exec(ctx, "DELETE FROM `trigger` WHERE id IN ?", ints(ids))
	return err
}

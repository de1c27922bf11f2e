package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

type eventRow struct {
	ID         int64
	ProjectID  int64
	InstanceID int64
	RunID      int64
	AttemptID  int64
	Move       string
	FromStatus string
	ToStatus   string
	Actor      string
	Note       string
	At         int64
}

// TableName is gorm's.
func (eventRow) TableName() string { return "event" }

// InsertEvents writes rows of history.
func (s *Store) InsertEvents(ctx context.Context, es []domain.Event) error {
	if len(es) == 0 {
		return nil
	}
	rows := make([]eventRow, len(es))
	for i, e := range es {
		rows[i] = eventRow{ID: int64(e.ID), ProjectID: int64(e.ProjectID), InstanceID: int64(e.InstanceID), RunID: int64(e.RunID),
			AttemptID: int64(e.AttemptID), Move: string(e.Move), FromStatus: e.From, ToStatus: e.To, Actor: e.Actor, Note: e.Note, At: domain.Millis(e.At)}
	}
	return s.db.Insert(ctx, &rows)
}

// Events reads an instance's history, oldest first, at most 500 rows.
func (s *Store) Events(ctx context.Context, instance domain.ID) ([]domain.Event, error) {
	var rows []eventRow
	err := s.db.Scan(ctx, &rows, "SELECT * FROM event WHERE instance_id = ? ORDER BY id LIMIT 500", instance)
	out := make([]domain.Event, len(rows))
	for i, r := range rows {
		out[i] = r.event()
	}
	return out, err
}

func (r eventRow) event() domain.Event {
	return domain.Event{ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), InstanceID: domain.ID(r.InstanceID), RunID: domain.ID(r.RunID),
		AttemptID: domain.ID(r.AttemptID), Move: domain.MoveName(r.Move), From: r.FromStatus, To: r.ToStatus, Actor: r.Actor, Note: r.Note, At: domain.FromMillis(r.At)}
}

type runRow struct {
	ID          int64
	ProjectID   int64
	InstanceID  int64
	RunNo       int
	TraceID     string
	Version     int
	Params      string
	State       string
	Label       string
	RequestedBy string
	Reason      string
	Message     string
	CreatedAt   int64
	StartedAt   int64
	FinishedAt  int64
}

// TableName is gorm's.
func (runRow) TableName() string { return "run" }

// runOf is the row of the run that stands in an instance.
func runOf(in domain.Instance, created time.Time) runRow {
	r := toRow(in)
	return runRow{ID: r.RunID, ProjectID: r.ProjectID, InstanceID: r.ID, RunNo: r.RunNo, TraceID: r.TraceID, Version: r.Version, Params: r.Params,
		State: r.State, Label: r.Label, RequestedBy: r.RequestedBy, Reason: r.Reason, Message: r.Message,
		CreatedAt: domain.Millis(created), StartedAt: r.StartedAt, FinishedAt: r.FinishedAt}
}

// FileRun files the run that stands in the instance away, before a new one takes
// its place. The first run has no row yet; a later one gets its end written.
func (s *Store) FileRun(ctx context.Context, in domain.Instance) error {
	if in.RunNo == 1 {
		r := runOf(in, in.CreatedAt)
		return s.db.Insert(ctx, &r)
	}
	r := runOf(in, time.Time{})
	_, err := s.db.Exec(ctx, "UPDATE run SET state = ?, label = ?, message = ?, started_at = ?, finished_at = ? WHERE id = ?",
		r.State, r.Label, r.Message, r.StartedAt, r.FinishedAt, r.ID)
	return err
}

// OpenRun writes the row of the run that now stands in the instance.
func (s *Store) OpenRun(ctx context.Context, in domain.Instance, now time.Time) error {
	r := runOf(in, now)
	return s.db.Insert(ctx, &r)
}

// Runs reads the rounds of an instance that were filed, first to last; the last
// of them is the one in force. None: there has been one run only.
func (s *Store) Runs(ctx context.Context, instance domain.ID) ([]domain.Run, error) {
	var rows []runRow
	err := s.db.Scan(ctx, &rows, "SELECT * FROM run WHERE instance_id = ? ORDER BY run_no", instance)
	out := make([]domain.Run, len(rows))
	for i, r := range rows {
		out[i] = domain.Run{ID: domain.ID(r.ID), InstanceID: domain.ID(r.InstanceID), No: r.RunNo, TraceID: r.TraceID, Version: r.Version,
			Params: decode(r.Params), Status: domain.Status{State: domain.State(r.State), Label: domain.Label(r.Label)},
			RequestedBy: r.RequestedBy, Reason: r.Reason, Message: r.Message, CreatedAt: domain.FromMillis(r.CreatedAt),
			StartedAt: domain.FromMillis(r.StartedAt), FinishedAt: domain.FromMillis(r.FinishedAt)}
	}
	return out, err
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

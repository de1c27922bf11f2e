package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

type attemptRow struct {
	ID           int64
	ProjectID    int64
	InstanceID   int64
	RunID        int64
	Shard        int
	Ordinal      int
	State        string
	Target       string
	Boot         int64
	Lane         string
	MessageID    string
	DispatchedAt int64
	AckedAt      int64
	GrantedAt    int64
	StartedAt    int64
	FinishedAt   int64
	TimeoutMs    int64
	KillAt       int64
	ExitCode     *int
	Outcome      string
	Message      string
	Result       string
	Late         string
	LogLines     int64
	ReportedAt   int64
}

// TableName is gorm's.
func (attemptRow) TableName() string { return "attempt" }

func toAttemptRow(a domain.Attempt) attemptRow {
	return attemptRow{
		ID: int64(a.ID), ProjectID: int64(a.ProjectID), InstanceID: int64(a.InstanceID), RunID: int64(a.RunID), Shard: a.Shard,
		Ordinal: a.Ordinal, State: string(a.State), Target: a.Target, Boot: a.Boot, Lane: string(a.Lane), MessageID: a.MessageID,
		DispatchedAt: domain.Millis(a.DispatchedAt), AckedAt: domain.Millis(a.AckedAt), GrantedAt: domain.Millis(a.GrantedAt),
		StartedAt: domain.Millis(a.StartedAt), FinishedAt: domain.Millis(a.FinishedAt), TimeoutMs: a.Deadline.Milliseconds(),
		KillAt: domain.Millis(a.KillAt), ExitCode: a.ExitCode, Outcome: string(a.Outcome), Message: a.Message, Result: string(a.Result), Late: a.Late,
		LogLines: a.LogLines, ReportedAt: domain.Millis(a.ReportedAt),
	}
}

func (r attemptRow) attempt() domain.Attempt {
	a := domain.Attempt{
		ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), InstanceID: domain.ID(r.InstanceID), RunID: domain.ID(r.RunID), Shard: r.Shard,
		Ordinal: r.Ordinal, State: domain.AttemptState(r.State), Target: r.Target, Boot: r.Boot, Lane: domain.Lane(r.Lane), MessageID: r.MessageID,
		DispatchedAt: domain.FromMillis(r.DispatchedAt), AckedAt: domain.FromMillis(r.AckedAt), GrantedAt: domain.FromMillis(r.GrantedAt),
		StartedAt: domain.FromMillis(r.StartedAt), FinishedAt: domain.FromMillis(r.FinishedAt), Deadline: millis(r.TimeoutMs),
		KillAt: domain.FromMillis(r.KillAt), ExitCode: r.ExitCode, Outcome: domain.Outcome(r.Outcome), Message: r.Message, Late: r.Late,
		LogLines: r.LogLines, ReportedAt: domain.FromMillis(r.ReportedAt),
	}
	if r.Result != "" {
		a.Result = json.RawMessage(r.Result)
	}
	return a
}

// InsertAttempts writes new attempts.
func (s *Store) InsertAttempts(ctx context.Context, as []domain.Attempt) error {
	if len(as) == 0 {
		return nil
	}
	rows := make([][]any, len(as))
	for i, a := range as {
		rows[i] = toAttemptRow(a).values()
	}
	return s.db.InsertRows(ctx, "attempt", attemptNames, zeroAttempt, rows)
}

// Attempts reads attempts by id, without a lock of their own: whoever moves one
// holds its instance.
func (s *Store) Attempts(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Attempt, error) {
	out := make(map[domain.ID]domain.Attempt, len(ids))
	for part := range slices.Chunk(sortedIDs(ids), chunk) {
		err := s.db.Each(ctx, func(scan func(...any) error) error {
			var r attemptRow
			if err := scan(r.dest()...); err != nil {
				return err
			}
			out[domain.ID(r.ID)] = r.attempt()
			return nil
		}, "SELECT "+attemptColumns+" FROM attempt WHERE id IN ?", part)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// attemptColumns are those of an attempt in the order of dest.
const attemptColumns = "id, project_id, instance_id, run_id, shard, ordinal, state, target, boot, lane, message_id, dispatched_at, acked_at, granted_at, " +
	"started_at, finished_at, timeout_ms, kill_at, exit_code, outcome, message, result, late, log_lines, reported_at"

var attemptNames = strings.Split(attemptColumns, ", ")

// zeroAttempt are those whose default is 0, the empty text or nothing.
var zeroAttempt = []string{"shard", "acked_at", "granted_at", "started_at", "finished_at", "kill_at", "exit_code", "outcome", "log_lines", "reported_at"}

// values are those of attemptColumns.
func (r attemptRow) values() []any {
	return []any{r.ID, r.ProjectID, r.InstanceID, r.RunID, r.Shard, r.Ordinal, r.State, r.Target, r.Boot, r.Lane, r.MessageID,
		r.DispatchedAt, r.AckedAt, r.GrantedAt, r.StartedAt, r.FinishedAt, r.TimeoutMs, r.KillAt, r.exitCode(), r.Outcome, r.Message, r.Result, r.Late, r.LogLines, r.ReportedAt}
}

// exitCode is a value that two rows can be compared by; nil: none.
func (r attemptRow) exitCode() any {
	if r.ExitCode == nil {
		return nil
	}
	return *r.ExitCode
}

func (r *attemptRow) dest() []any {
	return []any{&r.ID, &r.ProjectID, &r.InstanceID, &r.RunID, &r.Shard, &r.Ordinal, &r.State, &r.Target, &r.Boot, &r.Lane, &r.MessageID,
		&r.DispatchedAt, &r.AckedAt, &r.GrantedAt, &r.StartedAt, &r.FinishedAt, &r.TimeoutMs, &r.KillAt, &r.ExitCode, &r.Outcome, &r.Message, &r.Result, &r.Late, &r.LogLines, &r.ReportedAt}
}

// Owners finds the instances of attempts; those that are not there are absent.
func (s *Store) Owners(ctx context.Context, attempts []domain.ID) ([]domain.ID, error) {
	var out []domain.ID
	for part := range slices.Chunk(sortedIDs(attempts), chunk) {
		err := s.db.Each(ctx, func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			out = append(out, domain.ID(id))
			return err
		}, "SELECT instance_id FROM attempt WHERE id IN ?", part)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// AttemptsOf reads all attempts of an instance, oldest first, of all its runs.
func (s *Store) AttemptsOf(ctx context.Context, instance domain.ID) ([]domain.Attempt, error) {
	var rows []attemptRow
	err := s.db.Scan(ctx, &rows, "SELECT * FROM attempt WHERE instance_id = ? ORDER BY id", instance)
	out := make([]domain.Attempt, len(rows))
	for i, r := range rows {
		out[i] = r.attempt()
	}
	return out, err
}

// Result reads what an instance handed over: the result of its newest attempt that succeeded, else of its newest; nothing
// where there is none.
func (s *Store) Result(ctx context.Context, instance domain.ID) (json.RawMessage, error) {
	var found []string
	err := s.db.Scan(ctx, &found, "SELECT result FROM attempt WHERE instance_id = ? AND outcome <> '' AND state <> 'withdrawn' "+
		"ORDER BY CASE outcome WHEN 'success' THEN 0 ELSE 1 END, id DESC LIMIT 1", instance)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return json.RawMessage(found[0]), nil
}

var attemptCols = []string{"state", "acked_at", "granted_at", "started_at", "finished_at", "kill_at", "exit_code", "outcome", "message", "result", "late", "log_lines", "reported_at"}

// SaveAttempts writes back attempts whose instances the caller has locked.
func (s *Store) SaveAttempts(ctx context.Context, as []Moved[domain.Attempt]) error {
	if len(as) == 0 {
		return nil
	}
	was, is := make([][]any, len(as)), make([][]any, len(as))
	for i, a := range as {
		was[i], is[i] = attemptValues(*a.Was), attemptValues(*a.Is)
		was[i][0] = is[i][0]
	}
	u := dbx.Update{Table: "attempt", Keys: []string{"id"}, Cols: attemptCols, Rows: is}.Changed(was)
	if len(u.Cols) == 0 {
		return nil
	}
	_, err := s.db.UpdateRows(ctx, u)
	return err
}

// attemptValues are the id and the values of attemptCols.
func attemptValues(a domain.Attempt) []any {
	r := toAttemptRow(a)
	return []any{r.ID, r.State, r.AckedAt, r.GrantedAt, r.StartedAt, r.FinishedAt, r.KillAt, r.exitCode(), r.Outcome, r.Message, r.Result, r.Late, r.LogLines, r.ReportedAt}
}

// GrantAttempts is the compare-and-set sent → granted.
func (s *Store) GrantAttempts(ctx context.Context, as []*domain.Attempt) error {
	if len(as) == 0 {
		return nil
	}
	u := dbx.Update{Table: "attempt", Keys: []string{"id", "state"}, Cols: []string{"acked_at", "granted_at"}, Rows: make([][]any, len(as)),
		Extra: "state = 'granted'"}
	for i, a := range as {
		u.Rows[i] = []any{a.ID, string(domain.AttemptSent), domain.Millis(a.AckedAt), domain.Millis(a.GrantedAt)}
	}
	n, err := s.db.UpdateRows(ctx, u)
	if err == nil && n != int64(len(as)) {
		err = domain.Fail(domain.Conflict, "%d of %d attempts moved before their grant", int64(len(as))-n, len(as))
	}
	return err
}

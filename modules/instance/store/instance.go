package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// chunk bounds how many ids one IN list names.
const chunk = 500

// Insert writes new instances, in order of their fire keys so that two writers
// meet no deadlock, and notes them as the latest of their days.
func (s *Store) Insert(ctx context.Context, ins []domain.Instance) error {
	if len(ins) == 0 {
		return nil
	}
	sorted := make([]*domain.Instance, len(ins))
	for i := range ins {
		sorted[i] = &ins[i]
	}
	slices.SortFunc(sorted, func(a, b *domain.Instance) int {
		return cmp.Or(cmp.Compare(a.JobID, b.JobID), a.Expected.Compare(b.Expected))
	})
	rows := make([][]any, len(sorted))
	for i, in := range sorted {
		rows[i] = toRow(*in).values()
	}
	if err := s.db.InsertRows(ctx, "instance", columnNames, zeroColumns, rows); err != nil {
		return err
	}
	return s.noteDays(ctx, ins)
}

// Fired tells which of the fire keys of the job have an instance already.
func (s *Store) Fired(ctx context.Context, job domain.ID, keys []string) (map[string]domain.ID, error) {
	out := map[string]domain.ID{}
	for part := range slices.Chunk(keys, chunk) {
		var rows []struct {
			FireKey string
			ID      int64
		}
		if err := s.db.Scan(ctx, &rows, "SELECT fire_key, id FROM instance WHERE job_id = ? AND fire_key IN ?", job, part); err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[r.FireKey] = domain.ID(r.ID)
		}
	}
	return out, nil
}

// Lock locks the instances by primary key in order and returns them as they now
// stand, by id. Ids that are not there are absent.
func (s *Store) Lock(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error) {
	return s.byIDs(ctx, ids, s.db.ForUpdate())
}

// LockFree is Lock of those that nobody else has locked; the others are absent too.
func (s *Store) LockFree(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error) {
	return s.byIDs(ctx, ids, s.db.ForUpdateSkipLocked())
}

// ByIDs reads instances without locking.
func (s *Store) ByIDs(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error) {
	return s.byIDs(ctx, ids, "")
}

func (s *Store) byIDs(ctx context.Context, ids []domain.ID, lock string) (map[domain.ID]domain.Instance, error) {
	out := make(map[domain.ID]domain.Instance, len(ids))
	for part := range slices.Chunk(sortedIDs(ids), chunk) {
		rows, err := s.read(ctx, "SELECT "+columns+" FROM instance WHERE id IN ? ORDER BY id"+lock, part)
		if err != nil {
			return nil, err
		}
		for _, in := range rows {
			out[in.ID] = in
		}
	}
	return out, nil
}

// Get reads one instance; NotFound if there is none.
func (s *Store) Get(ctx context.Context, id domain.ID) (domain.Instance, error) {
	m, err := s.ByIDs(ctx, []domain.ID{id})
	if err != nil {
		return domain.Instance{}, err
	}
	in, ok := m[id]
	if !ok {
		return in, domain.Fail(domain.NotFound, "there is no instance %s", id).Coded("error.no_instance", "id", id.String())
	}
	return in, nil
}

// LockVers locks the instances by primary key in order and returns their vers. Ids
// that are not there are absent.
func (s *Store) LockVers(ctx context.Context, ids []domain.ID) (map[domain.ID]int64, error) {
	out := make(map[domain.ID]int64, len(ids))
	for part := range slices.Chunk(sortedIDs(ids), chunk) {
		err := s.db.Each(ctx, func(scan func(...any) error) error {
			var id, ver int64
			err := scan(&id, &ver)
			out[domain.ID(id)] = ver
			return err
		}, "SELECT id, ver FROM instance WHERE id IN ? ORDER BY id"+s.db.ForUpdate(), part)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Moved is a row before and after a change.
type Moved[T any] struct{ Was, Is *T }

// moved are the columns that a move may change; of these a statement writes those
// that differ in any of its rows.
var moved = []string{"state", "label", "retries_used", "lost_count", "attempts", "deps_left", "queue_rank", "met_at", "ready_at", "wake_at",
	"started_at", "finished_at", "attempt_id", "message", "cancelled_by_instance", "cancelled_by_run", "shards"}

// Save writes moved instances back, each only if its ver is still the one read;
// Is.Ver is the version as read. Conflict if any row has moved meanwhile.
func (s *Store) Save(ctx context.Context, ins []Moved[domain.Instance]) error {
	return s.save(ctx, ins, moved, func(r instanceRow) []any {
		return []any{r.ID, r.Ver, r.State, r.Label, r.RetriesUsed, r.LostCount, r.Attempts, r.DepsLeft, r.QueueRank, r.MetAt, r.ReadyAt, r.WakeAt,
			r.StartedAt, r.FinishedAt, r.AttemptID, r.Message, r.CancelledByInstance, r.CancelledByRun, r.Shards}
	})
}

// SaveRun writes an instance whose run in force was replaced by a new one.
func (s *Store) SaveRun(ctx context.Context, ins []Moved[domain.Instance]) error {
	cols := append(slices.Clone(moved), "run_id", "run_no", "trace_id", "version", "params", "requested_by", "reason", "trigger_kind", "pool")
	return s.save(ctx, ins, cols, func(r instanceRow) []any {
		return []any{r.ID, r.Ver, r.State, r.Label, r.RetriesUsed, r.LostCount, r.Attempts, r.DepsLeft, r.QueueRank, r.MetAt, r.ReadyAt, r.WakeAt,
			r.StartedAt, r.FinishedAt, r.AttemptID, r.Message, r.CancelledByInstance, r.CancelledByRun, r.Shards,
			r.RunID, r.RunNo, r.TraceID, r.Version, r.Params, r.RequestedBy, r.Reason, r.TriggerKind, r.Pool}
	})
}

// save writes cols; values are the id, the ver and those of cols.
func (s *Store) save(ctx context.Context, ins []Moved[domain.Instance], cols []string, values func(instanceRow) []any) error {
	if len(ins) == 0 {
		return nil
	}
	was, is := make([][]any, len(ins)), make([][]any, len(ins))
	for i, in := range ins {
		is[i], was[i] = values(toRow(*in.Is)), values(toRow(*in.Was))
	}
	u := dbx.Update{Table: "instance", Keys: []string{"id", "ver"}, Cols: cols, Rows: is, Extra: "ver = ver + 1"}
	n, err := s.db.UpdateRows(ctx, u.Changed(was))
	if err != nil {
		return err
	}
	if n != int64(len(ins)) {
		return domain.Fail(domain.Conflict, "%d of %d instances moved meanwhile", int64(len(ins))-n, len(ins))
	}
	return nil
}

// Ready pages the instances of a lane that wait for a target, live work before
// backfill, oldest first, strictly after the one given (zero: from the first).
func (s *Store) Ready(ctx context.Context, lane domain.Lane, after domain.Instance, limit int) ([]domain.Instance, error) {
	const order = " ORDER BY queue_rank, ready_at, id LIMIT ?"
	base := QueueRank(domain.Instance{Lane: lane})
	if after.ID == 0 {
		return s.read(ctx, "SELECT "+columns+" FROM instance WHERE queue_rank >= ? AND queue_rank < ?"+order, base, base+rankWidth, limit)
	}
	// The rest of the rank, and then the ranks behind it: in one question the index would
	// be walked through from the rank's first.
	rank, at := QueueRank(after), domain.Millis(after.ReadyAt)
	page, err := s.read(ctx, "SELECT "+columns+" FROM instance WHERE queue_rank = ? AND ready_at >= ? AND (ready_at > ? OR id > ?)"+order, rank, at, at, after.ID, limit)
	if err != nil || len(page) == limit {
		return page, err
	}
	more, err := s.read(ctx, "SELECT "+columns+" FROM instance WHERE queue_rank > ? AND queue_rank < ?"+order, rank, base+rankWidth, limit-len(page))
	return append(page, more...), err
}

// Held reads instances that were ready by a moment and are held by their job's overlap policy or their pool, the oldest of
// each first.
func (s *Store) Held(ctx context.Context, ready time.Time, limit int) ([]domain.Instance, error) {
	var out []domain.Instance
	for _, label := range []domain.Label{domain.HeldOverlap, domain.HeldPool} {
		ins, err := s.read(ctx, "SELECT "+columns+" FROM instance WHERE state = 'running' AND label = ? AND id < ? AND ready_at <= ? ORDER BY id LIMIT ?",
			string(label), domain.IDAt(ready.Add(time.Minute)), domain.Millis(ready), limit)
		if err != nil {
			return nil, err
		}
		out = append(out, ins...)
	}
	return out, nil
}

// WaitingDeps reads instances made before a moment that wait for their dependencies, the
// oldest first. It walks along the running ones by their ids, which are made with the
// clock or a little ahead of it.
func (s *Store) WaitingDeps(ctx context.Context, made time.Time, limit int) ([]domain.Instance, error) {
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE state = 'running' AND id < ? AND label = ? AND created_at < ? ORDER BY id LIMIT ?",
		domain.IDAt(made.Add(time.Minute)), string(domain.WaitingDeps), domain.Millis(made), limit)
}

// Unfinished reads the instances of one state, running or retrying, that have begun or
// are held, oldest first. One state at a time comes in the order of its index.
func (s *Store) Unfinished(ctx context.Context, state domain.State, after domain.ID, limit int) ([]domain.Instance, error) {
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE state = ? AND label <> ? AND (label <> ? OR attempts > 0 OR shards > 0 AND part_of = 0) AND id > ? ORDER BY id LIMIT ?",
		string(state), string(domain.WaitingDeps), string(domain.Queued), after, limit)
}

// Stopping reads the instances whose target must be told to stop them, oldest first.
func (s *Store) Stopping(ctx context.Context, after domain.ID, limit int) ([]domain.Instance, error) {
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE queue_rank = ? AND id > ? ORDER BY id LIMIT ?", stopRank, after, limit)
}

// Due reads instances whose wake time has come.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) ([]domain.Instance, error) {
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE wake_at > 0 AND wake_at <= ? ORDER BY wake_at LIMIT ?", domain.Millis(now), limit)
}

// OfDates reads all instances of a job with one of the business dates.
func (s *Store) OfDates(ctx context.Context, job domain.ID, dates []domain.BizDate) ([]domain.Instance, error) {
	texts := make([]string, len(dates))
	for i, d := range dates {
		texts[i] = d.String()
	}
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE job_id = ? AND biz_date IN ? AND part_of = 0 ORDER BY id", job, texts)
}

// CancelledBecauseOf reads the instances that were cancelled because of one.
func (s *Store) CancelledBecauseOf(ctx context.Context, cause []domain.ID) ([]domain.Instance, error) {
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE cancelled_by_instance IN ? AND state = 'cancelled' AND label = 'upstream_failed' ORDER BY id", sortedIDs(cause))
}

// Restorable reads the causes, now successes, because of which instances made
// since the id are cancelled.
func (s *Store) Restorable(ctx context.Context, since domain.ID, limit int) ([]domain.Instance, error) {
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE state = 'success' AND id IN (SELECT cancelled_by_instance FROM instance "+
		"WHERE state = 'cancelled' AND label = 'upstream_failed' AND id > ?) ORDER BY id LIMIT ?", since, limit)
}

// Planned reads what became of the job's fires born of a schedule with an expected time
// in [from, to), in order, by the unique key: its text sorts as its milliseconds do.
func (s *Store) Planned(ctx context.Context, job domain.ID, from, to time.Time) ([]domain.FireOutcome, error) {
	var out []domain.FireOutcome
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var id int64
		var key, state, label, message string
		err := scan(&id, &key, &state, &label, &message)
		out = append(out, domain.FireOutcome{FireKey: key, Instance: domain.ID(id), Status: domain.Status{State: domain.State(state), Label: domain.Label(label)}, Message: message})
		return err
	}, "SELECT id, fire_key, state, label, CASE label WHEN 'skipped' THEN message ELSE '' END FROM instance WHERE job_id = ? AND fire_key >= ? AND fire_key < ? ORDER BY fire_key",
		job, domain.ScheduleFireKey(from), domain.ScheduleFireKey(to))
	return out, err
}

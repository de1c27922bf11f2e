package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// What is what a notice tells.
type What int

// What a notice may tell.
const (
	Opening  What = owesOpening
	Recovery What = owesRecovery
	Reminder What = owesReminder
)

// Group is what is told together when there is much of it.
type Group struct {
	What    What
	Kind    domain.IncidentKind
	Project domain.ID
}

// Owed is how much of a group has not been told yet.
type Owed struct {
	Group
	N    int64
	Last domain.ID // the highest id among them
}

type groupRow struct {
	Owes      int
	Kind      string
	ProjectID int64
	N         int64
	Last      int64
}

func (r groupRow) group() Group {
	return Group{What(r.Owes), domain.IncidentKind(r.Kind), domain.ID(r.ProjectID)}
}

// Owed lists what has not been told yet.
func (s *Store) Owed(ctx context.Context) ([]Owed, error) {
	var rows []groupRow
	err := s.db.Scan(ctx, &rows, "SELECT owes, kind, project_id, COUNT(*) AS n, MAX(id) AS last FROM incident WHERE owes > 0 GROUP BY owes, kind, project_id ORDER BY owes, kind, project_id")
	out := make([]Owed, len(rows))
	for i, r := range rows {
		out[i] = Owed{r.group(), r.N, domain.ID(r.Last)}
	}
	return out, err
}

// OwedOf reads incidents of a group that have not been told yet, up to the id last.
func (s *Store) OwedOf(ctx context.Context, g Group, last domain.ID, limit int) ([]domain.Incident, error) {
	return s.read(ctx, "SELECT * FROM incident WHERE owes = ? AND kind = ? AND project_id = ? AND id <= ? ORDER BY id LIMIT ?", int(g.What), string(g.Kind), g.Project, last, limit)
}

// Told is what was told of a group.
type Told struct {
	Single  int64 // notices of one incident each
	Grouped int64 // notices of several
}

// ToldSince counts the notices made since a moment.
func (s *Store) ToldSince(ctx context.Context, at time.Time) (map[Group]Told, error) {
	var rows []struct {
		Owes      int
		Kind      string
		ProjectID int64
		Single    int64
		Grouped   int64
	}
	err := s.db.Scan(ctx, &rows, "SELECT owes, kind, project_id, SUM(CASE WHEN covers = 1 THEN 1 ELSE 0 END) AS single, SUM(CASE WHEN covers > 1 THEN 1 ELSE 0 END) AS grouped "+
		"FROM notice WHERE id >= ? GROUP BY owes, kind, project_id", domain.IDAt(at))
	out := make(map[Group]Told, len(rows))
	for _, r := range rows {
		out[Group{What(r.Owes), domain.IncidentKind(r.Kind), domain.ID(r.ProjectID)}] = Told{r.Single, r.Grouped}
	}
	return out, err
}

// Notice is something to be told, once.
type Notice struct {
	ID domain.ID
	Group
	Incident domain.ID // the one told, or the first of several
	Covers   int64
	Body     string
	Tries    int
}

// settled is what an incident owes once something of it was told: one that ended
// before its opening was told owes its recovery next.
const settled = "owes = CASE WHEN owes = ? AND slot <> 0 THEN ? ELSE ? END, noticed_at = ?"

// Tell writes notices of one incident each, and notes that these were told.
func (s *Store) Tell(ctx context.Context, ns []Notice, at time.Time) error {
	if len(ns) == 0 {
		return nil
	}
	return s.Tx(ctx, func(ctx context.Context) error {
		ids := make([]int64, len(ns))
		for i, n := range ns {
			ids[i] = int64(n.Incident)
		}
		if _, err := s.db.Exec(ctx, "UPDATE incident SET "+settled+" WHERE id IN ? AND owes = ?", owesOpening, owesRecovery, owesNothing, domain.Millis(at), ids, int(ns[0].What)); err != nil {
			return err
		}
		return s.insertNotices(ctx, ns, at)
	})
}

// TellAll writes one notice of all that a group owes up to the id last.
func (s *Store) TellAll(ctx context.Context, n Notice, last domain.ID, at time.Time) error {
	return s.Tx(ctx, func(ctx context.Context) error {
		if _, err := s.db.Exec(ctx, "UPDATE incident SET "+settled+" WHERE owes = ? AND kind = ? AND project_id = ? AND id <= ?", owesOpening, owesRecovery, owesNothing, domain.Millis(at),
			int(n.What), string(n.Kind), n.Project, last); err != nil {
			return err
		}
		return s.insertNotices(ctx, []Notice{n}, at)
	})
}

type noticeRow struct {
	ID         int64
	ProjectID  int64
	IncidentID int64
	Kind       string
	Owes       int
	Covers     int64
	Body       string
	Tries      int
	NextAt     int64
	SentAt     int64
	Fault      string
}

// TableName is gorm's.
func (noticeRow) TableName() string { return "notice" }

func (s *Store) insertNotices(ctx context.Context, ns []Notice, at time.Time) error {
	rows := make([]noticeRow, len(ns))
	for i, n := range ns {
		rows[i] = noticeRow{ID: int64(n.ID), ProjectID: int64(n.Project), IncidentID: int64(n.Incident), Kind: string(n.Kind), Owes: int(n.What), Covers: n.Covers,
			Body: n.Body, NextAt: domain.Millis(at)}
	}
	return s.db.Insert(ctx, &rows)
}

// Untaken counts the notices that no receiver has taken, up to most.
func (s *Store) Untaken(ctx context.Context, most int) (int, error) {
	var n int
	err := s.db.Scan(ctx, &n, "SELECT COUNT(*) FROM (SELECT id FROM notice WHERE sent_at = 0 LIMIT ?) u", most)
	return n, err
}

// first lets a notice pass only when nothing earlier about the same waits to be taken:
// about the same incident, or, where one of the two stands for several, the same kind in
// the project. So no end is told before its beginning.
const first = " AND NOT EXISTS (SELECT 1 FROM notice e WHERE e.sent_at = 0 AND e.id < n.id AND" +
	" (e.incident_id = n.incident_id OR (e.covers > 1 OR n.covers > 1) AND e.kind = n.kind AND e.project_id = n.project_id))"

// Due is the notice to be sent next; false if none is due.
func (s *Store) Due(ctx context.Context, now time.Time) (Notice, bool, error) {
	var rows []noticeRow
	err := s.db.Scan(ctx, &rows, "SELECT * FROM notice n WHERE n.sent_at = 0 AND n.next_at <= ?"+first+" ORDER BY n.next_at, n.id LIMIT 1", domain.Millis(now))
	if err != nil || len(rows) == 0 {
		return Notice{}, false, err
	}
	r := rows[0]
	return Notice{ID: domain.ID(r.ID), Group: Group{What(r.Owes), domain.IncidentKind(r.Kind), domain.ID(r.ProjectID)}, Incident: domain.ID(r.IncidentID),
		Covers: r.Covers, Body: r.Body, Tries: r.Tries}, true, nil
}

// Claim takes a notice for one try, as it was read, and puts it off until next in case
// the try leaves no word. False: somebody else has it.
func (s *Store) Claim(ctx context.Context, n Notice, next time.Time) (bool, error) {
	changed, err := s.db.Exec(ctx, "UPDATE notice SET tries = tries + 1, next_at = ? WHERE id = ? AND tries = ? AND sent_at = 0", domain.Millis(next), n.ID, n.Tries)
	return changed == 1, err
}

// Sent notes that the receiver at the end of the channel took it.
func (s *Store) Sent(ctx context.Context, channel string, id domain.ID, at time.Time) error {
	return s.Tx(ctx, func(ctx context.Context) error {
		if _, err := s.db.Exec(ctx, "UPDATE notice SET sent_at = ?, fault = '' WHERE id = ?", domain.Millis(at), id); err != nil {
			return err
		}
		return s.channelTook(ctx, channel, at)
	})
}

// Failure is a try that failed.
type Failure struct {
	Notice domain.ID
	At     time.Time
	Fault  string
	// Next is when this notice may be tried again, Rests until when nothing is.
	Next, Rests time.Time
}

// Failed notes a try that failed, at its notice and at the channel.
func (s *Store) Failed(ctx context.Context, channel string, f Failure) error {
	return s.Tx(ctx, func(ctx context.Context) error {
		if _, err := s.db.Exec(ctx, "UPDATE notice SET fault = ?, next_at = ? WHERE id = ? AND sent_at = 0", f.Fault, domain.Millis(f.Next), f.Notice); err != nil {
			return err
		}
		return s.channelFailed(ctx, channel, f.At, f.Fault, f.Rests)
	})
}

// Remind lets open incidents that were told last before a moment owe a reminder, a
// chunk of them at most. What ended before the same moment and was never told is not
// told any more.
func (s *Store) Remind(ctx context.Context, before time.Time) error {
	var ids []int64
	if err := s.db.Scan(ctx, &ids, "SELECT id FROM incident WHERE resolved_at = 0 AND owes = 0 AND noticed_at <= ? LIMIT ?", domain.Millis(before), chunk); err != nil {
		return err
	}
	if len(ids) > 0 {
		if _, err := s.db.Exec(ctx, "UPDATE incident SET owes = ? WHERE id IN ? AND slot = 0 AND owes = 0", owesReminder, ids); err != nil {
			return err
		}
	}
	ids = nil
	if err := s.db.Scan(ctx, &ids, "SELECT id FROM incident WHERE resolved_at > 0 AND resolved_at <= ? AND owes > 0 LIMIT ?", domain.Millis(before), chunk); err != nil || len(ids) == 0 {
		return err
	}
	_, err := s.db.Exec(ctx, "UPDATE incident SET owes = 0 WHERE id IN ?", ids)
	return err
}

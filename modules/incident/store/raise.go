package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Occurrence is something wrong as it was found.
type Occurrence struct {
	ProjectID domain.ID
	Kind      domain.IncidentKind
	Subject   string
	Name      string
	At        time.Time
	// Mark names it: the one with the mark of the subject's last is known already. 0: it
	// has no name.
	Mark  int64
	Times int64 // how often it happened; 0 = 1
	// Lasts says that it is a state, which is seen again and not counted again.
	Lasts   bool
	Example domain.ID
	Detail  []string
	Message string
	Cases   []domain.ID // instances that keep it open
}

// What an incident owes.
const (
	owesNothing = iota
	owesOpening
	owesRecovery
	owesReminder
)

type identity struct {
	kind    domain.IncidentKind
	subject string
}

func (o Occurrence) identity() identity { return identity{o.Kind, o.Subject} }

// Raise opens an incident for each occurrence, or raises the one that is open. There
// must be at most one occurrence per kind and subject. Two processes that find the
// same make one incident.
func (s *Store) Raise(ctx context.Context, found []Occurrence) error {
	if len(found) == 0 {
		return nil
	}
	return s.Tx(ctx, func(ctx context.Context) error {
		open, err := s.lockOpen(ctx, found)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(slices.Clone(found), func(o Occurrence) bool { _, ok := open[o.identity()]; return ok })
		past, err := s.pastMarks(ctx, fresh)
		if err != nil {
			return err
		}
		fresh = slices.DeleteFunc(fresh, func(o Occurrence) bool { return o.Mark != 0 && o.Mark == past[o.identity()] })
		if err := s.open(ctx, fresh); err != nil {
			return err
		}
		return s.raiseOpen(ctx, found, open)
	})
}

// byKind calls one for each kind with at most a chunk of its subjects.
func byKind(found []Occurrence, one func(kind domain.IncidentKind, subjects []string) error) error {
	subjects := map[domain.IncidentKind][]string{}
	for _, o := range found {
		subjects[o.Kind] = append(subjects[o.Kind], o.Subject)
	}
	for _, kind := range domain.IncidentKinds {
		slices.Sort(subjects[kind])
		for part := range slices.Chunk(subjects[kind], chunk) {
			if err := one(kind, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockOpen locks and reads the open incidents of the subjects.
func (s *Store) lockOpen(ctx context.Context, found []Occurrence) (map[identity]row, error) {
	out := map[identity]row{}
	err := byKind(found, func(kind domain.IncidentKind, subjects []string) error {
		var ids []int64
		if err := s.db.Scan(ctx, &ids, "SELECT id FROM incident WHERE kind = ? AND subject IN ? AND slot = 0", string(kind), subjects); err != nil || len(ids) == 0 {
			return err
		}
		slices.Sort(ids)
		var rows []row
		if err := s.db.Scan(ctx, &rows, "SELECT * FROM incident WHERE id IN ? ORDER BY id"+s.db.ForUpdate(), ids); err != nil {
			return err
		}
		for _, r := range rows {
			if r.Slot == 0 {
				out[identity{kind, r.Subject}] = r
			}
		}
		return nil
	})
	return out, err
}

// pastMarks reads the marks of the subjects' last incidents that are over.
func (s *Store) pastMarks(ctx context.Context, found []Occurrence) (map[identity]int64, error) {
	out := map[identity]int64{}
	marked := slices.DeleteFunc(slices.Clone(found), func(o Occurrence) bool { return o.Mark == 0 })
	err := byKind(marked, func(kind domain.IncidentKind, subjects []string) error {
		var last []struct {
			Subject string
			ID      int64
		}
		if err := s.db.Scan(ctx, &last, "SELECT subject, MAX(slot) AS id FROM incident WHERE kind = ? AND subject IN ? GROUP BY subject", string(kind), subjects); err != nil || len(last) == 0 {
			return err
		}
		ids := make([]int64, len(last))
		for i, l := range last {
			ids[i] = l.ID
		}
		var rows []struct {
			Subject string
			Mark    int64
		}
		if err := s.db.Scan(ctx, &rows, "SELECT subject, mark FROM incident WHERE id IN ?", ids); err != nil {
			return err
		}
		for _, r := range rows {
			out[identity{kind, r.Subject}] = r.Mark
		}
		return nil
	})
	return out, err
}

func (s *Store) open(ctx context.Context, found []Occurrence) error {
	if len(found) == 0 {
		return nil
	}
	rows := make([]row, len(found))
	var cases []caseRow
	for i, o := range found {
		r := row{ID: int64(s.ids()), ProjectID: int64(o.ProjectID), Kind: string(o.Kind), Subject: o.Subject, Name: o.Name, Mark: o.Mark, Times: max(o.Times, 1),
			ExampleID: int64(o.Example), Detail: text(o.Detail), Message: o.Message, OpenedAt: domain.Millis(o.At), LastAt: domain.Millis(o.At), Owes: owesOpening}
		rows[i] = r
		cases = append(cases, casesOf(r.ID, o.Cases)...)
	}
	if _, err := s.db.InsertNew(ctx, &rows); err != nil {
		return err
	}
	return s.putCases(ctx, cases)
}

type caseRow struct {
	IncidentID int64
	InstanceID int64
}

// TableName is gorm's.
func (caseRow) TableName() string { return "incident_case" }

func casesOf(incident int64, instances []domain.ID) []caseRow {
	out := make([]caseRow, len(instances))
	for i, in := range instances {
		out[i] = caseRow{incident, int64(in)}
	}
	return out
}

func (s *Store) putCases(ctx context.Context, cases []caseRow) error {
	if len(cases) == 0 {
		return nil
	}
	_, err := s.db.InsertNew(ctx, &cases)
	return err
}

// raiseOpen writes what is new of incidents that are open.
func (s *Store) raiseOpen(ctx context.Context, found []Occurrence, open map[identity]row) error {
	u := dbx.Update{Table: "incident", Keys: []string{"id"}, Cols: []string{"mark", "times", "last_at", "example_id", "detail", "message"}}
	var cases []caseRow
	for _, o := range found {
		r, ok := open[o.identity()]
		if !ok {
			continue
		}
		if o.Mark != 0 && o.Mark == r.Mark {
			continue
		}
		cases = append(cases, casesOf(r.ID, o.Cases)...)
		times := r.Times
		if !o.Lasts {
			times += max(o.Times, 1)
		}
		u.Rows = append(u.Rows, []any{r.ID, o.Mark, times, max(domain.Millis(o.At), r.LastAt), int64(o.Example), text(o.Detail), o.Message})
	}
	slices.SortFunc(u.Rows, func(a, b []any) int { return cmp.Compare(a[0].(int64), b[0].(int64)) })
	if _, err := s.db.UpdateRows(ctx, u); err != nil {
		return err
	}
	return s.putCases(ctx, cases)
}

// Resolve ends incidents that are open; it returns how many it ended.
func (s *Store) Resolve(ctx context.Context, ids []domain.ID, at time.Time, why domain.Recovery) (int64, error) {
	var n int64
	for part := range slices.Chunk(slices.Sorted(slices.Values(ids)), chunk) {
		err := s.Tx(ctx, func(ctx context.Context) error {
			one, err := s.db.Exec(ctx, "UPDATE incident SET slot = id, resolved_at = ?, recovery = ?, owes = CASE WHEN owes = ? THEN owes ELSE ? END WHERE id IN ? AND slot = 0",
				domain.Millis(at), string(why), owesOpening, owesRecovery, ints(part))
			if err != nil {
				return err
			}
			n += one
			_, err = s.db.Exec(ctx, "DELETE FROM incident_case WHERE incident_id IN ?", ints(part))
			return err
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Fresh tells which of the events were not handled before, and notes that they are
// now, in the transaction of ctx.
func (s *Store) Fresh(ctx context.Context, events []domain.ID) (map[domain.ID]bool, error) {
	out := make(map[domain.ID]bool, len(events))
	for part := range slices.Chunk(slices.Sorted(slices.Values(events)), chunk) {
		var known []int64
		if err := s.db.Scan(ctx, &known, "SELECT event_id FROM incident_event WHERE event_id IN ?", ints(part)); err != nil {
			return nil, err
		}
		var rows []eventRow
		for _, id := range part {
			if !slices.Contains(known, int64(id)) {
				out[id] = true
				rows = append(rows, eventRow{int64(id)})
			}
		}
		if len(rows) == 0 {
			continue
		}
		if _, err := s.db.InsertNew(ctx, &rows); err != nil {
			return nil, err
		}
	}
	return out, nil
}

type eventRow struct{ EventID int64 }

// TableName is gorm's.
func (eventRow) TableName() string { return "incident_event" }

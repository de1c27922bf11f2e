package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// LockEnded locks and reads, in the transaction of ctx, the incident of a kind and subject that is over and was so between two
// moments, the last of several; zero: there is none.
func (s *Store) LockEnded(ctx context.Context, kind domain.IncidentKind, subject string, from, to time.Time) (domain.Incident, error) {
	var id int64
	if err := s.db.Scan(ctx, &id, "SELECT COALESCE(MAX(id), 0) FROM incident WHERE kind = ? AND subject = ? AND slot > 0 AND resolved_at >= ? AND opened_at <= ?",
		string(kind), subject, domain.Millis(from), domain.Millis(to)); err != nil || id == 0 {
		return domain.Incident{}, err
	}
	return s.Lock(ctx, domain.ID(id))
}

// PutEnded writes an incident that is over: a new one, whose beginning and end are yet to be told, when it has no id, else
// what is known now of the one that it was.
func (s *Store) PutEnded(ctx context.Context, i domain.Incident) error {
	if i.ID != 0 {
		_, err := s.db.Exec(ctx, "UPDATE incident SET opened_at = ?, last_at = ?, resolved_at = ?, times = ?, detail = ? WHERE id = ? AND slot > 0",
			domain.Millis(i.OpenedAt), domain.Millis(i.ResolvedAt), domain.Millis(i.ResolvedAt), i.Count, text(i.Detail), i.ID)
		return err
	}
	id := int64(s.ids())
	return s.db.Insert(ctx, &[]row{{ID: id, ProjectID: int64(i.ProjectID), Kind: string(i.Kind), Subject: i.Subject, Slot: id, Name: i.Name, Times: max(i.Count, 1), Detail: text(i.Detail),
		OpenedAt: domain.Millis(i.OpenedAt), LastAt: domain.Millis(i.ResolvedAt), ResolvedAt: domain.Millis(i.ResolvedAt), Recovery: string(i.Recovery), Owes: owesOpening}})
}

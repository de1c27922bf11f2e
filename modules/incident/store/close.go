package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Lock locks an incident and reads it; NotFound if there is none.
func (s *Store) Lock(ctx context.Context, id domain.ID) (domain.Incident, error) {
	found, err := s.read(ctx, "SELECT * FROM incident WHERE id = ?"+s.db.ForUpdate(), id)
	if err == nil && len(found) == 0 {
		err = domain.Fail(domain.NotFound, "there is no incident %s", id).Coded("incident.none", "id", id.String())
	}
	if err != nil {
		return domain.Incident{}, err
	}
	return found[0], nil
}

// CloseByHand ends a locked incident that is open on a person's word.
func (s *Store) CloseByHand(ctx context.Context, id domain.ID, at time.Time, by, why string) error {
	if _, err := s.db.Exec(ctx, "UPDATE incident SET ended_by = ?, ended_why = ? WHERE id = ? AND slot = 0", by, why, id); err != nil {
		return err
	}
	_, err := s.Resolve(ctx, []domain.ID{id}, at, domain.RecoveredByHand)
	return err
}

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Filter chooses incidents; zero fields do not filter.
type Filter struct {
	Seen     domain.ProjectSet // with its projects come the incidents of the system
	Project  domain.ID
	Kind     domain.IncidentKind
	ID       domain.ID
	OpenOnly bool
	Closed   bool // only those that are over
	After    Place
	Limit    int
}

// Place is where a row stands in the list: open ones first, the newest first, then
// those that are over, the last to end first.
type Place struct {
	ResolvedAt int64     `json:"resolvedAt"` // Unix milliseconds; 0 = open
	ID         domain.ID `json:"id"`
}

// PlaceOf is where an incident stands.
func PlaceOf(i domain.Incident) Place { return Place{domain.Millis(i.ResolvedAt), i.ID} }

// List reads one page.
func (s *Store) List(ctx context.Context, f Filter) ([]domain.Incident, error) {
	if f.Seen.Empty() {
		return nil, nil
	}
	conds, args := f.rest()
	var out []domain.Incident
	if !f.Closed && f.After.ResolvedAt == 0 {
		own, ownArgs := append([]string{"resolved_at = 0"}, conds...), slices.Clone(args)
		if f.After.ID != 0 {
			own, ownArgs = append(own, "id < ?"), append(ownArgs, f.After.ID)
		}
		var err error
		out, err = s.read(ctx, "SELECT * FROM incident WHERE "+strings.Join(own, " AND ")+" ORDER BY id DESC LIMIT ?", append(ownArgs, f.Limit)...)
		if err != nil {
			return nil, err
		}
	}
	if f.OpenOnly || len(out) >= f.Limit {
		return out, nil
	}
	conds = append(conds, "resolved_at > 0")
	if at := f.After.ResolvedAt; at != 0 {
		conds, args = append(conds, "resolved_at <= ? AND (resolved_at < ? OR id < ?)"), append(args, at, at, f.After.ID)
	}
	over, err := s.read(ctx, "SELECT * FROM incident WHERE "+strings.Join(conds, " AND ")+" ORDER BY resolved_at DESC, id DESC LIMIT ?", append(args, f.Limit-len(out))...)
	return append(out, over...), err
}

// rest is what the order does not need.
func (f Filter) rest() (conds []string, args []any) {
	if !f.Seen.All {
		conds, args = append(conds, "project_id IN ?"), append(args, append([]int64{int64(domain.EveryProject)}, ints(f.Seen.IDs)...))
	}
	if f.Project != 0 {
		conds, args = append(conds, "project_id = ?"), append(args, f.Project)
	}
	if f.Kind != "" {
		conds, args = append(conds, "kind = ?"), append(args, string(f.Kind))
	}
	if f.ID != 0 {
		conds, args = append(conds, "id = ?"), append(args, f.ID)
	}
	return conds, args
}

// Open reads open incidents of a kind by id.
func (s *Store) Open(ctx context.Context, kind domain.IncidentKind, after domain.ID, limit int) ([]domain.Incident, error) {
	return s.read(ctx, "SELECT * FROM incident WHERE resolved_at = 0 AND kind = ? AND id > ? ORDER BY id LIMIT ?", string(kind), after, limit)
}

// OpenOf reads the open incidents of subjects of a kind.
func (s *Store) OpenOf(ctx context.Context, kind domain.IncidentKind, subjects []string) ([]domain.Incident, error) {
	var out []domain.Incident
	for part := range slices.Chunk(subjects, chunk) {
		found, err := s.read(ctx, "SELECT * FROM incident WHERE kind = ? AND subject IN ? AND slot = 0", string(kind), part)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// OpenCounts counts the open incidents of each project; EveryProject's are the system's.
func (s *Store) OpenCounts(ctx context.Context) (map[domain.ID]int64, error) {
	var rows []struct{ ProjectID, N int64 }
	err := s.db.Scan(ctx, &rows, "SELECT project_id, COUNT(*) AS n FROM incident WHERE resolved_at = 0 GROUP BY project_id")
	out := make(map[domain.ID]int64, len(rows))
	for _, r := range rows {
		out[domain.ID(r.ProjectID)] = r.N
	}
	return out, err
}

// Case is an instance that keeps an incident open.
type Case struct {
	Incident, Instance domain.ID
}

// Cases reads those of open incidents of a kind, in order, from after on.
func (s *Store) Cases(ctx context.Context, kind domain.IncidentKind, after Case, limit int) ([]Case, error) {
	var rows []caseRow
	err := s.db.Scan(ctx, &rows, "SELECT c.incident_id, c.instance_id FROM incident_case c JOIN incident i ON i.id = c.incident_id WHERE c.incident_id >= ? AND i.kind = ?"+
		" AND (c.incident_id > ? OR c.instance_id > ?) ORDER BY c.incident_id, c.instance_id LIMIT ?", after.Incident, string(kind), after.Incident, after.Instance, limit)
	out := make([]Case, len(rows))
	for i, r := range rows {
		out[i] = Case{domain.ID(r.IncidentID), domain.ID(r.InstanceID)}
	}
	return out, err
}

// DropCases removes cases that keep nothing open any more, and ends the incidents that
// have none left.
func (s *Store) DropCases(ctx context.Context, gone []Case, at time.Time, why domain.Recovery) error {
	if len(gone) == 0 {
		return nil
	}
	of := map[domain.ID][]domain.ID{}
	for _, c := range gone {
		of[c.Incident] = append(of[c.Incident], c.Instance)
	}
	return s.Tx(ctx, func(ctx context.Context) error {
		var bare []domain.ID
		for incident, instances := range of {
			for part := range slices.Chunk(instances, chunk) {
				if _, err := s.db.Exec(ctx, "DELETE FROM incident_case WHERE incident_id = ? AND instance_id IN ?", incident, ints(part)); err != nil {
					return err
				}
			}
			var left []int64
			if err := s.db.Scan(ctx, &left, "SELECT instance_id FROM incident_case WHERE incident_id = ? LIMIT 1", incident); err != nil {
				return err
			}
			if len(left) == 0 {
				bare = append(bare, incident)
			}
		}
		if len(bare) == 0 {
			return nil
		}
		_, err := s.Resolve(ctx, bare, at, why)
		return err
	})
}

// Clean deletes, some thousands of each at most, incidents that ended, notices that were
// taken and notes of events handled, before a moment each.
func (s *Store) Clean(ctx context.Context, ended, taken, handled time.Time) error {
	return errors.Join(
		s.prune(ctx, "incident", "id", "resolved_at > 0 AND resolved_at < ?", "resolved_at", domain.Millis(ended)),
		s.prune(ctx, "notice", "id", "sent_at > 0 AND sent_at < ?", "sent_at", domain.Millis(taken)),
		s.prune(ctx, "incident_event", "event_id", "event_id < ?", "event_id", int64(domain.IDAt(handled))))
}

func (s *Store) prune(ctx context.Context, table, key, where, order string, before int64) error {
	var ids []int64
	if err := s.db.Scan(ctx, &ids, fmt.Sprintf("SELECT %s FROM %s WHERE %s ORDER BY %s LIMIT ?", key, table, where, order), before, 10*chunk); err != nil {
		return err
	}
	for part := range slices.Chunk(ids, chunk) {
		if _, err := s.db.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s IN ?", table, key), part); err != nil {
			return err
		}
	}
	return nil
}

package store

import (
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Otherwise reads, by id, the jobs of the projects (nil: all) of which it can't be said without a look that they stood at
// a moment as they stand now: those of several versions, those made since, and those deleted since the earlier one.
func (s *Store) Otherwise(ctx context.Context, projects []domain.ID, at, deletedSince time.Time) ([]domain.JobThen, error) {
	moment := domain.Millis(at)
	query := "SELECT id, version, created_at, updated_at, deleted_at FROM job WHERE (version > 1 OR created_at >= ? OR deleted_at > 0) AND (deleted_at = 0 OR deleted_at >= ?)"
	args := []any{moment, domain.Millis(deletedSince)}
	if projects != nil {
		query, args = query+" AND project_id IN ?", append(args, append([]domain.ID{0}, projects...))
	}
	var out []domain.JobThen
	var edited []domain.ID
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var id, created, updated, deleted int64
		j := domain.JobThen{}
		if err := scan(&id, &j.Now, &created, &updated, &deleted); err != nil {
			return err
		}
		j.Job = domain.ID(id)
		switch {
		case created >= moment || deleted > 0 && deleted < moment:
		case updated >= moment && j.Now > 1:
			edited = append(edited, j.Job)
		default:
			j.Then = j.Now
		}
		if deleted > 0 {
			j.Now = 0
		}
		out = append(out, j)
		return nil
	}, query+" ORDER BY id", args...)
	if err != nil {
		return nil, err
	}
	then, err := s.versionsAt(ctx, edited, at)
	for i, j := range out {
		if v, ok := then[j.Job]; ok {
			out[i].Then = v
		}
	}
	return out, err
}

// versionsAt reads the newest versions that were saved before a moment.
func (s *Store) versionsAt(ctx context.Context, jobs []domain.ID, at time.Time) (map[domain.ID]int, error) {
	out := map[domain.ID]int{}
	for part := range slices.Chunk(jobs, 500) {
		err := s.db.Each(ctx, func(scan func(...any) error) error {
			var id int64
			var version int
			err := scan(&id, &version)
			out[domain.ID(id)] = version
			return err
		}, "SELECT job_id, MAX(version) FROM job_version WHERE job_id IN ? AND created_at < ? GROUP BY job_id", part, domain.Millis(at))
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Bearer is a job that bears, or bore, a name.
type Bearer struct {
	ID                 domain.ID
	Name               string
	CreatedAt, Deleted time.Time // Deleted is zero: it is there
}

// BearersOf reads all that ever bore one of the names in a project, in the order in which they were made.
func (s *Store) BearersOf(ctx context.Context, project domain.ID, names []string) ([]Bearer, error) {
	var out []Bearer
	for part := range slices.Chunk(names, 500) {
		err := s.db.Each(ctx, func(scan func(...any) error) error {
			var id, created, deleted int64
			var b Bearer
			err := scan(&id, &b.Name, &created, &deleted)
			b.ID, b.CreatedAt, b.Deleted = domain.ID(id), domain.FromMillis(created), domain.FromMillis(deleted)
			out = append(out, b)
			return err
		}, "SELECT id, name, created_at, deleted_at FROM job WHERE project_id = ? AND name IN ? ORDER BY id", project, part)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

package store

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// PoolJobs counts the jobs that name each pool of the projects.
func (s *Store) PoolJobs(ctx context.Context, projects []domain.ID) (map[domain.PoolKey]int, error) {
	out := map[domain.PoolKey]int{}
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var project int64
		var name string
		var n int
		err := scan(&project, &name, &n)
		out[domain.PoolKey{Project: domain.ID(project), Name: name}] = n
		return err
	}, "SELECT project_id, pool, COUNT(*) FROM job WHERE project_id IN ? AND pool <> '' AND deleted_at = 0 GROUP BY project_id, pool", append([]domain.ID{0}, projects...))
	return out, err
}

// NamePool lists jobs that name a pool, by name, at most limit.
func (s *Store) NamePool(ctx context.Context, key domain.PoolKey, limit int) ([]string, error) {
	var names []string
	err := s.db.Scan(ctx, &names, "SELECT name FROM job WHERE project_id = ? AND pool = ? AND deleted_at = 0 ORDER BY name LIMIT ?", key.Project, key.Name, limit)
	return names, err
}

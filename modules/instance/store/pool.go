package store

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// PoolUse counts, for all pools of the projects, the instances that have a place, and those that
// wait for one up to domain.MaxPoolWaiting in all. Of what was split its shards count.
func (s *Store) PoolUse(ctx context.Context, projects []domain.ID) (map[domain.PoolKey]domain.PoolUse, error) {
	out := map[domain.PoolKey]domain.PoolUse{}
	count := func(add func(*domain.PoolUse, int), query string, args ...any) error {
		return s.db.Each(ctx, func(scan func(...any) error) error {
			var project int64
			var name string
			var n int
			err := scan(&project, &name, &n)
			key := domain.PoolKey{Project: domain.ID(project), Name: name}
			use := out[key]
			add(&use, n)
			out[key] = use
			return err
		}, query, args...)
	}
	in := append([]domain.ID{0}, projects...)
	if err := count(func(u *domain.PoolUse, n int) { u.Used = n }, "SELECT project_id, pool, COUNT(*) FROM instance "+
		"WHERE state = 'running' AND label IN ? AND project_id IN ? AND pool <> '' AND (part_of > 0 OR shards = 0) GROUP BY project_id, pool", domain.PlaceLabels(), in); err != nil {
		return nil, err
	}
	err := count(func(u *domain.PoolUse, n int) { u.Waiting = n }, "SELECT project_id, pool, COUNT(*) FROM (SELECT project_id, pool FROM instance "+
		"WHERE state = 'running' AND label = 'held_pool' AND project_id IN ? AND (part_of > 0 OR shards = 0) LIMIT ?) waiting GROUP BY project_id, pool", in, domain.MaxPoolWaiting)
	return out, err
}

// InPool reads instances that have a place in a pool, oldest first.
func (s *Store) InPool(ctx context.Context, key domain.PoolKey, limit int) ([]domain.Instance, error) {
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE state = 'running' AND label IN ? AND project_id = ? AND pool = ? AND (part_of > 0 OR shards = 0) ORDER BY id LIMIT ?",
		domain.PlaceLabels(), key.Project, key.Name, limit)
}

// WaitForPool reads instances that wait for a place in a pool, the longest waiting first.
func (s *Store) WaitForPool(ctx context.Context, key domain.PoolKey, limit int) ([]domain.Instance, error) {
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE state = 'running' AND label = 'held_pool' AND project_id = ? AND pool = ? AND (part_of > 0 OR shards = 0) ORDER BY ready_at, id LIMIT ?",
		key.Project, key.Name, limit)
}

// CountInPool counts the instances that have a place in a pool.
func (s *Store) CountInPool(ctx context.Context, key domain.PoolKey) (int, error) {
	var n int
	err := s.db.Scan(ctx, &n, "SELECT COUNT(*) FROM instance WHERE state = 'running' AND label IN ? AND project_id = ? AND pool = ? AND (part_of > 0 OR shards = 0)", domain.PlaceLabels(), key.Project, key.Name)
	return n, err
}

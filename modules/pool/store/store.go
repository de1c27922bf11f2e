// Package store is the SQL of pools. It decides nothing.
package store

import (
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Store reads and writes the table pool.
type Store struct {
	db *dbx.DB
}

// New is a store over the pool of connections.
func New(db *dbx.DB) *Store { return &Store{db} }

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

// AfterCommit calls f once the transaction in ctx has committed.
func (s *Store) AfterCommit(ctx context.Context, f func()) { s.db.AfterCommit(ctx, f) }

type row struct {
	ID        int64
	ProjectID int64
	Name      string
	Title     string
	Places    int
	Ver       int64
	CreatedAt int64
	UpdatedAt int64
}

// TableName is gorm's.
func (row) TableName() string { return "pool" }

func (r row) pool() domain.Pool {
	return domain.Pool{ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), Name: r.Name, Title: r.Title, Limit: r.Places, Ver: r.Ver,
		CreatedAt: domain.FromMillis(r.CreatedAt), UpdatedAt: domain.FromMillis(r.UpdatedAt)}
}

func (s *Store) read(ctx context.Context, query string, args ...any) ([]domain.Pool, error) {
	var rows []row
	err := s.db.Scan(ctx, &rows, query, args...)
	out := make([]domain.Pool, len(rows))
	for i, r := range rows {
		out[i] = r.pool()
	}
	return out, err
}

// ByKeys reads pools; those that are not there are absent.
func (s *Store) ByKeys(ctx context.Context, keys []domain.PoolKey) (map[domain.PoolKey]domain.Pool, error) {
	out := make(map[domain.PoolKey]domain.Pool, len(keys))
	for part := range slices.Chunk(keys, 500) {
		projects, names, wanted := []domain.ID{}, []string{}, map[domain.PoolKey]bool{}
		for _, k := range part {
			projects, names, wanted[k] = append(projects, k.Project), append(names, k.Name), true
		}
		slices.Sort(projects)
		found, err := s.read(ctx, "SELECT * FROM pool WHERE project_id IN ? AND name IN ?", slices.Compact(projects), names)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if wanted[p.Key()] {
				out[p.Key()] = p
			}
		}
	}
	return out, nil
}

// Changed locks pools against changes until the transaction of ctx ends, and returns those that
// are gone or have another ver than was seen.
func (s *Store) Changed(ctx context.Context, seen []domain.PoolSeen) (map[domain.ID]bool, error) {
	changed, ids := map[domain.ID]bool{}, []domain.ID{}
	for _, p := range seen {
		changed[p.ID] = true
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	for part := range slices.Chunk(slices.Compact(ids), 500) {
		found, err := s.read(ctx, "SELECT * FROM pool WHERE id IN ? ORDER BY id"+s.db.ForShare(), part)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if !slices.ContainsFunc(seen, func(q domain.PoolSeen) bool { return q.ID == p.ID && q.Ver != p.Ver }) {
				delete(changed, p.ID)
			}
		}
	}
	return changed, nil
}

// Share reads a pool and locks it against being changed or deleted until the transaction of
// ctx ends; false: there is none.
func (s *Store) Share(ctx context.Context, key domain.PoolKey) (domain.Pool, bool, error) {
	return s.locked(ctx, key, s.db.ForShare())
}

// Lock reads a pool and locks it until the transaction of ctx ends; false: there is none.
func (s *Store) Lock(ctx context.Context, key domain.PoolKey) (domain.Pool, bool, error) {
	return s.locked(ctx, key, s.db.ForUpdate())
}

func (s *Store) locked(ctx context.Context, key domain.PoolKey, lock string) (domain.Pool, bool, error) {
	found, err := s.ByKeys(ctx, []domain.PoolKey{key})
	p, ok := found[key]
	if err != nil || !ok {
		return p, false, err
	}
	rows, err := s.read(ctx, "SELECT * FROM pool WHERE id = ?"+lock, p.ID)
	if err != nil || len(rows) == 0 || rows[0].Key() != key {
		return domain.Pool{}, false, err
	}
	return rows[0], true, nil
}

// Insert writes a new pool; Exists if the name is taken.
func (s *Store) Insert(ctx context.Context, p domain.Pool) error {
	r := row{ID: int64(p.ID), ProjectID: int64(p.ProjectID), Name: p.Name, Title: p.Title, Places: p.Limit, Ver: p.Ver,
		CreatedAt: domain.Millis(p.CreatedAt), UpdatedAt: domain.Millis(p.UpdatedAt)}
	return s.db.Insert(ctx, &r)
}

// Update writes title and limit of a pool that is locked, and raises its ver.
func (s *Store) Update(ctx context.Context, p domain.Pool) error {
	_, err := s.db.Exec(ctx, "UPDATE pool SET title = ?, places = ?, updated_at = ?, ver = ver + 1 WHERE id = ?", p.Title, p.Limit, domain.Millis(p.UpdatedAt), p.ID)
	return err
}

// Delete removes a pool that is locked.
func (s *Store) Delete(ctx context.Context, id domain.ID) error {
	_, err := s.db.Exec(ctx, "DELETE FROM pool WHERE id = ?", id)
	return err
}

// List reads the pools of the projects in sight, by project and name.
func (s *Store) List(ctx context.Context, seen domain.ProjectSet) ([]domain.Pool, error) {
	if seen.All {
		return s.read(ctx, "SELECT * FROM pool ORDER BY project_id, name")
	}
	return s.read(ctx, "SELECT * FROM pool WHERE project_id IN ? ORDER BY project_id, name", append([]domain.ID{0}, seen.IDs...))
}

// Package store is the SQL of secrets. It decides nothing and opens no value.
package store

import (
	"context"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Store reads and writes the table secret.
type Store struct {
	db *dbx.DB
}

// New is a store over the pool of connections.
func New(db *dbx.DB) *Store { return &Store{db} }

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

type row struct {
	ID        int64
	ProjectID int64
	Name      string
	Sealed    string
	Version   int
	CreatedBy string
	CreatedAt int64
	UpdatedBy string
	UpdatedAt int64
}

// TableName is gorm's.
func (row) TableName() string { return "secret" }

func (r row) secret() domain.Secret {
	return domain.Secret{ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), Name: r.Name, Version: r.Version,
		CreatedBy: r.CreatedBy, CreatedAt: domain.FromMillis(r.CreatedAt), UpdatedBy: r.UpdatedBy, UpdatedAt: domain.FromMillis(r.UpdatedAt)}
}

// columns are all but the value.
const columns = "id, project_id, name, version, created_by, created_at, updated_by, updated_at"

// Sealed is a secret with its value, sealed.
type Sealed struct {
	domain.Secret
	Sealed string
}

// ByNames reads secrets of a project with their values; those that are not there are absent.
func (s *Store) ByNames(ctx context.Context, project domain.ID, names []string) (map[string]Sealed, error) {
	var rows []row
	err := s.db.Scan(ctx, &rows, "SELECT "+columns+", sealed FROM secret WHERE project_id = ? AND name IN ?", project, names)
	out := make(map[string]Sealed, len(rows))
	for _, r := range rows {
		out[r.Name] = Sealed{r.secret(), r.Sealed}
	}
	return out, err
}

// Share reads a secret and locks it against being changed or deleted until the transaction of ctx ends; false: there is
// none.
func (s *Store) Share(ctx context.Context, key domain.SecretKey) (domain.Secret, bool, error) {
	return s.locked(ctx, key, s.db.ForShare())
}

// Lock reads a secret and locks it until the transaction of ctx ends; false: there is none.
func (s *Store) Lock(ctx context.Context, key domain.SecretKey) (domain.Secret, bool, error) {
	return s.locked(ctx, key, s.db.ForUpdate())
}

func (s *Store) locked(ctx context.Context, key domain.SecretKey, lock string) (domain.Secret, bool, error) {
	found, err := s.ByNames(ctx, key.Project, []string{key.Name})
	one, ok := found[key.Name]
	if err != nil || !ok {
		return domain.Secret{}, false, err
	}
	var rows []row
	if err := s.db.Scan(ctx, &rows, "SELECT "+columns+" FROM secret WHERE id = ?"+lock, one.ID); err != nil || len(rows) == 0 {
		return domain.Secret{}, false, err
	}
	return rows[0].secret(), true, nil
}

// Insert writes a new secret; Exists if the name is taken.
func (s *Store) Insert(ctx context.Context, one domain.Secret, sealed string) error {
	r := row{ID: int64(one.ID), ProjectID: int64(one.ProjectID), Name: one.Name, Sealed: sealed, Version: one.Version,
		CreatedBy: one.CreatedBy, CreatedAt: domain.Millis(one.CreatedAt), UpdatedBy: one.UpdatedBy, UpdatedAt: domain.Millis(one.UpdatedAt)}
	return s.db.Insert(ctx, &r)
}

// Update writes the value of a secret that is locked.
func (s *Store) Update(ctx context.Context, one domain.Secret, sealed string) error {
	_, err := s.db.Exec(ctx, "UPDATE secret SET sealed = ?, version = ?, updated_by = ?, updated_at = ? WHERE id = ?",
		sealed, one.Version, one.UpdatedBy, domain.Millis(one.UpdatedAt), one.ID)
	return err
}

// Delete removes a secret that is locked.
func (s *Store) Delete(ctx context.Context, id domain.ID) error {
	_, err := s.db.Exec(ctx, "DELETE FROM secret WHERE id = ?", id)
	return err
}

// List reads the secrets of the projects in sight, by project and name, without their values.
func (s *Store) List(ctx context.Context, seen domain.ProjectSet) ([]domain.Secret, error) {
	query, args := "SELECT "+columns+" FROM secret", []any{}
	if !seen.All {
		query, args = query+" WHERE project_id IN ?", []any{append([]domain.ID{0}, seen.IDs...)}
	}
	var rows []row
	err := s.db.Scan(ctx, &rows, query+" ORDER BY project_id, name", args...)
	out := make([]domain.Secret, len(rows))
	for i, r := range rows {
		out[i] = r.secret()
	}
	return out, err
}

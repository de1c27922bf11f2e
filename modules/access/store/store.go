// Package store keeps access's rows: account, session, token, membership, project,
// audit and idempotency. It is the only code that names these tables.
package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Store implements access.Store, httpx.SessionStore and idem.Ledger over a
// database. Safe for concurrent use.
type Store struct {
	db   *dbx.DB
	now  func() time.Time
	idle time.Duration
}

// New makes a store. now is the clock by which sessions expire; a session that is
// not used for idle ends (0 = 12 hours).
func New(db *dbx.DB, now func() time.Time, idle time.Duration) *Store {
	if idle == 0 {
		idle = 12 * time.Hour
	}
	return &Store{db: db, now: now, idle: idle}
}

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

// AfterCommit calls f once the transaction in ctx has committed.
func (s *Store) AfterCommit(ctx context.Context, f func()) { s.db.AfterCommit(ctx, f) }

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

type accountRow struct {
	ID        domain.ID
	Name      string
	Password  string
	Disabled  bool
	Language  string
	Timezone  string
	CreatedAt int64
}

// TableName names the table.
func (accountRow) TableName() string { return "account" }

func (r accountRow) account() access.Account {
	return access.Account{ID: r.ID, Name: r.Name, Password: r.Password, Disabled: r.Disabled, Language: r.Language, Timezone: r.Timezone,
		CreatedAt: instant(r.CreatedAt)}
}

const accountCols = "SELECT id, name, password, disabled, language, timezone, created_at FROM account "

// one reads a single row of T; none is NotFound.
func one[T any](ctx context.Context, db *dbx.DB, query string, args ...any) (T, error) {
	var rows []T
	if err := db.Scan(ctx, &rows, query, args...); err != nil {
		return *new(T), err
	}
	if len(rows) == 0 {
		return *new(T), domain.Fail(domain.NotFound, "no such row")
	}
	return rows[0], nil
}

// AccountByID reads an account.
func (s *Store) AccountByID(ctx context.Context, id domain.ID) (access.Account, error) {
	r, err := one[accountRow](ctx, s.db, accountCols+"WHERE id = ?", id)
	return r.account(), err
}

// AccountByName reads an account.
func (s *Store) AccountByName(ctx context.Context, name string) (access.Account, error) {
	r, err := one[accountRow](ctx, s.db, accountCols+"WHERE name = ?", name)
	return r.account(), err
}

// Accounts reads all accounts by name.
func (s *Store) Accounts(ctx context.Context) ([]access.Account, error) {
	var rows []accountRow
	err := s.db.Scan(ctx, &rows, accountCols+"ORDER BY name")
	out := make([]access.Account, len(rows))
	for i, r := range rows {
		out[i] = r.account()
	}
	return out, err
}

// InsertAccount writes a new account.
func (s *Store) InsertAccount(ctx context.Context, a access.Account) error {
	return s.db.Insert(ctx, &accountRow{a.ID, a.Name, a.Password, a.Disabled, a.Language, a.Timezone, millis(a.CreatedAt)})
}

// UpdateAccount writes all but id, name and creation.
func (s *Store) UpdateAccount(ctx context.Context, a access.Account) error {
	_, err := s.db.Exec(ctx, "UPDATE account SET password = ?, disabled = ?, language = ?, timezone = ? WHERE id = ?",
		a.Password, a.Disabled, a.Language, a.Timezone, a.ID)
	return err
}

type membershipRow struct {
	UserID    domain.ID
	ProjectID domain.ID
	Role      string
}

// TableName names the table.
func (membershipRow) TableName() string { return "membership" }

// Memberships reads all memberships.
func (s *Store) Memberships(ctx context.Context) ([]access.Membership, error) {
	var rows []membershipRow
	err := s.db.Scan(ctx, &rows, "SELECT user_id, project_id, role FROM membership ORDER BY user_id, project_id, role")
	out := make([]access.Membership, len(rows))
	for i, r := range rows {
		out[i] = access.Membership{UserID: r.UserID, ProjectID: r.ProjectID, Role: access.Role(r.Role)}
	}
	return out, err
}

// InsertMembership writes a membership; one that is there already is fine.
func (s *Store) InsertMembership(ctx context.Context, m access.Membership) error {
	_, err := s.db.InsertNew(ctx, &membershipRow{m.UserID, m.ProjectID, string(m.Role)})
	return err
}

// DeleteMembership deletes a membership.
func (s *Store) DeleteMembership(ctx context.Context, m access.Membership) error {
	_, err := s.db.Exec(ctx, "DELETE FROM membership WHERE user_id = ? AND project_id = ? AND role = ?", m.UserID, m.ProjectID, string(m.Role))
	return err
}

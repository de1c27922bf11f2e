package access

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Transactions carries a transaction in the context; the ports below join it.
type Transactions interface {
	Tx(ctx context.Context, fn func(ctx context.Context) error) error
	AfterCommit(ctx context.Context, f func())
}

// Accounts keeps accounts. A missing one is NotFound, a taken name Exists.
type Accounts interface {
	AccountByID(ctx context.Context, id domain.ID) (Account, error)
	AccountByName(ctx context.Context, name string) (Account, error)
	Accounts(ctx context.Context) ([]Account, error) // by name
	InsertAccount(ctx context.Context, a Account) error
	UpdateAccount(ctx context.Context, a Account) error
}

// Tokens keeps tokens by the hash of their secret.
type Tokens interface {
	TokenByHash(ctx context.Context, kind TokenKind, hash string) (Token, error)
	TokensOf(ctx context.Context, account domain.ID, kind TokenKind) ([]Token, error)
	InsertToken(ctx context.Context, t Token) error
	// UseToken marks a token used if it was not; false if somebody was first.
	UseToken(ctx context.Context, id domain.ID, at time.Time) (bool, error)
	DeleteToken(ctx context.Context, id domain.ID) error
}

// Sessions ends sessions; what begins them is the edge.
type Sessions interface {
	DeleteSessions(ctx context.Context, account domain.ID) error
}

// Memberships keeps who has which role where.
type Memberships interface {
	Memberships(ctx context.Context) ([]Membership, error)
	InsertMembership(ctx context.Context, m Membership) error // no error if it is there
	DeleteMembership(ctx context.Context, m Membership) error
}

// Projects keeps projects. A missing one is NotFound, a taken name Exists.
type Projects interface {
	ProjectByID(ctx context.Context, id domain.ID) (Project, error)
	ProjectByName(ctx context.Context, name string) (Project, error)
	Projects(ctx context.Context) ([]Project, error) // by name
	InsertProject(ctx context.Context, p Project) error
	// LockProject reads a project and keeps others from changing it in the meantime.
	LockProject(ctx context.Context, id domain.ID) (Project, error)
	SetNetworks(ctx context.Context, project domain.ID, networks []string) error
}

// Trail keeps the audit trail.
type Trail interface {
	InsertAudit(ctx context.Context, r AuditRow) error
	AuditRows(ctx context.Context, q AuditQuery) ([]AuditRow, error)
}

// Cleaning deletes what is over.
type Cleaning interface {
	// DeleteExpired deletes about limit rows each of ended sessions, dead one-time
	// tokens and idempotency records from before keep; it returns how many went.
	DeleteExpired(ctx context.Context, now, keep time.Time, limit int) (int64, error)
}

// Store is all of them, as access/store has it.
type Store interface {
	Transactions
	Accounts
	Tokens
	Sessions
	Memberships
	Projects
	Trail
	Cleaning
}

// Rights answers from the memberships in force; access/policy has it.
type Rights interface {
	Allowed(ctx context.Context, account, project domain.ID, action domain.Action) bool
	Visible(ctx context.Context, account domain.ID, action domain.Action) domain.ProjectSet
	// Invalidate makes the next answer come from the rows as they are then.
	Invalidate()
}

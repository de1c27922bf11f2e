package httpx

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Policy says who may do what. Safe for concurrent use.
type Policy interface {
	// Allowed reports whether the account may do the action in the project. Project
	// EveryProject asks for a role that holds everywhere.
	Allowed(ctx context.Context, account, project domain.ID, action domain.Action) bool
	// Visible is the projects in which the account may do the action.
	Visible(ctx context.Context, account domain.ID, action domain.Action) domain.ProjectSet
	// Known reports whether any role grants the action.
	Known(action domain.Action) bool
}

// Identity tells who a caller is. Both fail with kind Unauthentic when there is
// no such account or token, or it is disabled, revoked or expired.
type Identity interface {
	Account(ctx context.Context, id domain.ID) (domain.Principal, error)
	Bearer(ctx context.Context, secret string) (domain.Principal, error)
}

// SessionStore keeps sessions by token; it stores the token's hash only. data is
// a JSON object {"deadline": ms, "values": {"user": account id as text}}.
type SessionStore interface {
	FindCtx(ctx context.Context, token string) (data []byte, found bool, err error)
	CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error
	DeleteCtx(ctx context.Context, token string) error
}

// Denials keeps a record of changes that were refused.
type Denials interface {
	Denied(ctx context.Context, project domain.ID, action domain.Action, object string) error
}

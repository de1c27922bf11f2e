package secret

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// Projects finds projects.
type Projects interface {
	ByName(ctx context.Context, name string) (domain.ID, error)
	// Ensure finds a project or makes it, where the caller may.
	Ensure(ctx context.Context, name string) (domain.ID, error)
	Names(ctx context.Context) (map[domain.ID]string, error)
}

// Jobs tells who names secrets.
type Jobs interface {
	// SecretJobs counts the jobs that name each secret of the projects.
	SecretJobs(ctx context.Context, projects []domain.ID) (map[domain.SecretKey]int, error)
	// NameSecret lists jobs that name a secret, by name, at most limit.
	NameSecret(ctx context.Context, key domain.SecretKey, limit int) ([]string, error)
}

// Audit records a change in the transaction of ctx.
type Audit interface {
	Changed(ctx context.Context, project domain.ID, action, object, before, after string) error
}

// Sealer keeps values unreadable at rest.
type Sealer interface {
	// Ready says why nothing can be sealed; nil = it can.
	Ready() error
	Seal(plain []byte, context string) (string, error)
	Unseal(sealed, context string) ([]byte, error)
}

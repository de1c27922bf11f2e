package center

import (
	"context"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/secret"
	secretstore "github.com/axsched/ax/modules/secret/store"
)

// newSecrets joins secrets to who names them and to the key that seals them.
func (l *life) newSecrets(c *core) *secret.Secrets {
	return &secret.Secrets{Store: secretstore.New(c.db), IDs: l.ids, Now: l.clock.now, Projects: projects{c.access}, Jobs: c.jobs.Store, Audit: audit{c.access}, Seal: l.seal}
}

// jobSecrets lets definitions find secrets.
type jobSecrets struct{ s *secretstore.Store }

// Share tells whether there is one, and keeps it.
func (j jobSecrets) Share(ctx context.Context, key domain.SecretKey) (bool, error) {
	_, there, err := j.s.Share(ctx, key)
	return there, err
}

// Names lists those of a project.
func (j jobSecrets) Names(ctx context.Context, project domain.ID) ([]string, error) {
	found, err := j.s.List(ctx, domain.ProjectSet{IDs: []domain.ID{project}})
	out := make([]string, len(found))
	for i, one := range found {
		out[i] = one.Name
	}
	return out, err
}

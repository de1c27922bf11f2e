package fleet

import (
	"context"
	"encoding/json"
	"log/slog"
)

// describe keeps what workers tell of their types, where a heartbeat names another word for it than what is kept. What can't
// be read or written now is tried again at the next look.
func (w *Watch) describe(ctx context.Context) {
	for name, l := range w.lives {
		if l.beat == nil || !l.proven || l.lost || l.beat.Catalog == l.catalog {
			continue
		}
		cat, there, err := w.registry.Catalog(ctx, name)
		if err != nil || !there || cat.Boot != l.boot || cat.Rev != l.beat.Catalog {
			if err != nil {
				slog.Warn("what a worker's types take could not be read; trying again", "worker", name, "error", err)
			}
			continue
		}
		body, err := json.Marshal(cat)
		if err == nil {
			err = w.store.SaveCatalog(ctx, name, l.boot, cat.Rev, body, w.now())
		}
		if err != nil {
			slog.Warn("what a worker's types take could not be kept; trying again", "worker", name, "error", err)
			continue
		}
		l.catalog = cat.Rev
	}
}

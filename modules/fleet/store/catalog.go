package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// SaveCatalog keeps what a worker told of its types, in place of what it told before.
func (s *Store) SaveCatalog(ctx context.Context, worker string, boot int64, rev string, body []byte, now time.Time) error {
	return s.db.Upsert(ctx, "worker_catalog", []string{"name"}, []string{"name", "boot", "rev", "body", "updated_at"},
		"boot = NEW(boot), rev = NEW(rev), body = NEW(body), updated_at = NEW(updated_at)", [][]any{{worker, boot, rev, string(body), domain.Millis(now)}})
}

// Catalogs reads what all workers told last, by name; those that are gone too.
func (s *Store) Catalogs(ctx context.Context) (map[string]domain.Catalog, error) {
	var rows []struct{ Name, Body string }
	if err := s.db.Scan(ctx, &rows, "SELECT name, body FROM worker_catalog ORDER BY updated_at, name"); err != nil {
		return nil, err
	}
	out := make(map[string]domain.Catalog, len(rows))
	for _, r := range rows {
		var c domain.Catalog
		if json.Unmarshal([]byte(r.Body), &c) == nil { // written by us only
			out[r.Name] = c
		}
	}
	return out, nil
}

// Offers gives the types that workers which are up announce, by their word, with what they take.
func (s *Store) Offers(ctx context.Context) (map[string]domain.TypeOffer, error) {
	workers, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	catalogs, err := s.Catalogs(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]domain.TypeOffer{}
	for _, w := range workers {
		if w.State == domain.WorkerGone || !w.LostAt.IsZero() {
			continue
		}
		for _, kind := range w.Types {
			offer := out[kind]
			offer.Type, offer.By = kind, append(offer.By, w.Name)
			for _, d := range catalogs[w.Name].Types {
				if d.Type == kind && (offer.Description.Type == "" || newer(d.Version, offer.Description.Version)) {
					offer.Description = d
				}
			}
			out[kind] = offer
		}
	}
	return out, nil
}

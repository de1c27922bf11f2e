package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// RedisFault is what the active broker finds wrong with a Redis.
type RedisFault struct {
	Redis  string // what AX uses it for
	Fault  domain.IncidentKind
	Since  time.Time
	Said   string // as Redis or the connection to it words it
	Broker string // the process that found it
}

// KeepRedisFaults notes what is wrong now, and nothing else.
func (s *Store) KeepRedisFaults(ctx context.Context, now []RedisFault) error {
	return s.Tx(ctx, func(ctx context.Context) error {
		if _, err := s.db.Exec(ctx, "DELETE FROM redis_fault"); err != nil {
			return err
		}
		for _, f := range now {
			if _, err := s.db.Exec(ctx, "INSERT INTO redis_fault (redis, fault, since, said, broker) VALUES (?, ?, ?, ?, ?)",
				f.Redis, string(f.Fault), domain.Millis(f.Since), f.Said, f.Broker); err != nil {
				return err
			}
		}
		return nil
	})
}

// RedisFaults reads what was noted last. Of a broker that is gone that says nothing of now.
func (s *Store) RedisFaults(ctx context.Context) ([]RedisFault, error) {
	var rows []struct {
		Redis, Fault, Said, Broker string
		Since                      int64
	}
	err := s.db.Scan(ctx, &rows, "SELECT redis, fault, since, said, broker FROM redis_fault ORDER BY redis")
	out := make([]RedisFault, len(rows))
	for i, r := range rows {
		out[i] = RedisFault{r.Redis, domain.IncidentKind(r.Fault), domain.FromMillis(r.Since), r.Said, r.Broker}
	}
	return out, err
}

package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Channel is how a road fares by which notices go out. Zero moments have not been.
type Channel struct {
	Name      string
	TakenAt   time.Time // when the receiver took a notice last
	FailedAt  time.Time // when a try failed last
	FailingAt time.Time // since when tries fail; zero: the last one was taken
	Fault     string    // why the last try failed
	// Waiting counts the notices that no receiver has taken, up to WaitingMost; NextAt is
	// when the next try may be, zero where none waits.
	Waiting int
	NextAt  time.Time
}

// WaitingMost is the most notices that a Channel counts as waiting.
const WaitingMost = 1000

// KeepChannel notes that there is a road of this name, and no other.
func (s *Store) KeepChannel(ctx context.Context, name string) error {
	return s.Tx(ctx, func(ctx context.Context) error {
		if _, err := s.db.Exec(ctx, "DELETE FROM channel WHERE name <> ?", name); err != nil {
			return err
		}
		return s.db.Upsert(ctx, "channel", []string{"name"}, []string{"name"}, "name = NEW(name)", [][]any{{name}})
	})
}

// DropChannels notes that there is no road at all.
func (s *Store) DropChannels(ctx context.Context) error {
	_, err := s.db.Exec(ctx, "DELETE FROM channel")
	return err
}

// channelTook notes that the receiver took a notice.
func (s *Store) channelTook(ctx context.Context, name string, at time.Time) error {
	_, err := s.db.Exec(ctx, "UPDATE channel SET taken_at = ?, failing_at = 0, next_at = 0 WHERE name = ?", domain.Millis(at), name)
	return err
}

// channelFailed notes that a try failed and that none is made before next.
func (s *Store) channelFailed(ctx context.Context, name string, at time.Time, fault string, next time.Time) error {
	_, err := s.db.Exec(ctx, "UPDATE channel SET failed_at = ?, failing_at = CASE WHEN failing_at = 0 THEN ? ELSE failing_at END, fault = ?, next_at = ? WHERE name = ?",
		domain.Millis(at), domain.Millis(at), fault, domain.Millis(next), name)
	return err
}

// Channels reads the roads that the active broker has.
func (s *Store) Channels(ctx context.Context) ([]Channel, error) {
	var rows []struct {
		Name                                 string
		TakenAt, FailedAt, FailingAt, NextAt int64
		Fault                                string
	}
	if err := s.db.Scan(ctx, &rows, "SELECT * FROM channel ORDER BY name"); err != nil || len(rows) == 0 {
		return nil, err
	}
	waiting, err := s.Untaken(ctx, WaitingMost)
	if err != nil {
		return nil, err
	}
	var first []int64
	if waiting > 0 {
		if err := s.db.Scan(ctx, &first, "SELECT next_at FROM notice WHERE sent_at = 0 ORDER BY next_at LIMIT 1"); err != nil {
			return nil, err
		}
	}
	out := make([]Channel, len(rows))
	for i, r := range rows {
		out[i] = Channel{Name: r.Name, TakenAt: domain.FromMillis(r.TakenAt), FailedAt: domain.FromMillis(r.FailedAt), FailingAt: domain.FromMillis(r.FailingAt),
			Fault: r.Fault, Waiting: waiting}
		if len(first) > 0 {
			out[i].NextAt = domain.FromMillis(max(r.NextAt, first[0]))
		}
	}
	return out, nil
}

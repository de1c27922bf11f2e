package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// renewAfter is how much of the idle time must have gone before a use of the
// session writes its new end, so that not every request writes.
const renewAfter = 5 * time.Minute

type sessionRow struct {
	Data      []byte
	ExpiresAt int64
}

// content is what the edge writes into a session.
type content struct {
	Deadline int64 `json:"deadline"` // ms
	Values   struct {
		User string `json:"user"`
	} `json:"values"`
}

func sessionKey(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// FindCtx reads a session that has not ended and prolongs it.
func (s *Store) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	key, now := sessionKey(token), s.now()
	r, err := one[sessionRow](ctx, s.db, "SELECT data, expires_at FROM session WHERE token = ? AND expires_at > ?", key, millis(now))
	if domain.Is(err, domain.NotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var c content
	if err := json.Unmarshal(r.Data, &c); err != nil {
		return nil, false, fmt.Errorf("the session's content cannot be read: %w", err)
	}
	end := s.end(instant(c.Deadline))
	if end.Sub(instant(r.ExpiresAt)) > renewAfter {
		_, err = s.db.Exec(ctx, "UPDATE session SET expires_at = ? WHERE token = ?", millis(end), key)
	}
	return r.Data, true, err
}

// end is when a session ends if it is not used from now on.
func (s *Store) end(deadline time.Time) time.Time {
	if idle := s.now().Add(s.idle); idle.Before(deadline) {
		return idle
	}
	return deadline
}

// CommitCtx writes a session under the hash of its token.
func (s *Store) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	var c content
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	user, err := strconv.ParseInt(c.Values.User, 10, 64)
	if err != nil {
		return fmt.Errorf("a session names no account: %w", err)
	}
	return s.db.Upsert(ctx, "session", []string{"token"}, []string{"token", "user_id", "data", "expires_at"},
		"user_id = NEW(user_id), data = NEW(data), expires_at = NEW(expires_at)",
		[][]any{{sessionKey(token), user, data, millis(s.end(expiry))}})
}

// DeleteCtx ends a session.
func (s *Store) DeleteCtx(ctx context.Context, token string) error {
	_, err := s.db.Exec(ctx, "DELETE FROM session WHERE token = ?", sessionKey(token))
	return err
}

// DeleteSessions ends all sessions of an account.
func (s *Store) DeleteSessions(ctx context.Context, account domain.ID) error {
	_, err := s.db.Exec(ctx, "DELETE FROM session WHERE user_id = ?", account)
	return err
}

// DeleteExpired deletes about limit rows each of ended sessions, dead one-time
// tokens and idempotency records from before keep: whole milliseconds at a time.
func (s *Store) DeleteExpired(ctx context.Context, now, keep time.Time, limit int) (int64, error) {
	var total int64
	for _, q := range []struct {
		from, column string
		before       time.Time
	}{
		{"session WHERE", "expires_at", now},
		{"token WHERE kind <> 'api' AND", "expires_at", now},
		{"idempotency WHERE", "created_at", keep},
	} {
		var moments []int64
		query := fmt.Sprintf("SELECT %s FROM %s %s < ? ORDER BY %s LIMIT ?", q.column, q.from, q.column, q.column)
		if err := s.db.Scan(ctx, &moments, query, millis(q.before), limit); err != nil {
			return total, err
		}
		if len(moments) == 0 {
			continue
		}
		n, err := s.db.Exec(ctx, fmt.Sprintf("DELETE FROM %s %s <= ?", q.from, q.column), moments[len(moments)-1])
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

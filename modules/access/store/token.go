package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

type tokenRow struct {
	ID        domain.ID
	Kind      string
	UserID    domain.ID
	Name      string
	Secret    string
	ExpiresAt int64
	UsedAt    int64
	CreatedAt int64
}

// TableName names the table.
func (tokenRow) TableName() string { return "token" }

func (r tokenRow) token() access.Token {
	return access.Token{ID: r.ID, Kind: access.TokenKind(r.Kind), UserID: r.UserID, Name: r.Name, Hash: r.Secret,
		ExpiresAt: instant(r.ExpiresAt), UsedAt: instant(r.UsedAt), CreatedAt: instant(r.CreatedAt)}
}

const tokenCols = "SELECT id, kind, user_id, name, secret, expires_at, used_at, created_at FROM token "

// TokenByHash reads a token of the kind by the hash of its secret.
func (s *Store) TokenByHash(ctx context.Context, kind access.TokenKind, hash string) (access.Token, error) {
	r, err := one[tokenRow](ctx, s.db, tokenCols+"WHERE secret = ? AND kind = ?", hash, string(kind))
	return r.token(), err
}

// TokensOf reads the tokens of an account, oldest first.
func (s *Store) TokensOf(ctx context.Context, account domain.ID, kind access.TokenKind) ([]access.Token, error) {
	var rows []tokenRow
	err := s.db.Scan(ctx, &rows, tokenCols+"WHERE user_id = ? AND kind = ? ORDER BY id", account, string(kind))
	out := make([]access.Token, len(rows))
	for i, r := range rows {
		out[i] = r.token()
	}
	return out, err
}

// InsertToken writes a new token.
func (s *Store) InsertToken(ctx context.Context, t access.Token) error {
	return s.db.Insert(ctx, &tokenRow{t.ID, string(t.Kind), t.UserID, t.Name, t.Hash, millis(t.ExpiresAt), millis(t.UsedAt), millis(t.CreatedAt)})
}

// UseToken marks a token used if it was not.
func (s *Store) UseToken(ctx context.Context, id domain.ID, at time.Time) (bool, error) {
	n, err := s.db.Exec(ctx, "UPDATE token SET used_at = ? WHERE id = ? AND used_at = 0", millis(at), id)
	return n == 1, err
}

// DeleteToken deletes a token.
func (s *Store) DeleteToken(ctx context.Context, id domain.ID) error {
	_, err := s.db.Exec(ctx, "DELETE FROM token WHERE id = ?", id)
	return err
}

package store

import (
	"context"
	"encoding/json"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/idem"
)

type idempotencyRow struct {
	Principal string
	Route     string
	KeyHash   string
	BodyHash  string
	Status    int
	Answer    string
	CreatedAt int64
}

// TableName names the table.
func (idempotencyRow) TableName() string { return "idempotency" }

// Once runs effect and keeps its answer in one transaction. The row is written
// first: of two calls with one key the second waits at it for the first's commit.
func (s *Store) Once(ctx context.Context, k idem.Key, effect func(ctx context.Context) (idem.Answer, error)) (a idem.Answer, replayed bool, err error) {
	err = s.db.Tx(ctx, func(ctx context.Context) error {
		replayed = false
		if k.Hash == "" {
			a, err = effect(ctx)
			return err
		}
		row := idempotencyRow{Principal: k.Principal, Route: k.Route, KeyHash: k.Hash, BodyHash: k.Body, CreatedAt: millis(s.now())}
		fresh, err := s.db.InsertNew(ctx, &row)
		if err != nil {
			return err
		}
		if fresh == 0 {
			replayed = true
			a, err = s.answered(ctx, k)
			return err
		}
		if a, err = effect(ctx); err != nil {
			return err
		}
		return s.keepAnswer(ctx, k, a)
	})
	return a, replayed, err
}

func (s *Store) answered(ctx context.Context, k idem.Key) (idem.Answer, error) {
	row, err := one[idempotencyRow](ctx, s.db,
		"SELECT body_hash, status, answer FROM idempotency WHERE principal = ? AND route = ? AND key_hash = ?", k.Principal, k.Route, k.Hash)
	if err != nil {
		return idem.Answer{}, err
	}
	if row.BodyHash != k.Body {
		return idem.Answer{}, domain.Fail(domain.Conflict, "this idempotency key was used before for another request").
			WithHint("take a new key for a new request").Coded("http.key_reused")
	}
	a := idem.Answer{Status: row.Status}
	return a, json.Unmarshal([]byte(row.Answer), &a)
}

func (s *Store) keepAnswer(ctx context.Context, k idem.Key, a idem.Answer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = s.db.Exec(ctx, "UPDATE idempotency SET status = ?, answer = ? WHERE principal = ? AND route = ? AND key_hash = ?",
		a.Status, string(text), k.Principal, k.Route, k.Hash)
	return err
}

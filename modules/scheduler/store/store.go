// Package store is the SQL of triggers, the spans of their schedules and the gaps.
//
// It owns the tables trigger, schedule_span and fire_gap and decides nothing. Rows of
// trigger are locked by primary key in order; every change of one raises ver.
package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// chunk bounds how many ids one IN list names.
const chunk = 500

// Store reads and writes the three tables. Safe for concurrent use.
type Store struct {
	db *dbx.DB
}

// New is a store over the pool.
func New(db *dbx.DB) *Store { return &Store{db} }

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

// AfterCommit calls f once the transaction in ctx has committed.
func (s *Store) AfterCommit(ctx context.Context, f func()) { s.db.AfterCommit(ctx, f) }

// Now is the database's clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.db.Now(ctx) }

// Refused is why the database, though it answers, would not take some write of the last
// few seconds; nil: it takes them.
func (s *Store) Refused() error { return s.db.Refused() }

func ints(ids []domain.ID) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}

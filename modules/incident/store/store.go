// Package store is the SQL of incidents and of the notices about them.
//
// It owns the tables incident, incident_case, incident_event, incident_mark, notice,
// channel and redis_fault and decides nothing. Rows are changed by primary key and only where they
// still stand as they were read.
package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// chunk bounds how many values one IN list names.
const chunk = 500

// Store reads and writes the seven tables. Safe for concurrent use.
type Store struct {
	db  *dbx.DB
	ids func() domain.ID
}

// New is a store over the pool; ids makes the ids of new rows.
func New(db *dbx.DB, ids func() domain.ID) *Store { return &Store{db, ids} }

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

// Now is the database's clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.db.Now(ctx) }

// Mark is how far the source of the name was read; 0 = never.
func (s *Store) Mark(ctx context.Context, name string) (domain.ID, error) {
	var mark int64
	err := s.db.Scan(ctx, &mark, "SELECT mark FROM incident_mark WHERE name = ?", name)
	return domain.ID(mark), err
}

// SetMark keeps it.
func (s *Store) SetMark(ctx context.Context, name string, mark domain.ID) error {
	return s.db.Upsert(ctx, "incident_mark", []string{"name"}, []string{"name", "mark"}, "mark = NEW(mark)", [][]any{{name, int64(mark)}})
}

type row struct {
	ID         int64
	ProjectID  int64
	Kind       string
	Subject    string
	Slot       int64
	Name       string
	Mark       int64
	Times      int64
	ExampleID  int64
	Detail     string
	Message    string
	OpenedAt   int64
	LastAt     int64
	ResolvedAt int64
	Recovery   string
	Owes       int
	NoticedAt  int64
	EndedBy    string
	EndedWhy   string
}

// TableName is gorm's.
func (row) TableName() string { return "incident" }

func (r row) incident() domain.Incident {
	return domain.Incident{ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), Kind: domain.IncidentKind(r.Kind), Subject: r.Subject, Name: r.Name,
		OpenedAt: domain.FromMillis(r.OpenedAt), LastAt: domain.FromMillis(r.LastAt), Count: r.Times, Example: domain.ID(r.ExampleID),
		Detail: words(r.Detail), Message: r.Message, ResolvedAt: domain.FromMillis(r.ResolvedAt), Recovery: domain.Recovery(r.Recovery),
		NoticedAt: domain.FromMillis(r.NoticedAt), EndedBy: r.EndedBy, EndedWhy: r.EndedWhy}
}

func (s *Store) read(ctx context.Context, query string, args ...any) ([]domain.Incident, error) {
	var rows []row
	err := s.db.Scan(ctx, &rows, query, args...)
	out := make([]domain.Incident, len(rows))
	for i, r := range rows {
		out[i] = r.incident()
	}
	return out, err
}

// text keeps words as JSON; none are the empty text.
func text(words []string) string {
	if len(words) == 0 {
		return ""
	}
	b, err := json.Marshal(words)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}

func words(text string) []string {
	if text == "" {
		return nil
	}
	var out []string
	_ = json.Unmarshal([]byte(text), &out) // written by us only
	return out
}

func ints(ids []domain.ID) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}

// Package store is the SQL of dependency rows. It decides nothing; whoever flips
// a row holds the lock of its instance.
package store

import (
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Store reads and writes the table dep.
type Store struct {
	db *dbx.DB
}

// New is a store over the pool.
func New(db *dbx.DB) *Store { return &Store{db} }

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

type row struct {
	InstanceID    int64
	UpstreamJobID int64
	ProjectID     int64
	UpstreamName  string
	BizDate       string
	Required      string
	Outcome       string
	State         string
	ByInstance    int64
	ChangedAt     int64
}

func deps(rows []row) []domain.InstanceDep {
	out := make([]domain.InstanceDep, len(rows))
	for i, r := range rows {
		day, _ := domain.ParseBizDate(r.BizDate) // written by us only
		out[i] = domain.InstanceDep{InstanceID: domain.ID(r.InstanceID), ProjectID: domain.ID(r.ProjectID), Upstream: domain.ID(r.UpstreamJobID),
			Name: r.UpstreamName, BizDate: day, Require: r.Required, Check: r.Outcome, State: domain.DepState(r.State), By: domain.ID(r.ByInstance),
			ChangedAt: domain.FromMillis(r.ChangedAt)}
	}
	return out
}

// Put inserts rows, or sets those that are there back to what is given.
func (s *Store) Put(ctx context.Context, ds []domain.InstanceDep) error {
	rows := make([][]any, len(ds))
	for i, d := range ds {
		rows[i] = []any{d.InstanceID, d.Upstream, d.ProjectID, d.Name, d.BizDate.String(), d.Require, d.Check, string(d.State), d.By, domain.Millis(d.ChangedAt)}
	}
	return s.db.Upsert(ctx, "dep", []string{"instance_id", "upstream_job_id"},
		[]string{"instance_id", "upstream_job_id", "project_id", "upstream_name", "biz_date", "required", "outcome", "state", "by_instance", "changed_at"},
		"state = NEW(state), by_instance = NEW(by_instance), biz_date = NEW(biz_date), changed_at = NEW(changed_at)", rows)
}

// Set gives the rows a state; by is the upstream instance that caused it.
func (s *Store) Set(ctx context.Context, ds []domain.InstanceDep, state domain.DepState, by domain.ID, now time.Time) error {
	if len(ds) == 0 {
		return nil
	}
	u := dbx.Update{Table: "dep", Keys: []string{"instance_id", "upstream_job_id"}, Cols: []string{"state", "by_instance", "changed_at"}}
	for _, d := range ds {
		u.Rows = append(u.Rows, []any{d.InstanceID, d.Upstream, string(state), by, domain.Millis(now)})
	}
	_, err := s.db.UpdateRows(ctx, u)
	return err
}

// WaitingFor reads the rows that wait for one of the (job, biz_date) pairs.
func (s *Store) WaitingFor(ctx context.Context, pairs [][2]any) ([]domain.InstanceDep, error) {
	byDate := map[any][]any{} // nearly always one
	for _, p := range pairs {
		byDate[p[1]] = append(byDate[p[1]], p[0])
	}
	var out []domain.InstanceDep
	for date, jobs := range byDate {
		for part := range slices.Chunk(jobs, 500) {
			var rows []row
			if err := s.db.Scan(ctx, &rows, "SELECT * FROM dep WHERE state = 'waiting' AND biz_date = ? AND upstream_job_id IN ? ORDER BY instance_id", date, part); err != nil {
				return nil, err
			}
			out = append(out, deps(rows)...)
		}
	}
	return out, nil
}

// WaitingOf reads the waiting rows of the instances.
func (s *Store) WaitingOf(ctx context.Context, ids []domain.ID) ([]domain.InstanceDep, error) {
	var out []domain.InstanceDep
	for part := range slices.Chunk(ids, 500) {
		var rows []row
		if err := s.db.Scan(ctx, &rows, "SELECT * FROM dep WHERE instance_id IN ? AND state = 'waiting' ORDER BY instance_id, upstream_job_id", part); err != nil {
			return nil, err
		}
		out = append(out, deps(rows)...)
	}
	return out, nil
}

// Waiting pages all waiting rows by instance, strictly after the one given.
func (s *Store) Waiting(ctx context.Context, after domain.ID, limit int) ([]domain.InstanceDep, error) {
	var rows []row
	err := s.db.Scan(ctx, &rows, "SELECT * FROM dep WHERE state = 'waiting' AND instance_id > ? ORDER BY instance_id, upstream_job_id LIMIT ?", after, limit)
	return deps(rows), err
}

// MetBy reads the rows that an instance of the job and business date met.
func (s *Store) MetBy(ctx context.Context, job domain.ID, day domain.BizDate, instance domain.ID) ([]domain.InstanceDep, error) {
	var rows []row
	err := s.db.Scan(ctx, &rows, "SELECT * FROM dep WHERE upstream_job_id = ? AND biz_date = ? AND state = 'met' AND by_instance = ? ORDER BY instance_id",
		job, day.String(), instance)
	return deps(rows), err
}

// Of reads all rows of an instance.
func (s *Store) Of(ctx context.Context, instance domain.ID) ([]domain.InstanceDep, error) {
	var rows []row
	err := s.db.Scan(ctx, &rows, "SELECT * FROM dep WHERE instance_id = ? ORDER BY upstream_name", instance)
	return deps(rows), err
}

// For reads the rows that name a job on a business date.
func (s *Store) For(ctx context.Context, job domain.ID, day domain.BizDate, limit int) ([]domain.InstanceDep, error) {
	var rows []row
	err := s.db.Scan(ctx, &rows, "SELECT * FROM dep WHERE upstream_job_id = ? AND biz_date = ? ORDER BY instance_id LIMIT ?", job, day.String(), limit)
	return deps(rows), err
}

// Package store is the SQL of counters.
package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Store reads and writes the table counter.
type Store struct {
	db *dbx.DB
}

// New is a store over the pool.
func New(db *dbx.DB) *Store { return &Store{db} }

// Key names a counter. Job 0 is the whole project.
type Key struct {
	Project domain.ID
	Bucket  time.Time
	Metric  string
	Job     domain.ID
}

// Figure is what a counter holds or is raised by.
type Figure struct {
	Total        int64
	Peak         int64
	PeakInstance domain.ID
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Project, o.Project), k.Bucket.Compare(o.Bucket), cmp.Compare(k.Metric, o.Metric), cmp.Compare(k.Job, o.Job))
}

// Add raises counters, in the order of their keys so that writers meet no deadlock.
func (s *Store) Add(ctx context.Context, sum map[Key]Figure) error {
	keys := make([]Key, 0, len(sum))
	for k := range sum {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, Key.compare)
	rows := make([][]any, len(keys))
	for i, k := range keys {
		f := sum[k]
		rows[i] = []any{k.Project, domain.Millis(k.Bucket), k.Metric, k.Job, f.Total, f.Peak, f.PeakInstance}
	}
	// peak_instance is set before peak: MySQL sees what was set before it.
	return s.db.Upsert(ctx, "counter", []string{"project_id", "bucket_at", "metric", "job_id"},
		[]string{"project_id", "bucket_at", "metric", "job_id", "total", "peak", "peak_instance"},
		"total = total + NEW(total), peak_instance = CASE WHEN NEW(peak) > peak THEN NEW(peak_instance) ELSE peak_instance END, "+
			"peak = CASE WHEN NEW(peak) > peak THEN NEW(peak) ELSE peak END", rows)
}

// Counter is one row of figures.
type Counter struct {
	Key
	Figure
}

// known are the projects to read: those given or, when these are nil, all that were ever
// counted, found one after the other at their places in the key. Named one by one they let
// the database go to the buckets of each alone, so that nothing grows with the history.
func (s *Store) known(ctx context.Context, projects []domain.ID) ([]domain.ID, error) {
	if projects != nil {
		return append([]domain.ID{0}, projects...), nil
	}
	known := []domain.ID{0}
	for {
		var next *int64
		err := s.db.Scan(ctx, &next, "SELECT MIN(project_id) FROM counter WHERE project_id > ?", known[len(known)-1])
		if err != nil || next == nil {
			return known, err
		}
		known = append(known, domain.ID(*next))
	}
}

// Whole reads the counters of whole projects (nil: all) with buckets in [from, to).
func (s *Store) Whole(ctx context.Context, projects []domain.ID, from, to time.Time) ([]Counter, error) {
	known, err := s.known(ctx, projects)
	if err != nil {
		return nil, err
	}
	var out []Counter
	err = s.db.Each(ctx, func(scan func(...any) error) error {
		var project, bucket, total, peak, instance int64
		var metric string
		if err := scan(&project, &bucket, &metric, &total, &peak, &instance); err != nil {
			return err
		}
		out = append(out, Counter{Key{domain.ID(project), domain.FromMillis(bucket), metric, 0}, Figure{total, peak, domain.ID(instance)}})
		return nil
	}, "SELECT project_id, bucket_at, metric, total, peak, peak_instance FROM counter WHERE project_id IN ? AND bucket_at >= ? AND bucket_at < ? AND job_id = 0",
		known, domain.Millis(from), domain.Millis(to))
	return out, err
}

// Ranked is a job and the sum of a metric of it.
type Ranked struct {
	Job   domain.ID
	Total int64
}

// Most ranks the jobs of the projects (nil: all) by the sum of one metric over the buckets in
// [from, to), the highest first, at most n and none of 0 or less.
func (s *Store) Most(ctx context.Context, projects []domain.ID, metric string, from, to time.Time, n int) ([]Ranked, error) {
	known, err := s.known(ctx, projects)
	if err != nil {
		return nil, err
	}
	var out []Ranked
	err = s.db.Each(ctx, func(scan func(...any) error) error {
		var job, total int64
		if err := scan(&job, &total); err != nil {
			return err
		}
		out = append(out, Ranked{domain.ID(job), total})
		return nil
	}, "SELECT job_id, SUM(total) AS n FROM counter WHERE project_id IN ? AND bucket_at >= ? AND bucket_at < ? AND metric = ? AND job_id <> 0 "+
		"GROUP BY job_id HAVING SUM(total) > 0 ORDER BY n DESC, job_id LIMIT ?", known, domain.Millis(from), domain.Millis(to), metric, n)
	return out, err
}

// Any reports whether anything was ever counted.
func (s *Store) Any(ctx context.Context) (bool, error) {
	var found []int64
	err := s.db.Scan(ctx, &found, "SELECT bucket_at FROM counter LIMIT 1")
	return len(found) > 0, err
}

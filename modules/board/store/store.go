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

// Between reads the counters of the projects (nil: all) with buckets in [from, to).
func (s *Store) Between(ctx context.Context, projects []domain.ID, from, to time.Time) ([]Counter, error) {
	query, args := "SELECT * FROM counter WHERE bucket_at >= ? AND bucket_at < ?", []any{domain.Millis(from), domain.Millis(to)}
	if projects != nil {
		query += " AND project_id IN ?"
		args = append(args, append([]domain.ID{0}, projects...))
	}
	var rows []struct {
		ProjectID    int64
		BucketAt     int64
		Metric       string
		JobID        int64
		Total        int64
		Peak         int64
		PeakInstance int64
	}
	err := s.db.Scan(ctx, &rows, query, args...)
	out := make([]Counter, len(rows))
	for i, r := range rows {
		out[i] = Counter{Key{domain.ID(r.ProjectID), domain.FromMillis(r.BucketAt), r.Metric, domain.ID(r.JobID)}, Figure{r.Total, r.Peak, domain.ID(r.PeakInstance)}}
	}
	return out, err
}

// Any reports whether anything was ever counted.
func (s *Store) Any(ctx context.Context) (bool, error) {
	var found []int64
	err := s.db.Scan(ctx, &found, "SELECT bucket_at FROM counter LIMIT 1")
	return len(found) > 0, err
}

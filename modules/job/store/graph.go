package store

import (
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// NamesOf reads the names of jobs by their ids, deleted ones too, in any order.
func (s *Store) NamesOf(ctx context.Context, ids []domain.ID) ([]Name, error) {
	var out []Name
	for part := range slices.Chunk(ids, 500) {
		found, err := s.names(ctx, "SELECT "+nameColumns+" FROM job WHERE id IN ?", part)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Bearers reads the jobs that bear or bore a name in a project: the one that is there,
// then those that were deleted, the last one first; at most limit.
func (s *Store) Bearers(ctx context.Context, project domain.ID, name string, limit int) ([]Name, error) {
	return s.names(ctx, "SELECT "+nameColumns+" FROM job WHERE project_id = ? AND name = ? ORDER BY CASE WHEN deleted_at = 0 THEN 0 ELSE 1 END, deleted_at DESC, id DESC LIMIT ?", project, name, limit)
}

// Count tells how many jobs of the projects (nil: all) there are, and how many of
// them are enabled. How many are paused is counted, for these are few as a rule; how
// many there are is remembered.
func (s *Store) Count(ctx context.Context, projects []domain.ID) (total, enabled int64, err error) {
	query, args := "SELECT COUNT(*) FROM job WHERE deleted_at = 0 AND enabled = 0", []any{}
	if projects != nil {
		query, args = query+" AND project_id IN ?", append(args, append([]domain.ID{0}, projects...))
	}
	var paused int64
	if err := s.db.Scan(ctx, &paused, query, args...); err != nil {
		return 0, 0, err
	}
	all, err := s.totals(ctx)
	if err != nil {
		return 0, 0, err
	}
	for project, n := range all {
		if projects == nil || slices.Contains(projects, project) {
			total += n
		}
	}
	return total, max(total-paused, 0), nil
}

// EdgesOf reads the edges in force that begin or end at a job.
func (s *Store) EdgesOf(ctx context.Context, job domain.ID) ([]Edge, error) {
	var rows []struct {
		JobID, UpstreamJobID, ProjectID int64
		BizDate, Required, Outcome      string
		FirstDate                       string
		Starts                          bool
	}
	err := s.db.Scan(ctx, &rows, "SELECT * FROM job_dep WHERE job_id = ? OR upstream_job_id = ? ORDER BY job_id, no", job, job)
	out := make([]Edge, len(rows))
	for i, r := range rows {
		first, _ := domain.ParseBizDate(r.FirstDate) // "" or written by us
		out[i] = Edge{JobID: domain.ID(r.JobID), Upstream: domain.ID(r.UpstreamJobID), ProjectID: domain.ID(r.ProjectID), Starts: r.Starts,
			Dep: domain.Dep{BizDate: domain.DepDates(r.BizDate), Require: r.Required, Check: r.Outcome, FirstDate: first}}
	}
	return out, err
}

// Dependents counts the jobs that depend on each of these, without itself.
func (s *Store) Dependents(ctx context.Context, jobs []domain.ID) (map[domain.ID]int, error) {
	out := make(map[domain.ID]int, len(jobs))
	for part := range slices.Chunk(jobs, 500) {
		var rows []struct {
			UpstreamJobID int64
			N             int
		}
		err := s.db.Scan(ctx, &rows, "SELECT upstream_job_id, COUNT(DISTINCT job_id) AS n FROM job_dep WHERE upstream_job_id IN ? AND job_id <> upstream_job_id GROUP BY upstream_job_id", part)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[domain.ID(r.UpstreamJobID)] = r.N
		}
	}
	return out, nil
}

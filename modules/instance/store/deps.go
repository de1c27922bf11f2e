package store

import (
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// Outcomes reads all instances of jobs about the dates from the first to the last, by job and
// in order of ids, without what a dependency does not need.
func (s *Store) Outcomes(ctx context.Context, jobs []domain.ID, from, to domain.BizDate) (map[domain.ID][]domain.DepOutcome, error) {
	out := make(map[domain.ID][]domain.DepOutcome, len(jobs))
	for part := range slices.Chunk(sortedIDs(jobs), chunk) {
		err := s.db.Each(ctx, func(scan func(...any) error) error {
			var id, run, job, ended int64
			var o domain.DepOutcome
			var date, state, label string
			if err := scan(&id, &run, &job, &o.JobName, &o.FireKey, &date, &o.RunNo, &ended, &state, &label); err != nil {
				return err
			}
			o.ID, o.RunID, o.JobID, o.EndedAt = domain.ID(id), domain.ID(run), domain.ID(job), domain.FromMillis(ended)
			o.BizDate, _ = domain.ParseBizDate(date) // written by us only
			o.Status = domain.Status{State: domain.State(state), Label: domain.Label(label)}
			out[o.JobID] = append(out[o.JobID], o)
			return nil
		}, "SELECT id, run_id, job_id, job_name, fire_key, biz_date, run_no, finished_at, state, label FROM instance "+
			"WHERE job_id IN ? AND biz_date >= ? AND biz_date <= ? AND part_of = 0 ORDER BY job_id, id", part, from.String(), to.String())
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// FiredOf tells which of the jobs have an instance with which of the fire keys.
func (s *Store) FiredOf(ctx context.Context, jobs []domain.ID, keys []string) (map[domain.ID][]string, error) {
	out := map[domain.ID][]string{}
	for part := range slices.Chunk(sortedIDs(jobs), chunk) {
		var rows []struct {
			JobID   int64
			FireKey string
		}
		if err := s.db.Scan(ctx, &rows, "SELECT job_id, fire_key FROM instance WHERE job_id IN ? AND fire_key IN ?", part, keys); err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[domain.ID(r.JobID)] = append(out[domain.ID(r.JobID)], r.FireKey)
		}
	}
	return out, nil
}

// RecentDays reads the dates of jobs whose latest instance was made since the id, at most
// limit for each batch of jobs; of a day only its names are set.
func (s *Store) RecentDays(ctx context.Context, jobs []domain.ID, since domain.ID, limit int) ([]domain.JobDay, error) {
	var out []domain.JobDay
	for part := range slices.Chunk(sortedIDs(jobs), daysAtOnce) {
		err := s.db.Each(ctx, func(scan func(...any) error) error {
			var job, instance int64
			var date string
			err := scan(&job, &date, &instance)
			day, _ := domain.ParseBizDate(date) // written by us only
			out = append(out, domain.JobDay{Job: domain.ID(job), BizDate: day, Instance: domain.ID(instance)})
			return err
		}, "SELECT job_id, biz_date, instance_id FROM job_day WHERE job_id IN ? AND instance_id > ? LIMIT ?", part, since, limit)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Reran reads instances that succeeded in a run that is not their first, by the ids of these
// runs strictly after the one given.
func (s *Store) Reran(ctx context.Context, after domain.ID, limit int) ([]domain.Instance, error) {
	var found []struct{ ID, InstanceID int64 }
	err := s.db.Scan(ctx, &found, "SELECT r.id, r.instance_id FROM run r JOIN instance i ON i.id = r.instance_id AND i.run_id = r.id "+
		"WHERE r.id > ? AND r.run_no > 1 AND i.state = 'success' ORDER BY r.id LIMIT ?", after, limit)
	if err != nil {
		return nil, err
	}
	ids := make([]domain.ID, len(found))
	for i, r := range found {
		ids[i] = domain.ID(r.InstanceID)
	}
	by, err := s.ByIDs(ctx, ids)
	out := make([]domain.Instance, 0, len(ids))
	for _, id := range ids {
		if in, ok := by[id]; ok {
			out = append(out, in)
		}
	}
	return out, err
}

// CountWaiting counts the instances of a job that wait for their dependencies.
func (s *Store) CountWaiting(ctx context.Context, job domain.ID) (int, error) {
	var n int
	err := s.db.Scan(ctx, &n, "SELECT COUNT(*) FROM instance WHERE state = 'running' AND job_id = ? AND label = 'waiting_deps'", job)
	return n, err
}

package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// noteDays notes new instances as the latest of their job and business date, unless
// a later one is noted already. How the latest stands is read from its own row.
func (s *Store) noteDays(ctx context.Context, ins []domain.Instance) error {
	type day struct {
		job domain.ID
		biz domain.BizDate
	}
	latest := map[day]domain.Instance{}
	for _, in := range ins {
		k := day{in.JobID, in.BizDate}
		if in.ID > latest[k].ID {
			latest[k] = in
		}
	}
	rows := make([][]any, 0, len(latest))
	for k, in := range latest {
		rows = append(rows, []any{k.job, k.biz.String(), in.ProjectID, in.ID, "", "", 0, 0})
	}
	slices.SortFunc(rows, func(a, b []any) int {
		return cmp.Or(cmp.Compare(a[0].(domain.ID), b[0].(domain.ID)), cmp.Compare(a[1].(string), b[1].(string)))
	})
	return s.db.Upsert(ctx, "job_day", []string{"job_id", "biz_date"},
		[]string{"job_id", "biz_date", "project_id", "instance_id", "state", "label", "started_at", "finished_at"},
		"instance_id = CASE WHEN NEW(instance_id) > instance_id THEN NEW(instance_id) ELSE instance_id END", rows)
}

const dayQuery = "SELECT d.job_id, d.biz_date, d.instance_id, i.state, i.label, i.started_at, i.finished_at FROM job_day d JOIN instance i ON i.id = d.instance_id "

// LatestDays reads, for each of the jobs, its most recent business dates, newest
// first, at most n each.
func (s *Store) LatestDays(ctx context.Context, jobs []domain.ID, n int) (map[domain.ID][]domain.JobDay, error) {
	out := make(map[domain.ID][]domain.JobDay, len(jobs))
	for _, job := range jobs {
		days, err := s.days(ctx, dayQuery+"WHERE d.job_id = ? ORDER BY d.biz_date DESC LIMIT ?", job, n)
		if err != nil {
			return nil, err
		}
		out[job] = days
	}
	return out, nil
}

// OnDate reads the latest instances of the jobs on a business date.
func (s *Store) OnDate(ctx context.Context, jobs []domain.ID, date domain.BizDate) ([]domain.JobDay, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	return s.days(ctx, dayQuery+"WHERE d.biz_date = ? AND d.job_id IN ?", date.String(), jobs)
}

func (s *Store) days(ctx context.Context, query string, args ...any) ([]domain.JobDay, error) {
	var out []domain.JobDay
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var job, instance, started, finished int64
		var date, state, label string
		if err := scan(&job, &date, &instance, &state, &label, &started, &finished); err != nil {
			return err
		}
		day, _ := domain.ParseBizDate(date) // written by us only
		out = append(out, domain.JobDay{Job: domain.ID(job), BizDate: day, Instance: domain.ID(instance),
			Status:  domain.Status{State: domain.State(state), Label: domain.Label(label)},
			Started: domain.FromMillis(started), Finished: domain.FromMillis(finished)})
		return nil
	}, query, args...)
	return out, err
}

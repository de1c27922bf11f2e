package store

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// noteDays notes new instances as the latest of their job and business date, unless
// a later one is noted already. How the latest stands is read from its own row.
func (s *Store) noteDays(ctx context.Context, ins []domain.Instance) error {
	type day struct {
		job domain.ID
		biz domain.BizDate
	}
	latest := make(map[day]*domain.Instance, len(ins))
	for i := range ins {
		k := day{ins[i].JobID, ins[i].BizDate}
		if was := latest[k]; was == nil || ins[i].ID > was.ID {
			latest[k] = &ins[i]
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

const (
	dayColumns = "SELECT d.job_id, d.biz_date, d.instance_id, i.version, i.state, i.label, i.started_at, i.finished_at, " +
		"CASE WHEN i.label = 'skipped' THEN i.message ELSE '' END FROM "
	dayState = " d JOIN instance i ON i.id = d.instance_id"
)

// daysAtOnce bounds the jobs of one statement.
const daysAtOnce = 100

// LatestDays reads, for each of the jobs, its most recent business dates, newest
// first, at most n each. The statement asks for each job by itself, so that it reads n
// rows of it and no more, however long its past is.
func (s *Store) LatestDays(ctx context.Context, jobs []domain.ID, n int) (map[domain.ID][]domain.JobDay, error) {
	out := make(map[domain.ID][]domain.JobDay, len(jobs))
	for part := range slices.Chunk(sortedIDs(jobs), daysAtOnce) {
		one, args := make([]string, len(part)), make([]any, 0, 2*len(part))
		for i, job := range part {
			one[i] = "SELECT * FROM (SELECT job_id, biz_date, instance_id FROM job_day WHERE job_id = ? ORDER BY biz_date DESC LIMIT ?) j"
			args = append(args, job, n)
		}
		days, err := s.days(ctx, dayColumns+"("+strings.Join(one, " UNION ALL ")+")"+dayState+" ORDER BY d.job_id, d.biz_date DESC", args...)
		if err != nil {
			return nil, err
		}
		for _, d := range days {
			out[d.Job] = append(out[d.Job], d)
		}
	}
	return out, nil
}

// OnDate reads the latest instances of the jobs on a business date.
func (s *Store) OnDate(ctx context.Context, jobs []domain.ID, date domain.BizDate) ([]domain.JobDay, error) {
	var out []domain.JobDay
	for part := range slices.Chunk(jobs, 500) {
		days, err := s.days(ctx, dayColumns+"job_day"+dayState+" WHERE d.biz_date = ? AND d.job_id IN ?", date.String(), part)
		if err != nil {
			return nil, err
		}
		out = append(out, days...)
	}
	return out, nil
}

// LastDate finds the latest business date in [from, to] on which one of the jobs has an
// instance; zero when there is none.
func (s *Store) LastDate(ctx context.Context, jobs []domain.ID, from, to domain.BizDate) (domain.BizDate, error) {
	var last domain.BizDate
	for part := range slices.Chunk(jobs, 500) {
		err := s.db.Each(ctx, func(scan func(...any) error) error {
			var text string
			err := scan(&text)
			if date, _ := domain.ParseBizDate(text); last.Before(date) { // written by us only
				last = date
			}
			return err
		}, "SELECT biz_date FROM job_day WHERE job_id IN ? AND biz_date >= ? AND biz_date <= ? ORDER BY biz_date DESC LIMIT 1", part, from.String(), to.String())
		if err != nil {
			return last, err
		}
	}
	return last, nil
}

// FailedOn lists jobs of the projects whose latest instance of the business date failed or
// was cancelled because an upstream failed, at most limit.
func (s *Store) FailedOn(ctx context.Context, seen domain.ProjectSet, date domain.BizDate, limit int) ([]domain.ID, error) {
	first, last, err := s.span(ctx, date)
	if err != nil || last == 0 {
		return nil, err
	}
	query := "SELECT i.job_id FROM instance i JOIN job_day d ON d.job_id = i.job_id AND d.biz_date = i.biz_date AND d.instance_id = i.id " +
		"WHERE i.state IN ('failed', 'cancelled') AND i.id >= ? AND i.id <= ? AND i.biz_date = ? AND (i.state = 'failed' OR i.label = ?)"
	args := []any{first, last, date.String(), string(domain.UpstreamFailed)}
	if !seen.All {
		query, args = query+" AND i.project_id IN ?", append(args, append([]domain.ID{0}, seen.IDs...))
	}
	var jobs []int64
	err = s.db.Scan(ctx, &jobs, query+" LIMIT ?", append(args, limit)...)
	out := make([]domain.ID, len(jobs))
	for i, j := range jobs {
		out[i] = domain.ID(j)
	}
	return out, err
}

func (s *Store) days(ctx context.Context, query string, args ...any) ([]domain.JobDay, error) {
	var out []domain.JobDay
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var job, instance, started, finished int64
		var version int
		var date, state, label, why string
		if err := scan(&job, &date, &instance, &version, &state, &label, &started, &finished, &why); err != nil {
			return err
		}
		day, _ := domain.ParseBizDate(date) // written by us only
		out = append(out, domain.JobDay{Job: domain.ID(job), BizDate: day, Instance: domain.ID(instance), Version: version,
			Status: domain.Status{State: domain.State(state), Label: domain.Label(label)}, Why: why,
			Started: domain.FromMillis(started), Finished: domain.FromMillis(finished)})
		return nil
	}, query, args...)
	return out, err
}

package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

type spanRow struct {
	ID          int64
	ProjectID   int64
	JobID       int64
	Version     int
	Kind        string
	Expr        string
	Dialect     string
	Timezone    string
	BizDateRule string
	AnchorAt    int64
	FromAt      int64
	ToAt        int64

	CalendarID      int64
	CalendarVersion int
	Gate            string
	Carried         string
}

// TableName is gorm's.
func (spanRow) TableName() string { return "schedule_span" }

func (r spanRow) span() (plan.Span, error) {
	s, err := plan.ParseSchedule(domain.ScheduleKind(r.Kind), r.Expr, r.Dialect)
	if err != nil {
		return plan.Span{}, fmt.Errorf("schedule span %d: %w", r.ID, err)
	}
	return plan.Span{
		ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), JobID: domain.ID(r.JobID), Version: r.Version,
		Timing: plan.Timing{Schedule: s, Zone: r.Timezone, Rule: domain.BizDateRule(r.BizDateRule), Anchor: domain.FromMillis(r.AnchorAt),
			Gate: plan.ParseGate(domain.ID(r.CalendarID), r.CalendarVersion, r.Gate)},
		From: domain.FromMillis(r.FromAt), To: domain.FromMillis(r.ToAt), Carried: r.Carried,
	}, nil
}

// OpenSpans writes spans that begin.
func (s *Store) OpenSpans(ctx context.Context, ps []plan.Span) error {
	if len(ps) == 0 {
		return nil
	}
	rows := make([]spanRow, len(ps))
	for i, p := range ps {
		rows[i] = spanRow{
			ID: int64(p.ID), ProjectID: int64(p.ProjectID), JobID: int64(p.JobID), Version: p.Version,
			Kind: string(p.Schedule.Kind), Expr: p.Expr(), Dialect: p.Schedule.Dialect, Timezone: p.Zone, BizDateRule: string(p.Rule),
			AnchorAt: domain.Millis(p.Anchor), FromAt: domain.Millis(p.From), ToAt: domain.Millis(p.To),
			CalendarID: int64(p.Gate.Calendar), CalendarVersion: p.Gate.Version, Gate: p.Gate.Text(), Carried: p.Carried,
		}
	}
	return s.db.Insert(ctx, &rows)
}

// CloseSpans ends the jobs' open spans.
func (s *Store) CloseSpans(ctx context.Context, jobs []domain.ID, at time.Time) error {
	for part := range slices.Chunk(jobs, chunk) {
		if _, err := s.db.Exec(ctx, "UPDATE schedule_span SET to_at = ? WHERE job_id IN ? AND to_at = 0", domain.Millis(at), ints(part)); err != nil {
			return err
		}
	}
	return nil
}

// Renew says that the job's open span now stands for a newer version.
func (s *Store) Renew(ctx context.Context, job domain.ID, version int) error {
	_, err := s.db.Exec(ctx, "UPDATE schedule_span SET version = ? WHERE job_id = ? AND to_at = 0", version, job)
	return err
}

// Spans reads the jobs' spans that end at or after an instant, in order of their
// beginning, by job. One that can't be read is in broken, by job.
func (s *Store) Spans(ctx context.Context, jobs []domain.ID, since time.Time) (spans map[domain.ID][]plan.Span, broken map[domain.ID]error, err error) {
	spans, broken = map[domain.ID][]plan.Span{}, map[domain.ID]error{}
	for part := range slices.Chunk(jobs, chunk) {
		var rows []spanRow
		if err := s.db.Scan(ctx, &rows, "SELECT * FROM schedule_span WHERE job_id IN ? AND (to_at = 0 OR to_at >= ?) ORDER BY job_id, from_at, id",
			ints(part), domain.Millis(since)); err != nil {
			return nil, nil, err
		}
		for _, r := range rows {
			p, err := r.span()
			if err != nil {
				broken[domain.ID(r.JobID)] = err
				continue
			}
			spans[p.JobID] = append(spans[p.JobID], p)
		}
	}
	return spans, broken, nil
}

// Jobs lists the first jobs of larger ids than after that had a schedule in force at some
// moment of [from, to), in order of their ids, at most limit. Projects nil means all.
func (s *Store) Jobs(ctx context.Context, projects []domain.ID, from, to time.Time, after domain.ID, limit int) ([]domain.ID, error) {
	query, args := "SELECT DISTINCT job_id FROM schedule_span WHERE job_id > ? AND from_at < ? AND (to_at = 0 OR to_at >= ?)",
		[]any{after, domain.Millis(to), domain.Millis(from)}
	if projects != nil {
		query, args = query+" AND project_id IN ?", append(args, append([]int64{0}, ints(projects)...))
	}
	var ids []domain.ID
	err := s.db.Scan(ctx, &ids, query+" ORDER BY job_id LIMIT ?", append(args, limit)...)
	return ids, err
}

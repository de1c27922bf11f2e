package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

const (
	// moveDays is how many days ahead the effect of a change of a calendar is told.
	moveDays = 400
	// moveFires bounds the fires that are looked at for one job, moveFiresAll those for all: half a
	// second, for a save looks while it holds the calendar.
	moveFires, moveFiresAll = 20_000, 300_000
	// movesShown is how many fires of a job are told one by one.
	movesShown = 20
)

// CalendarMoves tells, and changes nothing, what CalendarChanged would do to the jobs' fires
// of the days to come: by the code that fires, with what would be carried over. Jobs whose fires
// stay, and paused ones, are absent. newest bears the version that it would get.
func (t *Triggers) CalendarMoves(ctx context.Context, jobs []domain.ID, newest *domain.Calendar) ([]domain.CalendarMove, error) {
	now, err := t.clock(ctx)
	if err != nil {
		return nil, err
	}
	jobs = slices.Sorted(slices.Values(jobs))
	spans, broken, err := readSpans(ctx, t.Store, t.Calendars, jobs, now)
	if err != nil {
		return nil, err
	}
	left := moveFiresAll
	var out []domain.CalendarMove
	for _, job := range jobs {
		if broken[job] != nil {
			continue // it does not fire under the version in force either, and its page says so
		}
		for i := range spans[job] {
			old := &spans[job][i]
			if !old.Open() || old.Gate.Calendar != newest.ID {
				continue
			}
			m, looked, err := plan.Moves(old, newest, plan.Look{From: now, Days: moveDays, Most: min(left, moveFires), Shown: movesShown})
			if err != nil {
				return nil, err
			}
			m.Job = job
			if left -= looked; m.Any() {
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// Coming shows the next n fires of jobs, as they will be taken; those that are not due by
// themselves, or paused, are absent.
func (t *Triggers) Coming(ctx context.Context, jobs []domain.ID, n int) (map[domain.ID][]domain.Coming, error) {
	found, err := t.Store.Of(ctx, jobs)
	if err != nil {
		return nil, err
	}
	var due []domain.ID
	var first time.Time
	for job, d := range found {
		if d.Next.IsZero() {
			continue
		}
		due = append(due, job)
		if first.IsZero() || d.Next.Before(first) {
			first = d.Next
		}
	}
	if len(due) == 0 {
		return nil, nil
	}
	now, err := t.clock(ctx)
	if err != nil {
		return nil, err
	}
	spans, broken, err := readSpans(ctx, t.Store, t.Calendars, due, first)
	if err != nil {
		return nil, err
	}
	out := make(map[domain.ID][]domain.Coming, len(due))
	for _, job := range due {
		if broken[job] != nil {
			return nil, broken[job]
		}
		for i := range spans[job] {
			s := &spans[job][i]
			if !s.Open() {
				continue
			}
			if out[job], err = s.Coming(found[job].Next.Add(-time.Millisecond), n); err != nil {
				return nil, err
			}
			if err := tellPassed(s, out[job], now); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// tellPassed says what the calendar passed over from now to the first of the fires.
func tellPassed(s *plan.Span, fires []domain.Coming, now time.Time) error {
	if s.Calendar == nil || len(fires) == 0 || !now.Before(fires[0].At) {
		return nil
	}
	fromNow, err := s.Coming(now, 1)
	if err == nil && len(fromNow) > 0 && fromNow[0].At.Equal(fires[0].At) {
		fires[0].Passed = fromNow[0].Passed
	}
	return err
}

package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/modules/scheduler/store"
	"github.com/axsched/ax/worker/protocol"
)

// Triggers keeps the one trigger row of each job that has a schedule, and the record
// of what was in force when. Its use cases are called inside the transaction that
// changes the job. Safe for concurrent use; all fields must be set but Calendars, without
// which no job can live by a calendar.
//
// A change never touches fires that were due before it and are not yet taken: under a
// changed schedule they fire as they were planned, under a pause or a removal they are
// noted as skipped.
type Triggers struct {
	Store *store.Store
	IDs   *domain.IDs
	Nudge Nudger

	Calendars Calendars

	now func(ctx context.Context) (time.Time, error) // tests set it; nil = the database's clock
}

// change is one change of a trigger, in the making.
type change struct {
	old      plan.Trigger // zero ID: there was none
	new      plan.Trigger
	now      time.Time
	calendar *domain.Calendar // that new lives by
	carried  string           // what its new span takes over
}

// Put says what the newest version of a job wants. An unchanged schedule keeps its span
// and its next fire; a changed one counts from now. Invalid when a new schedule is
// never due again, as an at: in the past. ScheduleNone is a removal.
func (t *Triggers) Put(ctx context.Context, project, job domain.ID, version int, spec domain.JobSpec, enabled bool) error {
	calendar, err := t.use(ctx, project, job, spec.Calendar.Name)
	if err != nil {
		return err
	}
	if spec.Schedule.Kind == domain.ScheduleNone || spec.Schedule.Kind == "" {
		return t.remove(ctx, job)
	}
	return t.change(ctx, job, func(c *change) error {
		c.calendar = calendar
		c.new.ProjectID, c.new.JobID, c.new.Version = project, job, version
		c.new.Misfire, c.new.Enabled = spec.Misfire, enabled
		want := plan.Timing{Schedule: spec.Schedule, Zone: spec.Timezone, Rule: spec.BizDate, Gate: plan.GateOf(spec, calendar)}
		switch {
		case want.SameGrid(c.old.Timing):
			want.Anchor = c.old.Anchor
		case want.Anchored():
			want.Anchor = c.now
		}
		c.new.Timing = want
		if c.new.Timing != c.old.Timing {
			return refuseNever(want, calendar, c.now)
		}
		return nil
	})
}

// refuseNever judges a schedule that is about to be saved.
func refuseNever(t plan.Timing, calendar *domain.Calendar, now time.Time) error {
	open := t
	open.Gate = plan.Gate{}
	own, err := plan.Compile(open, nil)
	if err != nil {
		return domain.Fail(domain.Invalid, "%s", err).At(string(t.Schedule.Kind))
	}
	gated, err := plan.Compile(t, calendar)
	if err != nil {
		return domain.Fail(domain.Invalid, "%s", err).At("calendar")
	}
	_, ever := own.Next(now)
	_, passes := gated.Next(now)
	switch {
	case passes:
		return nil
	case ever:
		return domain.Fail(domain.Invalid, "calendar %s lets none of its fires happen", calendar.Name).At("calendar")
	case t.Schedule.Kind == domain.ScheduleAt:
		return domain.Fail(domain.Invalid, "%s lies in the past", domain.FromMillis(t.Schedule.AtMs).Format(time.RFC3339)).
			At("at").WithHint("give a moment that is still to come")
	}
	return domain.Fail(domain.Invalid, "the schedule is never due again").At(string(t.Schedule.Kind))
}

// Pause ends the span in force. A job without a trigger is left as it is.
func (t *Triggers) Pause(ctx context.Context, job domain.ID) error { return t.enable(ctx, job, false) }

// Resume opens a span from now on: the next fire is strictly after now, and nothing of
// the pause is made up. A job without a trigger is left as it is.
func (t *Triggers) Resume(ctx context.Context, job domain.ID) error { return t.enable(ctx, job, true) }

func (t *Triggers) enable(ctx context.Context, job domain.ID, on bool) error {
	return t.change(ctx, job, func(c *change) error {
		if err := t.atHand(ctx, c); err != nil {
			return err
		}
		c.new.Enabled = on && c.new.Schedule.Kind != domain.ScheduleNone // one removed that has due fires yet stays removed
		return nil
	})
}

// Remove ends the job's schedule, and that it lives by a calendar. The row goes at once, or
// once its last due fires are noted.
func (t *Triggers) Remove(ctx context.Context, job domain.ID) error {
	if _, err := t.use(ctx, 0, job, ""); err != nil {
		return err
	}
	return t.remove(ctx, job)
}

func (t *Triggers) remove(ctx context.Context, job domain.ID) error {
	return t.change(ctx, job, func(c *change) error {
		c.new.Enabled = false
		c.new.Schedule = domain.Schedule{Kind: domain.ScheduleNone}
		return nil
	})
}

// NextFires tells when jobs are due next; jobs that are not, or paused, are absent.
func (t *Triggers) NextFires(ctx context.Context, jobs []domain.ID) (map[domain.ID]time.Time, error) {
	found, err := t.Store.Of(ctx, jobs)
	if err != nil {
		return nil, err
	}
	out := make(map[domain.ID]time.Time, len(found))
	for job, d := range found {
		if !d.Next.IsZero() {
			out[job] = d.Next
		}
	}
	return out, nil
}

// change locks the job's trigger, lets edit say what is wanted, and writes what follows.
func (t *Triggers) change(ctx context.Context, job domain.ID, edit func(*change) error) error {
	return t.Store.Tx(ctx, func(ctx context.Context) error {
		old, err := t.Store.LockOf(ctx, job)
		if err != nil && !domain.Is(err, domain.NotFound) {
			return err
		}
		c := change{old: old, new: old}
		if c.now, err = t.clock(ctx); err != nil {
			return err
		}
		if err := edit(&c); err != nil {
			return err
		}
		if c.new.JobID == 0 {
			return nil // no trigger was there and none is wanted
		}
		return t.write(ctx, c)
	})
}

func (t *Triggers) clock(ctx context.Context) (time.Time, error) {
	if t.now != nil {
		return t.now(ctx)
	}
	return t.Store.Now(ctx)
}

// write carries a change out: spans first, then the row.
func (t *Triggers) write(ctx context.Context, c change) error {
	was, is := c.old.Enabled, c.new.Enabled
	changed := c.old.Timing != c.new.Timing
	if was && (!is || changed) {
		if err := t.Store.CloseSpans(ctx, []domain.ID{c.new.JobID}, c.now); err != nil {
			return err
		}
	}
	switch {
	case is && (!was || changed):
		if err := t.Store.OpenSpans(ctx, []plan.Span{c.span(t.IDs.Next())}); err != nil {
			return err
		}
	case is && c.old.Version != c.new.Version:
		if err := t.Store.Renew(ctx, c.new.JobID, c.new.Version); err != nil {
			return err
		}
	}
	next, err := c.next(changed)
	if err != nil {
		return err
	}
	c.new.Next = next
	if c.near() {
		t.Store.AfterCommit(ctx, func() { t.Nudge.Nudge(protocol.NudgeTrigger) })
	}
	return t.save(ctx, c)
}

// span is the span that the change opens.
func (c change) span(id domain.ID) plan.Span {
	return plan.Span{ID: id, ProjectID: c.new.ProjectID, JobID: c.new.JobID, Version: c.new.Version, Timing: c.new.Timing, From: c.now,
		Calendar: c.calendar, Carried: c.carried}
}

// near tells whether schedulers must hear of the change at once.
func (c change) near() bool {
	soon := c.now.Add(window)
	return !c.new.Next.IsZero() && c.new.Next.Before(soon) || !c.old.Next.IsZero() && c.old.Next.Before(soon)
}

// next is the oldest fire not settled after the change.
func (c change) next(changed bool) (time.Time, error) {
	switch {
	case !c.old.Next.IsZero() && !c.old.Next.After(c.now):
		return c.old.Next, nil // due before the change: settled by the taking
	case !c.new.Enabled:
		return time.Time{}, nil
	case c.old.Enabled && !changed:
		return c.old.Next, nil
	}
	span := c.span(0)
	at, err := span.Next(c.now)
	if err != nil {
		return time.Time{}, fmt.Errorf("the schedule of job %s: %w", c.new.JobID, err)
	}
	return at, nil
}

func (t *Triggers) save(ctx context.Context, c change) error {
	switch gone := c.new.Schedule.Kind == domain.ScheduleNone && c.new.Next.IsZero(); {
	case c.old.ID == 0:
		c.new.ID, c.new.Ver = t.IDs.Next(), 1
		return t.Store.Insert(ctx, c.new, c.now)
	case gone:
		return t.Store.Delete(ctx, []domain.ID{c.old.ID})
	}
	return t.Store.Save(ctx, c.new, c.now)
}

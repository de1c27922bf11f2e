package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/modules/scheduler/store"
	"github.com/axsched/ax/worker/protocol"
)

// rearmMost is how many triggers are re-armed at one reading of the clock.
const rearmMost = 500

// CalendarChanged puts a newer version of a calendar into force, in the transaction of ctx, for
// those of the jobs whose schedules live by it. Like any change it leaves alone what was
// due before; what was moved and has happened does not happen again, and what was
// promised for later still happens.
func (t *Triggers) CalendarChanged(ctx context.Context, jobs []domain.ID, newest *domain.Calendar) error {
	near := false
	err := t.Store.Tx(ctx, func(ctx context.Context) error {
		for part := range slices.Chunk(slices.Sorted(slices.Values(jobs)), rearmMost) {
			soon, err := t.rearm(ctx, part, newest)
			if err != nil {
				return err
			}
			near = near || soon
		}
		if near {
			t.Store.AfterCommit(ctx, func() { t.Nudge.Nudge(protocol.NudgeTrigger) })
		}
		return nil
	})
	return err
}

// rearm does it for some jobs; near: schedulers must hear of it at once.
func (t *Triggers) rearm(ctx context.Context, jobs []domain.ID, newest *domain.Calendar) (near bool, err error) {
	locked, err := t.Store.LockAllOf(ctx, jobs)
	if err != nil {
		return false, err
	}
	locked = slices.DeleteFunc(locked, func(l plan.Trigger) bool { return l.Gate.Calendar != newest.ID || l.Gate.Version == newest.Version })
	now, err := t.clock(ctx)
	if err != nil {
		return false, err
	}
	was, broken, err := readSpans(ctx, t.Store, t.Calendars, jobs, now)
	if err != nil {
		return false, err
	}
	var ended []domain.ID
	var open []plan.Span
	moved := make([]plan.Trigger, 0, len(locked))
	for _, old := range locked {
		c := change{old: old, new: old, now: now, calendar: newest}
		c.new.Gate.Version = newest.Version
		if old.Enabled {
			if err := broken[old.JobID]; err != nil {
				return false, fmt.Errorf("the schedule of job %s: %w", old.JobID, err)
			}
			if err := c.carry(was[old.JobID]); err != nil {
				return false, err
			}
			ended, open = append(ended, old.JobID), append(open, c.span(t.IDs.Next()))
		}
		if c.new.Next, err = c.next(true); err != nil {
			return false, err
		}
		moved, near = append(moved, c.new), near || c.near()
	}
	if err := t.Store.CloseSpans(ctx, ended, now); err != nil {
		return false, err
	}
	if err := t.Store.OpenSpans(ctx, open); err != nil {
		return false, err
	}
	return near, t.Store.Rearm(ctx, moved, now)
}

// carry takes over what the span in force until now has done and promised.
func (c *change) carry(spans []plan.Span) error {
	for i := range spans {
		if !spans[i].Open() {
			continue
		}
		var err error
		if c.carried, err = plan.Carry(&spans[i], c.new.Timing, c.calendar, c.now); err != nil {
			return fmt.Errorf("the schedule of job %s: %w", c.new.JobID, err)
		}
	}
	return nil
}

// use notes the calendar that a job lives by and gives its version in force; nil for none.
func (t *Triggers) use(ctx context.Context, project, job domain.ID, name string) (*domain.Calendar, error) {
	if t.Calendars != nil {
		return t.Calendars.Use(ctx, project, job, name)
	}
	if name != "" {
		return nil, domain.Fail(domain.Invalid, "there are no calendars here").At("calendar")
	}
	return nil, nil
}

// atHand reads the calendar that the trigger of a change lives by.
func (t *Triggers) atHand(ctx context.Context, c *change) error {
	g := c.new.Gate
	if g.Calendar == 0 {
		return nil
	}
	if t.Calendars == nil {
		return domain.Fail(domain.Invalid, "there are no calendars here").At("calendar")
	}
	var err error
	c.calendar, err = t.Calendars.Version(ctx, g.Calendar, g.Version)
	return err
}

// readSpans reads the spans of jobs with their calendars. Those of a job that can't be read
// are in broken.
func readSpans(ctx context.Context, st *store.Store, calendars Calendars, jobs []domain.ID, since time.Time) (map[domain.ID][]plan.Span, map[domain.ID]error, error) {
	spans, broken, err := st.Spans(ctx, jobs, since)
	if err != nil {
		return nil, nil, err
	}
	for job, of := range spans {
		for i := range of {
			g := of[i].Gate
			if g.Calendar == 0 {
				continue
			}
			if calendars == nil {
				broken[job] = fmt.Errorf("there are no calendars here")
				break
			}
			of[i].Calendar, err = calendars.Version(ctx, g.Calendar, g.Version)
			switch {
			case domain.Is(err, domain.NotFound):
				broken[job] = err
			case err != nil:
				return nil, nil, err
			}
		}
	}
	return spans, broken, nil
}

package incident

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

// lookAtCalendars opens an incident for each calendar that jobs live by and that soon knows the special
// days no more, and ends those that are over. One that was closed by hand stays so until the end is
// another, or is there.
func (k *Keeper) lookAtCalendars(ctx context.Context, now time.Time) error {
	if k.Calendars == nil {
		return nil
	}
	ending, err := k.Calendars.Ending(ctx, domain.BizDateOf(now, time.UTC))
	if err != nil {
		return err
	}
	open, err := k.Store.Open(ctx, domain.IncidentCalendarEnds, 0, openLimit)
	if err != nil {
		return err
	}
	still := map[string]bool{}
	var found []store.Occurrence
	for _, e := range ending {
		o := endOf(e, now)
		still[o.Subject] = true
		found = append(found, o)
	}
	var over []domain.ID
	for _, i := range open {
		if !still[i.Subject] {
			over = append(over, i.ID)
		}
	}
	_, failed := k.Store.Resolve(ctx, over, now, domain.RecoveredCovered)
	return errors.Join(k.Store.Raise(ctx, found), failed)
}

// endOf is the end of a calendar as an occurrence, named by what ends it.
func endOf(e domain.CalendarEnd, now time.Time) store.Occurrence {
	o := store.Occurrence{ProjectID: e.ProjectID, Kind: domain.IncidentCalendarEnds, Subject: e.ID.String(), Name: e.Key, At: now, Lasts: true, Mark: int64(2 * e.Year),
		Detail: []string{"incident.said.calendar_ends", "date", e.LastDay.String(), "year", strconv.Itoa(e.Year), "n", count(e.Jobs)}}
	if e.LastDay.IsZero() {
		o.Mark++
		o.Detail = []string{"incident.said.calendar_over", "year", strconv.Itoa(e.Year), "n", count(e.Jobs)}
	}
	return o
}

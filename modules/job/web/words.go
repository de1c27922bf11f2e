package web

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
)

// Wording says schedules to people and reads what they choose in the form.
type Wording interface {
	// Sentence says when a schedule fires, in a language of the catalogs.
	Sentence(lang string, s domain.Schedule, zone *time.Location, from time.Time) string
	// WithCalendar adds to a sentence which calendar the job lives by and what that does.
	WithCalendar(lang, sentence string, use domain.CalendarUse) string
	// Choice is the choice of the form that a schedule fits.
	Choice(s domain.Schedule, zone *time.Location) domain.Choice
	// Written is the key of the job file that a choice becomes, and its value; both empty for
	// none. A field that can't be written is returned by name in wrong, with the catalog key
	// of what is wrong in place of the value.
	Written(c domain.Choice) (key, value, wrong string)
}

// scheduleWords says what makes a job due, and what its calendar makes of that.
func (h *Handlers) scheduleWords(ctx context.Context, s domain.JobSpec) string {
	lang := i18n.Lang(ctx)
	use, sentence := s.Calendar, h.Words.Sentence(lang, s.Schedule, h.zoneOf(s), h.Jobs.Now())
	if s.Schedule.Kind == domain.ScheduleNone || s.Schedule.Kind == "" {
		if use.On = domain.GateAny; s.Trigger == domain.TriggerUpstream { // no fire that a calendar could gate: it counts only
			sentence = i18n.T(ctx, "schedule.upstream")
		}
	}
	return h.Words.WithCalendar(lang, sentence, use)
}

// cautions says what people may not expect of a job's schedule.
func (h *Handlers) cautions(ctx context.Context, s domain.JobSpec) []string {
	return sayCautions(ctx, h.Jobs.Schedules.Cautions(s.Schedule, h.zoneOf(s), h.Jobs.Now()))
}

func sayCautions(ctx context.Context, all []domain.Caution) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = lookup(ctx)("problem.cron."+c.ID, c.Args)
	}
	return out
}

// zoneOf is the job's zone; UTC where a zone that was there is no longer.
func (h *Handlers) zoneOf(s domain.JobSpec) *time.Location {
	zone, err := h.Jobs.Schedules.Zone(s.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}

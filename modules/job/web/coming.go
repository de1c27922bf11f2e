package web

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/ui"
)

// shownComing shows fires that are to come: each with its business date, from which day the calendar
// moved it, and the days that the calendar passed over just before it.
func shownComing(ctx context.Context, fires []domain.Coming) []ui.Fire {
	out := make([]ui.Fire, len(fires))
	for i, c := range fires {
		out[i] = ui.Fire{At: c.At, BizDate: c.BizDate.String(), Passed: passed(ctx, c.Passed)}
		if !c.From.IsZero() {
			out[i].Note = i18n.T(ctx, "fire.moved", "date", c.From.String(), "weekday", i18n.Weekday(ctx, c.From.Start(time.UTC)))
		}
	}
	return out
}

// passed says days that a calendar passed over, neighbours of the same lot together.
func passed(ctx context.Context, days []domain.PassedDay) []string {
	var out []string
	for i := 0; i < len(days); {
		first, last := days[i], days[i]
		for i++; i < len(days) && days[i].Day == last.Day.AddDays(1) && days[i].To == first.To && days[i].Label == first.Label; i++ {
			last = days[i]
		}
		text := first.Day.String()
		if last.Day != first.Day {
			text += " … " + last.Day.String()
		}
		if first.Label != "" {
			text += " " + first.Label
		}
		if first.To.IsZero() {
			out = append(out, i18n.T(ctx, "fire.skipped", "days", text))
		} else {
			out = append(out, i18n.T(ctx, "fire.moved_to", "days", text, "date", first.To.String()))
		}
	}
	return out
}

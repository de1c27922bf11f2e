package backfills

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/ui"
)

// fields are those that the confirmation carries on, without empty ones.
func (f Form) fields() [][2]string {
	var out [][2]string
	for _, one := range [][2]string{{"job", f.Job}, {"reach", f.Reach}, {"from", f.From}, {"to", f.To}, {"dates", f.Dates}, {"wanted", f.Wanted},
		{"degree", f.Degree}, {"order", f.Order}, {"failure", f.Failure}, {"not_between", f.NotBetween}, {"params", f.Params}, {"reason", f.Reason}, {"since", f.Since}, {"until", f.Until}} {
		if one[1] != "" {
			out = append(out, one)
		}
	}
	for _, at := range f.Fires {
		out = append(out, [2]string{"fire", at})
	}
	return out
}

func options(ctx context.Context, prefix string, values ...string) []ui.Option {
	out := make([]ui.Option, len(values))
	for i, v := range values {
		out[i] = ui.Option{Value: v, Text: i18n.T(ctx, prefix+v)}
	}
	return out
}

func reaches(ctx context.Context) []ui.Option {
	return options(ctx, "backfill.reach.", "alone", "downstream", "upstream")
}

func wants(ctx context.Context) []ui.Option {
	return options(ctx, "backfill.wanted.", "missing", "failed", "all")
}

func orders(ctx context.Context) []ui.Option {
	return options(ctx, "backfill.order.", "old", "new")
}

func failures(ctx context.Context) []ui.Option {
	return options(ctx, "backfill.failure.", "stop", "go_on")
}

func againText(ctx context.Context, v Preview) string {
	text := i18n.Number(int64(v.Again))
	if v.Forced > 0 {
		text += " (" + i18n.T(ctx, "backfill.of_them_forced", "n", v.Forced) + ")"
	}
	return text
}

func estimateText(ctx context.Context, d time.Duration) string {
	if d == 0 {
		return i18n.T(ctx, "backfill.no_estimate")
	}
	return i18n.T(ctx, "backfill.about", "d", i18n.Duration(ctx, d))
}

func orderText(ctx context.Context, v Preview) string {
	key := "backfill.in_turn"
	if v.InDates {
		key = "backfill.in_turn_dates"
	}
	return i18n.T(ctx, key, "n", v.Degree)
}

func stateHead(ctx context.Context, started bool) string {
	if started {
		return i18n.T(ctx, "inst.state")
	}
	return i18n.T(ctx, "backfill.is_now")
}

// share is how much of it has ended, in hundredths.
func (r Row) share() int {
	if r.Runs == 0 {
		return 100
	}
	return r.Ended * 100 / r.Runs
}

// badge is how a state of a backfill looks: those of instances lend their colours.
func badge(state string) string {
	return map[string]string{"running": "running", "paused": "retrying", "stopping": "running", "stopped": "cancelled", "done": "success"}[state]
}

func stateIcon(state string) string {
	return map[string]string{"running": "player-play", "paused": "player-pause", "stopping": "player-stop", "stopped": "player-stop", "done": "circle-check"}[state]
}

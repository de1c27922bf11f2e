package web

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/views/jobs"
	"github.com/axsched/ax/views/ui"
)

// fillPause tells, of a paused job, what lies in its pause: resuming makes none of it up.
func (h *Handlers) fillPause(ctx context.Context, p *jobs.JobPage, j domain.Job) error {
	if j.Enabled || h.Pauses == nil || !j.DeletedAt.IsZero() {
		return nil
	}
	slept, err := h.Pauses.Asleep(ctx, j.ID)
	if err != nil {
		return err
	}
	p.Slept = jobs.Slept{Since: slept.Since, Fires: slept.Fires, Untaken: slept.Untaken, More: slept.More, From: slept.First.String(), To: slept.Last.String()}
	if slept.Fires > 0 && !slept.More {
		back := action(ctx, j, domain.ActBackfillStart, "/backfills/new?preview=1&job="+queryText(j.Spec.Key().String())+"&from="+p.Slept.From+"&to="+p.Slept.To+
			"&since="+queryText(slept.Begin.Format(time.RFC3339Nano))+"&until="+queryText(slept.Until.Format(time.RFC3339Nano)))
		if back.Denied == "" {
			p.Slept.Backfill = ui.Action{URL: back.URL}
		}
	}
	return nil
}

package httpx

import (
	"context"
	"net/url"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/ui"
)

// FromHere leads from a run that has ended to the preview of a backfill of its date: the job and
// all that depends on it. What has succeeded is left as it is, unless the job itself has: then
// all of it is done once more.
func FromHere(ctx context.Context, job domain.JobName, date domain.BizDate, state domain.State) ui.Action {
	switch {
	case !state.Terminal() || job.ID == 0 || !job.DeletedAt.IsZero():
		return ui.Action{}
	case !Can(ctx, job.ProjectID, domain.ActBackfillStart):
		return ui.Action{Denied: i18n.T(ctx, "http.denied", "action", string(domain.ActBackfillStart))}
	}
	wanted := "missing"
	if state == domain.Success {
		wanted = "all"
	}
	return ui.Action{URL: "/backfills/new?" + url.Values{"preview": {"1"}, "job": {job.Key.String()}, "dates": {date.String()},
		"reach": {"downstream"}, "wanted": {wanted}}.Encode()}
}

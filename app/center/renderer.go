package center

import (
	"context"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/job/template"
	"github.com/axsched/ax/modules/scheduler"
	"github.com/axsched/ax/worker/protocol/netguard"
)

// renderer fills in what an attempt is given.
type renderer struct {
	*core
	stores *netguard.Book
}

// Render fills the job's templates for one attempt. The secrets that it names are opened here and nowhere else.
func (r renderer) Render(ctx context.Context, spec domain.JobSpec, in domain.Instance, a domain.Attempt) (instance.Rendered, error) {
	zone, err := (scheduler.Times{}).Zone(spec.Timezone)
	if err != nil {
		return instance.Rendered{}, err
	}
	out, err := template.Render(spec, template.Vars{BizDate: in.BizDate, Expected: in.Expected, Zone: zone, TraceID: in.TraceID,
		Attempt: a.Ordinal, Params: in.Params, ShardIndex: a.Shard, ShardTotal: in.Total(),
		Workdays: func() (*domain.Calendar, error) { return r.jobs.CalendarOf(ctx, spec) },
		Secrets:  func(names []string) (map[string]string, error) { return r.secrets.Values(ctx, in.ProjectID, names) },
		Upstream: (&results{c: r.core, ctx: ctx, in: in}).value})
	if err != nil {
		return instance.Rendered{}, err
	}
	net, err := r.net(ctx, spec, in)
	return instance.Rendered{Exec: out.Exec, Env: out.Env, Params: out.Params, Secrets: out.Secrets, Net: net}, err
}

package instance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/zone"
)

// Requests is what people ask for: a start by hand, a kill, a rerun. Each is one
// transaction with its line of the audit trail, in the name of the principal of
// ctx. All fields must be set but Calendars. Safe for concurrent use.
type Requests struct {
	Lifecycle *Lifecycle
	Audit     Audit
	Values    Values
	Calendars Calendars // nil: jobs live by none
}

// MaxReason is how many characters a reason may have.
const MaxReason = 1000

// TriggerOptions of a start by hand. The zero value starts the job for the date
// that a fire now would have.
type TriggerOptions struct {
	BizDate domain.BizDate
	Params  map[string]string // the run's own, over those of the job
	Reason  string
}

// Trigger starts a job by hand, also one that is paused. It waits for its
// dependencies like any fire. NotFound if the job was deleted; Invalid for params
// that no run may have.
func (r *Requests) Trigger(ctx context.Context, job domain.Job, o TriggerOptions) (domain.Instance, error) {
	if !job.DeletedAt.IsZero() {
		return domain.Instance{}, domain.Fail(domain.NotFound, "job %s was deleted and cannot be started", job.Spec.Key()).
			Coded("error.job_deleted", "job", job.Spec.Key().String())
	}
	if err := checkReason(o.Reason); err != nil {
		return domain.Instance{}, err
	}
	if faults := r.Values.Check(ctx, job.ProjectID, job.Spec, o.Params); len(faults) > 0 {
		return domain.Instance{}, faults[0]
	}
	now := r.Lifecycle.Now()
	if o.BizDate.IsZero() {
		var err error
		if o.BizDate, err = r.bizDateNow(ctx, job.Spec); err != nil {
			return domain.Instance{}, err
		}
	}
	n := domain.NewInstance{ProjectID: job.ProjectID, JobID: job.ID, JobName: job.Name, Version: job.Version, Trigger: domain.TriggerManual,
		BizDate: o.BizDate, Expected: now, Params: o.Params, RequestedBy: domain.ActorOf(ctx), Reason: o.Reason}
	var out domain.Instance
	err := r.Lifecycle.Store.Tx(ctx, func(ctx context.Context) error {
		made, err := r.Lifecycle.Create(ctx, []domain.NewInstance{n})
		if err != nil {
			return err
		}
		out = made[0]
		return r.Audit.Changed(ctx, out.ProjectID, string(domain.ActInstanceTrigger), object(out), "", triggered(job, out))
	})
	return out, err
}

// bizDateNow is the business date that a fire of the job now would have.
func (r *Requests) bizDateNow(ctx context.Context, spec domain.JobSpec) (domain.BizDate, error) {
	zone, err := zone.Load(spec.Timezone)
	if err != nil {
		return domain.BizDate{}, fmt.Errorf("the zone of job %s: %w", spec.Key(), err)
	}
	var calendar *domain.Calendar
	if spec.BizDate.Workdays() && r.Calendars != nil {
		if calendar, err = r.Calendars.CalendarOf(ctx, spec); err != nil {
			return domain.BizDate{}, err
		}
	}
	return spec.BizDate.Of(domain.BizDateOf(r.Lifecycle.Now(), zone), calendar), nil
}

// Kill ends an instance. allow is asked, with the instance locked as it stands.
func (r *Requests) Kill(ctx context.Context, id domain.ID, reason string, allow func(domain.Instance) error) (domain.Instance, error) {
	return r.change(ctx, id, domain.ActInstanceKill, reason, allow, r.Lifecycle.Kill)
}

// Rerun opens a new run on an instance that has ended. allow is asked, with the
// instance locked as it stands, so that it can refuse what has succeeded.
func (r *Requests) Rerun(ctx context.Context, id domain.ID, reason string, allow func(domain.Instance) error) (domain.Instance, error) {
	return r.change(ctx, id, domain.ActInstanceRerun, reason, allow, r.Lifecycle.Rerun)
}

// RerunAction is the right that a rerun of the instance as it stands needs: until
// approvals exist, whatever re-executes a success is an admin's.
func RerunAction(in domain.Instance) domain.Action {
	if in.State == domain.Success {
		return domain.ActInstanceRerunDone
	}
	return domain.ActInstanceRerun
}

type act func(ctx context.Context, id domain.ID, actor, reason string) (domain.Instance, error)

func (r *Requests) change(ctx context.Context, id domain.ID, action domain.Action, reason string, allow func(domain.Instance) error, do act) (domain.Instance, error) {
	if err := checkReason(reason); err != nil {
		return domain.Instance{}, err
	}
	var out domain.Instance
	err := r.Lifecycle.Store.Tx(ctx, func(ctx context.Context) error {
		locked, err := r.Lifecycle.Store.Lock(ctx, []domain.ID{id})
		if err != nil {
			return err
		}
		in, ok := locked[id]
		if !ok {
			return domain.Fail(domain.NotFound, "there is no instance %s", id).Coded("error.no_instance", "id", id.String())
		}
		if err := allow(in); err != nil {
			return err
		}
		if out, err = do(ctx, id, domain.ActorOf(ctx), reason); err != nil {
			return err
		}
		return r.Audit.Changed(ctx, in.ProjectID, string(action), object(in), standing(in, ""), standing(out, reason))
	})
	return out, err
}

func checkReason(reason string) error {
	if utf8.RuneCountInString(reason) > MaxReason {
		return domain.Fail(domain.Invalid, "the reason is longer than %d characters", MaxReason).At("reason").
			Coded("error.reason_long", "max", fmt.Sprint(MaxReason))
	}
	return nil
}

func object(in domain.Instance) string { return "instance/" + in.ID.String() }

// standing is how an instance stands, for the trail.
func standing(in domain.Instance, reason string) string {
	text := fmt.Sprintf("job: %s\nbizDate: %s\nrun: %d\nstatus: %s", in.JobName, in.BizDate, in.RunNo, in.Status)
	if reason != "" {
		text += fmt.Sprintf("\nreason: %q", reason)
	}
	return text
}

// triggered is what was started, one line a value, so that the trail can mask
// those that sound like a secret.
func triggered(job domain.Job, in domain.Instance) string {
	var b strings.Builder
	b.WriteString(standing(in, in.Reason))
	fmt.Fprintf(&b, "\nversion: %d", in.Version)
	if !job.Enabled {
		b.WriteString("\npaused: true")
	}
	for _, name := range slices.Sorted(maps.Keys(in.Params)) {
		fmt.Fprintf(&b, "\nparams.%s: %q", name, in.Params[name])
	}
	return b.String()
}

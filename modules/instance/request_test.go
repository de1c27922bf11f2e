package instance_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
)

// values refuses one name and much text.
type values struct{}

// Check judges.
func (values) Check(_ context.Context, _ domain.ID, _ domain.JobSpec, own map[string]string) []error {
	n := 0
	for k, v := range own {
		if strings.ContainsAny(k, "- ") {
			return []error{domain.Fail(domain.Invalid, "a bad name").At("params." + k)}
		}
		n += len(v)
	}
	if n > 64<<10 {
		return []error{domain.Fail(domain.Invalid, "too much").At("params")}
	}
	return nil
}

type trail struct {
	w   *world
	bad bool
}

// Changed remembers it, or fails.
func (a trail) Changed(_ context.Context, _ domain.ID, action, object, before, after string) error {
	if a.bad {
		return errors.New("the trail cannot be written")
	}
	a.w.audit = append(a.w.audit, action+" "+object+"\n"+before+"\n→ "+after)
	return nil
}

func (w *world) requests() *instance.Requests {
	return &instance.Requests{Lifecycle: w.life, Audit: trail{w: w}, Values: values{}}
}

func (w *world) job(id domain.ID) domain.Job {
	return domain.Job{ID: id, ProjectID: project, Name: w.specs[id].Name, Version: 1, Enabled: true, Spec: w.specs[id]}
}

func anyone(domain.Instance) error { return nil }

func TestTrigger(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := domain.WithPrincipal(t.Context(), domain.Principal{Name: "ana", Kind: domain.PrincipalUser})
		// 04:05 UTC is 12:05 in Shanghai, of the same day; 20:00 UTC is the next.
		in, err := w.requests().Trigger(ctx, w.job(jobA), instance.TriggerOptions{Params: map[string]string{"source": "x", "braces": "{{biz_date}}"}, Reason: "test"})
		w.ok(err)
		if in.BizDate.String() != "2026-02-03" || in.FireKey != "m:"+in.ID.String() || in.Expected != w.now() || in.RequestedBy != "ana" || in.Trigger != domain.TriggerManual {
			t.Errorf("started %+v", in)
		}
		got := w.get(in.ID)
		if len(got.Params) != 2 || got.Params["braces"] != "{{biz_date}}" || got.Reason != "test" {
			t.Errorf("stored %+v", got)
		}
		if len(w.audit) != 1 || !strings.Contains(w.audit[0], `params.source: "x"`) || !strings.HasPrefix(w.audit[0], "instance.trigger instance/"+in.ID.String()) {
			t.Errorf("trail: %q", w.audit)
		}
		w.pass(16 * time.Hour)
		s := w.specs[jobA]
		s.BizDate = domain.BizDateTMinus1
		w.specs[jobA] = s
		in, err = w.requests().Trigger(ctx, w.job(jobA), instance.TriggerOptions{})
		w.ok(err)
		if in.BizDate.String() != "2026-02-03" {
			t.Errorf("T-1 at 04:05 of the 4th in Shanghai is %s", in.BizDate)
		}
		paused := w.job(jobA)
		paused.Enabled = false
		d, _ := domain.ParseBizDate("2025-12-31")
		in, err = w.requests().Trigger(ctx, paused, instance.TriggerOptions{BizDate: d})
		if err != nil || in.BizDate != d || !strings.Contains(w.audit[len(w.audit)-1], "paused: true") {
			t.Errorf("a paused job: %v, %s", err, in.BizDate)
		}
	})
}

func TestTriggerRefuses(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		deleted := w.job(jobA)
		deleted.DeletedAt = w.now()
		big := map[string]string{"x": strings.Repeat("y", 1<<20)}
		for name, c := range map[string]struct {
			job  domain.Job
			o    instance.TriggerOptions
			kind domain.Kind
		}{
			"deleted":     {deleted, instance.TriggerOptions{}, domain.NotFound},
			"a bad name":  {w.job(jobA), instance.TriggerOptions{Params: map[string]string{"a b": ""}}, domain.Invalid},
			"too much":    {w.job(jobA), instance.TriggerOptions{Params: big}, domain.Invalid},
			"long reason": {w.job(jobA), instance.TriggerOptions{Reason: strings.Repeat("日", instance.MaxReason+1)}, domain.Invalid},
		} {
			if _, err := w.requests().Trigger(t.Context(), c.job, c.o); !domain.Is(err, c.kind) {
				t.Errorf("%s: %v, want %s", name, err, c.kind)
			}
		}
		r := w.requests()
		r.Audit = trail{w, true}
		if _, err := r.Trigger(t.Context(), w.job(jobA), instance.TriggerOptions{}); err == nil {
			t.Error("started although the trail could not be written")
		}
		if len(w.heard) != 0 || len(w.audit) != 0 {
			t.Errorf("refused starts left %v, %v", w.heard, w.audit)
		}
		if _, err := w.requests().Trigger(t.Context(), w.job(jobA), instance.TriggerOptions{Reason: strings.Repeat("日", instance.MaxReason)}); err != nil {
			t.Errorf("the longest reason: %v", err)
		}
	})
}

func TestKillAndRerunLeaveATrail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := domain.WithPrincipal(t.Context(), domain.Principal{Name: "ana", Kind: domain.PrincipalUser})
		in := w.fire(jobA)
		denied := domain.Fail(domain.Denied, "no")
		if _, err := w.requests().Kill(ctx, in.ID, "", func(domain.Instance) error { return denied }); !domain.Is(err, domain.Denied) {
			t.Fatalf("killed by whom it was denied: %v", err)
		}
		w.is(in.ID, running(domain.Queued))
		if _, err := w.requests().Kill(ctx, 99, "", anyone); !domain.Is(err, domain.NotFound) {
			t.Errorf("killing what is not there: %v", err)
		}
		_, err := w.requests().Kill(ctx, in.ID, "wrong date", anyone)
		w.ok(err)
		out, err := w.requests().Rerun(ctx, in.ID, "right date", func(in domain.Instance) error {
			if instance.RerunAction(in) != domain.ActInstanceRerun {
				t.Errorf("rerun of what was killed needs %s", instance.RerunAction(in))
			}
			return nil
		})
		w.ok(err)
		if out.RunNo != 2 || out.RequestedBy != "ana" || out.Reason != "right date" {
			t.Errorf("reran as %+v", out)
		}
		w.report(w.run(in.ID), domain.OutcomeSuccess, "")
		_, err = w.requests().Rerun(ctx, in.ID, "", func(in domain.Instance) error {
			if instance.RerunAction(in) != domain.ActInstanceRerunDone {
				t.Errorf("rerun of a success needs %s", instance.RerunAction(in))
			}
			return denied
		})
		if !domain.Is(err, domain.Denied) {
			t.Errorf("rerun by whom it was denied: %v", err)
		}
		w.is(in.ID, success)
		if len(w.audit) != 2 || !strings.Contains(w.audit[0], "status: running/queued") || !strings.Contains(w.audit[0], "status: cancelled/killed") ||
			!strings.Contains(w.audit[1], "run: 2") || !strings.Contains(w.audit[1], `reason: "right date"`) {
			t.Errorf("trail: %q", w.audit)
		}
	})
}

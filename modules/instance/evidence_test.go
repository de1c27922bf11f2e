package instance_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/i18n"
)

var english = regexp.MustCompile(`[a-z]{4,}`)

// keys are names of a job file's keys, which are the same in any language.
var keys = regexp.MustCompile(`on_worker_lost: hold|queue_timeout`)

// What the history and the attempts say of a life full of misfortune is in the reader's
// language, but for the words of people and of programs.
func TestEvidenceIsSaidInTheReadersLanguage(t *testing.T) {
	ctx := i18n.WithClock(i18n.With(context.Background(), i18n.Chinese), time.Time{}, time.UTC)
	each(t, func(t *testing.T, w *world) {
		hold := w.specs[jobA]
		hold.OnWorkerLost = domain.LossHold
		held := w.fire(jobA)
		w.specs[jobA] = hold
		a := w.run(held.ID)
		w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "worker w1 (boot 1) has been silent for 10s", time.Time{}))
		hold.OnWorkerLost = domain.LossRetry
		w.specs[jobA] = hold

		lost := w.fire(jobA)
		for range 4 {
			a := w.run(lost.ID)
			w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "worker w1 (boot 1) does not know of it", time.Time{}))
		}
		failing := w.fire(jobB)
		w.report(w.run(failing.ID), domain.OutcomeError, "exit code 3; 2 processes left behind were killed")
		taken := w.fire(jobA)
		b := w.dispatch(taken.ID)
		_, err := w.life.Withdraw(t.Context(), []domain.ID{b.ID}, domain.OutcomeNoAck, "no ack within 5s")
		w.ok(err)
		refused := w.fire(jobA)
		c := w.dispatch(refused.ID)
		w.grant(c)
		w.report(c, domain.OutcomeRefused, "the worker's clock is 6.2 s behind the center's")

		for _, id := range []domain.ID{held.ID, lost.ID, failing.ID, taken.ID, refused.ID} {
			in := w.get(id)
			events, err := w.st.Events(t.Context(), id)
			w.ok(err)
			if len(events) == 0 {
				t.Errorf("%s has no history", in.Status)
			}
			texts := []string{in.Message}
			for _, e := range events {
				texts = append(texts, e.Note)
			}
			as, err := w.st.AttemptsOf(t.Context(), id)
			w.ok(err)
			for _, a := range as {
				texts = append(texts, a.Message)
			}
			for _, text := range texts {
				if said := i18n.Retell(ctx, text); english.MatchString(said) {
					t.Errorf("%s: %q is retold as %q", in.Status, text, said)
				}
			}
			facts := instance.Facts{Instance: in, Attempt: &as[len(as)-1], Spec: w.specs[in.JobID], Now: w.now()}
			if why := instance.Why(facts).In(ctx); english.MatchString(keys.ReplaceAllString(why, "")) {
				t.Errorf("%s: why says %q", in.Status, why)
			}
		}
	})
}

// Until the broker has looked at it, what overlap will hold stands as queued: why says
// already what is in its way.
func TestWhatOverlapWillHoldIsNotSaidToWaitForAWorker(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.fire(jobA)
		w.run(first.ID)
		second := w.fire(jobA)
		records := &instance.Records{Store: w.st, Specs: w, Deps: w, Workers: w, Now: w.now}
		why := func() string {
			t.Helper()
			f, err := records.Explain(t.Context(), w.is(second.ID, running(domain.Queued)))
			w.ok(err)
			return instance.Why(f).English()
		}
		if got := why(); !strings.Contains(got, "for the instance of 2026-02-03 (id "+first.ID.String()) {
			t.Errorf("queue: %q", got)
		}
		spec := w.specs[jobA]
		spec.Overlap = domain.OverlapAllow
		w.specs[jobA] = spec
		if got := why(); strings.Contains(got, first.ID.String()) || !strings.Contains(got, "no worker") {
			t.Errorf("allow: %q", got)
		}
	})
}

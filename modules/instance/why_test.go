package instance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/i18n"
)

// TestEveryStatusHasASentence says something whole in both languages for every
// label, with few facts and with many.
func TestEveryStatusHasASentence(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	code := 2
	many := instance.Facts{Attempt: &domain.Attempt{Target: "w1", State: domain.AttemptGranted, KillAt: at, GrantedAt: at, ExitCode: &code},
		InWay: &domain.Instance{ID: 5, Status: running(domain.Executing)}, Cause: &domain.Instance{ID: 6, JobName: "up", Status: failed(domain.Timeout)},
		Kill: &domain.Event{Actor: "ana", Note: "killed by ana: wrong date", At: at}, Now: at,
		Missing: []instance.Dependency{{InstanceDep: domain.InstanceDep{Name: "up"}}}}
	for _, state := range domain.States {
		labels := append([]domain.Label{}, domain.Labels[state]...)
		if state == domain.Success {
			labels = append(labels, "")
		}
		for _, label := range labels {
			for _, f := range []instance.Facts{{Now: at}, many} {
				f.Instance = domain.Instance{Status: domain.Status{State: state, Label: label}, StartedAt: at, FinishedAt: at, ReadyAt: at}
				for _, lang := range i18n.Langs() {
					text := instance.Why(f).In(i18n.With(t.Context(), lang))
					if text == "" || strings.ContainsAny(text, "⟦⟧{}") || strings.Contains(text, "%!") || strings.Contains(text, "0001") {
						t.Errorf("%s in %s: %q", f.Instance.Status, lang, text)
					}
				}
			}
		}
	}
}

// The exit code is said in the reader's language; what the task said follows as it came.
func TestWhyItFailedSaysTheExitCodeInTheReadersLanguage(t *testing.T) {
	code := 3
	for message, want := range map[string][2]string{
		"exit code 3":                     {"exit code 3", "退出码 3"},
		"exit code 3: no table orders":    {"exit code 3: no table orders", "退出码 3: no table orders"},
		"no worker said exit code 3 here": {"no worker said exit code 3 here", "no worker said exit code 3 here"},
	} {
		f := instance.Facts{Instance: domain.Instance{Status: failed(domain.ErrorLabel), Message: message}, Attempt: &domain.Attempt{ExitCode: &code}}
		for i, lang := range []string{"en", "zh-CN"} {
			if text := instance.Why(f).In(i18n.With(t.Context(), lang)); !strings.HasSuffix(strings.TrimRight(text, "。."), want[i]) {
				t.Errorf("%q in %s: %q", message, lang, text)
			}
		}
	}
}

func TestWhyQueued(t *testing.T) {
	worker := func(name string, change func(*domain.Worker)) domain.Worker {
		w := domain.Worker{Name: name, State: domain.WorkerAvailable, Types: []string{"shell"}, Tags: []string{"db", "gpu"}, Lanes: map[domain.Lane]int{domain.LaneDefault: 2}}
		if change != nil {
			change(&w)
		}
		return w
	}
	cases := []struct {
		name    string
		workers []domain.Worker
		broker  bool
		want    string
	}{
		{"nobody", nil, true, "no worker is alive."},
		{"all lost", []domain.Worker{worker("w1", func(w *domain.Worker) { w.State = domain.WorkerGone }), worker("w2", func(w *domain.Worker) { w.LostAt = time.Now() })}, true, "all 2 known are lost"},
		{"no broker", []domain.Worker{worker("w1", nil)}, false, "no broker is active"},
		{"no type", []domain.Worker{worker("w1", func(w *domain.Worker) { w.Types = []string{"http"} })}, true, "no worker alive runs the type shell (alive: w1)"},
		{"no tags", []domain.Worker{worker("w1", func(w *domain.Worker) { w.Tags = nil }), worker("w2", func(w *domain.Worker) { w.Tags = []string{"db"} })}, true, "has all its tags (db, gpu); no such worker has gpu at all; those with all others: w2."},
		{"tags apart", []domain.Worker{worker("w1", func(w *domain.Worker) { w.Tags = []string{"gpu"} }), worker("w2", func(w *domain.Worker) { w.Tags = []string{"db"} }), worker("w3", func(w *domain.Worker) { w.Tags = nil })}, true, "has all its tags (db, gpu); w1 lacks db; w2 lacks gpu."},
		{"a tag that nobody has", []domain.Worker{worker("w1", func(w *domain.Worker) { w.Tags = nil }), worker("w2", func(w *domain.Worker) { w.Tags = nil })}, true, "no worker alive that runs shell has any of its tags: db, gpu (alive: w1, w2)."},
		{"its tags are lost", []domain.Worker{worker("w1", func(w *domain.Worker) { w.State = domain.WorkerGone }), worker("w2", func(w *domain.Worker) { w.Tags = nil }), worker("w3", func(w *domain.Worker) { w.Types, w.State = nil, domain.WorkerGone })}, true, "the only worker that could run it is lost: w1. None of those alive could (w2)."},
		{"its type is lost", []domain.Worker{worker("w1", func(w *domain.Worker) { w.LostAt = time.Now() }), worker("w2", func(w *domain.Worker) { w.Types = nil }), worker("w3", func(w *domain.Worker) { w.LostAt = time.Now() })}, true, "all 2 workers that could run it are lost: w1, w3. None of those alive could (w2)."},
		{"draining", []domain.Worker{worker("w1", func(w *domain.Worker) { w.State = domain.WorkerDraining }), worker("w2", func(w *domain.Worker) { w.Drain = true })}, true, "takes no more work (w1, w2)"},
		{"disk", []domain.Worker{worker("w1", func(w *domain.Worker) { w.Disk = "disk full (x)" }), worker("w2", func(w *domain.Worker) { w.Disk, w.Skew = "read-only", time.Hour })}, true, "can write its journal: w1: disk full (x); w2: read-only. They take work"},
		{"disk and clock", []domain.Worker{worker("w1", func(w *domain.Worker) { w.Disk = "disk full (x)" }), worker("w2", func(w *domain.Worker) { w.Skew = time.Hour })}, true, "w2 is 1 h ahead"},
		{"no lane", []domain.Worker{worker("w1", func(w *domain.Worker) { w.Lanes = map[domain.Lane]int{domain.LaneHigh: 4} })}, true, "has a thread in lane default (w1)"},
		{"busy", []domain.Worker{worker("w1", func(w *domain.Worker) { w.Running = 2 })}, true, "all 2 threads in lane default"},
		{"room", []domain.Worker{worker("w1", func(w *domain.Worker) { w.Running = 2 }), worker("w2", nil)}, true, "about to be sent"},
	}
	for _, c := range cases {
		f := instance.Facts{Instance: domain.Instance{Status: running(domain.Queued), Lane: domain.LaneDefault, ReadyAt: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)},
			Spec: domain.JobSpec{Exec: domain.Exec{Type: "shell"}, Tags: []string{"db", "gpu"}}, Workers: c.workers, BrokerKnown: true, BrokerThere: c.broker}
		got := instance.Why(f).English()
		if !strings.Contains(got, c.want) || !strings.Contains(got, "2026-02-03 04:05:06 UTC") {
			t.Errorf("%s: %q, want %q in it", c.name, got, c.want)
		}
	}
}

// A type that AX does not know says who would have to announce it.
func TestWhyNamesWhoWouldAnnounceAType(t *testing.T) {
	f := instance.Facts{Instance: domain.Instance{Status: running(domain.Queued), Lane: domain.LaneDefault, ReadyAt: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)},
		Spec: domain.JobSpec{Exec: domain.Exec{Type: "acme_copy"}}, BrokerKnown: true, BrokerThere: true,
		Workers: []domain.Worker{{Name: "w1", State: domain.WorkerAvailable, Types: []string{"shell"}, Lanes: map[domain.Lane]int{domain.LaneDefault: 2}}}}
	const want = "nobody alive announces the type acme_copy (alive: w1). A worker with a plug-in of that type, or an external executor"
	if got := instance.Why(f).English(); !strings.Contains(got, want) {
		t.Errorf("%q, want %q in it", got, want)
	}
}

// What waited in vain names what was waited for, as far as that is not met yet.
func TestWhyNamesTheDependenciesThatDidNotCome(t *testing.T) {
	for want, missing := range map[string][]instance.Dependency{
		"within its deps_timeout of 1 min.": nil,
		"within its deps_timeout of 1 min. Not met as of now: up of 2026-02-03 (1 of 2); gone of 2026-02-02 (that job is gone).": {
			{InstanceDep: domain.InstanceDep{Name: "up", Upstream: 5, BizDate: date("2026-02-03"), To: date("2026-02-03")}, Standing: domain.DepStanding{State: domain.DepWaiting, Planned: 2, Done: 1}},
			{InstanceDep: domain.InstanceDep{Name: "gone", BizDate: date("2026-02-02"), To: date("2026-02-02")}},
		},
	} {
		f := instance.Facts{Instance: domain.Instance{Status: domain.Status{State: domain.Failed, Label: domain.DepsTimeout}}, Spec: domain.JobSpec{DepsTimeoutSec: 60}, Missing: missing}
		if got := instance.Why(f).English(); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q at its end", got, want)
		}
		if missing == nil { // they have come since, and what was missing then is still told
			f.Instance.Message = "waited for its dependencies longer than its deps_timeout of 60 s; not met: up (2026-02-03), month (2026-01-01..2026-01-31)"
			if got, want := instance.Why(f).English(), "of 1 min. Not met when it passed: up (2026-02-03), month (2026-01-01..2026-01-31)."; !strings.HasSuffix(got, want) {
				t.Errorf("%q, want %q at its end", got, want)
			}
		}
	}
}

// TestExplain asks the stored rows.
func TestExplain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		why := func(id domain.ID) string {
			t.Helper()
			f, err := w.records().Explain(t.Context(), w.get(id))
			w.ok(err)
			return instance.Why(f).English()
		}
		said := func(id domain.ID, parts ...string) {
			t.Helper()
			got := why(id)
			for _, p := range parts {
				if !strings.Contains(got, p) {
					t.Errorf("%q lacks %q", got, p)
				}
			}
		}
		s := shell("b")
		s.Retry = domain.Retry{Times: 2, BackoffSec: []int{30, 60}}
		w.specs[jobB] = s

		queued := w.fire(jobA)
		said(queued.ID, "no worker is alive")
		a := w.dispatch(queued.ID)
		said(queued.ID, "sent to w1 at "+w.now().Format(time.DateTime)+" UTC", "not acknowledged")
		w.grant(a)
		said(queued.ID, "It is on w1, which may run it", "there it waits for a free thread")
		w.start(a)
		w.pass(90 * time.Second)
		said(queued.ID, "runs on w1 since", "1 min 30 s")

		held := w.fire(jobA)
		w.ok(w.life.Hold(t.Context(), []domain.ID{held.ID}, ""))
		said(held.ID, "It waits since", "for the instance of 2026-02-03 (id "+queued.ID.String(), "queue")

		_, err := w.life.Kill(t.Context(), queued.ID, "ana", "wrong date")
		w.ok(err)
		said(queued.ID, "Its end was asked for at", "w1 is told so until it answers")
		w.report(a, domain.OutcomeKilled, "")
		said(queued.ID, "killed by ana", "wrong date")

		retried := w.fire(jobB)
		w.report(w.run(retried.ID), domain.OutcomeError, "exit status 3")
		said(retried.ID, "waits to retry until", "retry 1 of 2", "exit status 3")
		w.pass(time.Hour)
		w.wake(1)
		last := w.run(retried.ID)
		w.pass(10 * time.Millisecond)
		w.report(last, domain.OutcomeSuccess, "")
		said(retried.ID, "succeeded on w1 after 10 ms")

		w.deps[jobA] = 1
		waiting := w.fire(jobA)
		w.missing = []instance.Dependency{
			{InstanceDep: domain.InstanceDep{InstanceID: waiting.ID, Upstream: jobB, Name: "b", BizDate: waiting.BizDate, To: waiting.BizDate, State: domain.DepWaiting},
				Standing: domain.DepStanding{State: domain.DepWaiting, Planned: 2, Done: 1, Open: 1, Parts: []domain.DepPart{{Kind: domain.PartOpen, BizDate: waiting.BizDate, Instance: 1, Status: running(domain.Queued)}}}},
			{InstanceDep: domain.InstanceDep{InstanceID: waiting.ID, Upstream: 99, Name: "c", BizDate: waiting.BizDate, To: waiting.BizDate, State: domain.DepWaiting}, Standing: domain.DepStanding{State: domain.DepWaiting, Nothing: true}},
			{InstanceDep: domain.InstanceDep{InstanceID: waiting.ID, Upstream: -1, Name: "d", BizDate: waiting.BizDate, To: waiting.BizDate, State: domain.DepWaiting}},
			{InstanceDep: domain.InstanceDep{InstanceID: waiting.ID, Upstream: jobA, Name: "met", State: domain.DepMet}},
		}
		up := w.fire(jobB)
		said(waiting.ID, "b of 2026-02-03 (1 of 2, missing 2026-02-03 (Running, queued))", "c of 2026-02-03 (no such instance is planned)", "d of 2026-02-03 (that job is gone)")
		if strings.Contains(why(waiting.ID), "met") {
			t.Errorf("%q names what is met", why(waiting.ID))
		}
		_, err = w.life.Kill(t.Context(), up.ID, "ben", "")
		w.ok(err)
		_, err = w.life.CancelUpstream(t.Context(), map[domain.ID]domain.Cause{waiting.ID: {Instance: up.ID, Run: up.RunID, State: domain.Cancelled, Name: "b"}})
		w.ok(err)
		said(waiting.ID, "cancelled because upstream b of 2026-02-03", "Cancelled, killed")
		said(up.ID, "killed by ben at")
		elsewhere := instance.Why(instance.Facts{Instance: domain.Instance{Status: domain.Status{State: domain.Cancelled, Label: domain.UpstreamFailed}}, Cause: &domain.Instance{ID: 5, JobName: "cu"}, CauseJob: domain.JobKey{Project: "other", Name: "cu"}})
		if got := fmt.Sprint(elsewhere); !strings.Contains(got, "other/cu") {
			t.Errorf("the project of the upstream is not named: %s", got)
		}
	})
}

// lost says that the fleet counts all workers as lost since then.
func lost(f instance.Facts, at time.Time) instance.Facts {
	for i := range f.Workers {
		f.Workers[i].LostAt = at
	}
	return f
}

// Nothing is said to run on a worker that was not heard of for a while, and what follows is what the job asks for.
func TestWhyASilentWorkerIsNotSaidToRun(t *testing.T) {
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	facts := func(age time.Duration, policy domain.LossPolicy, idempotent bool) instance.Facts {
		return instance.Facts{Now: now, Instance: domain.Instance{Status: running(domain.Executing), StartedAt: now.Add(-time.Minute)},
			Spec:    domain.JobSpec{OnWorkerLost: policy, Idempotent: idempotent},
			Attempt: &domain.Attempt{Target: "w1", Boot: 2, State: domain.AttemptGranted},
			Workers: []domain.Worker{{Name: "w1", Boot: 1, SeenAt: now.Add(-time.Hour)}, {Name: "w1", Boot: 2, SeenAt: now.Add(-age)}}}
	}
	for _, c := range []struct {
		f    instance.Facts
		want string
	}{
		{facts(4*time.Second, domain.LossRetry, false), "It runs on w1"},
		{facts(7*time.Second, domain.LossRetry, false), "sent to another worker; it may have run in part"},
		{facts(7*time.Second, domain.LossWait, false), "only once it cannot be alive any more"},
		{lost(facts(20*time.Second, domain.LossWait, false), now.Add(-9*time.Second)), "to another worker at about 2026-02-03 04:05:32 UTC"},
		{facts(7*time.Second, domain.LossHold, false), "a person must say"},
		{facts(7*time.Second, domain.LossHold, true), "it may have run in part"},
	} {
		if got := instance.Why(c.f).English(); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q does not say %q", c.f.Spec, got, c.want)
		}
	}
}

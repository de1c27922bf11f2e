package instance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/worker/protocol"
)

// world is the lifecycle over a real store, with what is round it told by the test.
type world struct {
	t    *testing.T
	db   *dbx.DB
	st   *store.Store
	life *instance.Lifecycle

	mu    sync.Mutex
	at    time.Time
	specs map[domain.ID]domain.JobSpec
	deps  map[domain.ID]int // job → dependencies of each instance
	heard []domain.Change
	told  []domain.Change // what the tally was told, committed or not
	bad   bool            // templates cannot be filled
	audit []string

	missing []instance.Dependency
	waiters []domain.InstanceDep
	waived  []domain.ID
	workers []domain.Worker
}

const (
	project = domain.ID(7)
	jobA    = domain.ID(11)
	jobB    = domain.ID(12)
)

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	dbtest.Each(t, func(t *testing.T, url string) { fn(t, newWorld(t, url, dbx.Options{})) })
}

func newWorld(t *testing.T, url string, o dbx.Options) *world {
	t.Helper()
	db, err := dbx.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, db: db, st: store.New(db), at: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), deps: map[domain.ID]int{},
		specs: map[domain.ID]domain.JobSpec{jobA: shell("a"), jobB: shell("b")}}
	ids, err := domain.NewIDs(1, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.life = &instance.Lifecycle{Store: w.st, IDs: ids, Now: w.now, Specs: w, Renderer: w, Deps: w, Tally: w, Listener: w, Memo: &instance.Memo{}}
	return w
}

func shell(name string) domain.JobSpec {
	return domain.JobSpec{Project: domain.DefaultProject, Name: name, Timezone: "Asia/Shanghai", Priority: domain.LaneDefault, Overlap: domain.OverlapQueue,
		BizDate: domain.BizDateT, Exec: domain.Exec{Type: "shell", Spec: json.RawMessage(`{"command":"true"}`)}, OnWorkerLost: domain.LossRetry, TimeoutSec: 60,
		Params: map[string]string{"date": "{{biz_date}}"}}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

// Spec is the definition of a job, whatever the version.
func (w *world) Spec(_ context.Context, job domain.ID, _ int) (domain.JobSpec, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.specs[job]
	if !ok {
		return s, domain.Fail(domain.NotFound, "no job %s", job)
	}
	return s, nil
}

// Render fills nothing in.
func (w *world) Render(_ context.Context, spec domain.JobSpec, in domain.Instance, _ domain.Attempt) (instance.Rendered, error) {
	if w.bad {
		return instance.Rendered{}, errors.New("no such template")
	}
	return instance.Rendered{Exec: spec.Exec.Spec, Env: map[string]string{"AX_BIZ_DATE": in.BizDate.String()}}, nil
}

// Attach says how many dependencies each has.
func (w *world) Attach(_ context.Context, ins []domain.Instance) (map[domain.ID]int, error) {
	out := map[domain.ID]int{}
	for _, in := range ins {
		if n := w.deps[in.JobID]; n > 0 {
			out[in.ID] = n
		}
	}
	return out, nil
}

// Reopened opens nothing.
func (w *world) Reopened(context.Context, []domain.Instance) error { return nil }

// Waiting are as many as it has.
func (w *world) Waiting(ctx context.Context, id domain.ID) (out []domain.InstanceDep, err error) {
	in, err := w.st.Get(ctx, id)
	for i := range w.deps[in.JobID] {
		day := date("2026-02-03")
		out = append(out, domain.InstanceDep{InstanceID: id, Name: fmt.Sprintf("up%d", i), BizDate: day, To: day})
	}
	return out, err
}

// Waive notes it.
func (w *world) Waive(_ context.Context, id domain.ID) error {
	w.waived = append(w.waived, id)
	return nil
}

// Record remembers what it was told.
func (w *world) Record(_ context.Context, changes []domain.Change) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, changes...)
	return nil
}

// Changed remembers what was committed.
func (w *world) Changed(changes []domain.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, changes...)
}

func (w *world) moves(id domain.ID) []domain.MoveName {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []domain.MoveName
	for _, c := range w.heard {
		if c.Instance.ID == id {
			out = append(out, c.Move)
		}
	}
	return out
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// fire makes one instance of the job, due now.
func (w *world) fire(job domain.ID) domain.Instance {
	w.t.Helper()
	w.pass(time.Second)
	made, err := w.life.Create(w.t.Context(), []domain.NewInstance{w.newOf(job, w.now())})
	w.ok(err)
	return made[0]
}

func (w *world) newOf(job domain.ID, due time.Time) domain.NewInstance {
	return domain.NewInstance{ProjectID: project, JobID: job, JobName: w.specs[job].Name, Version: 1, FireKey: domain.ScheduleFireKey(due),
		Trigger: domain.TriggerCron, BizDate: domain.BizDateOf(due, time.UTC), Expected: due}
}

func (w *world) get(id domain.ID) domain.Instance {
	w.t.Helper()
	in, err := w.st.Get(w.t.Context(), id)
	w.ok(err)
	return in
}

func (w *world) attempt(id domain.ID) domain.Attempt {
	w.t.Helper()
	m, err := w.st.Attempts(w.t.Context(), []domain.ID{id})
	w.ok(err)
	a, ok := m[id]
	if !ok {
		w.t.Fatalf("there is no attempt %s", id)
	}
	return a
}

// dispatch sends the instance to worker w1.
func (w *world) dispatch(id domain.ID) domain.Attempt {
	w.t.Helper()
	as, err := w.life.Dispatch(w.t.Context(), []domain.Assignment{{Instance: w.get(id), Attempt: w.life.IDs.Next(), Target: "w1", Boot: 1, MessageID: "m1"}})
	w.ok(err)
	if len(as) != 1 {
		w.t.Fatalf("instance %s was not dispatched: %s", id, w.get(id).Status)
	}
	return as[0]
}

func claim(a domain.Attempt) domain.Claim {
	return domain.Claim{Attempt: a.ID, Worker: a.Target, Boot: a.Boot}
}

// grant gives the right to run and fails the test if it is denied.
func (w *world) grant(a domain.Attempt) *protocol.Task {
	w.t.Helper()
	tasks, denied, err := w.life.Grant(w.t.Context(), []domain.Claim{claim(a)})
	w.ok(err)
	if tasks[a.ID] == nil {
		w.t.Fatalf("attempt %s was denied: %s", a.ID, denied[a.ID])
	}
	return tasks[a.ID]
}

func (w *world) start(a domain.Attempt) {
	w.t.Helper()
	w.ok(w.life.Apply(w.t.Context(), []protocol.Uplink{{Worker: a.Target, Boot: a.Boot, Started: []protocol.Started{{Attempt: int64(a.ID), At: w.now().UnixMilli()}}}}))
}

// run brings a ready instance to executing.
func (w *world) run(id domain.ID) domain.Attempt {
	w.t.Helper()
	a := w.dispatch(id)
	w.grant(a)
	w.start(a)
	w.is(id, running(domain.Executing))
	return a
}

func (w *world) report(a domain.Attempt, outcome domain.Outcome, message string) {
	w.t.Helper()
	w.ok(w.life.Apply(w.t.Context(), []protocol.Uplink{{Worker: a.Target, Boot: a.Boot, Reports: []protocol.Report{reportOf(a, outcome, message, w.now())}}}))
}

func reportOf(a domain.Attempt, outcome domain.Outcome, message string, now time.Time) protocol.Report {
	return protocol.Report{Attempt: int64(a.ID), Outcome: string(outcome), Message: message, Started: now.UnixMilli() - 10, Finished: now.UnixMilli()}
}

func (w *world) is(id domain.ID, want domain.Status) domain.Instance {
	w.t.Helper()
	in := w.get(id)
	if in.Status != want {
		w.t.Fatalf("instance %s is %s, want %s", id, in.Status, want)
	}
	return in
}

func running(l domain.Label) domain.Status { return domain.Status{State: domain.Running, Label: l} }

func failed(l domain.Label) domain.Status { return domain.Status{State: domain.Failed, Label: l} }

func cancelled(l domain.Label) domain.Status {
	return domain.Status{State: domain.Cancelled, Label: l}
}

var success = domain.Status{State: domain.Success}

// events are the moves in the history of an instance.
func (w *world) events(id domain.ID) []domain.MoveName {
	w.t.Helper()
	es, err := w.st.Events(w.t.Context(), id)
	w.ok(err)
	out := make([]domain.MoveName, len(es))
	for i, e := range es {
		out[i] = e.Move
	}
	return out
}

// Of has no dependencies to tell of but those of the test.
func (w *world) Of(context.Context, domain.ID) ([]instance.Dependency, error) { return w.missing, nil }

// Waiters has none.
func (w *world) Waiters(context.Context, domain.ID, domain.BizDate) ([]domain.InstanceDep, error) {
	return w.waiters, nil
}

// Stale has none.
func (w *world) Stale(context.Context, []domain.ID) (map[domain.ID]domain.StaleMark, error) {
	return nil, nil
}

// List is the workers of the test.
func (w *world) List(context.Context) ([]domain.Worker, error) { return w.workers, nil }

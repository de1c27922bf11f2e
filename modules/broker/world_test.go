package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// world plays everybody with whom the broker speaks, over rows in memory that move
// as the real ones do: a move is committed, then heard of.
type world struct {
	t  *testing.T
	b  *Broker
	mu sync.Mutex

	ids      *domain.IDs
	last     domain.ID
	ins      map[domain.ID]domain.Instance
	attempts map[domain.ID]domain.Attempt
	specs    map[domain.ID]domain.JobSpec // by job
	second   map[domain.ID]domain.JobSpec // of version 2, where that is another
	away     error                        // the database, if set
	bad      map[domain.ID]error          // job → its definition cannot be read
	poison   domain.ID                    // attempt whose claim the database rejects
	unheard  bool                         // moves are another process': the broker does not hear of them
	mute     bool                         // the answer to the next commit is lost
	pools    map[domain.PoolKey]domain.Pool

	sent    []sending
	sendErr error

	pages  []domain.Lane // of each page of ready instances that was read
	asked  int           // readings of instances by id
	onHold func()        // called before instances are held

	wake    chan struct{}
	uplink  []Letter
	removed []string
	posted  []Outgoing
	applied []protocol.Report

	gathered  []domain.ID
	gatherErr error

	workers map[string]domain.Worker
	// heardLast is what the judge was told of attempts that were lost.
	heardLast map[domain.ID]time.Time
	gone      []domain.Boot
	// unheardOf says that a worker is expected of which it is not known yet whether it lives.
	unheardOf bool
	registry  error
	expected  []domain.Boot
	buried    []domain.Boot
	buryErr   error
}

var errDatabase = &domain.Error{Kind: domain.Unavailable, Msg: "the database is away"}

type sending struct {
	worker string
	boot   int64
	lane   string
	m      protocol.Message
}

// inWorld runs a test in a bubble, whose clock moves only when all wait.
func inWorld(t *testing.T, fn func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, ins: map[domain.ID]domain.Instance{}, attempts: map[domain.ID]domain.Attempt{}, specs: map[domain.ID]domain.JobSpec{}, second: map[domain.ID]domain.JobSpec{},
			bad: map[domain.ID]error{}, pools: map[domain.PoolKey]domain.Pool{}, wake: make(chan struct{}, 1), workers: map[string]domain.Worker{}, heardLast: map[domain.ID]time.Time{}, last: 1000, onHold: func() {}}
		var err error
		if w.ids, err = domain.NewIDs(1, time.Now); err != nil {
			t.Fatal(err)
		}
		w.b = w.broker()
		w.b.active.Store(true)
		fn(t, w)
	})
}

func (w *world) broker() *Broker {
	return New(&Broker{Queue: w, Judge: w, Overlaps: w, Shards: w, Pools: w, Clock: w, Rows: w, Specs: w, Mail: w, Sender: w, Fleet: w, IDs: w.ids, Mono: time.Now})
}

// job makes a definition; spec may be zero.
func (w *world) job(spec domain.JobSpec) domain.ID {
	w.last++
	if spec.Exec.Type == "" {
		spec.Exec.Type = "shell"
	}
	if spec.Overlap == "" {
		spec.Overlap = domain.OverlapAllow
	}
	w.specs[w.last] = spec
	return w.last
}

// ready makes an instance that waits for a target; with, if any, changes it first.
func (w *world) ready(job domain.ID, with ...func(*domain.Instance)) domain.ID {
	w.last++
	now := time.Now()
	in := domain.Instance{ID: w.last, JobID: job, JobName: job.String(), Version: 1, Ver: 1, RunID: w.last, RunNo: 1, Lane: domain.LaneDefault,
		Trigger: domain.TriggerCron, Expected: now, CreatedAt: now, ReadyAt: now, BizDate: date("2026-03-08"),
		Status: domain.Status{State: domain.Running, Label: domain.Queued}}
	for _, f := range with {
		f(&in)
	}
	w.ins[in.ID] = in
	return in.ID
}

func date(s string) domain.BizDate {
	d, err := domain.ParseBizDate(s)
	if err != nil {
		panic(err)
	}
	return d
}

func on(day string) func(*domain.Instance) {
	return func(in *domain.Instance) { in.BizDate = date(day) }
}

func backfill(in *domain.Instance) { in.Trigger = domain.TriggerBackfill }

func rerun(in *domain.Instance) { in.RunNo = 2 }

func lane(l domain.Lane) func(*domain.Instance) { return func(in *domain.Instance) { in.Lane = l } }

// late is made good for a fire missed that long ago.
func late(d time.Duration) func(*domain.Instance) {
	return func(in *domain.Instance) { in.Expected = in.CreatedAt.Add(-d) }
}

func label(l domain.Label) func(*domain.Instance) {
	return func(in *domain.Instance) {
		in.Label = l
		if l == domain.Backoff {
			in.State = domain.Retrying
		}
	}
}

// worker is there, with as many threads in each lane, and was looked at.
func (w *world) worker(name string, threads int, with ...func(*domain.Worker)) {
	x := domain.Worker{Name: name, Boot: 1, State: domain.WorkerAvailable, Types: []string{"shell"}, Cores: 4, Seq: 1,
		Lanes: map[domain.Lane]int{domain.LaneHigh: threads, domain.LaneDefault: threads, domain.LaneLow: threads}}
	for _, f := range with {
		f(&x)
	}
	w.workers[name] = x
	w.do(w.b.inspect)
}

// beat lets the worker say that it lives and what it holds.
func (w *world) beat(name string, held ...domain.ID) {
	x := w.workers[name]
	x.Seq++
	x.Held = held
	w.workers[name] = x
	w.do(w.b.inspect)
}

// lose takes a worker away.
func (w *world) lose(name, reason string) {
	w.gone = append(w.gone, domain.Boot{Name: name, Boot: w.workers[name].Boot, Reason: reason, Heard: w.workers[name].SeenAt})
	delete(w.workers, name)
}

func (w *world) do(round func(context.Context) error) {
	w.t.Helper()
	if err := round(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// hear lets the broker handle what workers say, as one batch.
func (w *world) hear(said ...protocol.Uplink) []Outgoing {
	w.t.Helper()
	letters := make([]Letter, len(said))
	for i, u := range said {
		letters[i] = Letter{ID: fmt.Sprint(i), Said: u}
	}
	before := len(w.posted)
	for _, do := range []func(context.Context, []Letter) error{w.b.answer, w.b.apply} {
		if err := do(w.t.Context(), letters); err != nil {
			w.t.Fatal(err)
		}
	}
	return w.posted[before:]
}

func claim(worker string, nonce string, ids ...domain.ID) protocol.Uplink {
	c := &protocol.Claim{Message: "m", Nonce: nonce}
	for _, id := range ids {
		c.IDs = append(c.IDs, int64(id))
	}
	return protocol.Uplink{Worker: worker, Boot: 1, Claim: c}
}

func report(worker string, id domain.ID, outcome domain.Outcome) protocol.Uplink {
	return protocol.Uplink{Worker: worker, Boot: 1, Reports: []protocol.Report{{Attempt: int64(id), Outcome: string(outcome)}}}
}

// start assigns what is ready and claims it all; it returns the attempts by instance.
func (w *world) start() {
	w.t.Helper()
	w.do(w.b.round)
	for _, id := range slices.Sorted(maps.Keys(w.attempts)) {
		if a := w.attempts[id]; a.State == domain.AttemptSent {
			w.hear(claim(a.Target, "n", id))
		}
	}
}

// end reports the outcome of the instance's attempt.
func (w *world) end(id domain.ID, outcome domain.Outcome) {
	w.t.Helper()
	a := w.attempts[w.ins[id].AttemptID]
	w.hear(report(a.Target, a.ID, outcome))
}

func (w *world) want(id domain.ID, status string) {
	w.t.Helper()
	if got := w.ins[id].Status.String(); got != status {
		w.t.Fatalf("instance %s is %s, want %s", id, got, status)
	}
}

// count tells how many instances stand so.
func (w *world) count(status string) int {
	n := 0
	for _, in := range w.ins {
		if in.Status.String() == status {
			n++
		}
	}
	return n
}

// kills are the attempts that workers were told to stop.
func kills(out []Outgoing) []domain.ID {
	var ids []domain.ID
	for _, o := range out {
		if o.Down.Kill != nil {
			ids = append(ids, domain.ID(o.Down.Kill.Attempt))
		}
	}
	return ids
}

// commit makes moves as the lifecycle does, by id order, and lets the broker hear.
func (w *world) commit(ids []domain.ID, decide func(in domain.Instance) (domain.Instance, domain.MoveName)) error {
	w.mu.Lock()
	if w.away != nil {
		w.mu.Unlock()
		return w.away
	}
	var changes []domain.Change
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		in, ok := w.ins[id]
		if !ok {
			continue
		}
		next, name := decide(in)
		if name == "" {
			continue
		}
		if err := domain.CheckMove(name, in.Status, next.Status); err != nil {
			w.t.Error(err)
		}
		if next.Label == domain.Queued {
			next.ReadyAt = time.Now()
		}
		changes = append(changes, domain.Change{Move: name, From: in.Status, Instance: next})
		next.Ver++
		w.ins[id] = next
	}
	w.mu.Unlock()
	if w.mute && len(changes) > 0 {
		w.mute = false
		ids := make([]domain.ID, len(changes))
		for i, c := range changes {
			ids[i] = c.Instance.ID
		}
		w.b.Unsure(ids)
		return errDatabase
	}
	if !w.unheard {
		w.b.Changed(changes)
	}
	return nil
}

func to(in domain.Instance, state domain.State, l domain.Label) domain.Instance {
	in.Status = domain.Status{State: state, Label: l}
	return in
}

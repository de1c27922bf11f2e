package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/worker/protocol/crash"
)

// The processes of a row. The first center is the active broker, since it was alone; in some rows its roles are
// processes of their own.
const (
	centerA    = "center-a"
	webA       = "web-a"
	schedulerA = "scheduler-a"
	brokerA    = "broker-a"
	centerB    = "center-b"
	workerA    = "worker-a"
	workerB    = "worker-b"
)

// crashRow is one crash point, the process that ends there, and what it takes to get it there.
type crashRow struct {
	point string
	on    string // which process
	// action is the crash point's; "" = kill.
	action string
	// provoke makes the point be passed, where an ordinary load does not; mend brings back what it broke.
	provoke, mend func(d *drill)
	// again says that tasks may run once more: a worker's end is part of the row.
	again bool
	// once says that the point is passed once only in a row.
	once bool
	// whole leaves the row to the whole walk: it takes long.
	whole bool
	// all walks the row also where one process is everything, on the embedded stores.
	all bool
}

// crashRows are all points, on each process where they differ.
func crashRows() []crashRow {
	frozenWorker := func(d *drill) { d.p[workerA].Freeze() }
	killedWorker := func(d *drill) {
		d.busy()
		d.p[workerA].Kill()
		d.p[workerA].Restart()
	}
	killedBroker := func(d *drill) {
		d.busy()
		d.p[centerA].Kill()
	}
	rows := []crashRow{
		{point: "take.won", on: centerA},
		{point: "take.inserted", on: centerA},
		{point: "take.inserted", on: centerA, action: "freeze", once: true},
		{point: "take.committed", on: centerA},
		{point: "commit.heard", on: centerA},
		{point: "backfill.made", on: centerA, provoke: pastDates},
		{point: "backfill.committed", on: centerA, provoke: pastDates},
		{point: "release.written", on: centerA},
		{point: "release.written", on: centerA, action: "freeze", once: true},
		{point: "release.committed", on: centerA},
		{point: "cancel.written", on: centerA},
		{point: "cancel.committed", on: centerA},
		{point: "split.inserted", on: centerA, all: true},
		{point: "split.inserted", on: centerA, action: "freeze", once: true},
		{point: "split.committed", on: centerA, all: true},
		{point: "place.held", on: centerA, all: true},
		{point: "place.free", on: centerA, all: true},
		{point: "place.called", on: centerA, all: true},
		{point: "place.promised", on: centerA, all: true},
		{point: "place.promised", on: centerA, action: "freeze", once: true},
		{point: "place.taken", on: centerA, all: true},
		{point: "place.taken", on: centerA, action: "freeze", once: true},
		{point: "dispatch.committed", on: centerA},
		{point: "dispatch.sent", on: centerA},
		{point: "worker.dequeued", on: workerA},
		{point: "worker.claimed", on: workerA},
		{point: "grant.committed", on: centerA},
		{point: "grant.committed", on: centerA, action: "delay=45s", once: true, whole: true},
		{point: "worker.answered", on: workerA},
		{point: "worker.started", on: workerA},
		{point: "worker.ran", on: workerA},
		{point: "worker.ended", on: workerA},
		{point: "worker.reported", on: workerA},
		{point: "report.received", on: centerA},
		{point: "report.received", on: centerA, action: "freeze", once: true, whole: true},
		{point: "report.applied", on: centerA},
		{point: "report.confirmed", on: centerA},
		{point: "worker.confirmed", on: workerA},
		{point: "worker.settled", on: workerA, once: true, provoke: func(d *drill) {
			d.busy()
			d.p[workerA].Kill()
			d.p[workerA].Begin()
		}},
		{point: "gather.heard", on: centerA, all: true},
		{point: "gather.ended", on: centerA, all: true},
		{point: "gather.ended", on: centerA, action: "freeze", once: true},
		{point: "gather.committed", on: centerA, all: true},
		{point: "wake.found", on: centerA},
		{point: "wake.committed", on: centerA},
		{point: "withdraw.committed", on: centerA, once: true, provoke: frozenWorker, mend: func(d *drill) { d.p[workerA].Thaw() }},
		{point: "lost.found", on: centerA, once: true, provoke: killedWorker, again: true},
		{point: "lost.settled", on: centerA, once: true, provoke: killedWorker, again: true},
		{point: "takeover.raised", on: centerB, once: true, provoke: killedBroker, mend: func(d *drill) { d.p[centerA].Restart() }},
		{point: "takeover.page", on: centerB, once: true, provoke: killedBroker, mend: func(d *drill) { d.p[centerA].Restart() }},
		{point: "bury.condemned", on: centerB, once: true, provoke: func(d *drill) { d.p[centerA].Freeze() }, mend: func(d *drill) { d.p[centerA].Thaw() }},
		{point: "bury.killed", on: centerB, once: true, provoke: func(d *drill) { d.p[centerA].Freeze() }, mend: func(d *drill) { d.p[centerA].Thaw() }},
		{point: "logs.kept", on: centerA},
		{point: "logs.removed", on: centerA},
	}
	for i := range rows {
		rows[i].again = rows[i].again || rows[i].on == workerA
		rows[i].all = rows[i].all || *long && rows[i].action == "" && rows[i].provoke == nil
	}
	return append(rows, roleRows()...)
}

// roleRows are the moments at which a role that is a process of its own has another way than a whole center: what it
// commits, others hear of by Redis or by looking.
func roleRows() []crashRow {
	rows := []crashRow{{point: "commit.heard", on: webA}, {point: "commit.heard", on: schedulerA}, {point: "commit.heard", on: brokerA}}
	for _, point := range []string{"take.won", "take.inserted", "take.committed"} {
		rows = append(rows, crashRow{point: point, on: schedulerA, whole: true})
	}
	for _, point := range []string{"dispatch.committed", "grant.committed", "report.received", "report.applied", "release.committed", "cancel.committed",
		"split.inserted", "split.committed", "place.held", "place.free", "place.called", "place.promised", "place.taken", "gather.heard", "gather.ended", "gather.committed"} {
		rows = append(rows, crashRow{point: point, on: brokerA, whole: true})
	}
	return rows
}

// A process dies, or is frozen, at each moment at which it could hurt, while two centers and two workers are at work.
// Nothing is lost, nothing runs twice, nothing stays undecided. -ax.long walks each point at its third passing too. (J-C8, J-C12)
func TestEveryCrashPoint(t *testing.T) {
	t.Parallel()
	rows := crashRows()
	for _, p := range crash.Points() {
		if !slices.ContainsFunc(rows, func(r crashRow) bool { return r.point == p.Name }) {
			t.Errorf("no row walks the crash point %s", p.Name)
		}
	}
	for _, r := range rows {
		for _, nth := range []int{1, 3} {
			if nth > 1 && (r.once || !*long) || r.whole && !*long {
				continue
			}
			name := r.point + "_" + fmt.Sprint(nth)
			if r.alone() {
				name = r.on + "_" + name
			}
			if r.action != "" {
				name += "_" + r.action
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				on := setup.Real
				if r.all {
					on = setup.Each
				}
				on(t, func(t *testing.T, s *setup.Site) { r.walk(t, s, nth) })
			})
		}
	}
}

// alone reports whether the roles of the first center are processes of their own.
func (r crashRow) alone() bool { return r.on == webA || r.on == schedulerA || r.on == brokerA }

// drill is one row under way.
type drill struct {
	t     *testing.T
	s     *setup.Site
	p     map[string]*setup.Process
	diary *setup.Diary
	db    inside
	done  string // the file that the crash point leaves when it was reached
}

// reachLimit is how long it may take until a process comes to its point.
const reachLimit = 40 * time.Second

// walk puts AX under the load, lets the process come to its point, brings it back, and balances the books.
func (r crashRow) walk(t *testing.T, s *setup.Site, nth int) {
	d := &drill{t: t, s: s, p: map[string]*setup.Process{}, diary: s.Diary(t), done: filepath.Join(s.Dir(), "reached")}
	order := fmt.Sprintf("%s=%s:%d", crash.Variable, r.point, nth)
	if r.action != "" {
		order += ":" + r.action
	}
	if s.IsEmbedded() {
		d.startAll(&r, order+":"+d.done)
	} else {
		d.start(r, order+":"+d.done)
	}
	d.db = tables(t, s.DatabaseURL(d.p[centerA]))
	l := beginLoad(d)
	if r.provoke != nil {
		r.provoke(d)
	}
	victim := d.p[r.on]
	setup.Until(t, reachLimit, r.on+" comes to "+r.point, d.reached, func() string { return victim.Tail(20) })
	reached := time.Now()
	if r.action == "" || r.action == "kill" {
		setup.Until(t, reachLimit, r.on+" is dead", func() bool { return !victim.Alive() }, func() string { return victim.Tail(20) })
	}
	if r.mend != nil {
		r.mend(d)
	}
	d.bringBack(r, nth)
	until(reached.Add(lingers))
	l.end()
	l.balance(r.again)
	t.Logf("%s at passing %d: the last instance ended %s after the point was reached", r.point, nth,
		time.Duration(d.db.number("SELECT MAX(finished_at) FROM instance")-reached.UnixMilli())*time.Millisecond)
}

// lingers is how long the load goes on after the point was reached.
const lingers = 5 * time.Second

func (d *drill) reached() bool {
	_, err := os.Stat(d.done)
	return err == nil
}

// start starts two centers and two workers; the one named gets the order.
func (d *drill) start(r crashRow, order string) {
	first := []string{centerA}
	if r.alone() {
		first = []string{brokerA, schedulerA, webA}
	}
	kinds := map[string]func(setup.T, setup.Opts) *setup.Process{centerA: d.s.Center, centerB: d.s.Center, brokerA: d.s.Broker,
		schedulerA: d.s.Scheduler, webA: d.s.Web, workerA: d.s.Worker, workerB: d.s.Worker}
	for _, name := range append(first, centerB, workerA, workerB) {
		o := setup.Opts{Name: name, Env: []string{"AX_WORKER_TAGS=" + name}}
		if name == r.on {
			o.Env = append(o.Env, order)
		}
		d.p[name] = kinds[name](d.t, o)
	}
}

// startAll starts one process that is everything; the row's process is that one, whose end is a worker's end too.
func (d *drill) startAll(r *crashRow, order string) {
	r.on, r.again = centerA, true
	d.p[centerA] = d.s.All(d.t, setup.Opts{Name: centerA, Env: []string{"AX_WORKER_TAGS=" + workerA, order}})
}

// bringBack lets the process go on: a frozen one after twice the time that its peers wait, a dead one at its first
// passing once a peer has taken over, at a later one at once. A worker comes back at once or, later, when it counts
// as lost.
func (d *drill) bringBack(r crashRow, nth int) {
	victim := d.p[r.on]
	peer := 5 * time.Second // a broker's take-over
	if r.on == workerA {
		peer = 12 * time.Second // a worker's loss
		nth = 4 - nth
	}
	switch {
	case r.action == "freeze":
		until(time.Now().Add(6 * time.Second))
		victim.Thaw()
	case r.action != "":
	case nth == 1 && r.mend == nil && !d.s.IsEmbedded():
		until(time.Now().Add(peer))
		victim.Restart()
	default:
		victim.Restart()
	}
}

// busy waits until worker-a runs a task that takes some seconds.
func (d *drill) busy() {
	c := d.s.Client(d.t, d.p[centerA])
	c.Await(c.Trigger("slow").ID, "running/executing")
}

// A worker is frozen between its journal and the start of a task that must be late rather than twice, until the task
// runs elsewhere. Thawed, it starts nothing. It takes over a minute, which is what that promise costs: -ax.long.
func TestAFrozenWorkerStartsNothingThatWasGivenAway(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("takes over a minute: -ax.long")
	}
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		c, diary := s.Client(t, s.Center(t, setup.Opts{})), s.Diary(t)
		frozen := filepath.Join(s.Dir(), "reached")
		first := s.Worker(t, setup.Opts{Name: workerA, Env: []string{crash.Variable + "=worker.started:freeze:" + frozen}})
		c.Apply(shellJob("late", diary.Beating("late", 150), "timeout: 120", "on_worker_lost: wait"))
		in := c.Trigger("late")
		setup.Until(t, reachLimit, "the worker is frozen", func() bool { _, err := os.Stat(frozen); return err == nil }, func() string { return first.Tail(10) })
		s.Worker(t, setup.Opts{Name: workerB})
		setup.Until(t, 2*time.Minute, "it runs elsewhere", func() bool { return len(diary.Lives()) == 1 }, func() string { return c.Instance(in.ID).String() })
		first.Thaw()
		c.Await(in.ID, "success")
		if lives := diary.Lives(); len(lives) != 1 {
			t.Errorf("the thawed worker started it too: %+v", lives)
		}
	})
}

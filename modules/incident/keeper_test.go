package incident

import (
	"context"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

func TestAJobThatFailsIsOneIncidentUntilItSucceeds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.round()
		w.want("")
		w.fail(1)
		w.round()
		w.want("job_failed pay/job1×1")
		w.fail(1)
		w.fail(1)
		w.fail(2)
		w.round()
		w.round()
		w.want("job_failed pay/job2×1; job_failed pay/job1×3")
		w.succeed(1, true)
		w.round()
		w.want("job_failed pay/job2×1; job_failed pay/job1×3→success")
		w.fail(1)
		w.round()
		w.want("job_failed pay/job1×1; job_failed pay/job2×1; job_failed pay/job1×3→success")
	})
}

func TestARetryASkipAndAKillAreNoFailures(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.instance(1, domain.Status{State: domain.Running, Label: domain.Executing})
		w.happen(in, domain.MoveRetry, domain.Status{State: domain.Retrying, Label: domain.Backoff}, "exit code 3")
		w.happen(in, domain.MoveKill, domain.Status{State: domain.Cancelled, Label: domain.Killed}, "by hand")
		w.happen(in, domain.MoveSkip, domain.Status{State: domain.Cancelled, Label: domain.Skipped}, "overlap")
		w.round()
		w.want("")
	})
}

// What a process heard and had not written dies with it.
func TestWhatWasLostWithAProcessIsFoundInTheRows(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.fail(1)
		w.fail(2)
		w.round()
		w.succeed(1, false) // another process committed it and died
		w.fail(3)           // committed, never read
		w.begin(nil)
		w.round()
		w.want("job_failed pay/job3×1; job_failed pay/job2×1; job_failed pay/job1×1→success")
		w.begin(nil)
		w.round()
		w.want("job_failed pay/job3×1; job_failed pay/job2×1; job_failed pay/job1×1→success")
	})
}

func TestASuccessBeforeItsFailureWasTakenUpEndsTheIncident(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.fail(1)
		w.succeed(1, true)
		w.round()
		w.round()
		w.want("job_failed pay/job1×1→success")
	})
}

// Ids are made inside of transactions, of which several run at a time.
func TestAnEventThatIsCommittedLateIsTakenUpOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.fail(1)
		late := w.events[0]
		w.events = nil
		w.fail(2)
		w.round()
		w.want("job_failed pay/job2×1")
		w.events = append(w.events, late)
		for range 3 {
			w.k.term.rested = time.Time{}
			w.round()
		}
		w.want("job_failed pay/job1×1; job_failed pay/job2×1")
		w.begin(nil)
		w.k.term.rested = time.Time{}
		w.round()
		w.want("job_failed pay/job1×1; job_failed pay/job2×1")
	})
}

func TestAClockThatWasSetBackHidesNoFailure(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ahead, err := domain.NewIDs(2, func() time.Time { return time.Now().Add(2 * time.Hour) })
		if err != nil {
			t.Fatal(err)
		}
		w.fail(1)
		w.events[0].ID = ahead.Next()
		w.round()
		w.want("job_failed pay/job1×1")
		w.fail(1)
		w.fail(2)
		w.round()
		w.want("job_failed pay/job2×1; job_failed pay/job1×2")
	})
}

func TestADeletedJobIsWrongNoMore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.fail(1)
		w.round()
		w.deleted[1] = true
		w.round()
		w.want("job_failed pay/job1×1→deleted")
	})
}

func TestOrphansAreOpenUntilTheLastIsSettled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		orphan := domain.Status{State: domain.Running, Label: domain.Orphan}
		a := w.happen(w.instance(1, orphan), domain.MoveOrphan, orphan, "has been silent for 10s")
		b := w.happen(w.instance(1, orphan), domain.MoveOrphan, orphan, "has been silent for 10s")
		w.round()
		w.want("orphan pay/job1×2")
		w.succeed(1, true) // another instance's success settles no orphan
		a.Status = domain.Status{State: domain.Success}
		w.ins[a.ID] = a
		w.round()
		w.want("orphan pay/job1×2")
		b.Status = failed
		w.ins[b.ID] = b
		w.round()
		w.want("orphan pay/job1×2→told")
	})
}

func TestAWorkerThatFallsSilentUnlessItWasStopped(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		alive := func(name string, s domain.WorkerState) domain.Worker {
			return domain.Worker{Name: name, State: s, Host: "h1"}
		}
		gone := func(name string) domain.Worker {
			return domain.Worker{Name: name, State: domain.WorkerGone, Host: "h1", LostAt: now().Add(-time.Second)}
		}
		old := gone("old")
		old.LostAt = old.LostAt.Add(-giveUp)
		w.workers = []domain.Worker{alive("w1", domain.WorkerAvailable), alive("w2", domain.WorkerDraining), old}
		w.round()
		w.want("")
		lost := gone("w1")
		w.workers = []domain.Worker{lost, gone("w2"), old}
		w.round()
		w.round()
		w.want("worker_lost w1×1")
		w.workers = []domain.Worker{alive("w1", domain.WorkerAvailable)}
		w.round()
		w.want("worker_lost w1×1→back")
		w.workers = []domain.Worker{lost} // the same loss, read again late
		w.round()
		w.want("worker_lost w1×1→back")
		w.workers = []domain.Worker{gone("w1")}
		w.round()
		w.want("worker_lost w1×1; worker_lost w1×1→back")
	})
}

func TestAWorkersClock(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.workers = []domain.Worker{{Name: "w1", State: domain.WorkerAvailable, Skew: -6200 * time.Millisecond}, {Name: "w2", State: domain.WorkerAvailable, Skew: 4 * time.Second}}
		w.round()
		w.round()
		w.want("clock w1×1")
		w.workers[0].Skew = 0
		w.round()
		w.want("clock w1×1") // it may be off again in a moment
		w.age(domain.IncidentClock, clockUnseen+time.Second)
		w.round()
		w.want("clock w1×1→right")
	})
}

// A disk that is full is told at once, whatever the clock, and is over when it takes writes again or the worker is gone.
func TestAWorkersDisk(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.workers = []domain.Worker{{Name: "w1", State: domain.WorkerAvailable, Disk: "disk full (x)", Skew: 7 * time.Second}, {Name: "w2", State: domain.WorkerAvailable}}
		w.round()
		w.round()
		w.want("disk w1×1; clock w1×1")
		w.workers[0].Disk, w.workers[0].Skew = "", 0
		w.age(domain.IncidentClock, clockUnseen+time.Second)
		w.age(domain.IncidentDisk, diskUnseen+time.Second)
		w.round()
		w.want("disk w1×1→writable; clock w1×1→right")
	})
}

// age lets the open incidents of a kind have been seen last as long ago.
func (w *world) age(kind domain.IncidentKind, by time.Duration) {
	w.t.Helper()
	if _, err := w.db.Exec(w.t.Context(), "UPDATE incident SET last_at = last_at - ? WHERE kind = ? AND slot = 0", by.Milliseconds(), string(kind)); err != nil {
		w.t.Fatal(err)
	}
}

func TestFiresThatNobodyTakesAreSeenByAnyoneAlive(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		looks := []*Lookout{{Store: w.store, Triggers: w, Process: "web 1"}, {Store: w.store, Triggers: w, Process: "center 2", Clock: w}}
		all := func(pass time.Duration) {
			t.Helper()
			for _, l := range looks {
				if !l.since.IsZero() {
					l.since = l.since.Add(-pass)
				}
				if err := l.Look(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.untaken = 3
		all(0)
		all(patience - time.Second)
		w.want("") // a scheduler that has just started takes up what was due
		all(2 * time.Second)
		all(time.Second)
		w.want("fires_not_taken the schedule×1")
		w.untaken = 0
		all(time.Second)
		w.want("fires_not_taken the schedule×1→taken")
		w.untaken = 1
		all(0)
		w.want("fires_not_taken the schedule×1→taken")
	})
}

func TestASchedulerTellsOfItsClockAndOfLockedRows(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		l := &Lookout{Store: w.store, Triggers: w, Process: "center 2", Clock: w}
		look := func() {
			t.Helper()
			if err := l.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		look()
		w.want("")
		w.skew, w.locked = 90*time.Second, 2
		look()
		w.locked = 5
		look()
		w.want("fires_locked the schedule×5; clock center 2×1")
		w.skew = 0
		w.age(domain.IncidentClock, clockUnseen+time.Second)
		w.age(domain.IncidentFiresLocked, locksUnseen+time.Second)
		w.round()
		w.want("fires_locked the schedule×5→taken; clock center 2×1→right")
	})
}

// What nobody would run is an incident that says why. (J-B10)
func TestWhatWaitsThoughNobodyWouldRunIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ready := func(job domain.ID, since time.Duration) domain.Instance {
			in := w.instance(job, domain.Status{State: domain.Running, Label: domain.Queued})
			in.ReadyAt = now().Add(-since)
			w.ins[in.ID] = in
			return in
		}
		shell := domain.JobSpec{Exec: domain.Exec{Type: "shell"}}
		gpu := shell
		gpu.Tags = []string{"gpu"}
		w.specs[1], w.specs[2], w.specs[3] = shell, gpu, gpu
		w.workers = []domain.Worker{{Name: "w1", State: domain.WorkerAvailable, Types: []string{"shell"}, Lanes: map[domain.Lane]int{domain.LaneDefault: 1}}}
		ready(1, 3*time.Minute)           // waits for room
		tagged := ready(2, 2*time.Minute) // nobody has the tag
		ready(3, 30*time.Second)          // not for long
		w.round()
		w.round()
		w.want("no_target pay/job2×1")
		old := ready(1, 61*time.Minute)
		w.round()
		w.want("queue_limit pay/job1×1; no_target pay/job2×1")
		old.Label = domain.Executing
		w.ins[old.ID] = old
		w.workers[0].Tags = []string{"gpu"}
		w.round()
		w.want("queue_limit pay/job1×1→moved; no_target pay/job2×1→moved")
		w.workers[0].Skew = 7 * time.Second
		w.round()
		w.want("no_target pay/job2×1; no_target pay/job1×1; clock w1×1; queue_limit pay/job1×1→moved; no_target pay/job2×1→moved")
		w.workers = nil
		w.round()
		tagged.Label = domain.Executing
		w.ins[tagged.ID] = tagged
		w.round()
		w.want("no_target all workers×1; no_target pay/job1×1; clock w1×1; no_target pay/job2×1→moved; queue_limit pay/job1×1→moved; no_target pay/job2×1→moved")
	})
}

func TestWhyNoWorkerWouldRunIt(t *testing.T) {
	fit := domain.Worker{Name: "a", State: domain.WorkerAvailable, Types: []string{"shell"}, Tags: []string{"eu", "gpu"}, Lanes: map[domain.Lane]int{domain.LaneHigh: 1}}
	spec := domain.JobSpec{Exec: domain.Exec{Type: "shell"}, Tags: []string{"gpu"}}
	for want, change := range map[string]func(w *domain.Worker){
		"":                        func(*domain.Worker) {},
		"incident.said.no_worker": func(w *domain.Worker) { w.State = domain.WorkerGone },
		"incident.said.no_type":   func(w *domain.Worker) { w.Types = []string{"http"} },
		"incident.said.no_tags":   func(w *domain.Worker) { w.Tags = []string{"eu"} },
		"incident.said.no_lane":   func(w *domain.Worker) { w.Lanes = nil },
		"incident.said.draining":  func(w *domain.Worker) { w.State = domain.WorkerDraining },
		"incident.said.disks":     func(w *domain.Worker) { w.Disk = "disk full (x)" },
		"incident.said.clocks":    func(w *domain.Worker) { w.Skew = -5001 * time.Millisecond },
	} {
		w := fit
		change(&w)
		got := ""
		if why := refusal(spec, domain.LaneHigh, []domain.Worker{w, w}); len(why) > 0 {
			got = why[0]
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if want != "" && len(refusal(spec, domain.LaneHigh, []domain.Worker{w, fit})) > 0 {
			t.Errorf("%s: one that fits is there and it is refused", want)
		}
	}
}

// A job that fails 5,000 times a second is one row and bounded reading.
func TestAStormIsTakenUpInPages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const jobs, total = 40, historyPage*historyPages + 500
		for i := range total {
			w.events = append(w.events, domain.Event{ID: w.ids.Next(), ProjectID: 7, Move: domain.MoveFail, At: now(), InstanceID: w.instanceOf(domain.ID(1 + i%jobs))})
		}
		began := time.Now()
		w.round()
		if w.reads > historyPages+1 {
			t.Errorf("one round read %d pages of the history", w.reads)
		}
		w.round()
		var n struct{ Jobs, Times int64 }
		if err := w.db.Scan(t.Context(), &n, "SELECT COUNT(*) AS jobs, SUM(times) AS times FROM incident"); err != nil {
			t.Fatal(err)
		}
		if n.Jobs != jobs || n.Times != total {
			t.Errorf("%d failures of %d jobs made %d incidents with %d failures", total, jobs, n.Jobs, n.Times)
		}
		t.Logf("%d failures in two rounds took %s", total, time.Since(began).Round(time.Millisecond))
	})
}

// instanceOf is a failed instance of a job, the same each time.
func (w *world) instanceOf(job domain.ID) domain.ID {
	for id, in := range w.ins {
		if in.JobID == job {
			return id
		}
	}
	return w.instance(job, failed).ID
}

func TestTwoThatFindTheSameMakeOneIncident(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		errs := make(chan error, 8)
		for range cap(errs) {
			go func() {
				errs <- w.store.Raise(context.WithoutCancel(t.Context()), []store.Occurrence{{Kind: domain.IncidentNotTaken, At: now(), Lasts: true}})
			}()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		w.want("fires_not_taken the schedule×1")
	})
}

// The way of an ordinary success is a look into memory.
func TestASuccessOfAJobThatIsWellAsksNothing(t *testing.T) {
	k := NewKeeper(&Keeper{})
	changes := []domain.Change{{Move: domain.MoveSucceed, Instance: domain.Instance{JobID: 1, FinishedAt: time.Unix(1, 0)}}}
	k.active.Store(true)
	k.open, k.done = map[domain.ID]openJob{2: {}}, map[domain.ID]time.Time{}
	if n := testing.AllocsPerRun(100, func() { k.Changed(changes) }); n > 0 {
		t.Errorf("it allocates %v times", n)
	}
	if len(k.done) > 0 || len(k.bell) > 0 {
		t.Error("it leaves something to do")
	}
}

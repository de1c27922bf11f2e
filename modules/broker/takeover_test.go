package broker

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// keep is what must survive a take-over.
type keep struct {
	flights map[domain.ID]bool // granted?
	live    map[string]int
	busy    map[domain.ID][]domain.ID
	held    map[domain.ID][]domain.ID
}

func (b *Broker) keep() keep {
	k := keep{map[domain.ID]bool{}, map[string]int{}, map[domain.ID][]domain.ID{}, map[domain.ID][]domain.ID{}}
	for id, f := range b.mem.flights {
		k.flights[id] = f.granted
	}
	for name, t := range b.mem.targets {
		k.live[name] = t.running()
	}
	for job, l := range b.mem.lines {
		if len(l.busy) > 0 {
			k.busy[job] = slices.Sorted(maps.Keys(l.busy))
		}
		for _, w := range slices.Concat(l.patient, l.others) {
			k.held[job] = append(k.held[job], w.id)
		}
	}
	return k
}

func (k keep) equal(o keep) bool {
	return maps.Equal(k.flights, o.flights) && maps.Equal(k.live, o.live) &&
		maps.EqualFunc(k.busy, o.busy, slices.Equal) && maps.EqualFunc(k.held, o.held, slices.Equal)
}

func TestASuccessorBuildsTheSameMemoryFromTheRows(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rnd := rand.New(rand.NewPCG(3, 3))
		var jobs []domain.ID
		for _, o := range []domain.Overlap{domain.OverlapQueue, domain.OverlapSkip, domain.OverlapReplace, domain.OverlapAllow} {
			jobs = append(jobs, w.job(domain.JobSpec{Overlap: o}))
		}
		w.worker("w0", 5)
		w.worker("w1", 3)
		for range 200 {
			job := jobs[rnd.IntN(len(jobs))]
			in := w.ready(job, on(date("2026-01-01").AddDays(rnd.IntN(20)).String()))
			if rnd.IntN(3) == 0 {
				x := w.ins[in]
				x.Trigger = domain.TriggerBackfill
				w.ins[in] = x
			}
			time.Sleep(time.Second)
			if rnd.IntN(2) == 0 {
				w.start()
			} else {
				w.do(w.b.round)
			}
			for id, in := range w.ins {
				switch x := rnd.IntN(12); {
				case w.attempts[in.AttemptID].State != domain.AttemptGranted:
				case x == 0:
					w.end(id, domain.OutcomeSuccess)
				case x == 1:
					w.end(id, domain.OutcomeTimeout)
				case x == 2:
					if err := w.kill(id); err != nil {
						t.Fatal(err)
					}
				}
			}
			if rnd.IntN(4) == 0 {
				w.do(w.b.freeHeld)
			}
			if rnd.IntN(8) == 0 {
				w.do(w.b.wake)
			}
			old := w.b
			w.b = w.broker()
			w.b.active.Store(true)
			if err := w.b.load(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.do(w.b.inspect)
			if !old.keep().equal(w.b.keep()) {
				t.Fatalf("before:\n%+v\nafter:\n%+v", old.keep(), w.b.keep())
			}
			if rnd.IntN(2) == 0 {
				w.b = old
			}
		}
	})
}

// The overlap guard is not forgotten: neither for what runs, nor for what has begun
// and is ready for its next try. (G-B2)
func TestOverlapIsKeptAcrossATakeOver(t *testing.T) {
	for name, end := range map[string]func(w *world, id domain.ID){
		"it runs": func(*world, domain.ID) {},
		"it is ready again": func(w *world, id domain.ID) {
			w.end(id, domain.OutcomeTimeout)
			w.do(w.b.wake)
			w.want(id, "running/queued")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.worker("w", 4)
				job := w.job(domain.JobSpec{Overlap: domain.OverlapSkip})
				a := w.ready(job)
				w.start()
				b := w.ready(job)
				time.Sleep(time.Second)
				end(w, a)
				w.b = w.broker()
				w.b.active.Store(true)
				if err := w.b.load(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.do(w.b.inspect)
				w.do(w.b.round)
				w.want(a, "running/dispatched")
				w.want(b, "cancelled/skipped")
			})
		})
	}
}

func TestLivesThatHoldAttemptsAreExpected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		w.worker("w", 4)
		w.ready(job)
		w.start()
		w.b = w.broker()
		w.b.active.Store(true)
		if err := w.b.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []domain.Boot{{Name: "w", Boot: 1}}; !slices.Equal(w.expected, want) {
			t.Fatalf("expected %v", w.expected)
		}
	})
}

// A whole term, with its loops: work goes out, comes back, and the term ends with
// its context.
func TestATermCarriesWorkFromReadyToItsEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, stop := context.WithCancel(t.Context())
		w.b.active.Store(false)
		job := w.job(domain.JobSpec{})
		var ids []domain.ID
		for range 50 {
			ids = append(ids, w.ready(job))
		}
		w.workers["w"] = domain.Worker{Name: "w", Boot: 1, State: domain.WorkerAvailable, Types: []string{"shell"}, Lanes: map[domain.Lane]int{domain.LaneDefault: 4}}
		ended := make(chan error, 1)
		go func() { ended <- w.b.Term(ctx, 7) }()
		handled := 0
		for deadline := time.Now().Add(time.Minute); w.finished() < 50; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d of 50 ended", w.finished())
			}
			w.mu.Lock()
			fresh := w.sent[handled:]
			handled = len(w.sent)
			w.mu.Unlock()
			for _, s := range fresh {
				if s.m.Epoch != 7 {
					t.Fatalf("a message of epoch %d", s.m.Epoch)
				}
				w.write(protocol.Uplink{Worker: "w", Boot: 1, Claim: &protocol.Claim{Message: s.m.ID, Nonce: "n", IDs: s.m.IDs}})
				for _, id := range s.m.IDs {
					w.write(report("w", domain.ID(id), domain.OutcomeSuccess))
				}
			}
		}
		if s := w.b.Stats(); !s.Active || s.InFlight != 0 || s.Dispatched != 50 || s.Reports != 50 || s.Granted != 50 {
			t.Fatalf("%+v", s)
		}
		stop()
		if err := <-ended; err != nil || w.b.Active() {
			t.Fatalf("the term ended with %v, active %v", err, w.b.Active())
		}
		w.want(ids[0], "success")
	})
}

func (w *world) finished() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count("success")
}

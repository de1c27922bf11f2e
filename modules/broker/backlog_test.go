package broker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// tell lets the broker know of instances that have become ready, as it does of what
// its own process commits.
func (w *world) tell(ids ...domain.ID) {
	for _, id := range ids {
		w.b.Changed([]domain.Change{{Move: domain.MoveRequeue, Instance: w.ins[id]}})
	}
}

// settle lets rounds go on as long as the bell rings.
func (w *world) settle() {
	w.t.Helper()
	w.do(w.b.round)
	for range 1000 {
		select {
		case <-w.b.ready:
			w.do(w.b.round)
		default:
			return
		}
	}
	w.t.Fatal("the rounds come to no end")
}

func ofTypes(types ...string) func(*domain.Worker) {
	return func(k *domain.Worker) { k.Types = types }
}

// pagesOf counts the pages of a lane that were read since the last call.
func (w *world) pagesOf(l domain.Lane) int {
	n := 0
	for _, p := range w.pages {
		if p == l {
			n++
		}
	}
	w.pages = nil
	return n
}

// What nobody can run is read once, and again only on a look each 5 s and a page each
// 250 ms.
func TestWhatNobodyCanRunIsNotReadAgainInEachRound(t *testing.T) {
	for name, exotic := range map[string]domain.JobSpec{
		"no target has the type": {Exec: domain.Exec{Type: "cobol"}},
		"no target has the tag":  {Tags: []string{"gpu"}},
		"all that fit are full":  {Exec: domain.Exec{Type: "narrow"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.worker("w", 4)
				w.worker("narrow", 1, ofTypes("narrow"))
				job, plain := w.job(exotic), w.job(domain.JobSpec{})
				for range 5000 {
					w.ready(job)
				}
				w.settle()
				w.pagesOf(domain.LaneDefault)
				for range 50 {
					high, behind := w.ready(plain, lane(domain.LaneHigh)), w.ready(plain)
					w.tell(high, behind)
					w.settle()
					for _, id := range []domain.ID{high, behind} {
						w.want(id, "running/dispatched")
						w.hear(claim("w", "n", w.ins[id].AttemptID))
						w.end(id, domain.OutcomeSuccess)
					}
				}
				if n := w.pagesOf(domain.LaneDefault); n > 110 {
					t.Errorf("50 rounds with one new instance each read %d pages of what waits", n)
				}
			})
		})
	}
}

// When a target comes that can run what waits, or has room again, the first of it goes first.
func TestWhatWaitsGoesWhenThereIsRoomAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 4)
		exotic, plain := w.job(domain.JobSpec{Exec: domain.Exec{Type: "cobol"}}), w.job(domain.JobSpec{})
		var ids []domain.ID
		for i := range 3000 {
			if i%3 == 0 {
				ids = append(ids, w.ready(exotic))
			} else {
				w.ready(plain, backfill)
			}
		}
		w.settle()
		w.worker("mainframe", 2, ofTypes("cobol"))
		w.settle()
		for done := 0; done < len(ids); done += 2 + minPrefetch {
			for i, id := range ids {
				want := "running/queued"
				if i < done+2+minPrefetch {
					want = "running/dispatched"
				}
				if i >= done {
					w.want(id, want)
				}
			}
			for _, id := range ids[done:min(done+2+minPrefetch, len(ids))] {
				w.hear(claim("mainframe", "n", w.ins[id].AttemptID))
				w.end(id, domain.OutcomeSuccess)
			}
			w.settle()
		}
	})
}

// Whatever comes, goes, is heard of or not: after a round nothing that was heard of
// waits while somebody has room for it, and after a patrol nothing at all does.
func TestNothingWaitsWhileSomebodyHasRoomForIt(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				rnd := rand.New(rand.NewPCG(seed, 9))
				types := []string{"shell", "python", "sql", "noop", "cobol"}
				var jobs []domain.ID
				for _, k := range types {
					jobs = append(jobs, w.job(domain.JobSpec{Exec: domain.Exec{Type: k}}), w.job(domain.JobSpec{Exec: domain.Exec{Type: k}, Tags: []string{"eu"}}))
				}
				unheard := map[domain.ID]bool{}
				for step := range 40 {
					for range rnd.IntN(200) {
						id := w.ready(jobs[rnd.IntN(len(jobs))], func(in *domain.Instance) {
							in.Lane = domain.Lanes[rnd.IntN(len(domain.Lanes))]
							in.ReadyAt = in.ReadyAt.Add(-time.Duration(rnd.IntN(900)) * time.Millisecond) // committed late
							if rnd.IntN(4) == 0 {
								in.Trigger = domain.TriggerBackfill
							}
						})
						if rnd.IntN(3) == 0 {
							unheard[id] = true
						} else {
							w.tell(id)
						}
					}
					switch name := fmt.Sprint("w", rnd.IntN(3)); {
					case w.workers[name].Name == "" && rnd.IntN(2) == 0:
						w.worker(name, 1+rnd.IntN(4), ofTypes(types[rnd.IntN(5)], types[rnd.IntN(5)]), func(k *domain.Worker) {
							k.Tags, k.Threadless = []string{"eu"}[:rnd.IntN(2)], []string{"noop"}
						})
					case w.workers[name].Name != "" && rnd.IntN(6) == 0:
						w.lose(name, "has been silent")
						w.do(w.b.inspect)
					}
					w.settle()
					w.noneWaits(func(id domain.ID) bool { return unheard[id] })
					for id, in := range w.ins {
						if inFlight(in) && rnd.IntN(2) == 0 {
							w.hear(claim(w.attempts[in.AttemptID].Target, "n", in.AttemptID))
							w.end(id, domain.OutcomeSuccess)
						}
					}
					time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
					if step%10 == 9 {
						for range 40 {
							time.Sleep(poll)
							w.settle()
						}
						w.noneWaits(func(domain.ID) bool { return false })
					}
				}
			})
		})
	}
}

// noneWaits fails when an instance is ready, not excused, and a target is open for it.
func (w *world) noneWaits(excused func(domain.ID) bool) {
	w.t.Helper()
	for id, in := range w.ins {
		if in.Label != domain.Queued || excused(id) {
			continue
		}
		if n := w.b.mem.roomFor(w.specs[in.JobID], in.Lane, time.Now()); n > 0 {
			w.t.Fatalf("instance %s of lane %s waits for %s, and there is room for %d", id, in.Lane, w.specs[in.JobID].Exec.Type, n)
		}
	}
}

// A page of a lower lane that only holds takes no longer than itself from lane high.
func TestALaneAboveGoesBetweenTwoPages(t *testing.T) {
	for name, l := range map[string]domain.Lane{"default": domain.LaneDefault, "low": domain.LaneLow} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				many, plain := w.job(domain.JobSpec{Overlap: domain.OverlapQueue}), w.job(domain.JobSpec{})
				w.ready(many, label(domain.Executing))
				if err := w.b.load(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.worker("w", 4)
				for range 3000 {
					w.ready(many, backfill, lane(l))
				}
				var urgent []domain.ID
				w.onHold = func() {
					for _, id := range urgent {
						w.want(id, "running/dispatched")
					}
					id := w.ready(plain, lane(domain.LaneHigh))
					urgent = append(urgent, id)
					w.tell(id)
				}
				w.do(w.b.round)
				if n := w.count("running/held_overlap"); n != 3000 || len(urgent) != 6 {
					t.Fatalf("%d are held, after %d pages", n, len(urgent))
				}
				w.want(urgent[5], "running/dispatched")
			})
		})
	}
}

// The last of the room for what takes no thread is for lane high.
func TestWhatTakesNoThreadLeavesRoomForLaneHigh(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		light := w.job(domain.JobSpec{Exec: domain.Exec{Type: "noop"}})
		for range 2 * maxPrefetch {
			w.ready(light)
			w.ready(light, lane(domain.LaneLow))
		}
		w.worker("w", 4, ofTypes("noop"), func(k *domain.Worker) { k.Threadless = []string{"noop"} })
		w.settle()
		if n := w.count("running/dispatched"); n != maxPrefetch-maxPrefetch/highShare {
			t.Fatalf("%d were sent, want %d", n, maxPrefetch-maxPrefetch/highShare)
		}
		for range maxPrefetch {
			w.ready(light, lane(domain.LaneHigh))
		}
		w.settle()
		high := 0
		for _, in := range w.ins {
			if in.Lane == domain.LaneHigh && inFlight(in) {
				high++
			}
		}
		if high != maxPrefetch/highShare {
			t.Fatalf("%d of lane high were sent, want %d", high, maxPrefetch/highShare)
		}
	})
}

// What is taken back is assigned again before what became ready later, however much of that was looked at meanwhile.
func TestWhatWasTakenBackGoesBeforeWhatIsYounger(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 2)
		job := w.job(domain.JobSpec{})
		var ids []domain.ID
		for range 3000 {
			ids = append(ids, w.ready(job))
		}
		w.settle()
		const room = 2 + minPrefetch
		sent := map[domain.ID]domain.ID{}
		for _, id := range ids[:room] {
			w.want(id, "running/dispatched")
			sent[id] = w.ins[id].AttemptID
		}
		w.do(w.b.takeBackUnclaimed)
		w.settle()
		for _, id := range ids[:room] {
			if w.want(id, "running/dispatched"); w.ins[id].AttemptID == sent[id] {
				t.Errorf("instance %s was not taken back", id)
			}
		}
		w.want(ids[room], "running/queued")
	})
}

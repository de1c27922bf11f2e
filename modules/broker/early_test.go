package broker

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// making is a transaction of the scheduler under way: instances that are being made, with what the broker gave some.
type making struct {
	w      *world
	ins    []domain.Instance
	given  []domain.Assignment
	epoch  int64
	settle func([]domain.Attempt, bool)
}

// making begins to make instances of jobs; nobody sees them before their commit.
func (w *world) making(jobs ...domain.ID) *making {
	m := &making{w: w}
	specs := make([]domain.JobSpec, len(jobs))
	for i, job := range jobs {
		id := w.ready(job, func(in *domain.Instance) {
			if l := w.specs[job].Priority; l != "" {
				in.Lane = l
			}
		})
		m.ins, specs[i] = append(m.ins, w.ins[id]), w.specs[job]
		delete(w.ins, id)
	}
	m.given, m.epoch, m.settle = w.b.Early(m.ins, specs)
	return m
}

// write puts the rows in.
func (m *making) write() (changes []domain.Change, attempts []domain.Attempt) {
	w := m.w
	given := map[domain.ID]domain.Assignment{}
	for _, a := range m.given {
		given[a.Instance.ID] = a
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, in := range m.ins {
		if a, ok := given[in.ID]; ok {
			in = to(in, domain.Running, domain.Dispatched)
			in.AttemptID, in.Attempts, in.Ver = a.Attempt, 1, 2
			made := domain.Attempt{ID: a.Attempt, InstanceID: in.ID, RunID: in.RunID, State: domain.AttemptSent, Target: a.Target, Boot: a.Boot, Lane: in.Lane, MessageID: a.MessageID}
			w.attempts[a.Attempt] = made
			attempts = append(attempts, made)
		}
		w.ins[in.ID] = in
		changes = append(changes, domain.Change{Instance: in})
	}
	return changes, attempts
}

// commit ends it well: it is heard of, and what was given is sent.
func (m *making) commit() {
	changes, attempts := m.write()
	m.w.b.Changed(changes)
	if m.settle != nil {
		m.settle(attempts, true)
	}
	m.w.flush()
}

// undo rolls it back.
func (m *making) undo() {
	if m.settle != nil {
		m.settle(nil, true)
	}
}

// flush sends what is in the outbox.
func (w *world) flush() {
	if as := w.b.early.take(); len(as) > 0 {
		w.b.send(w.t.Context(), as)
	}
}

// early has a worker, and nothing that is ready.
func early(t *testing.T, fn func(t *testing.T, w *world)) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w1", 4)
		w.do(w.b.round)
		fn(t, w)
	})
}

func (m *making) wants(n int) {
	m.w.t.Helper()
	if len(m.given) != n {
		m.w.t.Fatalf("%d of %d were given a target, want %d", len(m.given), len(m.ins), n)
	}
}

func TestWhatNothingHoldsUpIsSentAsItIsMade(t *testing.T) {
	early(t, func(t *testing.T, w *world) {
		m := w.making(w.job(domain.JobSpec{}), w.job(domain.JobSpec{Overlap: domain.OverlapQueue}), w.job(domain.JobSpec{Tags: []string{"gpu"}}))
		m.wants(2)
		if len(w.sent) != 0 || w.b.Stats().InFlight != 0 {
			t.Fatal("something left before its commit")
		}
		m.commit()
		if s := w.b.Stats(); len(w.sent) != 1 || s.InFlight != 2 || s.Unacked != 2 || s.Dispatched != 2 {
			t.Fatalf("sent %d messages; %+v", len(w.sent), s)
		}
		w.want(m.ins[2].ID, "running/queued")
		w.start()
		w.end(m.ins[0].ID, domain.OutcomeSuccess)
		w.end(m.ins[1].ID, domain.OutcomeSuccess)
		if s := w.b.Stats(); s.InFlight != 0 || s.Held != 0 || !w.b.mem.line(m.ins[1].JobID).empty() {
			t.Errorf("something is left of them: %+v", s)
		}
	})
}

// What comes later stands behind what is ready in its lane or in one above, until that has found its target.
func TestNothingIsOvertaken(t *testing.T) {
	early(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		high, low := w.job(domain.JobSpec{Priority: domain.LaneHigh}), w.job(domain.JobSpec{Priority: domain.LaneLow})
		stuck := w.job(domain.JobSpec{Tags: []string{"gpu"}})
		waits := w.ready(stuck) // by another process: found by the poll
		w.do(w.b.round)
		w.making(job, high, low).wants(1)
		w.worker("w2", 4, func(x *domain.Worker) { x.Tags = []string{"gpu"} })
		w.do(w.b.round)
		w.want(waits, "running/dispatched")
		m := w.making(job, high, low)
		m.wants(3)
		m.undo()

		behind := w.making(stuck, stuck) // the second of a batch stands behind nobody
		behind.wants(2)
		behind.commit()
		heard := w.making(job)
		heard.given = nil
		heard.undo()
		heard.commit() // made ready without a target: now it waits
		w.making(job).wants(0)
		w.do(w.b.round)
		w.want(heard.ins[0].ID, "running/dispatched")
		w.making(job).wants(1)
	})
}

// What a round has decided on has its room: what is made while that is being committed is given its own at once, and
// waits again where the round fails.
func TestARoundUnderWayHoldsNothingUp(t *testing.T) {
	early(t, func(t *testing.T, w *world) {
		job, queue := w.job(domain.JobSpec{}), w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		running := w.ready(queue)
		w.start()
		second := w.ready(queue)
		w.onHold = func() { w.making(job).wants(1) }
		w.do(w.b.round)
		w.want(second, "running/held_overlap")
		w.onHold = func() { w.away = errDatabase }
		w.ready(queue, rerun)
		if w.b.round(t.Context()) == nil {
			t.Fatal("the round did not fail")
		}
		w.away = nil
		w.making(job).wants(0)
		w.want(running, "running/dispatched")
	})
}

// The room that is promised is nobody else's, and comes back when nothing was committed.
func TestPromisedRoomIsTaken(t *testing.T) {
	early(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		room, _ := w.b.mem.room(domain.LaneDefault)
		m := w.making(slices.Repeat([]domain.ID{job}, room+5)...)
		m.wants(room)
		waits := w.ready(job)
		w.do(w.b.round)
		w.want(waits, "running/queued")
		m.undo()
		if again, _ := w.b.mem.room(domain.LaneDefault); again != room {
			t.Fatalf("room for %d, was %d", again, room)
		}
		w.do(w.b.round)
		w.want(waits, "running/dispatched")
	})
}

// An instance that is being made is in the way of its job, and nobody is held, skipped or started for what may never be.
func TestWhatIsBeingMadeIsInTheWay(t *testing.T) {
	for _, policy := range []domain.Overlap{domain.OverlapQueue, domain.OverlapSkip, domain.OverlapReplace} {
		for _, commits := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s commits=%v", policy, commits), func(t *testing.T) {
				early(t, func(t *testing.T, w *world) {
					job := w.job(domain.JobSpec{Overlap: policy})
					m := w.making(job, job)
					m.wants(1)
					second := w.ready(job)
					w.do(w.b.round)
					w.want(second, "running/queued")
					w.making(job).wants(0)
					if !commits {
						m.undo()
						w.do(w.b.round)
						time.Sleep(poll)
						w.do(w.b.round)
						w.want(second, "running/dispatched")
						return
					}
					m.commit()
					time.Sleep(poll)
					w.do(w.b.round)
					if n := w.count("running/dispatched"); n != 1 {
						t.Errorf("%d are at work", n)
					}
					if policy != domain.OverlapReplace {
						w.want(m.ins[0].ID, "running/dispatched")
					}
				})
			})
		}
	}
}

func TestAJobWithAnUnfinishedInstanceWaitsForItsTurn(t *testing.T) {
	early(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		first := w.ready(job)
		w.start()
		m := w.making(job)
		m.wants(0)
		m.commit()
		w.do(w.b.round)
		w.want(m.ins[0].ID, "running/held_overlap")
		w.making(job).wants(0)
		w.end(first, domain.OutcomeSuccess)
		w.do(w.b.round)
		w.want(m.ins[0].ID, "running/dispatched")
	})
}

// Nobody knows whether it was committed: it is in the way until the rows have said how it stands, and is waited for then.
func TestAnEarlyCommitWithoutAnAnswer(t *testing.T) {
	for _, committed := range []bool{true, false} {
		t.Run(fmt.Sprint(committed), func(t *testing.T) {
			early(t, func(t *testing.T, w *world) {
				job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
				m := w.making(job)
				if committed {
					m.write()
				}
				w.b.Unsure([]domain.ID{m.ins[0].ID})
				m.settle(nil, false)
				w.making(w.job(domain.JobSpec{})).wants(0)
				second := w.ready(job)
				w.away = errDatabase
				if w.b.round(t.Context()) == nil {
					t.Error("a round went on although the rows could not be read")
				}
				w.away = nil
				w.do(w.b.round)
				if !committed {
					w.want(second, "running/dispatched")
					return
				}
				w.want(second, "running/held_overlap")
				if s := w.b.Stats(); s.InFlight != 1 || s.Unacked != 1 || len(w.sent) != 0 {
					t.Errorf("sent %d; %+v", len(w.sent), s)
				}
				for range 7 {
					time.Sleep(time.Second)
					w.b.heardAll(time.Now())
				}
				w.do(w.b.sweep)
				w.want(m.ins[0].ID, "running/queued")
			})
		})
	}
}

func TestNobodyIsGivenATargetThatIsNotToBeHad(t *testing.T) {
	early(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		w.registry = errDatabase
		_ = w.b.inspect(t.Context())
		w.making(job).wants(0)
		w.registry = nil
		w.do(w.b.inspect)
		w.b.mem.silence(time.Now().Add(time.Second))
		w.making(job).wants(0)
		time.Sleep(time.Second)
		w.b.active.Store(false)
		w.making(job).wants(0)
		w.b.active.Store(true)
		w.making(job).wants(1)
	})
}

// A queue that is away silences what is made later, and what was committed is taken back when no ack comes.
func TestAnEarlyMessageThatCannotBeSent(t *testing.T) {
	early(t, func(t *testing.T, w *world) {
		w.sendErr = errDatabase
		job := w.job(domain.JobSpec{})
		var ids []domain.ID
		for range sendTries + 1 {
			m := w.making(job)
			m.wants(1)
			changes, attempts := m.write()
			w.b.Changed(changes)
			m.settle(attempts, true)
			ids = append(ids, m.ins[0].ID)
		}
		w.flush()
		w.making(job).wants(0)
		w.sendErr = nil
		for range 7 {
			time.Sleep(time.Second)
			w.b.heardAll(time.Now())
		}
		w.do(w.b.sweep)
		for _, id := range ids {
			w.want(id, "running/queued")
		}
	})
}

// What was committed for a life in the moment of its end is settled too.
func TestAWorkerIsLostBeforeTheEarlyCommit(t *testing.T) {
	early(t, func(t *testing.T, w *world) {
		m := w.making(w.job(domain.JobSpec{}))
		w.lose("w1", "was restarted")
		w.do(w.b.inspect)
		m.commit()
		w.do(w.b.inspect)
		w.want(m.ins[0].ID, "running/queued")
	})
}

// A term that is over gives nothing out and takes nothing back from the next one, which finds all of it in the rows.
func TestAnEarlyCommitOfATermThatIsOver(t *testing.T) {
	early(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		was, _ := w.b.mem.room(domain.LaneDefault)
		committed, undone := w.making(job), w.making(job)
		changes, attempts := committed.write()
		w.b.epoch++
		w.do(w.b.load)
		w.do(w.b.inspect)
		w.b.Changed(changes)
		committed.settle(attempts, true)
		undone.undo()
		w.flush()
		if s := w.b.Stats(); s.InFlight != 1 || len(w.sent) != 0 {
			t.Errorf("in flight %d, sent %d", s.InFlight, len(w.sent))
		}
		if room, _ := w.b.mem.room(domain.LaneDefault); room != was-1 {
			t.Errorf("room for %d, want %d", room, was-1)
		}
		if epoch := w.making(job).epoch; epoch != w.b.epoch {
			t.Errorf("given out under epoch %d, want %d", epoch, w.b.epoch)
		}
	})
}

// Whatever is made early, assigned by rounds, undone, claimed and ended in whatever order: no target ever holds more than
// its room, no job has two at work that must not, and at the end all have run.
func TestEarlyAndRoundsTogether(t *testing.T) {
	for seed := range uint64(30) {
		early(t, func(t *testing.T, w *world) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			most, _ := w.b.mem.room(domain.LaneDefault)
			jobs := []domain.ID{w.job(domain.JobSpec{}), w.job(domain.JobSpec{})}
			for range 3 {
				jobs = append(jobs, w.job(domain.JobSpec{Overlap: domain.OverlapQueue}))
			}
			var open []*making
			for range 200 {
				switch rnd.IntN(6) {
				case 0, 1:
					var of []domain.ID
					for range 1 + rnd.IntN(4) {
						of = append(of, jobs[rnd.IntN(len(jobs))])
					}
					open = append(open, w.making(of...))
				case 2, 3:
					if len(open) > 0 {
						m := open[0]
						open = open[1:]
						if rnd.IntN(3) == 0 {
							m.undo()
						} else {
							m.commit()
						}
					}
				case 4:
					time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
					w.start()
				default:
					for _, id := range slices.Sorted(maps.Keys(w.ins)) {
						if w.ins[id].Label == domain.Dispatched && w.attempts[w.ins[id].AttemptID].State == domain.AttemptGranted && rnd.IntN(2) == 0 {
							w.end(id, domain.OutcomeSuccess)
						}
					}
				}
				w.sound(jobs[2:], most)
			}
			for _, m := range open {
				m.commit()
			}
			for range 300 {
				time.Sleep(poll)
				w.start()
				for _, id := range slices.Sorted(maps.Keys(w.ins)) {
					if w.ins[id].Label == domain.Dispatched {
						w.end(id, domain.OutcomeSuccess)
					}
				}
				w.sound(jobs[2:], most)
			}
			for id, in := range w.ins {
				if !in.State.Terminal() {
					t.Errorf("seed %d: instance %s is left as %s", seed, id, in.Status)
				}
			}
			if s := w.b.Stats(); s.InFlight != 0 || len(w.b.mem.coming) != 0 || w.b.mem.targets["w1"].expects() {
				t.Errorf("seed %d: something is left: %+v", seed, s)
			}
		})
	}
}

// sound checks what must hold at any moment.
func (w *world) sound(one []domain.ID, most int) {
	w.t.Helper()
	work := map[domain.ID]int{}
	n := 0
	for _, in := range w.ins {
		if in.Label == domain.Dispatched {
			work[in.JobID]++
			n++
		}
	}
	for _, job := range one {
		if work[job] > 1 {
			w.t.Fatalf("%d instances of job %s are at work", work[job], job)
		}
	}
	if n > most {
		w.t.Fatalf("%d are with a target that has room for %d", n, most)
	}
}

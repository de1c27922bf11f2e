package broker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// order is the instances as they were sent.
func (w *world) order() []domain.ID {
	var out []domain.ID
	for _, s := range w.sent {
		for _, id := range s.m.IDs {
			out = append(out, w.attempts[domain.ID(id)].InstanceID)
		}
	}
	return out
}

// What is ready goes by lane, then live before backfill, then by age. (J-B4)
func TestTheMostUrgentLaneGoesFirstAndLiveWorkBeforeBackfill(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		old := w.ready(job, lane(domain.LaneLow))
		filled := w.ready(job, backfill)
		time.Sleep(time.Second)
		live := w.ready(job)
		later := w.ready(job)
		high := w.ready(job, lane(domain.LaneHigh))
		w.worker("w", 4)
		w.do(w.b.round)
		if want := []domain.ID{high, live, later, filled, old}; !slices.Equal(w.order(), want) {
			t.Fatalf("sent in the order %v, want %v", w.order(), want)
		}
	})
}

func TestWhatNobodyCanRunHidesNothing(t *testing.T) {
	for _, n := range []int{1000, 10_500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				exotic, plain := w.job(domain.JobSpec{Exec: domain.Exec{Type: "cobol"}}), w.job(domain.JobSpec{})
				for range n {
					w.ready(exotic)
				}
				time.Sleep(time.Second)
				behind := w.ready(plain)
				w.worker("w", 4)
				for range 3 {
					w.do(w.b.round)
				}
				w.want(behind, "running/dispatched")
			})
		})
	}
}

func TestMoreThanALookGoesThroughIsTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		exotic := w.job(domain.JobSpec{Exec: domain.Exec{Type: "cobol"}})
		for range 700 {
			w.ready(exotic)
		}
		w.worker("w", 4)
		w.do(w.b.round)
		if s := w.b.Stats(); s.Ready[domain.LaneDefault] != 700 || s.ReadyMore[domain.LaneDefault] {
			t.Fatalf("told %d ready, more %v", s.Ready[domain.LaneDefault], s.ReadyMore)
		}
		for range mostPages * pageSize {
			w.ready(exotic)
		}
		time.Sleep(lookEach)
		w.do(w.b.round)
		if s := w.b.Stats(); s.Ready[domain.LaneDefault] != mostPages*pageSize || !s.ReadyMore[domain.LaneDefault] {
			t.Fatalf("told %d ready, more %v", s.Ready[domain.LaneDefault], s.ReadyMore)
		}
	})
}

func TestRoomIsNeverExceeded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rnd := rand.New(rand.NewPCG(7, 7))
		job := w.job(domain.JobSpec{})
		limit := map[string]int{}
		for i := range 4 {
			name, threads := fmt.Sprint("w", i), rnd.IntN(8)
			w.worker(name, threads)
			if threads > 0 {
				limit[name] = threads + minPrefetch
			}
		}
		for range 60 {
			for range rnd.IntN(40) {
				w.ready(job)
			}
			w.start()
			load := map[string]int{}
			for _, in := range w.ins {
				if a := w.attempts[in.AttemptID]; inFlight(in) {
					load[a.Target]++
				}
			}
			for name, n := range load {
				if n > limit[name] {
					t.Fatalf("%s has %d attempts, its room is %d", name, n, limit[name])
				}
			}
			for id, in := range w.ins {
				if inFlight(in) && rnd.IntN(3) == 0 {
					w.end(id, domain.OutcomeSuccess)
				}
			}
		}
		if n := w.b.Stats().InFlight; n != w.count("running/dispatched") {
			t.Fatalf("%d in flight, rows say %d", n, w.count("running/dispatched"))
		}
	})
}

func TestAMessageHasAtMostItsLimitAndEachAttemptIsInOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		for range 1300 {
			w.ready(job)
		}
		w.worker("w", 2000)
		w.do(w.b.round)
		seen := map[int64]bool{}
		for _, s := range w.sent {
			if len(s.m.IDs) > protocol.MaxBatch {
				t.Fatalf("a message of %d", len(s.m.IDs))
			}
			for _, id := range s.m.IDs {
				if seen[id] {
					t.Fatalf("attempt %d is in two messages", id)
				}
				seen[id] = true
			}
		}
		if len(seen) != 1300 || !slices.IsSorted(w.order()) {
			t.Fatalf("%d sent, in order: %v", len(seen), slices.IsSorted(w.order()))
		}
	})
}

func TestNothingIsSentThatWasNotCommitted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) { // Send itself holds every id against the rows
		id := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.away = errDatabase
		if err := w.b.round(t.Context()); !domain.Is(err, domain.Unavailable) || len(w.sent) > 0 {
			t.Fatalf("round: %v, sent %v", err, w.sent)
		}
		w.away = nil
		w.do(w.b.round)
		w.want(id, "running/dispatched")
	})
}

// A kill of another process comes between the reading of the page and the commit.
func TestWhatMovedMeanwhileIsLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		a, b := w.ready(job), w.ready(job)
		w.worker("w", 4)
		page, err := w.Ready(t.Context(), domain.LaneDefault, domain.Instance{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.b.decide(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		w.unheard = true
		if err := w.kill(a); err != nil {
			t.Fatal(err)
		}
		w.unheard = false
		if err := w.b.carryOut(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		w.want(a, "cancelled/killed")
		w.want(b, "running/dispatched")
		if s := w.b.Stats(); s.InFlight != 1 {
			t.Fatalf("%d in flight", s.InFlight)
		}
	})
}

func TestADefinitionThatCannotBeReadStopsItsOwnInstancesOnly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		broken, job := w.job(domain.JobSpec{}), w.job(domain.JobSpec{})
		w.bad[broken] = errors.New("unexpected end of JSON input")
		a, b := w.ready(broken), w.ready(job)
		w.worker("w", 4)
		w.do(w.b.round)
		w.want(a, "running/queued")
		w.want(b, "running/dispatched")
		w.bad[job] = errDatabase
		w.ready(job)
		if err := w.b.round(t.Context()); !domain.Is(err, domain.Unavailable) {
			t.Fatalf("a database that is away: %v", err)
		}
	})
}

// Who does not answer is not sent the same again and again. (J-B11)
func TestWhoDidNotAcknowledgeIsAskedLastAndThenWithOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		w.worker("deaf", 4)
		w.ready(job)
		w.do(w.b.round)
		w.b.heardAll(time.Now())
		time.Sleep(6 * time.Second)
		w.b.mem.heard = time.Now()
		w.do(w.b.sweep)
		if w.count("running/queued") != 1 {
			t.Fatal("the attempt was not taken back")
		}
		w.worker("good", 4)
		for range 10 {
			w.ready(job)
		}
		w.do(w.b.round)
		if n := w.b.mem.targets["deaf"].live[domain.LaneDefault]; n != 0 {
			t.Fatalf("deaf was given %d although another had room", n)
		}
		w.lose("good", "has been silent")
		w.do(w.b.inspect)
		w.do(w.b.round)
		w.do(w.b.round)
		if n := w.b.mem.targets["deaf"].live[domain.LaneDefault]; n != 1 {
			t.Fatalf("deaf was given %d, want one to try", n)
		}
		for id, a := range w.attempts {
			if a.State == domain.AttemptSent {
				w.hear(claim("deaf", "n", id))
			}
		}
		w.do(w.b.round)
		if n := w.b.mem.targets["deaf"].live[domain.LaneDefault]; n != 11 {
			t.Fatalf("after its claim it has %d of 11", n)
		}
	})
}

func TestWhoRefusesIsLeftInPeaceForAWhile(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		ids := []domain.ID{w.ready(job), w.ready(job)}
		w.worker("w", 4)
		w.do(w.b.round)
		first := w.ins[ids[0]].AttemptID
		other := protocol.Uplink{Worker: "x", Boot: 1, Refuse: &protocol.Refuse{IDs: []int64{int64(w.ins[ids[1]].AttemptID)}, Reason: "forged"}}
		w.hear(other, protocol.Uplink{Worker: "w", Boot: 1, Refuse: &protocol.Refuse{IDs: []int64{int64(first)}, Reason: "clock"}})
		w.want(ids[0], "running/queued")
		w.want(ids[1], "running/dispatched")
		if a := w.attempts[first]; a.State != domain.AttemptWithdrawn || a.Outcome != domain.OutcomeRefused {
			t.Fatalf("the attempt is %s/%s", a.State, a.Outcome)
		}
		for range 20 {
			w.do(w.b.round)
		}
		w.want(ids[0], "running/queued")
		w.hear(claim("w", "n", w.ins[ids[1]].AttemptID))
		time.Sleep(refusalPause + time.Second)
		w.do(w.b.round)
		w.want(ids[0], "running/dispatched")
	})
}

func TestWhatIsRefusedAfterItsGrantIsNotSentBackAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.start()
		w.end(id, domain.OutcomeRefused)
		w.want(id, "running/queued")
		w.do(w.b.round)
		w.want(id, "running/queued")
		w.worker("x", 4)
		w.do(w.b.round)
		if a := w.attempts[w.ins[id].AttemptID]; a.Target != "x" {
			t.Fatalf("it went to %s", a.Target)
		}
	})
}

func TestWhenSendingFailsTheQueueIsNotFed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		for i := range 5 {
			w.worker(fmt.Sprint("w", i), 300)
		}
		for range 400 {
			w.ready(job)
		}
		w.sendErr = errors.New("connection refused")
		w.do(w.b.round)
		if n := w.b.Stats().Unsent; n != sendTries {
			t.Fatalf("%d sendings were tried, want %d", n, sendTries)
		}
		late := w.ready(job)
		w.do(w.b.round)
		w.want(late, "running/queued")
		w.sendErr = nil
		time.Sleep(mutePause)
		w.do(w.b.round)
		w.want(late, "running/dispatched")
	})
}

// What takes no thread has a room of its own: it neither waits for threads nor
// takes the room of what needs one.
func TestWhatTakesNoThreadHasItsOwnRoom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 1, func(k *domain.Worker) { k.Types, k.Threadless = []string{"shell", "noop"}, []string{"noop"} })
		long, light := w.job(domain.JobSpec{}), w.job(domain.JobSpec{Exec: domain.Exec{Type: "noop"}})
		for range 40 {
			w.ready(long)
		}
		for range 300 {
			w.ready(light)
		}
		w.do(w.b.round)
		count := map[domain.ID]int{}
		for _, a := range w.attempts {
			count[w.ins[a.InstanceID].JobID]++
		}
		if count[long] != 1+minPrefetch || count[light] != 300 {
			t.Errorf("sent %d that take a thread and %d that take none, want %d and 300", count[long], count[light], 1+minPrefetch)
		}
	})
}

package broker

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// partsOf are the shards of an instance in order.
func (w *world) partsOf(id domain.ID) []domain.Instance {
	var out []domain.Instance
	for _, in := range w.ins {
		if in.PartOf == id {
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(a, b domain.Instance) int { return a.Shard - b.Shard })
	return out
}

// A sharded job is split when its turn has come, its shards go to whoever has room, and the
// next instance of the job waits for all of them.
func TestASplitInstanceIsInTheWayAndItsShardsAreNot(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue, Shards: 3})
		w.worker("w0", 2)
		w.worker("w1", 2)
		first := w.ready(job)
		next := w.ready(job, on("2026-03-09"))
		w.do(w.b.round)
		w.start()
		if len(w.partsOf(first)) != 3 || len(w.partsOf(next)) != 0 {
			t.Fatalf("split: %d and %d shards", len(w.partsOf(first)), len(w.partsOf(next)))
		}
		w.want(next, "running/held_overlap")
		for _, p := range w.partsOf(first) {
			w.want(p.ID, "running/dispatched")
		}
		for _, a := range w.attempts {
			if a.InstanceID == first {
				t.Errorf("the whole was sent: %+v", a)
			}
		}
		w.b = w.broker() // a successor knows the same
		w.b.active.Store(true)
		w.do(w.b.load)
		w.do(w.b.inspect)
		w.b.parts.take()
		for _, p := range w.partsOf(first) {
			w.end(p.ID, domain.OutcomeSuccess)
		}
		if got := w.b.parts.take(); !slices.Equal(got, []domain.ID{first}) {
			t.Errorf("to be gathered: %v", got)
		}
		w.do(w.b.sweep)
		w.do(w.b.round)
		w.want(next, "running/held_overlap") // its shards have ended; it has not
		if err := w.commit([]domain.ID{first}, func(in domain.Instance) (domain.Instance, domain.MoveName) {
			return to(in, domain.Success, ""), domain.MoveSucceed
		}); err != nil {
			t.Fatal(err)
		}
		w.do(w.b.sweep)
		w.do(w.b.round)
		w.do(w.b.round)
		if len(w.partsOf(next)) != 3 {
			t.Errorf("the next one is %s", w.ins[next].Status)
		}
	})
}

// A broadcast goes once to each worker that could run it when it starts, and to no other; its
// shards wait for their own worker.
func TestABroadcastIsForThoseThatAreThereWhenItStarts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		tagged := func(x *domain.Worker) { x.Tags = []string{"branch"} }
		job := w.job(domain.JobSpec{Broadcast: true, Tags: []string{"branch"}})
		w.worker("head", 4)
		id := w.ready(job)
		w.do(w.b.round)
		if w.want(id, "running/queued"); len(w.partsOf(id)) != 0 {
			t.Fatal("split for nobody")
		}
		w.worker("south", 4, tagged)
		w.worker("north", 4, tagged)
		w.worker("draining", 4, tagged, func(x *domain.Worker) { x.State = domain.WorkerDraining })
		w.worker("other", 4, tagged, func(x *domain.Worker) { x.Types = []string{"http"} })
		w.do(w.b.round)
		got := w.partsOf(id)
		if len(got) != 2 || got[0].Worker != "north" || got[1].Worker != "south" {
			t.Fatalf("for %+v", got)
		}
		w.lose("north", "silent")
		w.do(w.b.inspect)
		w.worker("late", 4, tagged)
		w.start()
		w.want(got[0].ID, "running/queued")
		w.want(got[1].ID, "running/dispatched")
		if a := w.attempts[w.ins[got[1].ID].AttemptID]; a.Target != "south" {
			t.Errorf("the shard of south went to %s", a.Target)
		}
		time.Sleep(poll)
		w.do(w.b.round)
		w.want(got[0].ID, "running/queued")
		w.worker("north", 4, tagged)
		w.do(w.b.round)
		if a := w.attempts[w.ins[got[0].ID].AttemptID]; a.Target != "north" {
			t.Errorf("the shard of north went to %q", a.Target)
		}
		if len(w.partsOf(id)) != 2 {
			t.Error("who came later got one too")
		}
	})
}

// What is to be split is given nobody while it is being made.
func TestWhatIsToBeSplitIsNotAssignedEarly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w0", 4)
		m := w.making(w.job(domain.JobSpec{Shards: 2}), w.job(domain.JobSpec{Broadcast: true}), w.job(domain.JobSpec{}))
		if len(m.given) != 1 || m.given[0].Instance.ID != m.ins[2].ID {
			t.Errorf("given: %+v", m.given)
		}
		m.commit()
		w.do(w.b.round)
		if len(w.partsOf(m.ins[0].ID)) != 2 || len(w.partsOf(m.ins[1].ID)) != 1 {
			t.Errorf("split into %d and %d", len(w.partsOf(m.ins[0].ID)), len(w.partsOf(m.ins[1].ID)))
		}
	})
}

// A gathering that fails is done again, and many shards that move together are one look.
func TestGatheringIsRepeatedUntilItIsDone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		w.gatherErr = errDatabase
		go func() { ended <- w.b.gatherParts(ctx) }()
		for range 5 {
			w.b.Changed([]domain.Change{{Move: domain.MoveSucceed, Instance: domain.Instance{ID: 5, Sharding: domain.Sharding{PartOf: 4, Shards: 3}, Status: domain.Status{State: domain.Success}}}})
		}
		time.Sleep(time.Second)
		stop()
		if err := <-ended; err != nil || !slices.Equal(w.gathered, []domain.ID{4}) {
			t.Errorf("gathered %v: %v", w.gathered, err)
		}
	})
}

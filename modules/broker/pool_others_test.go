package broker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// watched notes, beside the world, what is moved together and when something is sent.
type watched struct {
	*world
	calls  []int // how many were made ready at a time
	splits []int // into how many shards at a time
	onSend func([]domain.Assignment)
}

func watching(w *world) *watched {
	x := &watched{world: w, onSend: func([]domain.Assignment) {}}
	w.b.Overlaps, w.b.Queue, w.b.Shards = x, x, x
	return x
}

// UnholdPool notes how many.
func (x *watched) UnholdPool(ctx context.Context, ids []domain.ID) ([]domain.ID, error) {
	x.calls = append(x.calls, len(ids))
	return x.world.UnholdPool(ctx, ids)
}

// Dispatch tells what is sent.
func (x *watched) Dispatch(ctx context.Context, as []domain.Assignment) ([]domain.Attempt, error) {
	x.onSend(as)
	return x.world.Dispatch(ctx, as)
}

// Split notes how many.
func (x *watched) Split(ctx context.Context, splits []domain.Split) error {
	n := 0
	for _, s := range splits {
		n += s.Shards
	}
	x.splits = append(x.splits, n)
	return x.world.Split(ctx, splits)
}

// What no worker can run holds up the others of its own version; a version that asks for something else has places.
func TestAVersionThatNobodyCanRunHoldsUpNoOtherInThePool(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 50)
		w.limit("db", 1)
		blocks := w.ready(w.job(domain.JobSpec{Pool: "db"}), in("db"))
		w.rest()
		job := w.job(domain.JobSpec{Pool: "db", Tags: []string{"gpu"}})
		w.second[job] = domain.JobSpec{Exec: domain.Exec{Type: "shell"}, Overlap: domain.OverlapAllow, Pool: "db"}
		for range 3 {
			w.ready(job, in("db"))
		}
		w.rest()
		mended := w.ready(job, in("db"), due(time.Now().Add(time.Minute)), func(in *domain.Instance) { in.Version = 2 })
		w.rest()
		w.end(blocks, domain.OutcomeSuccess)
		w.rest()
		w.want(mended, "running/dispatched")
	})
}

// One whose definition cannot be read keeps no place from the others, and takes one when it can be.
func TestOneThatCannotBeReadKeepsNoPlace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 50)
		w.limit("db", 1)
		job, bad := w.job(domain.JobSpec{Pool: "db"}), w.job(domain.JobSpec{Pool: "db"})
		blocks := w.ready(job, in("db"))
		w.rest()
		unread, next := w.ready(bad, in("db")), w.ready(job, in("db"))
		w.rest()
		w.bad[bad] = errors.New("unexpected end of JSON input")
		w.end(blocks, domain.OutcomeSuccess)
		w.rest()
		w.want(next, "running/dispatched")
		delete(w.bad, bad)
		w.end(next, domain.OutcomeSuccess)
		time.Sleep(poll)
		w.rest()
		w.want(unread, "running/dispatched")
	})
}

// A limit is raised for thousands: what has nothing to do with the pool is sent before all of them have been made ready.
func TestARaisedLimitDelaysNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const many = 4000
		w.worker("w", 50)
		w.limit("db", 0)
		job := w.job(domain.JobSpec{Pool: "db"})
		for range many {
			w.ready(job, in("db"))
		}
		w.rest()
		x := watching(w)
		w.limit("db", many)
		w.b.Nudge("ready")
		stranger := w.ready(w.job(domain.JobSpec{}), lane(domain.LaneHigh))
		x.onSend = func(as []domain.Assignment) {
			if slices.ContainsFunc(as, func(a domain.Assignment) bool { return a.Instance.ID == stranger }) && len(x.calls) > 2 {
				t.Errorf("it was sent after %d lots of the pool had been made ready", len(x.calls))
			}
		}
		w.start()
		w.want(stranger, "running/dispatched")
		for range many / 50 {
			for _, id := range w.placed("db") {
				w.end(id, domain.OutcomeSuccess)
			}
			time.Sleep(poll)
			w.start()
		}
		if n := w.count("running/held_pool"); n != 0 {
			t.Errorf("%d wait still", n)
		}
	})
}

// Thousands that waited were ended by another process, unheard: a few readings find it, not one try for each.
func TestThousandsThatWaitNoMoreAreFoundTogether(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 50)
		w.limit("db", 1)
		job := w.job(domain.JobSpec{Pool: "db"})
		first := w.ready(job, in("db"))
		w.rest()
		var gone []domain.ID
		for range 3000 {
			gone = append(gone, w.ready(job, in("db")))
		}
		last := w.ready(job, in("db"), due(time.Now().Add(time.Hour)))
		w.rest()
		w.unheard = true
		if err := w.kill(gone...); err != nil {
			t.Fatal(err)
		}
		w.unheard = false
		w.end(first, domain.OutcomeSuccess)
		x := watching(w)
		w.asked = 0
		w.do(w.b.round)
		w.want(last, "running/dispatched")
		if len(x.calls) > 20 || w.asked > 20 {
			t.Errorf("%d tries and %d readings", len(x.calls), w.asked)
		}
	})
}

// Many runs that become ready together are split a part at a time: one transaction of all would keep everybody waiting.
func TestManyAreSplitAPartAtATime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 50)
		var all []domain.ID
		for range 12 {
			all = append(all, w.ready(w.job(domain.JobSpec{Shards: 300})))
		}
		all = append(all, w.ready(w.job(domain.JobSpec{Shards: domain.MaxShards})))
		stranger := w.ready(w.job(domain.JobSpec{}))
		x := watching(w)
		w.start()
		w.want(stranger, "running/dispatched")
		for range 40 {
			for _, in := range w.ins {
				if takes(in) {
					w.end(in.ID, domain.OutcomeSuccess)
				}
			}
			time.Sleep(lookEach)
			w.start()
		}
		if most := slices.Max(x.splits); most > domain.MaxShards {
			t.Errorf("%d shards at a time", most)
		}
		for _, id := range all {
			if len(w.partsOf(id)) == 0 {
				t.Errorf("%s was not split", id)
			}
		}
	})
}

// Just after a take-over not every worker has been seen to live: a broadcast waits until that is known of each.
func TestABroadcastWaitsUntilItIsKnownWhoIsThere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.unheardOf = true
		w.worker("north", 4)
		id, other := w.ready(w.job(domain.JobSpec{Broadcast: true})), w.ready(w.job(domain.JobSpec{}))
		pages := len(w.pages)
		for range 4 {
			w.start()
			time.Sleep(poll)
		}
		w.want(other, "running/dispatched")
		if n := len(w.partsOf(id)); n != 0 {
			t.Fatalf("it went to %d, and there is another", n)
		}
		if n := len(w.pages) - pages; n > 30 {
			t.Errorf("%d pages were read meanwhile", n)
		}
		w.unheardOf = false
		w.worker("south", 4)
		time.Sleep(poll)
		w.start()
		if n := len(w.partsOf(id)); n != 2 {
			t.Errorf("it went to %d", n)
		}
	})
}

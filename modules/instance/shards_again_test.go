package instance_test

import (
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// again runs an instance again and splits it, for these workers if any are named.
func (w *world) again(in domain.Instance, n int, workers ...string) []domain.Instance {
	w.t.Helper()
	_, err := w.life.Rerun(w.t.Context(), in.ID, "ana", "once more")
	w.ok(err)
	w.ok(w.life.Split(w.t.Context(), []domain.Split{{Instance: w.get(in.ID), Shards: n, Workers: workers}}))
	return w.shards(in)
}

// standing checks how the shards stand.
func (w *world) standing(shards []domain.Instance, want ...domain.Status) {
	w.t.Helper()
	var got []domain.Status
	for _, s := range shards {
		got = append(got, s.Status)
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("the shards stand %v, want %v", got, want)
	}
}

// A run between that ended before it was split, by a person or its queue_timeout, forgets nothing of what the run before it did.
func TestWhatIsDoneStaysDoneOverARunThatWasNeverSplit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.split(2)
		w.report(w.run(w.shards(in)[0].ID), domain.OutcomeSuccess, "")
		w.report(w.run(w.shards(in)[1].ID), domain.OutcomeError, "exit code 1")
		w.gather(in)
		_, err := w.life.Rerun(t.Context(), in.ID, "ana", "too early")
		w.ok(err)
		_, err = w.life.Kill(t.Context(), in.ID, "ana", "")
		w.ok(err)
		third := w.again(in, 2)
		w.standing(third, success, running(domain.Queued))
		if third[0].Message != "kept from run 1" {
			t.Errorf("it says %q", third[0].Message)
		}
	})
}

// A worker of a broadcast that was away in one run has not lost what it did in the run before that.
func TestABroadcastKeepsWhatAWorkerDidThatWasAwayMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		w.ok(w.life.Split(t.Context(), []domain.Split{{Instance: w.get(in.ID), Shards: 2, Workers: []string{"north", "south"}}}))
		w.report(w.run(w.shards(in)[0].ID), domain.OutcomeSuccess, "")
		w.report(w.run(w.shards(in)[1].ID), domain.OutcomeError, "")
		w.gather(in)
		second := w.again(in, 1, "south")
		w.report(w.run(second[0].ID), domain.OutcomeError, "")
		w.gather(in)
		w.standing(w.again(in, 2, "north", "south"), success, running(domain.Queued))
	})
}

// The time that an instance waited before it was split counts into its shards' queue_timeout.
func TestAQueueTimeoutDoesNotBeginAnewWithTheSplit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.specs[jobA]
		s.QueueTimeoutSec = 600
		w.specs[jobA] = s
		in := w.fire(jobA)
		limit := in.WakeAt
		w.pass(500 * time.Second)
		w.ok(w.life.HoldPool(t.Context(), []domain.ID{in.ID}))
		_, err := w.life.UnholdPool(t.Context(), []domain.ID{in.ID})
		w.ok(err)
		w.ok(w.life.Split(t.Context(), []domain.Split{{Instance: w.get(in.ID), Shards: 2}}))
		for _, s := range w.shards(in) {
			if !s.WakeAt.Equal(limit) {
				t.Errorf("shard %d waits until %s, the instance until %s", s.Shard, s.WakeAt, limit)
			}
		}
	})
}

// The first start of a shard is the instance's start, also when that shard is tried again: it is counted once, and stays.
func TestARetriedShardStartsItsInstanceOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.specs[jobA]
		s.Retry = domain.Retry{Times: 2, BackoffSec: []int{30}}
		w.specs[jobA] = s
		in := w.split(2)
		shards := w.shards(in)
		w.pass(time.Second)
		first := w.run(shards[0].ID)
		began := w.gather(in).StartedAt
		w.pass(time.Second)
		w.report(first, domain.OutcomeError, "")
		for range 2 {
			w.gather(in)
			w.pass(31 * time.Second)
			_, err := w.life.Wake(t.Context(), 100)
			w.ok(err)
			sent := w.dispatch(shards[0].ID)
			if got := w.gather(in); !got.StartedAt.Equal(began) {
				t.Errorf("its first try began at %s; sent again, the instance says %s", began, got.StartedAt)
			}
			w.grant(sent)
			w.start(sent)
			w.gather(in)
			w.report(sent, domain.OutcomeError, "")
		}
		starts := 0
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.told {
			if c.Move == domain.MoveStart {
				starts++
			}
		}
		if began.IsZero() || starts != 1 {
			t.Errorf("began at %s; the tally was told of %d starts", began, starts)
		}
	})
}

// What one definition says that cannot be read keeps nobody else waiting: neither what is due by time, nor what a target
// did not take, nor what a lost worker held. Nobody knows whether it may run twice, so a person is asked.
func TestADefinitionThatCannotBeReadHoldsUpNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, job := range []domain.ID{jobA, jobB} {
			s := w.specs[job]
			s.Retry, s.OnWorkerLost = domain.Retry{Times: 3, BackoffSec: []int{30}}, domain.LossRetry
			w.specs[job] = s
		}
		bad := []domain.Instance{w.fire(jobB), w.fire(jobB), w.fire(jobB)}
		good := []domain.Instance{w.fire(jobA), w.fire(jobA), w.fire(jobA)}
		var sent, lost []domain.ID
		for _, of := range [][]domain.Instance{bad, good} {
			w.report(w.run(of[0].ID), domain.OutcomeError, "")
			sent = append(sent, w.dispatch(of[1].ID).ID)
			lost = append(lost, w.run(of[2].ID).ID)
		}
		spec := w.specs[jobB]
		w.mu.Lock()
		delete(w.specs, jobB)
		w.mu.Unlock()
		w.pass(31 * time.Second)
		for range 3 {
			_, err := w.life.Wake(t.Context(), 100)
			w.ok(err)
		}
		_, err := w.life.Withdraw(t.Context(), sent, domain.OutcomeNoAck, "no ack")
		w.ok(err)
		w.ok(w.life.Lost(t.Context(), lost, "silent", time.Time{}))
		for _, in := range good {
			w.is(in.ID, running(domain.Queued))
		}
		w.is(bad[0].ID, domain.Status{State: domain.Retrying, Label: domain.Backoff})
		w.is(bad[1].ID, running(domain.Queued))
		w.is(bad[2].ID, running(domain.Orphan))
		w.mu.Lock()
		w.specs[jobB] = spec
		w.mu.Unlock()
		w.pass(2 * time.Minute)
		_, err = w.life.Wake(t.Context(), 100)
		w.ok(err)
		w.is(bad[0].ID, running(domain.Queued))
	})
}

// Of a run again too the first start is the start: what the run before did is none of it, and neither is the retry.
func TestTheFirstStartOfARunAgainIsItsStart(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.specs[jobA]
		s.Retry = domain.Retry{Times: 1, BackoffSec: []int{1}}
		w.specs[jobA] = s
		in := w.split(5)
		shards := w.shards(in)
		for i, s := range shards {
			if i != 3 {
				w.report(w.run(s.ID), domain.OutcomeSuccess, "")
			}
		}
		fails := func(id domain.ID) (first domain.Instance) {
			for n := range 2 {
				sent := w.run(id)
				w.pass(10 * time.Millisecond)
				w.report(sent, domain.OutcomeError, "exit code 1")
				if n == 0 {
					first = w.gather(in)
					w.pass(2 * time.Second)
					_, err := w.life.Wake(t.Context(), 100)
					w.ok(err)
				}
			}
			return first
		}
		fails(shards[3].ID)
		w.gather(in)
		w.pass(time.Second)
		again := w.again(in, 5)
		w.standing(again, success, success, success, running(domain.Queued), success)
		w.pass(time.Second)
		opened := w.now()
		first := fails(again[3].ID)
		got := w.gather(in)
		if got.State != domain.Failed || first.StartedAt.Before(opened) || !got.StartedAt.Equal(first.StartedAt) || got.FinishedAt.Sub(got.StartedAt) < 2*time.Second {
			t.Errorf("opened %s, first started %s; the run says %s to %s, %s", opened, first.StartedAt, got.StartedAt, got.FinishedAt, got.Status)
		}
	})
}

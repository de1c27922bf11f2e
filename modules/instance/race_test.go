package instance_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

const (
	kills       = 1000 // on each store
	withdrawals = 300
	atOnce      = 4 // pairs under way
)

// race sends so many instances and lets two things happen to each in the same moment, after what comes before; it returns
// the attempts.
func (w *world) race(n int, one, other func(domain.Attempt) error, before ...func(domain.Attempt)) []domain.Attempt {
	w.t.Helper()
	news := make([]domain.NewInstance, n)
	for i := range news {
		news[i] = w.newOf(jobA, w.now().Add(time.Duration(i)*time.Second))
	}
	ins, err := w.life.Create(w.t.Context(), news)
	w.ok(err)
	sent := make([]domain.Assignment, n)
	for i, in := range ins {
		sent[i] = domain.Assignment{Instance: in, Attempt: w.life.IDs.Next(), Target: "w1", Boot: 1, MessageID: "m1"}
	}
	as, err := w.life.Dispatch(w.t.Context(), sent)
	w.ok(err)
	for _, a := range as {
		for _, first := range before {
			first(a)
		}
	}
	next := make(chan domain.Attempt)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for a := range next {
				w.together(func() error { return one(a) }, func() error { return other(a) })
			}
		})
	}
	for _, a := range as {
		next <- a
	}
	close(next)
	all.Wait()
	return as
}

// together calls both from the same moment on.
func (w *world) together(calls ...func() error) {
	gate := make(chan struct{})
	var both sync.WaitGroup
	for _, call := range calls {
		both.Go(func() {
			<-gate
			if err := call(); err != nil {
				w.t.Error(err)
			}
		})
	}
	close(gate)
	both.Wait()
}

// granting returns a claim of an attempt's own target, and what was granted.
func (w *world) granting() (func(domain.Attempt) error, map[domain.ID]bool) {
	var mu sync.Mutex
	granted := map[domain.ID]bool{}
	return func(a domain.Attempt) error {
		tasks, denied, err := w.life.Grant(context.Background(), []domain.Claim{claim(a)})
		mu.Lock()
		defer mu.Unlock()
		if granted[a.ID] = tasks[a.ID] != nil; err == nil && granted[a.ID] == (denied[a.ID] != "") {
			return fmt.Errorf("attempt %s: a task and a refusal, or neither: %q", a.ID, denied[a.ID])
		}
		return err
	}, granted
}

// stand reads attempts and their instances.
func (w *world) stand(as []domain.Attempt) (map[domain.ID]domain.Instance, map[domain.ID]domain.Attempt) {
	w.t.Helper()
	owners, ids := make([]domain.ID, len(as)), make([]domain.ID, len(as))
	for i, a := range as {
		owners[i], ids[i] = a.InstanceID, a.ID
	}
	instances, err := w.st.ByIDs(w.t.Context(), owners)
	w.ok(err)
	attempts, err := w.st.Attempts(w.t.Context(), ids)
	w.ok(err)
	return instances, attempts
}

// came counts how races ended, each of which must be one of those wanted.
func (w *world) came(as []domain.Attempt, granted map[domain.ID]bool, want ...string) {
	w.t.Helper()
	ends := map[string]int{}
	instances, attempts := w.stand(as)
	for _, a := range as {
		ends[fmt.Sprintf("%s, attempt %s, task %t", instances[a.InstanceID].Status, attempts[a.ID].State, granted[a.ID])]++
	}
	w.t.Logf("%d races: %v", len(as), ends)
	for _, end := range want {
		delete(ends, end)
	}
	if len(ends) > 0 {
		w.t.Errorf("races came to %v, want only %q", ends, want)
	}
}

// A kill meets the grant in the same moment: cancelled and never run, or run and then killed; never both, never again. (G-C10)
func TestKillAgainstGrant(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := shell("a")
		s.Retry = domain.Retry{Times: 3, BackoffSec: []int{1, 1, 1}}
		w.specs[jobA] = s
		grant, granted := w.granting()
		as := w.race(kills, grant, func(a domain.Attempt) error {
			_, err := w.life.Kill(context.Background(), a.InstanceID, "ana", "")
			return err
		})
		w.came(as, granted, "cancelled/killed, attempt withdrawn, task false", "running/stopping, attempt granted, task true")
		var said []protocol.Report
		for _, a := range as {
			if granted[a.ID] {
				said = append(said, reportOf(a, domain.OutcomeKilled, "", w.now()))
			}
		}
		w.ok(w.life.Apply(t.Context(), []protocol.Uplink{{Worker: "w1", Boot: 1, Reports: said}}))
		w.pass(time.Minute)
		w.wake(0)
		instances, _ := w.stand(as)
		claims := make([]domain.Claim, len(as))
		for i, a := range as {
			claims[i] = claim(a)
			if got := instances[a.InstanceID].Status; got != cancelled(domain.Killed) {
				t.Fatalf("instance %s is %s", a.InstanceID, got)
			}
		}
		if tasks, _, err := w.life.Grant(t.Context(), claims); err != nil || len(tasks) > 0 {
			t.Errorf("%d that were killed are granted afterwards (%v)", len(tasks), err)
		}
	})
}

// A withdrawal meets the grant in the same moment: the attempt is taken back or granted, never both.
func TestWithdrawalAgainstGrant(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		grant, granted := w.granting()
		var mu sync.Mutex
		taken := map[domain.ID]bool{}
		as := w.race(withdrawals, grant, func(a domain.Attempt) error {
			ids, err := w.life.Withdraw(context.Background(), []domain.ID{a.ID}, domain.OutcomeNoAck, "no ack")
			mu.Lock()
			defer mu.Unlock()
			taken[a.ID] = len(ids) == 1
			return err
		})
		w.came(as, granted, "running/queued, attempt withdrawn, task false", "running/dispatched, attempt granted, task true")
		for _, a := range as {
			if taken[a.ID] == granted[a.ID] {
				t.Fatalf("attempt %s: taken back %t, granted %t", a.ID, taken[a.ID], granted[a.ID])
			}
		}
	})
}

// The report of a success meets the sweeper that takes its worker for lost, in the same moment: it ends as a success, by
// that attempt and for good, whoever was first. (G-C11)
func TestReportAgainstLoss(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		report := func(a domain.Attempt) error {
			return w.life.Apply(context.Background(), []protocol.Uplink{{Worker: "w1", Boot: 1, Reports: []protocol.Report{reportOf(a, domain.OutcomeSuccess, "", w.now())}}})
		}
		as := w.race(withdrawals, report, func(a domain.Attempt) error {
			return w.life.Lost(context.Background(), []domain.ID{a.ID}, "silent", time.Time{})
		}, func(a domain.Attempt) { w.grant(a); w.start(a) })
		w.came(as, nil, "success, attempt ended, task false")
		instances, attempts := w.stand(as)
		claims := make([]domain.Claim, len(as))
		for i, a := range as {
			claims[i] = claim(a)
			in, was := instances[a.InstanceID], attempts[a.ID]
			if in.AttemptID != a.ID || in.Attempts != 1 || in.FinishedAt.IsZero() || was.Outcome != domain.OutcomeSuccess {
				t.Fatalf("instance %+v, attempt %+v", in, was)
			}
		}
		for range 2 { // what both say again moves nothing
			for _, a := range as[:20] {
				w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "silent", time.Time{}))
				w.ok(report(a))
			}
		}
		if tasks, _, err := w.life.Grant(t.Context(), claims); err != nil || len(tasks) > 0 {
			t.Errorf("%d that succeeded are granted afterwards (%v)", len(tasks), err)
		}
		w.came(as, nil, "success, attempt ended, task false")
	})
}

// What comes late, twice, from others or out of turn is answered and moves nothing; what is of use to a reader is kept. (J-C3, J-C4)
func TestReportsThatMoveNothing(t *testing.T) {
	from := func(worker string, a domain.Attempt, o domain.Outcome) protocol.Uplink {
		return protocol.Uplink{Worker: worker, Boot: 1, Reports: []protocol.Report{reportOf(a, o, "said", time.Unix(1_800_000_000, 0))}}
	}
	for name, c := range map[string]struct {
		to   func(w *world, in domain.Instance) domain.Attempt // brings the instance to its place; the attempt reported of
		says func(a domain.Attempt) protocol.Uplink
		want domain.Status
		kept bool // the attempt keeps a note of it
	}{
		"repeated": {to: func(w *world, in domain.Instance) domain.Attempt {
			a := w.run(in.ID)
			w.report(a, domain.OutcomeSuccess, "")
			return a
		}, says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeSuccess) }, want: success},
		"repeated otherwise": {to: func(w *world, in domain.Instance) domain.Attempt {
			a := w.run(in.ID)
			w.report(a, domain.OutcomeSuccess, "")
			return a
		}, says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeError) }, want: success},
		"late, a later attempt is granted": {to: func(w *world, in domain.Instance) domain.Attempt {
			a := w.run(in.ID)
			w.ok(w.life.Lost(w.t.Context(), []domain.ID{a.ID}, "silent", time.Time{}))
			w.grant(w.dispatch(in.ID))
			return a
		}, says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeSuccess) }, want: running(domain.Dispatched), kept: true},
		"late failure, nothing is granted since": {to: func(w *world, in domain.Instance) domain.Attempt {
			a := w.run(in.ID)
			w.ok(w.life.Lost(w.t.Context(), []domain.ID{a.ID}, "silent", time.Time{}))
			return a
		}, says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeError) }, want: running(domain.Queued), kept: true},
		"foreign": {to: func(w *world, in domain.Instance) domain.Attempt { return w.run(in.ID) },
			says: func(a domain.Attempt) protocol.Uplink { return from("w2", a, domain.OutcomeSuccess) }, want: running(domain.Executing)},
		"forged: the first attempt's, while the second runs": {to: func(w *world, in domain.Instance) domain.Attempt {
			a := w.run(in.ID)
			w.report(a, domain.OutcomeRefused, "draining")
			w.run(in.ID)
			return a
		}, says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeSuccess) }, want: running(domain.Executing)},
		"of no attempt": {to: func(w *world, in domain.Instance) domain.Attempt { return w.run(in.ID) },
			says: func(a domain.Attempt) protocol.Uplink { a.ID += 1 << 40; return from("w1", a, domain.OutcomeSuccess) }, want: running(domain.Executing)},
		"success before the grant": {to: func(w *world, in domain.Instance) domain.Attempt { return w.dispatch(in.ID) },
			says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeSuccess) }, want: running(domain.Dispatched), kept: true},
		"failure before the grant": {to: func(w *world, in domain.Instance) domain.Attempt { return w.dispatch(in.ID) },
			says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeError) }, want: running(domain.Dispatched), kept: true},
		"start before the grant": {to: func(w *world, in domain.Instance) domain.Attempt { return w.dispatch(in.ID) },
			says: func(a domain.Attempt) protocol.Uplink {
				return protocol.Uplink{Worker: "w1", Boot: 1, Started: []protocol.Started{{Attempt: int64(a.ID), At: 1}}}
			}, want: running(domain.Dispatched)},
		"after it was taken back": {to: func(w *world, in domain.Instance) domain.Attempt {
			a := w.dispatch(in.ID)
			_, err := w.life.Withdraw(w.t.Context(), []domain.ID{a.ID}, domain.OutcomeNoAck, "no ack")
			w.ok(err)
			return a
		}, says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeSuccess) }, want: running(domain.Queued), kept: true},
		"after the kill was confirmed": {to: func(w *world, in domain.Instance) domain.Attempt {
			a := w.run(in.ID)
			_, err := w.life.Kill(w.t.Context(), in.ID, "ana", "")
			w.ok(err)
			w.report(a, domain.OutcomeKilled, "")
			return a
		}, says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeSuccess) }, want: cancelled(domain.Killed)},
		"its start, after the kill": {to: func(w *world, in domain.Instance) domain.Attempt {
			a := w.dispatch(in.ID)
			w.grant(a)
			_, err := w.life.Kill(w.t.Context(), in.ID, "ana", "")
			w.ok(err)
			w.report(a, domain.OutcomeKilled, "")
			return a
		}, says: func(a domain.Attempt) protocol.Uplink {
			return protocol.Uplink{Worker: "w1", Boot: 1, Started: []protocol.Started{{Attempt: int64(a.ID), At: 1}}}
		}, want: cancelled(domain.Killed)},
		"success after its time-out": {to: func(w *world, in domain.Instance) domain.Attempt {
			a := w.run(in.ID)
			w.report(a, domain.OutcomeTimeout, "")
			return a
		}, says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeSuccess) }, want: failed(domain.Timeout)},
		"success after it was lost for good": {to: func(w *world, in domain.Instance) domain.Attempt {
			var a domain.Attempt
			for range 4 {
				a = w.run(in.ID)
				w.ok(w.life.Lost(w.t.Context(), []domain.ID{a.ID}, "silent", time.Time{}))
			}
			return a
		}, says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeSuccess) }, want: failed(domain.WorkerLost), kept: true},
		"of the run before": {to: func(w *world, in domain.Instance) domain.Attempt {
			a := w.run(in.ID)
			w.report(a, domain.OutcomeError, "")
			_, err := w.life.Rerun(w.t.Context(), in.ID, "ana", "")
			w.ok(err)
			w.run(in.ID)
			return a
		}, says: func(a domain.Attempt) protocol.Uplink { return from("w1", a, domain.OutcomeSuccess) }, want: running(domain.Executing)},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				in := w.fire(jobA)
				a := c.to(w, in)
				before, moves := w.get(in.ID), len(w.moves(in.ID))
				for range 2 {
					w.ok(w.life.Apply(t.Context(), []protocol.Uplink{c.says(a)})) // nil: it is confirmed, so that it is not said for ever
				}
				after := w.is(in.ID, c.want)
				if after.Ver != before.Ver || after.AttemptID != before.AttemptID || len(w.moves(in.ID)) != moves {
					t.Errorf("it moved: %+v, then %+v", before, after)
				}
				if kept := w.attempt(a.ID).Late; (kept != "") != c.kept {
					t.Errorf("kept of it: %q", kept)
				}
			})
		})
	}
}

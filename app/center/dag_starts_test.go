package center

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/dbtest"
)

// J-D13 with on_upstream_failure: run, and checks of an end that is no success.
func TestRunGoesOnOnceAllHasEnded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"), noop("b"), noop("down", "deps: [{name: a}, {name: b}]", "on_upstream_failure: run"),
			noop("strict", "deps: [{name: a}, {name: b}]"), noop("alarm", "deps: [{name: a, check: failed}]"), noop("calm", "deps: [{name: b, check: failed}]"))
		first, _ := month()
		down, strict, alarm, calm := b.on("down", first), b.on("strict", first), b.on("alarm", first), b.on("calm", first)
		a := b.on("a", first)
		b.end(a.ID, domain.OutcomeError)
		b.sweep()
		b.want(strict.ID, "cancelled/upstream_failed")
		b.says(strict.ID, "upstream a of "+first.String(), "Failed, error")
		b.want(alarm.ID, "running/queued")
		b.want(down.ID, "running/waiting_deps")
		up := b.on("b", first)
		b.end(up.ID, domain.OutcomeSuccess)
		b.sweep()
		b.want(down.ID, "running/queued")
		b.want(calm.ID, "cancelled/upstream_failed")
		b.says(calm.ID, "waited for a failure of its upstream")
		deps, err := b.graph.Of(b.ctx, down.ID)
		b.must(err)
		if got := fmt.Sprint(deps[0].State, " ", deps[1].State); got != "passed met" {
			t.Errorf("its dependencies are %s", got)
		}
		for range 3 { // what a success has cancelled comes back by no success
			b.sweep()
		}
		if in := b.want(calm.ID, "cancelled/upstream_failed"); in.RunNo != 1 {
			t.Errorf("run %d of what waits for a failure", in.RunNo)
		}
	})
}

func TestHeldOneIsReleasedByHand(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"), noop("b"), noop("down", "deps: [{name: a}, {name: b}]", "on_upstream_failure: hold"))
		first, _ := month()
		down, a := b.on("down", first), b.on("a", first)
		b.end(a.ID, domain.OutcomeError)
		b.sweep()
		b.want(down.ID, "running/waiting_deps")
		requests := &instance.Requests{Lifecycle: b.lifecycle, Audit: audit{b.access}}
		allow := func(domain.Instance) error { return nil }
		if _, err := requests.Release(b.ctx, down.ID, "  ", allow); !domain.Is(err, domain.Invalid) {
			t.Errorf("released without a reason: %v", err)
		}
		if _, err := requests.Release(b.ctx, down.ID, "the sums are right without", allow); err != nil {
			t.Fatal(err)
		}
		in := b.want(down.ID, "running/queued")
		if in.DepsLeft != 0 || in.MetAt.IsZero() {
			t.Errorf("%d left, met at %s", in.DepsLeft, in.MetAt)
		}
		es, err := b.instances.Events(b.ctx, down.ID)
		b.must(err)
		if len(es) != 1 || es[0].Move != domain.MoveWaive || es[0].Actor != "tester" || es[0].Note != "the sums are right without" {
			t.Errorf("history %+v", es)
		}
		if _, err := requests.Release(b.ctx, down.ID, "again", allow); !domain.Is(err, domain.Conflict) {
			t.Errorf("released twice: %v", err)
		}
		b.sweep()
		b.end(down.ID, domain.OutcomeSuccess)
		var trail int
		b.must(b.db.Scan(b.ctx, &trail, "SELECT COUNT(*) FROM audit WHERE action = 'instance.release' AND after_text LIKE '%the sums are right%'"))
		if trail != 1 {
			t.Errorf("%d lines in the audit trail", trail)
		}
	})
}

// A chain of jobs that only their upstreams start: each is made once for a date, by whoever sees
// an end first, and by the sweeper when nobody did. (G-D6)
func TestUpstreamStarts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"), noop("a2"), noop("b", "trigger: upstream", "deps: [{name: a}, {name: a2}]"), noop("c", "trigger: upstream", "deps: [{name: b}]"),
			noop("paused", "trigger: upstream", "enabled: false", "deps: [{name: a}]"), noop("sorry", "trigger: upstream", "deps: [{name: a, check: failed}]"),
			noop("clock", "deps: [{name: c}]"))
		first, _ := month()
		clock := b.on("clock", first)
		b.sweep()
		a := b.on("a", first)
		b.says(clock.ID, "0 of 1, missing "+first.String())
		b.end(a.ID, domain.OutcomeSuccess)
		var all sync.WaitGroup
		for range 4 { // several processes look at once
			all.Go(func() { b.sweep() })
		}
		all.Wait()
		in := b.only("b", first)
		if in.Status.String() != "running/waiting_deps" || in.Trigger != domain.TriggerUpstream || in.FireKey != domain.UpstreamFireKey(first) {
			t.Fatalf("b is %+v", in)
		}
		b.says(in.ID, "a2 of "+first.String())
		for _, name := range []string{"paused", "sorry", "c"} {
			if n := len(b.of(name, first)); n != 0 {
				t.Errorf("%d instances of %s", n, name)
			}
		}
		a2 := b.on("a2", first)
		b.end(a2.ID, domain.OutcomeSuccess)
		b.sweep()
		b.end(in.ID, domain.OutcomeSuccess)
		b.sweep()
		c := b.only("c", first)
		b.sweep()
		b.end(c.ID, domain.OutcomeSuccess)
		b.sweep()
		b.want(clock.ID, "running/queued")

		b.rerun(a.ID)
		b.end(a.ID, domain.OutcomeSuccess)
		b.sweep()
		if n := len(b.of("b", first)); n != 1 {
			t.Errorf("a rerun of its upstream made another: %d", n)
		}
	})
}

// What waits for a job that its failed upstreams will never start is cancelled because of these.
func TestAStartThatNeverComesCancels(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"), noop("b", "trigger: upstream", "deps: [{name: a}]"), noop("c", "trigger: upstream", "deps: [{name: b}]"), noop("clock", "deps: [{name: c}]"))
		first, _ := month()
		clock, a := b.on("clock", first), b.on("a", first)
		b.sweep()
		b.want(clock.ID, "running/waiting_deps")
		b.end(a.ID, domain.OutcomeError)
		b.sweep()
		if in := b.want(clock.ID, "cancelled/upstream_failed"); in.CancelledBy.InstanceID != a.ID {
			t.Errorf("cancelled by %v", in.CancelledBy)
		}
		b.rerun(a.ID)
		b.end(a.ID, domain.OutcomeSuccess)
		b.sweep()
		b.sweep()
		b.want(clock.ID, "running/waiting_deps")
		b.only("b", first)
	})
}

// nextMilli waits until the clock, which rows keep by the millisecond, reads another one.
func nextMilli() {
	for at := time.Now().UnixMilli(); time.Now().UnixMilli() <= at; {
		runtime.Gosched()
	}
}

// A job that is put into force, or resumed, is not started by ends of before.
func TestUpstreamStartsNothingOfThePast(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"))
		first, _ := month()
		a := b.on("a", first)
		b.end(a.ID, domain.OutcomeSuccess)
		nextMilli() // later than the end
		applied := b.put(noop("b", "trigger: upstream", "deps: [{name: a}]"))
		b.sweep()
		if n := len(b.of("b", first)); n != 0 {
			t.Fatalf("an end of before it was there started it %d times", n)
		}
		_, err := b.jobs.SetEnabled(b.ctx, applied[0].Job.ID, false, "")
		b.must(err)
		other := b.on("a", first.AddDays(1))
		b.end(other.ID, domain.OutcomeSuccess)
		b.sweep()
		nextMilli()
		_, err = b.jobs.SetEnabled(b.ctx, applied[0].Job.ID, true, "")
		b.must(err)
		b.sweep()
		if n := len(b.of("b", first.AddDays(1))); n != 0 {
			t.Fatalf("resuming it fired the past %d times", n)
		}
	})
}

// What had to be started when its process died is started by the sweeper, though the job was
// edited, or paused and resumed, in between; what ended in the pause, or before the job depended
// on it, is not.
func TestAnEditLosesNoStart(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		applied := b.put(noop("a"), noop("late"), noop("b", "trigger: upstream", "deps: [{name: a}]"))
		down := applied[2].Job.ID
		first, _ := month()
		ended := func(name string, days int) {
			t.Helper()
			nextMilli()
			b.end(b.on(name, first.AddDays(days)).ID, domain.OutcomeSuccess)
			nextMilli()
		}
		enable := func(enabled bool) {
			t.Helper()
			_, err := b.jobs.SetEnabled(b.ctx, down, enabled, "")
			b.must(err)
		}
		ended("late", 0)
		ended("a", 1)
		b.put(noop("b", "title: edited", "trigger: upstream", "deps: [{name: a}, {name: late}]"))
		ended("a", 2)
		enable(false)
		ended("a", 3)
		enable(true)
		ended("late", 4)
		enable(false)
		enable(true)
		b.put(noop("b", "trigger: upstream", "deps: [{name: a}]")) // late starts it no more
		ended("late", 5)
		b.sweep()
		for days, want := range []int{0, 1, 1, 0, 0, 0} {
			if n := len(b.of("b", first.AddDays(days))); n != want {
				t.Errorf("date %d: %d instances, want %d", days, n, want)
			}
		}
		b.put(noop("b", "cron: '0 2 * * *'"))
		var left int
		b.must(b.db.Scan(b.ctx, &left, "SELECT COUNT(*) FROM start_span WHERE to_at = 0"))
		if left != 0 {
			t.Errorf("%d edges start a job of a schedule", left)
		}
	})
}

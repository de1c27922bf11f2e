package scheduler

import (
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// A machine that slept 26 hours wakes with all clocks right and everything late. Lateness is not skew: nothing is
// refused for it, each missed business date gets what the policy says, and the books balance.
func TestAMachineThatSlept26Hours(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		start := b.now()
		want := map[domain.ID]int{1: 2, 2: 0, 3: 26} // two dates; none; all from 11:00 to 12:00 of the next day
		for i, m := range []domain.Misfire{domain.MisfireOnce, domain.MisfireSkip, domain.MisfireAll} {
			spec := cronSpec("0 * * * *")
			spec.Misfire = m
			b.mustPut(domain.ID(i+1), 1, spec)
		}
		node := b.node(nil)
		if err := node.clock.measure(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.pass(26*time.Hour + 5*time.Minute)
		b.drain(node)
		if f := node.clock.fault(); f != "" {
			t.Errorf("a clock that is right and late counts as wrong: %s", f)
		}
		for job, fired := range want {
			a := b.account(job, start)
			if a.Fired != fired || a.Planned-a.Pending != 26 || a.Missed+a.Skipped != 26-fired || !a.Balanced() {
				t.Errorf("job %d: %d fires wanted, account %+v", job, fired, a)
			}
		}
	})
}

// On waking one node may know the time before the other: who is a day behind the database takes nothing and makes
// nothing twice, and goes on when its clock is right.
func TestANodeThatWakesADayBehindTakesNothing(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		spec := cronSpec("0 * * * *")
		spec.Misfire = domain.MisfireAll
		b.mustPut(1, 1, spec)
		asleep := 26 * time.Hour
		late := b.node(nil)
		late.clock.own = func() time.Time { return b.now().Add(-asleep) }
		b.pass(26 * time.Hour)
		late.take(t.Context(), b.due())
		if got := b.fires(1); len(got) != 0 || late.clock.fault() == "" {
			t.Fatalf("a node a day behind took %v", got)
		}
		b.drain(b.node(nil))
		asleep = 0
		if err := late.clock.measure(t.Context()); err != nil || late.clock.fault() != "" {
			t.Fatalf("%v, %s", err, late.clock.fault())
		}
		b.drain(late)
		if got := b.fires(1); len(got) != 26 {
			t.Errorf("%d fires, want 26", len(got))
		}
	})
}

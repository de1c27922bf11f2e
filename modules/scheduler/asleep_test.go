package scheduler

import (
	"testing"
	"time"
)

// Fires that were due when a job was paused, and that nobody had taken, are kept from happening as well: they are
// counted with those of the pause, and only with those of this one.
func TestAPauseCountsWhatWasDueBeforeItAndTakenByNobody(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		b.mustPut(1, 1, cronSpec("* * * * *"))
		start := b.now()
		pause := func() {
			t.Helper()
			if err := b.triggers().Pause(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			b.drain(b.node(nil))
		}
		b.pass(3*time.Minute + 30*time.Second)
		pause()
		b.pass(2 * time.Minute)
		p, err := b.plans().Asleep(t.Context(), 1)
		if err != nil || p.Fires != 5 || p.Untaken != 3 || !p.Begin.Equal(start.Add(time.Minute)) || !p.Until.Equal(b.now()) || p.First.String() != "2026-05-01" {
			t.Fatalf("%+v, %v", p, err)
		}
		if err := b.triggers().Resume(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		b.pass(20 * time.Second)
		pause()
		if p, err := b.plans().Asleep(t.Context(), 1); err != nil || p.Fires != 0 || p.Untaken != 0 || !p.Begin.After(p.Since) {
			t.Fatalf("the next pause: %+v, %v", p, err)
		}
	})
}

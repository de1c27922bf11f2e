package scheduler

import (
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// What was read ahead counts only while nobody has changed the trigger since.
func TestReadAheadAndChangedBeforeTheFire(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		start := b.now()
		for job := domain.ID(1); job <= 4; job++ {
			b.mustPut(job, 1, cronSpec("* * * * *"))
		}
		b.pass(40 * time.Second)
		near, err := b.st.Due(t.Context(), b.now().Add(window), 10)
		if err != nil || len(near) != 4 {
			t.Fatalf("%d near, %v", len(near), err)
		}
		node := b.node(nil)
		node.prepare(t.Context(), near)
		if len(node.memo.of) != 4 {
			t.Fatalf("%d known after reading ahead", len(node.memo.of))
		}
		if err := b.triggers().Pause(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		b.mustPut(3, 2, cronSpec("30 * * * *"))
		b.pass(20 * time.Second)
		if err := b.triggers().Pause(t.Context(), 4); err != nil { // due, and not taken yet
			t.Fatal(err)
		}
		b.drain(node)
		for job, want := range map[domain.ID]int{1: 1, 2: 0, 3: 0, 4: 0} {
			if got := b.fires(job); len(got) != want {
				t.Errorf("job %s fired %v, want %d", job, got, want)
			}
		}
		if a := b.account(4, start); a.Skipped != 1 || !a.Balanced() {
			t.Errorf("paused when it was due: %+v", a)
		}
		if k := node.memo.take([]domain.ID{b.trigger(1).ID}); len(k) != 0 {
			t.Errorf("a trigger due in a minute is still remembered: %v", k)
		}
	})
}

// A trigger that fires again soon is taken from memory, and just as it stands.
func TestTakenFromMemory(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		spec := cronSpec("*/10 * * * * *")
		spec.Schedule.Dialect = "seconds"
		b.mustPut(1, 1, spec)
		node := b.node(nil)
		id := b.trigger(1).ID
		for range 3 {
			b.pass(10 * time.Second)
			b.drain(node)
			row := b.trigger(1)
			if k := node.memo.of[id]; k.Trigger != row || len(k.spans) != 1 || !k.spans[0].Open() {
				t.Errorf("remembered %+v, the row is %+v", k, row)
			}
		}
		if got := b.fires(1); !slices.Equal(got, []string{"01T10:00:10 2026-05-01", "01T10:00:20 2026-05-01", "01T10:00:30 2026-05-01"}) {
			t.Errorf("fires %v", got)
		}
	})
}

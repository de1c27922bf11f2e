package broker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// What becomes of a ready instance: it starts, waits (hold), is dropped (skip), or
// waits and ends what is in its way (replace).
func TestOverlapDecisions(t *testing.T) {
	const today, tomorrow = "2026-03-08", "2026-03-09"
	type with = func(*domain.Instance)
	for _, c := range []struct {
		name   string
		policy domain.Overlap
		before []with // instances of the job that stand already
		fire   []with
		want   string
	}{
		{"queue, nothing there", domain.OverlapQueue, nil, nil, "start"},
		{"queue, one runs", domain.OverlapQueue, []with{label(domain.Executing)}, nil, "hold"},
		{"queue, one is an orphan", domain.OverlapQueue, []with{label(domain.Orphan)}, nil, "hold"},
		{"queue, one waits for its retry", domain.OverlapQueue, []with{label(domain.Backoff)}, nil, "hold"},
		{"queue, one was killed and has not ended", domain.OverlapQueue, []with{label(domain.Stopping)}, nil, "hold"},
		{"queue, one waits for dependencies", domain.OverlapQueue, []with{label(domain.WaitingDeps)}, nil, "start"},
		{"queue, one runs and one waits", domain.OverlapQueue, []with{label(domain.Executing), label(domain.HeldOverlap)}, nil, "surplus"},
		{"queue, another day waits", domain.OverlapQueue, []with{label(domain.Executing), label(domain.HeldOverlap)}, []with{on(tomorrow)}, "hold"},
		{"queue, the same day waits as backfill", domain.OverlapQueue, []with{label(domain.Executing), both(label(domain.HeldOverlap), backfill)}, nil, "hold"},
		{"queue, backfill", domain.OverlapQueue, []with{label(domain.Executing), label(domain.HeldOverlap)}, []with{backfill}, "hold"},
		{"queue, rerun", domain.OverlapQueue, []with{label(domain.Executing), label(domain.HeldOverlap)}, []with{rerun}, "hold"},
		{"queue, catch-up", domain.OverlapQueue, []with{label(domain.Executing), label(domain.HeldOverlap)}, []with{late(2 * time.Minute)}, "hold"},
		{"queue, late but not missed", domain.OverlapQueue, []with{label(domain.Executing), label(domain.HeldOverlap)}, []with{late(50 * time.Second)}, "surplus"},
		{"queue, earlier turns go first", domain.OverlapQueue, []with{both(label(domain.HeldOverlap), late(time.Hour))}, []with{on(tomorrow)}, "hold"},
		{"queue, live goes before waiting backfill", domain.OverlapQueue, []with{both(label(domain.HeldOverlap), backfill)}, nil, "start"},
		{"queue, its own retry", domain.OverlapQueue, []with{label(domain.Executing), label(domain.HeldOverlap)}, []with{tried}, "start"},
		{"skip, one runs", domain.OverlapSkip, []with{label(domain.Executing)}, nil, "skip"},
		{"skip, one runs, another day", domain.OverlapSkip, []with{label(domain.Executing)}, []with{on(tomorrow)}, "skip"},
		{"skip, nothing there", domain.OverlapSkip, nil, nil, "start"},
		{"skip, backfill", domain.OverlapSkip, []with{label(domain.Executing)}, []with{backfill}, "hold"},
		{"skip, catch-up", domain.OverlapSkip, []with{label(domain.Executing)}, []with{late(time.Hour)}, "hold"},
		{"skip, its own retry", domain.OverlapSkip, []with{label(domain.Executing)}, []with{tried}, "start"},
		{"replace, one runs", domain.OverlapReplace, []with{label(domain.Executing)}, nil, "replace 1"},
		{"replace, one runs and one waits", domain.OverlapReplace, []with{label(domain.Executing), label(domain.HeldOverlap)}, nil, "replace 2"},
		{"replace, a backfill waits", domain.OverlapReplace, []with{label(domain.Executing), both(label(domain.HeldOverlap), backfill)}, nil, "replace 1"},
		{"replace, rerun", domain.OverlapReplace, []with{label(domain.Executing)}, []with{rerun}, "hold"},
		{"allow, one runs", domain.OverlapAllow, []with{label(domain.Executing), label(domain.Executing)}, nil, "start"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				job := w.job(domain.JobSpec{Overlap: c.policy})
				for _, f := range c.before {
					w.ready(job, on(today), f)
				}
				if err := w.b.load(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.worker("w", 4)
				id := w.ready(job, c.fire...)
				p, err := w.b.decide(t.Context(), []domain.Instance{w.ins[id]})
				if err != nil {
					t.Fatal(err)
				}
				if got := verdictOf(p, id); got != c.want {
					t.Fatalf("%s, want %s", got, c.want)
				}
			})
		})
	}
}

func both(fs ...func(*domain.Instance)) func(*domain.Instance) {
	return func(in *domain.Instance) {
		for _, f := range fs {
			f(in)
		}
	}
}

// tried has begun and is ready again.
func tried(in *domain.Instance) { in.Attempts = 1 }

func verdictOf(p plan, id domain.ID) string {
	switch {
	case len(p.assign) == 1:
		return "start"
	case len(p.replace[id]) > 0 && slices.Contains(p.hold, id):
		return fmt.Sprint("replace ", len(p.replace[id]))
	case slices.Contains(p.hold, id):
		return "hold"
	case slices.Contains(p.skip, id):
		return "skip"
	case slices.Contains(p.surplus, id):
		return "surplus"
	}
	return "nothing"
}

// Starts by hand keep to the overlap policy. (G-E13)
func TestFiveAtOnceAreOneRunningOneWaitingThreeSkipped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 4)
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		for range 5 {
			w.ready(job, func(in *domain.Instance) { in.Trigger = domain.TriggerManual })
		}
		w.start()
		for range 3 {
			w.do(w.b.sweep)
			w.do(w.b.round)
		}
		if a, b, c := w.count("running/dispatched"), w.count("running/held_overlap"), w.count("cancelled/skipped"); a != 1 || b != 1 || c != 3 {
			t.Fatalf("%d run, %d wait, %d skipped", a, b, c)
		}
	})
}

// Nobody can run it, for an hour: the rows stay few. (J-B12)
func TestWithoutAWorkerOneIsNextOneWaitsTheRestIsSkipped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		for range 360 {
			w.ready(job)
			w.do(w.b.round)
			w.do(w.b.sweep)
			time.Sleep(10 * time.Second)
		}
		if a, b, c := w.count("running/queued"), w.count("running/held_overlap"), w.count("cancelled/skipped"); a != 1 || b != 1 || c != 358 {
			t.Fatalf("%d ready, %d wait, %d skipped", a, b, c)
		}
	})
}

// Two hundred fires of one moment on four workers: never two at once, none is lost,
// each business date runs, and they go in the order in which they were planned. (G-E11)
func TestTheLimitHoldsWhateverEndsWhen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for i := range 4 {
			w.worker(fmt.Sprint("w", i), 2)
		}
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		var all, ran []domain.ID
		for i := range 200 {
			all = append(all, w.ready(job, on(date("2026-01-01").AddDays(i).String())))
		}
		for len(ran) < 200 {
			w.start()
			w.do(w.b.sweep)
			var begun []domain.ID
			for id, in := range w.ins {
				if inFlight(in) {
					begun = append(begun, id)
				}
			}
			if len(begun) > 1 {
				t.Fatalf("%v run at once", begun)
			}
			if len(begun) == 0 {
				continue
			}
			ran = append(ran, begun[0])
			if len(ran)%3 == 0 { // a try that fails goes on before the others
				w.end(begun[0], domain.OutcomeTimeout)
				w.do(w.b.sweep)
				w.start()
				w.want(begun[0], "running/dispatched")
			}
			w.end(begun[0], domain.OutcomeSuccess)
		}
		if !slices.Equal(ran, all) {
			t.Fatalf("they ran in the order %v", ran)
		}
	})
}

func TestHeldOnesGoByPlannedTimeLiveBeforeBackfill(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 4)
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		first := w.ready(job)
		w.start()
		var week []domain.ID
		for i := range 7 {
			week = append(week, w.ready(job, backfill, on(date("2026-02-01").AddDays(i).String())))
		}
		w.do(w.b.round)
		time.Sleep(time.Hour)
		live := w.ready(job, on("2026-03-09"))
		missed := w.ready(job, late(20*time.Minute), on("2026-03-09"))
		older := w.ready(job, late(40*time.Minute), on("2026-03-09"))
		w.do(w.b.round)
		if n := w.count("running/held_overlap"); n != 10 {
			t.Fatalf("%d wait, want 10", n)
		}
		ran := []domain.ID{first}
		for range 10 {
			w.end(ran[len(ran)-1], domain.OutcomeSuccess)
			w.do(w.b.sweep)
			w.start()
			for id, in := range w.ins {
				if inFlight(in) {
					ran = append(ran, id)
				}
			}
		}
		if want := append([]domain.ID{first, older, missed, live}, week...); !slices.Equal(ran, want) {
			t.Fatalf("they ran in the order %v, want %v", ran, want)
		}
	})
}

func TestWhatWaitsForOneThatEndedUnheardIsFreed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 4)
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		a := w.ready(job)
		w.do(w.b.round)
		b := w.ready(job)
		w.do(w.b.round)
		w.want(b, "running/held_overlap")
		w.unheard = true
		if err := w.kill(a); err != nil {
			t.Fatal(err)
		}
		w.unheard = false
		w.do(w.b.freeHeld)
		w.want(b, "running/queued")
	})
}

// A row that was read before the change does not undo it.
func TestAnOldRowFreesNobody(t *testing.T) {
	m := newMemory()
	in := domain.Instance{ID: 5, JobID: 1, Ver: 3, Status: domain.Status{State: domain.Running, Label: domain.Queued}}
	begins := in
	begins.Label = domain.Dispatched
	m.changed(domain.Change{Move: domain.MoveDispatch, From: in.Status, Instance: begins})
	m.correct(1, 5, in, true)
	if len(m.line(1).busy) != 1 {
		t.Fatal("an instance that has begun is in nobody's way")
	}
	ends := in
	ends.Ver, ends.Status = 5, domain.Status{State: domain.Success}
	m.correct(1, 5, ends, true)
	if len(m.lines) != 0 {
		t.Fatal("an instance that has ended is in the way")
	}
	later, earlier := in, begins
	later.Ver, later.Label = 7, domain.HeldOverlap
	m.changed(domain.Change{Instance: later})
	m.changed(domain.Change{Instance: earlier}) // heard of late
	if l := m.line(1); len(l.busy) != 0 || len(l.held) != 1 {
		t.Fatalf("an older commit counts: busy %v, held %v", l.busy, l.held)
	}
}

// Twenty that wait for their turn are cancelled, then what runs and what was sent: the places that they had or stood for
// are free at once. (J-F9, G-C9)
func TestWhatIsCancelledHoldsNoPlace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 1)
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		runs := w.ready(job)
		w.start()
		var waits []domain.ID
		for i := range 20 {
			waits = append(waits, w.ready(job, on(date("2026-01-01").AddDays(i).String())))
		}
		w.do(w.b.round)
		if n := w.count("running/held_overlap"); n != 20 {
			t.Fatalf("%d wait", n)
		}
		for _, id := range waits {
			if err := w.kill(id); err != nil {
				t.Fatal(err)
			}
		}
		last := w.ready(job, on("2026-03-09"))
		w.do(w.b.round)
		w.want(last, "running/held_overlap")
		if err := w.kill(runs); err != nil {
			t.Fatal(err)
		}
		w.want(runs, "running/stopping")
		w.end(runs, domain.OutcomeKilled)
		w.do(w.b.sweep)
		w.do(w.b.round)
		w.want(last, "running/dispatched")
		plain := w.job(domain.JobSpec{})
		for range 30 { // sent and not claimed, as many as there is room for
			w.ready(plain)
		}
		w.do(w.b.round)
		full := w.count("running/dispatched")
		for id, in := range w.ins {
			if in.JobID == plain {
				if err := w.kill(id); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 30 {
			w.ready(plain)
		}
		w.do(w.b.round)
		if n := w.count("running/dispatched"); n != full {
			t.Errorf("%d places after the kill, %d before it", n, full)
		}
		if n := w.b.mem.targets["w"].live[domain.LaneDefault]; n != full {
			t.Errorf("the broker counts %d, %d are sent", n, full)
		}
	})
}

func TestALaterFireReplacesWhatRunsAndWhatWaits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 4)
		job := w.job(domain.JobSpec{Overlap: domain.OverlapReplace})
		a := w.ready(job)
		w.start()
		b := w.ready(job)
		w.do(w.b.round)
		w.want(a, "running/stopping")
		w.want(b, "running/held_overlap")
		c := w.ready(job)
		w.do(w.b.round)
		w.want(b, "cancelled/killed")
		w.want(c, "running/held_overlap")
		w.do(w.b.sweep)
		w.want(c, "running/held_overlap")
		w.do(w.b.tellKills)
		if got := kills(w.posted); !slices.Equal(got, []domain.ID{w.ins[a].AttemptID}) {
			t.Fatalf("told to stop %v", got)
		}
		w.end(a, domain.OutcomeKilled)
		w.do(w.b.sweep)
		w.do(w.b.round)
		w.want(c, "running/dispatched")
	})
}

// What another process ended is in nobody's way, though the broker did not hear of it.
func TestWhatEndedUnheardIsInNobodysWay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 4)
		skips, queues := w.job(domain.JobSpec{Overlap: domain.OverlapSkip}), w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		a, b := w.ready(skips), w.ready(queues)
		w.do(w.b.round)
		c := w.ready(queues)
		w.do(w.b.round)
		w.want(c, "running/held_overlap")
		w.unheard = true
		if err := w.kill(a, c); err != nil {
			t.Fatal(err)
		}
		w.unheard = false
		d, e := w.ready(skips), w.ready(queues)
		w.do(w.b.round)
		w.want(d, "running/dispatched")
		w.want(e, "running/held_overlap") // b runs; c waits no more
		w.want(b, "running/dispatched")
		w.b.heardAll(time.Now())
		time.Sleep(6 * time.Second)
		w.hear(claim("w", "n", w.ins[b].AttemptID), claim("w", "n", w.ins[d].AttemptID))
		w.b.mem.heard = time.Now()
		w.do(w.b.sweep)
		if n := w.b.Stats().InFlight; n != 2 {
			t.Fatalf("%d in flight: the attempt killed elsewhere keeps its room", n)
		}
	})
}

func TestANextOneThatIsGoneBlocksNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{Overlap: domain.OverlapSkip})
		a := w.ready(job)
		w.do(w.b.round) // nobody can run it: it is next
		w.unheard = true
		if err := w.kill(a); err != nil {
			t.Fatal(err)
		}
		w.unheard = false
		w.worker("w", 4)
		b := w.ready(job)
		w.do(w.b.round)
		w.want(b, "running/dispatched")
	})
}

package scheduler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Nodes that take at once, transactions that die at any moment, a clock that goes on:
// each planned time is there exactly once. (J-B5)
func TestEachPlannedTimeOnce(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		start := b.now()
		const jobs = 20
		for job := domain.ID(1); job <= jobs; job++ {
			spec := everySpec(time.Duration(job%7+1) * time.Second)
			spec.Misfire = domain.MisfireAll
			b.mustPut(job, 1, spec)
		}
		var nodes sync.WaitGroup
		stop := make(chan struct{})
		for n := range 3 {
			node := b.node(nil)
			dice := rand.New(rand.NewPCG(uint64(n), 1))
			nodes.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					batch, err := b.st.Due(context.Background(), b.now(), 10_000)
					if err != nil || len(batch) == 0 {
						continue
					}
					ctx, cancel := context.WithCancel(context.Background())
					kill := time.AfterFunc(time.Duration(dice.IntN(20_000))*time.Microsecond, cancel)
					node.take(ctx, batch)
					kill.Stop()
					cancel()
				}
			})
		}
		for range 100 {
			b.pass(time.Duration(rand.IntN(500)) * time.Millisecond)
			time.Sleep(2 * time.Millisecond) // the race is what is tested: let them run
		}
		close(stop)
		nodes.Wait()
		b.drain(b.node(nil))
		for job := domain.ID(1); job <= jobs; job++ {
			a := b.account(job, start)
			want := int(b.now().Sub(start) / (time.Duration(job%7+1) * time.Second))
			if a.Fired != want || a.Absent+a.Missed+a.Skipped+a.Unplanned != 0 {
				t.Errorf("job %d: %d fires planned up to now, account %+v", job, want, a)
			}
		}
	})
}

// Five thousand jobs are due in the same second, and two nodes want all of them: each fires once. (J-B3)
func TestTwoNodesTakeTheSameBatch(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		jobs := domain.ID(5000)
		if b.db.Dialect() == dbx.SQLite {
			jobs = 500 // which is for one machine, and slow under the race detector
		}
		err := b.db.Tx(t.Context(), func(ctx context.Context) error {
			for job := domain.ID(1); job <= jobs; job++ {
				if err := b.putIn(ctx, job, 1, cronSpec("0 * * * *"), true); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		b.set(instant(t, "2026-05-01T11:00:00Z"))
		batch := b.due()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				node := b.node(nil)
				for part := range slices.Chunk(batch, maxBatch) {
					node.take(t.Context(), part)
				}
			})
		}
		both.Wait()
		b.drain(b.node(nil))
		all, err := b.instances(t.Context(), "1 = 1")
		if err != nil || len(all) != int(jobs) {
			t.Errorf("%d instances, %v", len(all), err)
		}
		fired := map[domain.ID]bool{}
		for _, in := range all {
			fired[in.JobID] = true
		}
		if len(fired) != int(jobs) {
			t.Errorf("%d of %d jobs fired", len(fired), jobs)
		}
	})
}

// Save, pause, resume, remove, fire, outage in any order: the books balance. (G-B14)
func TestLedgerBalances(t *testing.T) {
	eachBed(t, "2026-03-28T20:00:00Z", func(t *testing.T, b *bed) {
		start := b.now()
		for round := range 6 {
			dice := rand.New(rand.NewPCG(uint64(round), 2))
			job := domain.ID(round + 1)
			b.set(start)
			var said []string
			for step, version := 0, 0; step < 60; step++ {
				said = append(said, b.anyStep(t, dice, job, &version))
			}
			b.drain(b.node(nil))
			a := b.account(job, start)
			if !a.Balanced() || a.Unplanned != 0 || a.Planned == 0 {
				t.Fatalf("round %d: %+v after\n%s", round, a, strings.Join(said, "\n"))
			}
		}
	})
}

func (b *bed) anyStep(t *testing.T, dice *rand.Rand, job domain.ID, version *int) string {
	t.Helper()
	var err error
	var what string
	switch k := dice.IntN(10); {
	case k < 3 || *version == 0:
		spec := []domain.JobSpec{cronSpec("*/7 * * * *"), cronSpec("30 2 * * *"), everySpec(95 * time.Second), cronSpec("@every 10m"), cronSpec("0 */2 * * *")}[dice.IntN(5)]
		spec.Timezone = []string{"UTC", "Europe/Berlin"}[dice.IntN(2)]
		spec.Misfire = []domain.Misfire{domain.MisfireOnce, domain.MisfireSkip, domain.MisfireAll}[dice.IntN(3)]
		*version++
		what, err = fmt.Sprintf("save %+v %s", spec.Schedule, spec.Misfire), b.put(job, *version, spec, dice.IntN(4) > 0)
	case k == 3:
		what, err = "pause", b.triggers().Pause(t.Context(), job)
	case k < 6:
		what, err = "resume", b.triggers().Resume(t.Context(), job)
	case k == 6 && dice.IntN(3) == 0:
		what, err = "remove", b.triggers().Remove(t.Context(), job)
	case k == 7:
		what = "outage"
		b.pass(time.Duration(dice.IntN(10*3600)) * time.Second)
	default:
		what = "take"
		b.pass(time.Duration(dice.IntN(600_000)) * time.Millisecond)
		b.node(nil).take(t.Context(), b.due())
	}
	if err != nil {
		t.Fatal(what, err)
	}
	return b.now().Format(time.RFC3339) + " " + what
}

// Whoever saves jobs and whoever takes fires lock in whatever order comes: nobody waits for ever.
func TestSavingAndTakingAtOnce(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		const jobs = 30
		start := b.now()
		for job := domain.ID(1); job <= jobs; job++ {
			b.mustPut(job, 1, everySpec(time.Second))
		}
		var all sync.WaitGroup
		stop := make(chan struct{})
		for range 2 {
			node := b.node(nil)
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						if batch, err := b.st.Due(context.Background(), b.now(), 1000); err == nil && len(batch) > 0 {
							node.take(context.Background(), batch)
						}
					}
				}
			})
		}
		for range 15 {
			b.pass(800 * time.Millisecond)
			order := rand.Perm(jobs)
			err := b.db.Tx(t.Context(), func(ctx context.Context) error {
				for _, j := range order[:5] {
					job := domain.ID(j + 1)
					if err := b.triggers().Pause(ctx, job); err != nil {
						return err
					}
					if err := b.triggers().Resume(ctx, job); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil && !domain.Is(err, domain.Unavailable) {
				t.Error(err)
			}
		}
		close(stop)
		all.Wait()
		b.drain(b.node(nil))
		for job := domain.ID(1); job <= jobs; job++ {
			if a := b.account(job, start); !a.Balanced() || a.Unplanned != 0 {
				t.Errorf("job %d: %+v", job, a)
			}
		}
	})
}

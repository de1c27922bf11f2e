package scheduler

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/scheduler/store"
)

// grids are jobs of fixed rates, each saved first at its own odd moment.
func grids() map[domain.ID]domain.JobSpec {
	return map[domain.ID]domain.JobSpec{1: everySpec(24 * time.Hour), 2: everySpec(7*time.Minute + 13*time.Second + 500*time.Millisecond),
		3: cronSpec("@every 36h"), 4: cronSpec("@every 1h1m1s"), 5: everySpec(30 * 24 * time.Hour)}
}

func distance(s domain.JobSpec) time.Duration {
	if s.Schedule.Kind == domain.ScheduleEvery {
		return time.Duration(s.Schedule.EveryMs) * time.Millisecond
	}
	d, _ := time.ParseDuration(strings.TrimPrefix(s.Schedule.Expr, "@every "))
	return d
}

// TestNothingShiftsAGrid: whatever happens between (restarts, other nodes, edits of
// anything but the rate, pauses), a job fires at its first save + k × rate. (G-B9)
func TestNothingShiftsAGrid(t *testing.T) {
	eachBed(t, "2026-03-27T10:00:00Z", func(t *testing.T, b *bed) {
		rng := rand.New(rand.NewPCG(23, 24))
		anchors, specs := map[domain.ID]time.Time{}, grids()
		for job := range domain.ID(len(specs)) {
			job++
			b.pass(time.Duration(rng.Int64N(1e6)) * time.Millisecond)
			anchors[job] = b.now()
			b.mustPut(job, 1, specs[job])
		}
		for version := 2; version < 45; version++ {
			b.pass(time.Duration(rng.Int64N(int64(9*time.Hour))) / 1e6 * 1e6)
			b.drain(b.restart())
			job := 1 + domain.ID(rng.IntN(len(specs)))
			b.edit(rng, job, version, specs)
			for job, anchor := range anchors {
				b.onGrid(job, anchor, distance(specs[job]))
			}
		}
		b.anotherProcessAgrees(anchors, specs)
	})
}

// restart gives a taker that knows nothing but what is in the database, over a connection of its own.
func (b *bed) restart() *taker {
	b.t.Helper()
	b.reopen()
	return b.node(nil)
}

// reopen leaves the old connections and everything that was remembered.
func (b *bed) reopen() {
	b.t.Helper()
	if err := b.db.Close(); err != nil {
		b.t.Fatal(err)
	}
	db, err := dbx.Open(b.t.Context(), b.url, dbx.Options{Pool: 2})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = db.Close() })
	b.db, b.st = db, store.New(db)
}

// edit changes something about a job, but not how often it fires.
func (b *bed) edit(rng *rand.Rand, job domain.ID, version int, specs map[domain.ID]domain.JobSpec) {
	b.t.Helper()
	s := specs[job]
	switch rng.IntN(5) {
	case 0:
		s.Misfire = []domain.Misfire{domain.MisfireOnce, domain.MisfireSkip, domain.MisfireAll}[rng.IntN(3)]
	case 1:
		s.Timezone = []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe"}[rng.IntN(3)]
	case 2:
		s.BizDate = []domain.BizDateRule{domain.BizDateT, domain.BizDateTMinus1}[rng.IntN(2)]
	case 3: // the same rate, written the other way
		if d := distance(s); d%time.Second == 0 {
			other := everySpec(d)
			if s.Schedule.Kind == domain.ScheduleEvery {
				other = cronSpec("@every " + d.String())
			}
			s.Schedule = other.Schedule
		}
	default:
		if err := b.triggers().Pause(b.t.Context(), job); err != nil {
			b.t.Fatal(err)
		}
		b.pass(time.Duration(rng.Int64N(int64(time.Hour))) / 1e6 * 1e6)
		if err := b.triggers().Resume(b.t.Context(), job); err != nil {
			b.t.Fatal(err)
		}
	}
	specs[job] = s
	b.mustPut(job, version, s)
}

// onGrid judges the next fire and all that there were.
func (b *bed) onGrid(job domain.ID, anchor time.Time, every time.Duration) {
	b.t.Helper()
	next := b.trigger(job).Next
	if next.Sub(anchor)%every != 0 || next.Sub(b.now()) > every {
		b.t.Fatalf("job %d, each %s since %s, is due at %s; it is %s", job, every, anchor, next, b.now())
	}
	all, err := b.instances(b.t.Context(), "job_id = ?", job)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, in := range all {
		if in.Expected.Sub(anchor)%every != 0 {
			b.t.Fatalf("job %d, each %s since %s, fired at %s", job, every, anchor, in.Expected)
		}
	}
}

const otherProcess = "AX_TEST_OTHER_PROCESS"

// anotherProcessAgrees asks a process that was not there when the jobs were saved.
func (b *bed) anotherProcessAgrees(anchors map[domain.ID]time.Time, specs map[domain.ID]domain.JobSpec) {
	b.t.Helper()
	b.drain(b.restart())
	cmd := exec.Command(os.Args[0], "-test.run=^TestAsAnotherProcess$", "-test.count=1")
	cmd.Env = append(os.Environ(), otherProcess+"="+b.url, otherProcess+"_NOW="+b.now().Format(time.RFC3339Nano))
	said, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%v\n%s", err, said)
	}
	for job, anchor := range anchors {
		every := distance(specs[job])
		var want []string
		for at := anchor; len(want) < 5; at = at.Add(every) {
			if at.After(b.now()) {
				want = append(want, at.Format(time.RFC3339Nano))
			}
		}
		if line := fmt.Sprintf("job %d: %s\n", job, strings.Join(want, " ")); !strings.Contains(string(said), line) {
			b.t.Errorf("another process says\n%swant %s", said, line)
		}
	}
}

// TestAsAnotherProcess is what the other process does: it prints what is planned.
func TestAsAnotherProcess(t *testing.T) {
	url := os.Getenv(otherProcess)
	if url == "" {
		t.Skip("it is run by TestNothingShiftsAGrid")
	}
	db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	from := instant(t, os.Getenv(otherProcess+"_NOW"))
	plans := &Plans{Store: store.New(db)}
	for job := range domain.ID(len(grids())) {
		job++
		due, err := plans.Planned(t.Context(), job, from.Add(time.Millisecond), from.Add(200*24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		var at []string
		for _, f := range due[:5] {
			at = append(at, f.Expected.Format(time.RFC3339Nano))
		}
		if !slices.IsSorted(at) {
			t.Error("not in order")
		}
		fmt.Printf("job %d: %s\n", job, strings.Join(at, " "))
	}
}

package scenarios

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// boxes runs a story of workers that live in boxes, as in containers, on the real stores.
func boxes(t *testing.T, fn func(b *boxed)) {
	t.Helper()
	t.Parallel()
	if err := setup.Boxes(); err != nil {
		t.Skipf("NOT SHOWN HERE: workers in PID namespaces of their own, since this process may make none: %v", err)
	}
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		b := &boxed{t: t, s: s, c: s.Client(t, s.Center(t, setup.Opts{})), d: s.Diary(t)}
		b.gate, b.volume = b.c.Path("go"), b.c.Path("volume")
		var jobs []string
		for _, policy := range []string{"retry", "wait", "hold"} {
			jobs = append(jobs, shellJob(policy, b.d.Waiting(policy, b.gate), "timeout: 300", "overlap: allow", "on_worker_lost: "+policy))
		}
		b.c.Apply(files(jobs...))
		fn(b)
	})
}

// boxed is such a story.
type boxed struct {
	t            *testing.T
	s            *setup.Site
	c            *setup.Client
	d            *setup.Diary
	gate, volume string
	boxes        int
	runs         map[string]setup.Instance // by job
}

// worker starts a worker in a new box on a folder.
func (b *boxed) worker(folder string, o setup.Opts, box setup.Box) *setup.Process {
	b.boxes++
	box.Host = fmt.Sprint("box-", b.boxes)
	o.Name, o.Data, o.Box = box.Host, folder, &box
	o.Env = append([]string{"AX_WORKER_NAME=w"}, o.Env...)
	return b.s.Worker(b.t, o)
}

// refused starts a second worker, which must end by itself and say all this.
func (b *boxed) refused(folder string, want ...string) {
	b.t.Helper()
	said := b.worker(folder, setup.Opts{Unready: true}, setup.Box{}).Await(awaited)
	for _, w := range want {
		if !strings.Contains(said, w) {
			b.t.Errorf("it does not say %q: %s", w, said)
		}
	}
}

// begin lets one of each job run.
func (b *boxed) begin() {
	b.t.Helper()
	b.runs = map[string]setup.Instance{}
	for _, job := range []string{"retry", "wait", "hold"} {
		b.runs[job] = b.c.Await(b.c.Trigger(job).ID, "running/executing")
	}
	setup.Until(b.t, awaited, "they beat", func() bool { return len(b.d.Lives()) == len(b.runs) }, func() string { return "" })
}

// starts is how often a job has started.
func (b *boxed) starts(job string) int {
	n := 0
	for _, l := range b.d.Lives() {
		if l.Job == job {
			n++
		}
	}
	return n
}

// awaitStarts waits until a job has started so often.
func (b *boxed) awaitStarts(job string, n int, limit time.Duration) {
	b.t.Helper()
	setup.Until(b.t, limit, fmt.Sprintf("%s has started %d times", job, n), func() bool { return b.starts(job) == n }, func() string { return b.c.Instance(b.runs[job].ID).String() })
}

// undisturbed expects that all three go on as they began.
func (b *boxed) undisturbed() {
	b.t.Helper()
	for job, in := range b.runs {
		if got := b.c.Instance(in.ID); b.starts(job) != 1 || got.Status() != "running/executing" || len(got.Attempts) != 1 {
			b.t.Errorf("%s started %d times: %v", job, b.starts(job), got)
		}
	}
}

// end opens the gate and expects success; a held one that is an orphan is left. No two of what is late rather than twice
// were alive at once, nor any two of what is held.
func (b *boxed) end() {
	b.t.Helper()
	if err := touch(b.gate); err != nil {
		b.t.Fatal(err)
	}
	for job, in := range b.runs {
		if b.c.Instance(in.ID).Status() != "running/orphan" {
			b.c.Await(in.ID, "success")
		}
		if n := b.starts(job); n > len(b.c.Instance(in.ID).Attempts) {
			b.t.Errorf("%s started %d times: %v", job, n, b.c.Instance(in.ID))
		}
	}
	var before []setup.Life
	for _, l := range b.d.Lives() {
		for _, other := range before {
			if other.Trace == l.Trace && l.Job != "retry" && other.To.After(l.From) {
				b.t.Errorf("two were alive at once:\n%+v\n%+v", other, l)
			}
		}
		before = append(before, l)
	}
}

// A second worker on the folder of one that lives, in a PID namespace where that one's number means nothing: it is
// refused, over and over, also while the first is frozen, and nothing of the first is touched.
func TestAFolderHasOneHolderAcrossBoxes(t *testing.T) {
	boxes(t, func(b *boxed) {
		first := b.worker(b.volume, setup.Opts{}, setup.Box{})
		b.begin()
		b.refused(b.volume, "another AX process", "pid 1 on host "+first.Name)
		outside := b.s.Worker(b.t, setup.Opts{Name: "outside", Unready: true, Data: b.volume})
		if said := outside.Await(awaited); !strings.Contains(said, "pid 1 on host "+first.Name) {
			b.t.Errorf("outside all boxes: %s", said)
		}
		first.Freeze()
		b.refused(b.volume, "another AX process")
		first.Thaw()
		b.undisturbed()
		b.end()
	})
}

// A copy of the folder of a worker that lives takes and kills nothing from another box.
func TestACopiedFolderInAnotherBoxDoesNoHarm(t *testing.T) {
	boxes(t, func(b *boxed) {
		b.worker(b.volume, setup.Opts{}, setup.Box{})
		b.begin()
		for range 2 {
			b.refused(b.copy(), "is a copy", "boot 1 of this same data directory")
		}
		b.undisturbed()
		b.end()
	})
}

// copy copies the folder as it is.
func (b *boxed) copy() string {
	to := fmt.Sprint(b.volume, "-copy-", b.boxes)
	if said, err := exec.Command("cp", "-a", b.volume, to).CombinedOutput(); err != nil {
		b.t.Fatalf("%v: %s", err, said)
	}
	return to
}

// A folder is carried from one box to the next, whose worker is process 1 again, as a container is replaced that keeps its
// volume: twice, the second time before the first loss is settled. Each job gets what it asked for, whether the kernel
// gives the new namespace the old one's number or another.
func TestAFolderIsCarriedFromBoxToBox(t *testing.T) {
	for _, kept := range []bool{false, true} {
		t.Run(map[bool]string{false: "number_free", true: "number_kept"}[kept], func(t *testing.T) {
			boxes(t, func(b *boxed) {
				first := b.worker(b.volume, setup.Opts{}, setup.Box{})
				b.begin()
				was := b.namespace(first, kept)
				first.Kill()
				second := b.worker(b.volume, setup.Opts{}, setup.Box{})
				is := b.namespace(second, kept)
				if kept && is == was {
					t.Fatalf("both boxes are in %s", is)
				}
				t.Logf("from %s to %s", was, is)
				b.c.AwaitWithin(awaited, b.runs["hold"].ID, "running/orphan")
				b.awaitStarts("retry", 2, 30*time.Second)
				second.Kill()
				b.worker(b.volume, setup.Opts{}, setup.Box{})
				b.awaitStarts("retry", 3, 30*time.Second)
				b.awaitStarts("wait", 2, 2*time.Minute)
				b.end()
			})
		})
	}
}

// namespace names the PID namespace of a worker; kept lets nobody else have its number while the test runs.
func (b *boxed) namespace(p *setup.Process, kept bool) string {
	path := fmt.Sprintf("/proc/%d/ns/pid", p.Inside())
	name, err := os.Readlink(path)
	if err != nil {
		b.t.Fatal(err)
	}
	if kept {
		f, err := os.Open(path)
		if err != nil {
			b.t.Fatal(err)
		}
		b.t.Cleanup(func() { _ = f.Close() })
	}
	return name
}

// A worker ends and its box goes on; the next one has the folder in another box, from where it can see nothing of the first.
func TestAFolderLeavesABoxThatGoesOn(t *testing.T) {
	boxes(t, func(b *boxed) {
		first := b.worker(b.volume, setup.Opts{}, setup.Box{Init: true})
		b.begin()
		first.KillInside()
		b.worker(b.volume, setup.Opts{}, setup.Box{})
		b.c.AwaitWithin(awaited, b.runs["hold"].ID, "running/orphan")
		b.awaitStarts("retry", 2, 30*time.Second)
		b.awaitStarts("wait", 2, 2*time.Minute)
		if !first.Alive() {
			t.Error("the first box has ended")
		}
		b.end()
	})
}

// A worker is frozen, and a copy of its folder takes over in another box. What is late rather than twice begins there only
// when the first box' watchdog has ended it here; thawed, the first worker learns that it was replaced, and ends.
func TestACopyTakesOverFromAFrozenBox(t *testing.T) {
	boxes(t, func(b *boxed) {
		first := b.worker(b.volume, setup.Opts{}, setup.Box{})
		b.begin()
		first.Freeze()
		second := b.worker(b.copy(), setup.Opts{Unready: true}, setup.Box{})
		b.awaitStarts("retry", 2, awaited)
		b.awaitStarts("wait", 2, 2*time.Minute)
		b.c.AwaitWithin(awaited, b.runs["hold"].ID, "running/orphan")
		first.Thaw()
		if said := first.Await(awaited); !strings.Contains(said, "took this one's name") {
			t.Errorf("the thawed worker ended with: %s", said)
		}
		second.Ready()
		b.end()
	})
}

// In a box whose /proc shows the processes of the machine, numbers mean others there than here: nothing is started, and
// above all nothing is killed.
func TestAWorkerRefusesTheProcOfAnotherNamespace(t *testing.T) {
	boxes(t, func(b *boxed) {
		said := b.worker(b.volume, setup.Opts{Unready: true}, setup.Box{OutsideProc: true}).Await(awaited)
		for _, want := range []string{"/proc", "PID namespace", "mount"} {
			if !strings.Contains(said, want) {
				t.Errorf("it does not say %q: %s", want, said)
			}
		}
	})
}

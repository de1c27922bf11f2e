package broker

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

func worker(name string, cores, threads, live int, mean time.Duration) *target {
	return &target{Worker: domain.Worker{Name: name, Boot: 1, State: domain.WorkerAvailable, Cores: cores, Mean: mean, Types: []string{"shell"},
		Lanes: map[domain.Lane]int{domain.LaneDefault: threads}}, live: map[domain.Lane]int{domain.LaneDefault: live}}
}

func TestScoreIsLoadAndRelativeDuration(t *testing.T) {
	for _, c := range []struct {
		t    *target
		mean time.Duration
		want float64
	}{
		{worker("idle", 4, 8, 0, 0), 0, 0.3},
		{worker("busy", 4, 8, 4, 0), 0, 0.7 + 0.3},
		{worker("slow", 4, 8, 0, 3*time.Second), 2 * time.Second, 0.45},
		{worker("no cores told", 0, 8, 2, 0), 0, 1.7},
	} {
		if got := score(c.t, c.mean); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%s: score %.3f, want %.3f", c.t.Name, got, c.want)
		}
	}
}

func TestPickPrefersTheLowestAndStarvesNobody(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	a, b := worker("a", 4, 8, 0, 0), worker("b", 4, 8, 8, 0)
	count := map[string]int{}
	for range 10000 {
		count[pick([]*target{a, b}, rnd).Name]++
	}
	if count["a"] < 3*count["b"] || count["b"] == 0 {
		t.Fatalf("idle a was picked %d times, busy b %d times", count["a"], count["b"])
	}
	if pick(nil, rnd) != nil {
		t.Fatal("nobody is a target")
	}
}

func TestRoomIsThreadsAndWhatKeepsThemBusy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads := rapid.IntRange(0, 64).Draw(t, "threads")
		live := rapid.IntRange(0, 400).Draw(t, "live")
		w := worker("w", 4, threads, live, time.Duration(rapid.IntRange(0, 1e9).Draw(t, "mean")))
		w.rtt = time.Duration(rapid.IntRange(0, 1e8).Draw(t, "rtt"))
		got := w.room(domain.LaneDefault, false)
		if threads == 0 {
			if got != 0 {
				t.Fatalf("a lane without threads has room %d", got)
			}
			return
		}
		if ahead := got - threads + live; ahead < minPrefetch || ahead > maxPrefetch {
			t.Fatalf("%d are sent ahead of %d threads", ahead, threads)
		}
	})
}

func TestFitsAsksTypeTagsAndState(t *testing.T) {
	w := worker("w", 4, 8, 0, 0)
	w.Tags = []string{"gpu", "eu"}
	spec := func(kind string, tags ...string) domain.JobSpec {
		return domain.JobSpec{Exec: domain.Exec{Type: kind}, Tags: tags}
	}
	for _, c := range []struct {
		spec domain.JobSpec
		want bool
	}{
		{spec("shell"), true}, {spec("sql"), false}, {spec("shell", "gpu"), true}, {spec("shell", "gpu", "eu"), true}, {spec("shell", "us"), false},
	} {
		if got := w.fits(c.spec); got != c.want {
			t.Errorf("type %s tags %v: %v", c.spec.Exec.Type, c.spec.Tags, got)
		}
	}
	w.Disk = "disk full"
	if w.fits(spec("shell")) {
		t.Error("one whose disk is full takes work")
	}
	w.Disk = ""
	w.State = domain.WorkerDraining
	if w.fits(spec("shell")) {
		t.Error("a draining worker takes work")
	}
}

package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// Soak is what a long run under random faults showed.
type Soak struct {
	Seed     uint64         `json:"seed"`
	Seconds  float64        `json:"seconds"`
	Faults   map[string]int `json:"faults"` // how often each was
	Planned  int            `json:"planned"`
	Skipped  int            `json:"skipped"`
	Repeated int            `json:"repeated"`
	Lost     int            `json:"lost"`
	Doubled  int            `json:"doubled"`
	Wrong    int            `json:"wrong"`
	P99      float64        `json:"p99"` // of lateness, all fires, s
	MaxLate  float64        `json:"maxLate"`
	Memory   []Memory       `json:"memory"`
	Findings []string       `json:"findings,omitempty"`
}

// Memory is the resident memory of one process, MB: medians of the first and the last third of the run.
type Memory struct {
	Process string  `json:"process"`
	First   float64 `json:"first"`
	Last    float64 `json:"last"`
	Flat    bool    `json:"flat"`
}

const (
	// growthFree is by how many MB a process may grow from the first third to the last whatever its size: what it keeps
	// for the jobs of the run.
	growthFree = 24
	// growthShare is by how much more, as a share.
	growthShare = 0.2
	// judgedFrom is the shortest soak whose memory is judged: in a shorter one a center that takes over grows to what
	// the active one takes.
	judgedFrom = 10 * time.Minute
)

func (s *Soak) harm() bool { return s.Lost+s.Doubled+s.Wrong > 0 }

// whim is a fault of the soak with its length drawn.
func whim(rng *rand.Rand) fault {
	up := func(most int) time.Duration { return time.Duration(1000+rng.IntN(most*1000-1000)) * time.Millisecond }
	off := []time.Duration{10 * time.Second, -10 * time.Second, 2 * time.Hour, -2 * time.Hour}[rng.IntN(4)]
	all := []fault{
		{key: "center_kill", begin: killCenter, lasts: up(10)},
		{key: "other_center_kill", begin: killOtherCenter, lasts: up(10)},
		{key: "center_freeze", begin: freezeCenter, lasts: up(14)},
		{key: "worker_kill", begin: killWorker, lasts: up(14)},
		{key: "worker_freeze", begin: freezeWorker, lasts: up(16)},
		{key: "worker_stop", begin: stopWorker, lasts: up(5)},
		{key: "workers_kill", begin: killWorkers, lasts: up(8)},
		{key: "redis_restart", begin: killRedis, lasts: up(10)},
		{key: "redis_freeze", begin: freezeRedis, lasts: up(12)},
		{key: "redis_flush", begin: flushRedis},
		{key: "mariadb_restart", begin: killMariaDB, lasts: up(6)},
		{key: "mariadb_freeze", begin: freezeMariaDB, lasts: up(6)},
		{key: "mariadb_cut", begin: killConnections},
		{key: "rows_locked", begin: lockRows, lasts: up(10)},
		{key: "table_locked", begin: lockTable, lasts: up(10)},
		{key: "center_clock", begin: shiftCenter(off), lasts: up(14)},
		{key: "worker_clock", begin: shiftWorker(off), lasts: up(14)},
	}
	f := all[rng.IntN(len(all))]
	f.heal = mended
	f.name = fmt.Sprintf("%s for %.1f s", f.key, f.lasts.Seconds())
	return f
}

func killOtherCenter(t *trouble) {
	_, other := t.broker()
	other.Kill()
	t.mend = other.Restart
}

// soak runs the load and breaks something again and again.
func soak(ctx context.Context, o options) (*Soak, error) {
	fmt.Printf("Soak of %s, seed %d.\n", o.soak, o.seed)
	out := &Soak{Seed: o.seed, Seconds: o.soak.Seconds(), Faults: map[string]int{}}
	p := program(ctx)
	rng := rand.New(rand.NewPCG(o.seed, 0))
	judged := false
	err := p.Do(func() {
		t := begin(raise(p, true), o.soak, o.longest())
		for next := t.load.from.Add(o.each); next.Before(t.load.to.Add(-o.each)); next = next.Add(o.each) {
			t.pass(next)
			f := whim(rng)
			out.Faults[f.key]++
			t.force(f)
		}
		t.pass(t.load.to)
		out.Memory = t.thirds()
		facts := t.settle(settleLimit)
		v := judge(facts)
		out.take(v)
		judged = true
		t.keep(o, "soak", out.Lost+out.Doubled+out.Wrong > 0)
	})
	if !judged {
		return nil, err
	}
	return out, err
}

func (s *Soak) take(v *verdict) {
	s.Planned, s.Skipped, s.Repeated = v.planned, v.skipped, v.repeated
	for _, m := range s.Memory {
		if !m.Flat {
			v.find(isWrong, "%s grew from %.0f MB to %.0f MB", m.Process, m.First, m.Last)
		}
	}
	s.Lost, s.Doubled, s.Wrong = v.counts[isLost], v.counts[isDoubled], v.counts[isWrong]
	s.P99, s.MaxLate = v.p99().Seconds(), v.max.Seconds()
	s.Findings = v.first()
}

func (s *Soak) text() string {
	rows := [][]string{{"soak", "planned", "lost", "doubled", "wrong", "repeated", "skipped", "late p99", "max late"},
		{fmt.Sprintf("%.0f s, seed %d", s.Seconds, s.Seed), fmt.Sprint(s.Planned), fmt.Sprint(s.Lost), fmt.Sprint(s.Doubled), fmt.Sprint(s.Wrong),
			fmt.Sprint(s.Repeated), fmt.Sprint(s.Skipped), seconds(s.P99), seconds(s.MaxLate)}}
	memory := [][]string{{"memory", "first third MB", "last third MB", "flat"}}
	for _, m := range s.Memory {
		flat := "yes"
		if !m.Flat {
			flat = "NO"
		}
		memory = append(memory, []string{m.Process, fmt.Sprintf("%.0f", m.First), fmt.Sprintf("%.0f", m.Last), flat})
	}
	broken := [][]string{{"fault", "times"}}
	for _, f := range sortedKeys(s.Faults) {
		broken = append(broken, []string{f, fmt.Sprint(s.Faults[f])})
	}
	return strings.Join([]string{markdown(rows), markdown(memory), markdown(broken)}, "\n") + bullets(s.Findings)
}

// weigh notes what each live process takes, MB; one that is down at the moment has no say.
func (t *trial) weigh() {
	pids := map[string]int{"mariadb": t.mariadb.PID(), "redis": t.redis.PID()}
	for _, p := range slices.Concat(t.centers, t.workers) {
		pids[p.Name] = p.PID()
	}
	for name, pid := range pids {
		if mb := memoryOf(pid); mb > 0 {
			t.weights[name] = append(t.weights[name], mb)
		}
	}
}

// thirds compares the first third with the last. The stores keep what is in them, so theirs is shown and not judged.
func (t *trial) thirds() (out []Memory) {
	for _, name := range sortedKeys(t.weights) {
		all := t.weights[name]
		third := max(len(all)/3, 1)
		m := Memory{Process: name, First: median(all[:third]), Last: median(all[len(all)-third:])}
		m.Flat = name == "mariadb" || name == "redis" || t.load.to.Sub(t.load.from) < judgedFrom || m.Last <= m.First*(1+growthShare)+growthFree
		out = append(out, m)
	}
	return out
}

// median is the middle one, of an even number the upper one of the two in the middle.
func median(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }

// memoryOf is the resident memory of a process, MB; 0 if it is not there.
func memoryOf(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	var kb float64
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	_, _ = fmt.Sscan(rest, &kb)
	return kb / 1024
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

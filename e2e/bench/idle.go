package main

import (
	"fmt"
	"time"
)

// idlePart measures a center that has nothing to do but to know its jobs.
func (b *bench) idlePart() *Part {
	s := b.stores()
	s.startCenter()
	p := &Part{Title: "A center with many idle jobs",
		Measured: "A center (web, scheduler, broker) on MariaDB with N noop jobs, half due yearly and half daily, none within the hour: from the start of the process until /readyz answers 200 (asked each 20 ms, median of three starts), then its memory and processor time while nothing is due. The first thousand jobs are applied as files, the others are copies of their rows."}
	t := p.table("idle", "idle jobs", Column{"ready", "ready ms", 0}, Column{"rss", "memory MB", 0}, Column{"cpu_center", "center, % of a core", 1}, Column{"cpu_mariadb", "MariaDB, % of a core", 1})
	have := 0
	for _, n := range []int{1000, 10_000, 100_000} {
		s.sleepers(have, n)
		have = n
		row := t.row(fmt.Sprintf("jobs_%d", n), number(float64(n), 0))
		aims := [3]*Aim{}
		if n == 100_000 {
			aims = [3]*Aim{atMost(3000), atMost(200), atMost(3)}
		}
		row.aim("ready", s.starts(pick(s.options, 3, 1)), aims[0])
		s.pause(2 * time.Second) // the start's own work is over by then
		from := s.read()
		s.pause(pick(s.options, 7*time.Second, 5*time.Second))
		to := s.read()
		share := func(name string) float64 {
			return 100 * (to.cpu[name] - from.cpu[name]).Seconds() / to.at.Sub(from.at).Seconds()
		}
		row.aim("rss", memoryOf(s.center.PID()), aims[1])
		row.aim("cpu_center", share("center"), aims[2]).put("cpu_mariadb", share("mariadb"))
		s.say("%d jobs: ready in %.0f ms", n, row.Figures["ready"].Value)
	}
	return p
}

// sleepers makes the jobs n that were have; none is due within the hour.
func (s *stage) sleepers(have, n int) {
	far := time.Now().UTC().Add(12 * time.Hour).Hour()
	j := jobs{prefix: "idle", kind: "noop", n: n, schedule: `cron: "0 3 1 1 *"`, other: fmt.Sprintf(`cron: "17 %d * * *"`, far)}
	if have == 0 {
		s.put(j)
		return
	}
	s.copyJobs(j, n-have)
}

// starts ends and starts the center a few times and returns the median of how long it takes until it is ready, in ms.
func (s *stage) starts(times int) float64 {
	var took []float64
	for range times {
		s.center.Stop()
		began := time.Now()
		s.center.Restart()
		took = append(took, float64(time.Since(began).Milliseconds()))
	}
	return median(took)
}

// embeddedPart is parts a and b on SQLite and the Redis inside the process.
func (b *bench) embeddedPart() *Part {
	s := b.embedded()
	s.idle()
	const rate = 500
	p := &Part{Title: "Lateness and sustained rate on the embedded stores",
		Measured: fmt.Sprintf("As in a and b, with `--mode=all` on SQLite and the Redis inside the process: one process, whose processor time stands under center. %d noop jobs with `every: 1s` for the sustained rate, while pages are asked for, %d a second.", rate, pageRate)}
	t := p.table("lateness", "due in the same second", latenessColumns()...)
	for _, n := range []int{100, 1000} {
		s.fire(p, t, salvo{"noop", n, 3, 3 * time.Second, nil})
	}
	s.flood(p, flood{rate: rate, warm: 5 * time.Second, window: pick(b.options, 12*time.Second, 8*time.Second)})
	return p
}

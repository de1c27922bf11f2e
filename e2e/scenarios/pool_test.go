package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// poolWatch samples the rows for as long as a test runs: how many have a place in a pool.
type poolWatch struct {
	stop  chan struct{}
	ended chan int // the most that had a place at once
}

const havePlace = "SELECT COUNT(*) FROM instance WHERE pool = 'db' AND state = 'running' AND label IN ('dispatched', 'executing', 'stopping', 'orphan') AND (part_of > 0 OR shards = 0)"

func watchPool(db inside) *poolWatch {
	w := &poolWatch{make(chan struct{}), make(chan int, 1)}
	go func() {
		most := 0
		for {
			select {
			case <-w.stop:
				w.ended <- most
				return
			case <-time.After(10 * time.Millisecond): // between two samples
			}
			var n int
			if err := db.db.Scan(db.t.Context(), &n, havePlace); err == nil {
				most = max(most, n)
			}
		}
	}()
	return w
}

// The active center and a worker die again and again while several jobs, one of them in shards, share a pool: no
// sample of the rows shows more places taken than there are, and when all is well again everything has run.
func TestAPoolHoldsWhileCentersAndWorkersDie(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		centers := []*setup.Process{s.Center(t, setup.Opts{Name: centerA}), s.Center(t, setup.Opts{Name: centerB})}
		workers := []*setup.Process{s.Worker(t, setup.Opts{Name: workerA}), s.Worker(t, setup.Opts{Name: workerB})}
		c := s.Client(t, centers[0])
		if said := c.Run("apply", "-f", c.File(shellJob("early", "true", "pool: db"))); said.Code == 0 || !strings.Contains(said.Err, "has no pool db") || !strings.Contains(said.Err, "ax pools set") {
			t.Errorf("a pool that is not there: exit %d\n%s", said.Code, said.Err)
		}
		const limit, runs = 3, 25
		c.Must("pools", "set", "db", fmt.Sprint(limit))
		var jobs []string
		names := []string{"one", "two", "parts"}
		for _, name := range names {
			more := []string{"pool: db", "overlap: allow", "timeout: 60"}
			if name == "parts" {
				more = append(more, "shards: 2")
			}
			jobs = append(jobs, shellJob(name, "sleep 0.3", more...))
		}
		c.Apply(files(jobs...))
		db := tables(t, s.Database)
		watch := watchPool(db)
		for range runs {
			for _, name := range names {
				c.Trigger(name)
			}
		}
		for round := range 2 {
			const done = "SELECT COUNT(*) FROM instance WHERE pool = 'db' AND state = 'success'"
			before := db.number(done)
			centers[round].Kill() // the active one: the other takes over
			setup.Until(t, awaited, "it goes on", func() bool { return db.number(done) > before+limit }, func() string { return fmt.Sprint(db.number(havePlace), " have a place") })
			workers[round].Kill()
			centers[round].Restart()
			workers[round].Restart()
		}
		const open = "SELECT COUNT(*) FROM instance WHERE pool = 'db' AND state IN ('running', 'retrying')"
		setup.Until(t, 2*time.Minute, "everything has run", func() bool { return db.number(open) == 0 }, func() string {
			return db.lines("SELECT CONCAT_WS(' ', id, job_name, state, label) FROM instance WHERE state IN ('running', 'retrying') LIMIT 20")
		})
		close(watch.stop)
		if most := <-watch.ended; most > limit || most == 0 {
			t.Errorf("%d had a place at once, the limit is %d", most, limit)
		}
		if n := db.number("SELECT COUNT(*) FROM instance WHERE pool = 'db' AND part_of = 0 AND state = 'success'"); n != int64(runs*len(names)) {
			t.Errorf("%d of %d succeeded", n, runs*len(names))
		}
	})
}

// 1,000 wait behind a full pool: other jobs start as if they were not there; why says who has the place; a limit
// counts at once, 0 pauses; the pool can't be deleted.
func TestAThousandBehindAFullPoolDelayNobody(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		c.Must("pools", "set", "db", "1")
		gate := c.Path("go")
		jobs := []string{shellJob("blocks", "while ! test -e "+gate+"; do sleep 0.1; done", "pool: db", "timeout: 300"), noopJob("free")}
		for i := range 10 {
			jobs = append(jobs, noopJob(fmt.Sprint("many", i), "pool: db"))
		}
		c.Apply(files(jobs...))
		first := c.Trigger("blocks")
		c.Await(first.ID, "running/executing")
		for i := range 10 {
			c.Must("backfill", fmt.Sprint("many", i), "--from", "2025-01-01", "--to", "2025-04-10", "--degree", "100", "--yes")
		}
		waiting := c.Trigger("many0")
		c.Await(waiting.ID, "running/held_pool")
		setup.Until(t, awaited, "a thousand wait", func() bool { return strings.Contains(c.Must("pools"), " 1001 ") }, func() string { return c.Must("pools") })
		if why := c.Must("why", waiting.ID); !strings.Contains(why, "pool db is full: 1 of 1, held by blocks of") || !strings.Contains(why, first.ID) {
			t.Errorf("why: %s", why)
		}
		var slowest time.Duration
		for range 20 {
			began := time.Now()
			c.Await(c.Trigger("free").ID, "success")
			slowest = max(slowest, time.Since(began))
		}
		t.Logf("with %s in the pool the slowest of 20 others took %s", strings.Join(strings.Fields(c.Must("pools")), " "), slowest.Round(time.Millisecond))
		if slowest > 3*time.Second {
			t.Errorf("another job took %s", slowest)
		}
		if said := c.Run("pools", "delete", "db"); said.Code != 1 || !strings.Contains(said.Err, "name it: blocks, many0, ") {
			t.Errorf("deleted: exit %d %s", said.Code, said.Err)
		}
		c.Must("pools", "set", "db", "0")
		if err := touch(gate); err != nil {
			t.Fatal(err)
		}
		c.Await(first.ID, "success")
		if why := c.Must("why", waiting.ID); !strings.Contains(why, "pool db is paused") {
			t.Errorf("why: %s", why)
		}
		c.Must("pools", "set", "db", "50")
		c.Await(waiting.ID, "success")
	})
}

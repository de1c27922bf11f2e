package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// The part of the crash load that is split and that shares a pool.
const (
	sharedPool   = "shared"
	sharedPlaces = 2
	loadShards   = 3
)

// isPooled reports whether it ran in the pool.
func isPooled(l setup.Life) bool { return l.Job == "pooled" || strings.HasPrefix(l.Job, "part-") }

// ranAs is a shard, or an instance that was not split, as the rows have it.
type ranAs struct {
	succeeded bool
	lost      int // attempts that were lost with their worker: each may have run
}

// inPool is by "trace task" what the rows have of who takes places in the pool.
func (l *crashLoad) inPool() map[string]ranAs {
	all := map[string]ranAs{}
	const query = "SELECT CONCAT_WS(' ', trace_id, CASE WHEN part_of = 0 THEN job_name ELSE CONCAT_WS('', 'part-', shard) END, state, " +
		"(SELECT COUNT(*) FROM attempt a WHERE a.instance_id = i.id AND a.outcome = 'worker_lost')) FROM instance i WHERE pool = '" + sharedPool + "' AND (part_of > 0 OR job_name <> 'parts')"
	for line := range strings.Lines(l.d.db.lines(query)) {
		var trace, task, state string
		var lost int
		if _, err := fmt.Sscan(line, &trace, &task, &state, &lost); err != nil {
			l.d.t.Fatalf("%q: %v", line, err)
		}
		all[trace+" "+task] = ranAs{state == "success", lost}
	}
	return all
}

// shards asks whether each instance that was split has its shards, ended after the last of them, and counts once.
func (l *crashLoad) shards() {
	t, db := l.d.t, l.d.db
	const split = "job_name = 'parts' AND part_of = 0 AND state = 'success'"
	if db.number("SELECT COUNT(*) FROM instance WHERE "+split) == 0 {
		t.Error("nothing that is split has run")
	}
	of := fmt.Sprint("(SELECT COUNT(*) FROM instance s WHERE s.part_of = i.id AND s.run_id = i.run_id AND s.state = 'success' AND s.shards = ", loadShards, ")")
	for what, query := range map[string]string{
		"an instance has not all its shards":          fmt.Sprintf("SELECT COUNT(*) FROM instance i WHERE %s AND (shards <> %d OR %s <> %[2]d)", split, loadShards, of),
		"a shard has no instance that was split":      "SELECT COUNT(*) FROM instance s WHERE part_of > 0 AND NOT EXISTS (SELECT 1 FROM instance i WHERE i.id = s.part_of AND i.shards = s.shards)",
		"an instance ended before its shards":         "SELECT COUNT(*) FROM instance i JOIN instance s ON s.part_of = i.id WHERE i.finished_at < s.finished_at",
		"an instance has attempts beside its shards'": "SELECT COUNT(*) FROM attempt a JOIN instance i ON i.id = a.instance_id WHERE i.shards > 0 AND i.part_of = 0",
		"a split is told twice":                       "SELECT COUNT(*) FROM event e JOIN event f ON f.run_id = e.run_id AND f.id > e.id WHERE e.move = 'split' AND f.move = 'split'",
		"a figure has some open, and all have ended": "SELECT COUNT(*) FROM (SELECT metric FROM counter WHERE job_id = 0 AND metric IN ('waiting', 'queued', 'executing', 'retrying') " +
			"GROUP BY metric HAVING SUM(total) <> 0) open_ones",
	} {
		if n := db.number(query); n != 0 {
			t.Errorf("%s: %d times", what, n)
		}
	}
	ran := db.number("SELECT COUNT(*) FROM instance WHERE part_of = 0 AND started_at > 0")
	if n := db.number("SELECT COALESCE(SUM(total), 0) FROM counter WHERE job_id = 0 AND metric = 'runs'"); n != ran {
		t.Errorf("%d instances have run, and %d ends are counted", ran, n)
	}
}

// places holds what ran in the pool against the rows and the limit: each ran as often as it may, never more at once than
// there are places, and afterwards all places are there to be taken.
func (l *crashLoad) places() {
	t, said := l.d.t, l.inPool()
	starts, ends := map[string]int{}, map[string]int{}
	var lives []setup.Life
	for _, life := range l.d.diary.Lives() {
		if !isPooled(life) {
			continue
		}
		key := life.Trace + " " + life.Job
		if starts[key]++; life.Ended {
			ends[key]++
		}
		if _, ok := said[key]; !ok {
			t.Errorf("a task ran of which AX knows nothing: %+v", life)
		}
		for _, other := range lives {
			if other.To.After(life.From) && other.Trace == life.Trace && other.Job == life.Job {
				t.Errorf("two were alive at once:\n%+v\n%+v", other, life)
			}
		}
		lives = append(lives, life)
	}
	for key, one := range said {
		if !one.succeeded || ends[key] == 0 || starts[key] > 1+one.lost || ends[key] > 1+one.lost {
			t.Errorf("%s: the task noted %d starts and %d ends, by the rows %+v", key, starts[key], ends[key], one)
		}
	}
	if at, most := busiest(lives); most > sharedPlaces || most == 0 {
		t.Errorf("%d were alive at once in a pool of %d, at %s", most, sharedPlaces, at.Format("15:04:05.000"))
	}
	placesFree(l.d.db, l.clients[0], sharedPool, sharedPlaces)
}

// busiest says when the most were alive at once, and how many.
func busiest(lives []setup.Life) (at time.Time, most int) {
	for _, one := range lives {
		if n := alive(lives, one.From); n > most {
			at, most = one.From, n
		}
	}
	return at, most
}

// alive is how many were at a moment.
func alive(lives []setup.Life, at time.Time) int {
	n := 0
	for _, l := range lives {
		if !l.From.After(at) && l.To.After(at) {
			n++
		}
	}
	return n
}

// atOnce is how long something may take that waits for nothing, on a loaded machine.
const atOnce = 8 * time.Second

// placesFree fills a pool in which nobody is: all its places are taken at once, and one more waits.
func placesFree(db inside, c *setup.Client, pool string, places int) {
	t := db.t
	t.Helper()
	gate := c.Path("probed")
	c.Apply(shellJob("probe", "while ! test -e "+gate+"; do sleep 0.1; done", "overlap: allow", "pool: "+pool, "timeout: 120"))
	began := time.Now()
	for range places + 1 {
		c.Trigger("probe")
	}
	count := func(as string) int64 {
		return db.number("SELECT COUNT(*) FROM instance WHERE job_name = 'probe' AND " + as)
	}
	say := func() string {
		return db.lines("SELECT CONCAT_WS(' ', id, job_name, state, label) FROM instance WHERE job_name = 'probe'")
	}
	setup.Until(t, atOnce, "all places of the pool are taken again", func() bool { return count("label = 'executing'") == int64(places) && count("label = 'held_pool'") == 1 }, say)
	t.Logf("afterwards the pool of %d was full %s after the first trigger, with one waiting", places, time.Since(began).Round(10*time.Millisecond))
	if err := touch(gate); err != nil {
		t.Fatal(err)
	}
	setup.Until(t, atOnce, "those end", func() bool { return count("state = 'success'") == int64(places+1) }, say)
}

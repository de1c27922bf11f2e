package scenarios

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// crashLoad is what AX carries while one of its processes dies: schedules each second and two, retries, shards that
// share a small pool with others, and each second, by hand through the API, a pair that follows and a chain that is cancelled.
type crashLoad struct {
	d       *drill
	clients []*setup.Client
	from    time.Time
	stop    chan struct{}
	driven  sync.WaitGroup
	dates   int      // how many business dates were started
	refused []string // calls that no center took
}

// endLimit is how long after the end of a load every instance must have ended.
const endLimit = 60 * time.Second

func beginLoad(d *drill) *crashLoad {
	l := &crashLoad{d: d, stop: make(chan struct{})}
	for _, name := range []string{webA, centerB, centerA} {
		if p := d.p[name]; p != nil {
			l.clients = append(l.clients, d.s.Client(d.t, p))
		}
	}
	l.clients[0].Must("pools", "set", sharedPool, fmt.Sprint(sharedPlaces))
	l.apply(true)
	l.from = time.Now().Add(time.Second).Truncate(time.Second)
	l.driven.Go(l.drive)
	return l
}

// apply puts the jobs into force, those with a schedule paused unless enabled.
func (l *crashLoad) apply(enabled bool) {
	d := l.d.diary
	after := func(name string) string {
		return "deps:\n  - name: " + name + "\n    biz_date: current\n    check: success"
	}
	each := func(seconds int) string {
		return fmt.Sprintf("cron: \"*/%d * * * * *\"\ndialect: seconds\nenabled: %v", seconds, enabled)
	}
	tried := l.clients[0].Path("tried")
	jobs := []string{
		shellJob("steady", d.Beating("steady", 4), each(2), "overlap: allow", "on_worker_lost: wait"),
		shellJob("solo", d.Beating("solo", 6), each(1), "on_worker_lost: wait"),
		shellJob("flaky", d.Command("flaky", "echo tries && { test -e "+tried+"-{{trace_id}} || { touch "+tried+"-{{trace_id}}; false; }; }"),
			each(2), "overlap: allow", "retry:\n  times: 1\n  interval: 1"),
		shellJob("pooled", d.Beating("pooled", 3), each(2), "overlap: allow", "on_worker_lost: wait", "pool: "+sharedPool),
		shellJob("parts", d.Beating("part-{{shard.index}}", 3), each(3), "overlap: allow", "on_worker_lost: wait", "pool: "+sharedPool, fmt.Sprint("shards: ", loadShards)),
		shellJob("slow", "sleep 8", "tags: [worker-a]", "timeout: 60"),
		noopJob("up"), shellJob("down", d.Command("down", ""), "overlap: allow", after("up")),
		shellJob("bad", "exit 1", "overlap: allow"), noopJob("mid", after("bad")), noopJob("leaf", after("mid")),
	}
	for i := range 3 {
		jobs = append(jobs, noopJob(fmt.Sprintf("tick_%d", i), each(1)))
	}
	c, file := l.clients[0], l.clients[0].File(files(jobs...))
	if said := c.Run("apply", "-f", file); said.Code != 0 && !(enabled && l.d.reached()) { // else the answer died with the process, and the first fires are there
		l.d.t.Fatalf("ax apply: exit %d\n%s%s", said.Code, said.Out, said.Err)
	}
}

func noopJob(name string, more ...string) string {
	job := "version: v1\njob:\n  name: " + name + "\n  overlap: allow\n"
	for _, m := range more {
		for line := range strings.Lines(m) {
			job += "  " + strings.TrimRight(line, "\n") + "\n"
		}
	}
	return job + "  exec: {type: noop}\n"
}

// followers are started by hand for each business date, those that wait first.
func followers() []string { return []string{"leaf", "mid", "bad", "down", "up"} }

func dateOf(i int) string {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i).Format(time.DateOnly)
}

// drive starts the followers of one business date after the other.
func (l *crashLoad) drive() {
	for ; ; l.dates++ {
		for _, job := range followers() {
			l.trigger(job, dateOf(l.dates))
		}
		select {
		case <-l.stop:
			l.dates++
			return
		case <-time.After(time.Second): // the pace of the load
		}
	}
}

// trigger asks one center and then the other, with one idempotency key, until one has answered.
func (l *crashLoad) trigger(job, date string) {
	var said string
	for deadline := time.Now().Add(reachLimit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, c := range l.clients {
			a, err := c.Call(http.MethodPost, "/api/v1/jobs/"+job+"/trigger", `{"bizDate":"`+date+`"}`, "Idempotency-Key", job+date)
			if err == nil && a.Status/100 == 2 {
				return
			}
			said = fmt.Sprintf("%s of %s: %v %d %.200s", job, date, err, a.Status, a.Body)
		}
	}
	l.refused = append(l.refused, said)
}

// end stops the load and waits until all that it made has ended.
func (l *crashLoad) end() {
	t := l.d.t
	close(l.stop)
	l.driven.Wait()
	for _, said := range l.refused {
		t.Errorf("no center took a call: %s", said)
	}
	l.apply(false)
	const open = "SELECT COUNT(*) FROM instance WHERE state IN ('running', 'retrying')"
	setup.Until(t, endLimit, "every instance ends", func() bool { return l.d.db.number(open) == 0 }, func() string {
		return l.d.db.lines("SELECT CONCAT_WS(' ', i.id, i.job_name, i.state, i.label, i.deps_left, a.id, a.target, a.boot, a.state, a.outcome) FROM instance i " +
			"LEFT JOIN attempt a ON a.instance_id = i.id WHERE i.state IN ('running', 'retrying') ORDER BY i.id, a.id LIMIT 20")
	})
}

// balance compares the ledger, the rows and the diary. again says that tasks may have run once more because their
// worker was lost.
func (l *crashLoad) balance(again bool) {
	t := l.d.t
	books := ledgerOf(l.clients[0], l.from, time.Now().Truncate(time.Second))
	for _, j := range books.Jobs {
		if j.Planned != j.Fired+j.Skipped+j.Missed || j.Missed > 0 || j.Pending > 0 || len(j.Absent) > 0 {
			t.Errorf("the ledger of %s: %+v", j.Job, j)
		}
		if j.Planned == 0 && (strings.HasPrefix(j.Job, "tick") || j.Job == "solo") {
			t.Errorf("nothing was planned of %s", j.Job)
		}
	}
	if !books.Balanced || len(books.Jobs) == 0 {
		t.Errorf("the ledger does not balance: %+v", books)
	}
	l.rows()
	l.diary(again)
	l.output()
	l.shards()
	l.places()
}

// outputLimit is how long after its task's end the last line may come: what a sink that died had read is shipped again.
const outputLimit = 45 * time.Second

// output waits until each line that a task printed is there, once.
func (l *crashLoad) output() {
	const wrong = "FROM attempt a WHERE a.state = 'ended' AND a.outcome IN ('success', 'error') AND a.log_lines <> " +
		"(SELECT COALESCE(SUM(c.last_line - c.first_line + 1), 0) FROM log_chunk c WHERE c.attempt_id = a.id)"
	if l.d.db.number("SELECT COUNT(*) FROM attempt WHERE log_lines > 0") == 0 {
		l.d.t.Error("no task has printed anything")
	}
	setup.Until(l.d.t, outputLimit, "all output is stored once", func() bool { return l.d.db.number("SELECT COUNT(*) "+wrong) == 0 },
		func() string {
			return l.d.db.lines("SELECT CONCAT_WS(' ', a.id, a.target, a.log_lines) " + wrong + " LIMIT 20")
		})
}

// rows asks the tables for what must not be.
func (l *crashLoad) rows() {
	t, db := l.d.t, l.d.db
	for what, query := range map[string]string{
		"two grants in force at once": "SELECT COUNT(*) FROM attempt a JOIN attempt b ON b.run_id = a.run_id AND b.shard = a.shard AND b.id > a.id " +
			"WHERE a.granted_at > 0 AND b.granted_at > 0 AND (a.finished_at = 0 OR b.granted_at < a.finished_at)",
		"a successful run was dispatched again": "SELECT COUNT(*) FROM attempt a JOIN instance i ON i.id = a.instance_id WHERE i.state = 'success' AND a.dispatched_at > i.finished_at",
		"a run succeeded twice":                 "SELECT COUNT(*) FROM attempt a JOIN attempt b ON b.run_id = a.run_id AND b.shard = a.shard AND b.id > a.id WHERE a.outcome = 'success' AND b.outcome = 'success'",
		"an attempt is left open":               "SELECT COUNT(*) FROM attempt WHERE state IN ('sent', 'granted')",
		"a dependency is left waiting":          "SELECT COUNT(*) FROM dep d JOIN instance i ON i.id = d.instance_id WHERE d.state = 'waiting' AND i.state = 'success'",
		"an upstream's failure was outrun":      "SELECT COUNT(*) FROM instance WHERE job_name IN ('mid', 'leaf') AND NOT (state = 'cancelled' AND label = 'upstream_failed')",
		"what should succeed did not":           "SELECT COUNT(*) FROM instance WHERE job_name <> 'bad' AND state NOT IN ('success', 'cancelled')",
		"what nobody cancelled is cancelled":    "SELECT COUNT(*) FROM instance WHERE state = 'cancelled' AND label <> 'skipped' AND job_name NOT IN ('mid', 'leaf')",
		"what fails did not":                    "SELECT COUNT(*) FROM instance WHERE job_name = 'bad' AND NOT (state = 'failed' AND label = 'error')",
	} {
		if n := db.number(query); n != 0 {
			t.Errorf("%s: %d times", what, n)
		}
	}
	for _, job := range followers() {
		if n := db.number("SELECT COUNT(*) FROM instance WHERE job_name = '" + job + "'"); n != int64(l.dates) {
			t.Errorf("%s was started for %d business dates, and has %d instances", job, l.dates, n)
		}
	}
}

// told is what AX says of a run whose task notes itself.
type told struct {
	job  string
	lost int // attempts that were lost with their worker: each may have run
}

// told is by trace what succeeded.
func (l *crashLoad) told() map[string]told {
	all := map[string]told{}
	const query = "SELECT CONCAT_WS(' ', trace_id, job_name, (SELECT COUNT(*) FROM attempt a WHERE a.instance_id = i.id AND a.outcome = 'worker_lost')) " +
		"FROM instance i WHERE state = 'success' AND job_name IN ('steady', 'solo', 'flaky', 'down')"
	for line := range strings.Lines(l.d.db.lines(query)) {
		var trace string
		var one told
		if _, err := fmt.Sscan(line, &trace, &one.job, &one.lost); err != nil {
			l.d.t.Fatalf("%q: %v", line, err)
		}
		all[trace] = one
	}
	return all
}

// diary holds what the tasks wrote against what AX says of them.
func (l *crashLoad) diary(again bool) {
	t, said := l.d.t, l.told()
	starts, ends := map[string]int{}, map[string]int{}
	var before []setup.Life
	for _, life := range l.d.diary.Lives() {
		if isPooled(life) {
			continue // see places
		}
		if starts[life.Trace]++; life.Ended {
			ends[life.Trace]++
		}
		if said[life.Trace].job == "" {
			t.Errorf("a task ran of which AX knows no success: %+v", life)
		}
		if life.Job != "steady" && life.Job != "solo" {
			continue
		}
		for _, other := range before {
			if other.To.After(life.From) && (other.Trace == life.Trace || life.Job == "solo" && other.Job == "solo") {
				t.Errorf("two were alive at once:\n%+v\n%+v", other, life)
			}
		}
		before = append(before, life)
	}
	for trace, one := range said {
		want := 1
		if one.job == "flaky" {
			want = 2
		}
		if ends[trace] == 0 || starts[trace] < want {
			t.Errorf("AX says that %s of %s succeeded, the task noted %d starts and %d ends", one.job, trace, starts[trace], ends[trace])
		}
		if starts[trace] > want+one.lost || ends[trace] > 1+one.lost {
			t.Errorf("%s of %s ran %d times to %d ends, with %d attempts lost", one.job, trace, starts[trace], ends[trace], one.lost)
		}
		if one.lost > 0 && !again {
			t.Errorf("%d attempts of %s count as lost, and no worker was", one.lost, one.job)
		}
	}
}

// lines runs a query whose rows are one text each.
func (in inside) lines(query string) string {
	in.t.Helper()
	rows, err := in.db.SQL().QueryContext(in.t.Context(), query)
	if err != nil {
		in.t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	var b strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			in.t.Fatalf("%s: %v", query, err)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

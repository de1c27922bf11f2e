// Command measure prints what an instance costs: processor time by process, row writes, lateness, and how many a
// second go through. It starts private MariaDB and Redis servers, a center and a worker, and drives them from
// outside. It owns its processes and prints a table; it judges nothing.
//
//	go run ./e2e/measure [-quick]
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/modules/kit/dbx"
)

var quick = flag.Bool("quick", false, "fewer rounds: minutes become seconds, and the figures rougher")

// run is the setup.T of this program: a failure ends it, and clean-ups run in reverse.
type run struct {
	ctx      context.Context
	cleanups []func()
	failed   bool
}

func (r *run) Helper()                  {}
func (r *run) Name() string             { return "measure" }
func (r *run) Context() context.Context { return r.ctx }
func (r *run) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *run) Failed() bool             { return r.failed }
func (r *run) Logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
func (r *run) Errorf(format string, args ...any) {
	r.failed = true
	r.Logf(format, args...)
}

// failure ends the program from wherever it was found.
type failure struct{}

func (r *run) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(failure{})
}

func (r *run) end() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
	setup.Clean()
}

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(measure(&run{ctx: ctx}))
}

func measure(r *run) (code int) {
	defer r.end()
	defer func() {
		if p := recover(); p != nil {
			if _, ours := p.(failure); !ours {
				panic(p)
			}
			code = 1
		}
	}()
	b := newBench(r)
	b.idle()
	for _, kind := range []string{"noop", "shell"} {
		for _, n := range []int{100, 1000} {
			b.lateness(kind, n)
		}
	}
	b.sustained()
	return 0
}

// bench is the system that is measured.
type bench struct {
	r              *run
	site           *setup.Site
	mariadb, redis *stores.Server
	center, worker *setup.Process
	c              *setup.Client
	db             *sql.DB
	rest           map[string]time.Duration // processor time that each part takes in a second of idleness
}

// database is the name of the bench's own.
const database = "ax_measure"

func newBench(r *run) *bench {
	b := &bench{r: r, rest: map[string]time.Duration{}}
	var err error
	if b.mariadb, err = stores.MariaDB(""); err != nil {
		r.Fatalf("%v", err)
	}
	r.Cleanup(b.mariadb.Stop)
	if b.redis, err = stores.Redis(""); err != nil {
		r.Fatalf("%v", err)
	}
	r.Cleanup(b.redis.Stop)
	b.create()
	b.site = setup.NewSite(r, b.mariadb.URL+database, b.redis.URL+"/1")
	b.center = b.site.Center(r, setup.Opts{})
	b.worker = b.site.Worker(r, setup.Opts{})
	b.c = b.site.Client(r, b.center)
	db, err := dbx.Open(r.ctx, b.site.Database, dbx.Options{Pool: 2})
	if err != nil {
		r.Fatalf("%v", err)
	}
	r.Cleanup(func() { _ = db.Close() })
	b.db = db.SQL()
	return b
}

// create makes the database; the server is private and empty.
func (b *bench) create() {
	u := strings.TrimPrefix(strings.TrimSuffix(b.mariadb.URL, "/"), "mysql://")
	account, addr, _ := strings.Cut(u, "@")
	db, err := sql.Open("mysql", account+"@tcp("+addr+")/")
	if err != nil {
		b.r.Fatalf("%v", err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(b.r.ctx, "CREATE DATABASE "+database+" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"); err != nil {
		b.r.Fatalf("%v", err)
	}
}

// parts are the processes of the bill, in the order of the table.
var parts = []string{"mariadb", "redis", "center", "worker"}

// meter is what was used up to a moment.
type meter struct {
	at  time.Time
	cpu map[string]time.Duration
	row int64
}

func (b *bench) read() meter {
	m := meter{at: time.Now(), cpu: map[string]time.Duration{}}
	for part, pid := range map[string]int{"mariadb": b.mariadb.PID(), "redis": b.redis.PID(), "center": b.center.PID(), "worker": b.worker.PID()} {
		if part == "worker" && !b.worker.Alive() {
			continue
		}
		used, err := cpuOf(pid)
		if err != nil {
			b.r.Fatalf("%s: %v", part, err)
		}
		m.cpu[part] = used
	}
	// What the engine was asked to write: MariaDB from 10.6 has no Innodb_rows_… any more.
	rows, err := b.db.QueryContext(b.r.ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Handler_write', 'Handler_update', 'Handler_delete')")
	if err != nil {
		b.r.Fatalf("%v", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			b.r.Fatalf("%v", err)
		}
		m.row += n
	}
	if err := rows.Err(); err != nil {
		b.r.Fatalf("%v", err)
	}
	return m
}

// ticksPerSecond is the unit of /proc/PID/stat on every Linux that AX runs on.
const ticksPerSecond = 100

// cpuOf is the processor time of a process and of its children that ended, tasks for a worker.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest) // the first is field 3 of proc(5)
	var ticks int64
	for _, i := range []int{14, 15, 16, 17} { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(fields[i-3], 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// bill is what n instances cost between two readings, idleness taken off, in microseconds each.
func (b *bench) bill(from, to meter, n int) string {
	var out strings.Builder
	var total time.Duration
	for _, part := range parts {
		if _, there := from.cpu[part]; !there {
			out.WriteString("        –")
			continue
		}
		used := to.cpu[part] - from.cpu[part] - time.Duration(float64(b.rest[part])*to.at.Sub(from.at).Seconds())
		total += used
		fmt.Fprintf(&out, "%9d", used.Microseconds()/int64(n))
	}
	return out.String() + fmt.Sprintf("%9d%9.2f", total.Microseconds()/int64(n), float64(to.row-from.row)/float64(n))
}

const billHead = "  mariadb    redis   center   worker      all   writes"

// size is the full measure, or the one of -quick.
func size[N time.Duration | int](full, short N) N {
	if *quick {
		return short
	}
	return full
}

// wait pauses until the moment.
func (b *bench) wait(until time.Time) {
	select {
	case <-time.After(time.Until(until)):
	case <-b.r.ctx.Done():
		b.r.Fatalf("interrupted")
	}
}

// idle measures what the parts take while nothing is due.
func (b *bench) idle() {
	b.wait(time.Now().Add(3 * time.Second)) // the start's own work is over by then
	from := b.read()
	b.wait(from.at.Add(size(15*time.Second, 5*time.Second)))
	to := b.read()
	seconds := to.at.Sub(from.at).Seconds()
	fmt.Printf("idle, %% of one core:")
	for _, part := range parts {
		b.rest[part] = time.Duration(float64(to.cpu[part]-from.cpu[part]) / seconds)
		fmt.Printf("  %s %.1f", part, 100*b.rest[part].Seconds())
	}
	fmt.Printf("; row writes a second %.1f\n\n", float64(to.row-from.row)/seconds)
	fmt.Printf("%-26s%9s%9s%9s%9s  │%s\n", "due in the same second", "p50 ms", "p99 ms", "max ms", "n", "  µs of CPU an instance:"+billHead)
}

// jobs is a file of n jobs of a kind with a schedule.
func jobs(prefix, kind, schedule string, n int, enabled bool) string {
	docs := make([]string, n)
	exec := "exec:\n    type: noop"
	if kind == "shell" {
		exec = "exec:\n    type: shell\n    command: \"true\""
	}
	for i := range docs {
		docs[i] = fmt.Sprintf("version: v1\njob:\n  name: %s_%04d\n  overlap: allow\n  misfire: fire_all\n  enabled: %v\n  %s\n  %s\n", prefix, i, enabled, schedule, exec)
	}
	return strings.Join(docs, "---\n")
}

// count asks how many instances of the jobs with the prefix are in a state.
func (b *bench) count(prefix, where string) int {
	var n int
	err := b.db.QueryRowContext(b.r.ctx, "SELECT COUNT(*) FROM instance WHERE job_name LIKE '"+prefix+"\\_%' AND "+where).Scan(&n)
	if err != nil {
		b.r.Fatalf("%v", err)
	}
	return n
}

// until waits until cond agrees.
func (b *bench) until(limit time.Duration, what string, cond func() bool) {
	for deadline := time.Now().Add(limit); !cond(); b.wait(time.Now().Add(250 * time.Millisecond)) {
		if time.Now().After(deadline) {
			b.r.Fatalf("not within %s: %s\n%s", limit, what, b.center.Tail(20))
		}
	}
}

// lateness fires n jobs in the same second, a few rounds, and prints start − expected and the bill.
func (b *bench) lateness(kind string, n int) {
	const pause = 15 * time.Second
	prefix := fmt.Sprintf("late_%s_%d", kind, n)
	rounds := size(4, 2)
	schedule := "cron: \"*/15 * * * * *\"\n  dialect: seconds"
	b.c.Apply(jobs(prefix, kind, schedule, n, true))
	first := time.Now().Truncate(pause).Add(pause)
	if time.Until(first) < 3*time.Second {
		first = first.Add(pause) // what was applied is loaded by then
	}
	b.wait(first.Add(-time.Second))
	from := b.read()
	b.wait(first.Add(time.Duration(rounds-1) * pause))
	in := fmt.Sprintf("expected_at >= %d AND expected_at < %d", first.UnixMilli(), first.Add(time.Duration(rounds)*pause).UnixMilli())
	b.until(time.Minute, "all instances succeed", func() bool { return b.count(prefix, in+" AND state = 'success'") == n*rounds })
	to := b.read()
	b.c.Apply(jobs(prefix, kind, schedule, n, false))
	late := b.late(prefix, in)
	at := func(share float64) int64 { return late[min(int(share*float64(len(late))), len(late)-1)] }
	fmt.Printf("%-26s%9d%9d%9d%9d  │  %s%s\n", fmt.Sprintf("%d × %s", n, kind), at(0.5), at(0.99), late[len(late)-1], len(late),
		strings.Repeat(" ", len("µs of CPU an instance:")), b.bill(from, to, len(late)))
}

// late is start − expected of instances, in milliseconds, sorted.
func (b *bench) late(prefix, where string) []int64 {
	rows, err := b.db.QueryContext(b.r.ctx, "SELECT started_at - expected_at FROM instance WHERE job_name LIKE '"+prefix+"\\_%' AND "+where+" ORDER BY 1")
	if err != nil {
		b.r.Fatalf("%v", err)
	}
	defer func() { _ = rows.Close() }()
	var late []int64
	for rows.Next() {
		var ms int64
		if err := rows.Scan(&ms); err != nil {
			b.r.Fatalf("%v", err)
		}
		late = append(late, ms)
	}
	if err := rows.Err(); err != nil {
		b.r.Fatalf("%v", err)
	}
	return late
}

// sustained measures the two halves of the way apart, under load: first a scheduler takes due fires into ready
// instances while no worker is there, then the broker and a worker work them off. The broker runs in both, and has
// nothing to do in the first.
func (b *bench) sustained() {
	const n = 1000
	backlog := size(30_000, 8_000)
	b.c.Apply(jobs("flood", "noop", "every: 1s", n, true))
	b.until(time.Minute, "the flood runs", func() bool { return b.count("flood", "state = 'success'") >= n })
	b.worker.Stop()
	start, have := b.read(), b.count("flood", "1 = 1")
	b.until(5*time.Minute, "the backlog stands", func() bool { return b.count("flood", "label IN ('queued', 'dispatched')") >= backlog })
	taken := b.read()
	made := b.count("flood", "1 = 1") - have
	fmt.Printf("\n%-44s%9s%9s  │%s\n", "sustained noop", "a second", "n", "  µs of CPU an instance:"+billHead)
	b.line("taken while no worker is there, 1,000/s due", start, taken, made)
	b.c.Apply(jobs("flood", "noop", "every: 1s", n, false))
	b.worker.Restart()
	done := func() int { return b.count("flood", "state = 'success'") }
	before := done()
	b.until(time.Minute, "the worker is back", func() bool { return done() > before+500 })
	from, first := b.read(), done()
	b.until(5*time.Minute, "nine tenths are worked off", func() bool { return b.count("flood", "state = 'running'") < backlog/10 })
	to, last := b.read(), done()
	b.line("worked off", from, to, last-first)
}

func (b *bench) line(what string, from, to meter, n int) {
	fmt.Printf("%-44s%9.0f%9d  │  %s%s\n", what, float64(n)/to.at.Sub(from.at).Seconds(), n, strings.Repeat(" ", len("µs of CPU an instance:")), b.bill(from, to, n))
}

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// crowd is how many wait behind the pool.
func (o options) crowd() int { return pick(o, 100_000, 10_000) }

const (
	poolName   = "bench"
	fewPlaces  = 8
	manyPlaces = 2000
	freeEach   = 100 * time.Millisecond
)

// poolPart measures what very many that wait for a place in a pool cost: a free place, everybody else, the center's memory.
func (b *bench) poolPart() *Part {
	p := &Part{Title: "Very many behind a pool",
		Measured: fmt.Sprintf("%s noop instances of ten jobs that share a paused pool are written into the tables, ready. Then all are set aside; then they wait; then the pool has %d places, then %s. Meanwhile a job without a pool is due each %s; other: its start − expected. Limit: how long a change of the limit took, as people see it. Rows read: what MariaDB read for one that ended, in all tables and for all that it takes.",
			number(float64(b.crowd()), 0), fewPlaces, number(manyPlaces, 0), freeEach)}
	p.table("pool", "behind a pool", Column{"held", "set aside after, s", 1}, Column{"rate", "ended/s", 0}, Column{"read", "rows read", 1}, Column{"before", "other before p99 ms", 0},
		Column{"aside", "being set aside", 0}, Column{"full", "waiting", 0}, Column{"few", "few places", 0}, Column{"many", "many places", 0},
		Column{"limit", "limit at most, ms", 0}, Column{"memory_before", "center before, MB", 0}, Column{"memory", "at most", 0}, Column{"lost", "lost", 0})
	b.real().crowded(p, "mariadb", "MariaDB and Redis")
	b.end()
	b.embedded().crowded(p, "sqlite", "embedded stores")
	return p
}

// queueing is the measure of one stage.
type queueing struct {
	*stage
	free   jobs
	since  int64
	first  time.Time // expected time of the free job's first fire
	memory float64
	limit  time.Duration // the longest change
	n      int
}

func (s *stage) crowded(p *Part, key, name string) {
	q := &queueing{stage: s, free: jobs{prefix: "free", kind: "noop", schedule: "every: " + freeEach.String(), n: 1}, since: s.newest(), n: s.crowd()}
	row := p.Tables[0].row(key, name)
	q.set(0)
	s.put(jobs{prefix: "pooled", kind: "noop", more: "pool: " + poolName + "\n", n: 10})
	s.put(q.free)
	s.pause(3 * time.Second)
	q.first = time.UnixMilli(s.number("SELECT MIN(expected_at) FROM instance WHERE job_name LIKE ? ESCAPE '!'", q.free.like()))
	row.put("before", q.others(p, func() { q.wait(10 * time.Second) })).put("memory_before", memoryOf(s.center.PID()))
	q.limit = 0 // what came before the crowd does not count
	began := time.Now()
	row.put("aside", q.others(p, func() {
		began = q.come()
		q.set(0, 1, 0) // changed while all are looked at
		if !q.until(4*time.Minute, 200*time.Millisecond, func() bool { return q.waiting()+q.ended() >= q.n }) {
			p.note("%s: %d of %d were set aside after 4 min.", name, q.waiting(), q.n)
		}
	})).put("held", time.Since(began).Seconds())
	row.put("full", q.others(p, func() { q.wait(10 * time.Second); q.set(1, 0) }))
	row.aim("few", q.others(p, func() { q.run(row, fewPlaces) }), nil)
	row.put("many", q.others(p, func() {
		q.set(manyPlaces)
		if !q.until(4*time.Minute, 500*time.Millisecond, func() bool { return q.ended() >= q.n }) {
			p.note("%s: %d of %d had ended after 4 min with %d places.", name, q.ended(), q.n, manyPlaces)
		}
	}))
	lost := q.n - q.ended()
	p.Lost += lost
	row.put("lost", float64(lost)).aim("limit", float64(q.limit.Milliseconds()), atMost(3000)).put("memory", q.memory)
	s.say("%s: limit at most %s, center at most %.0f MB, %d lost", name, q.limit.Round(time.Millisecond), q.memory, lost)
}

// run gives the pool a few places for a while, and writes what one that ended took.
func (q *queueing) run(row *Row, places int) {
	q.set(places)
	from, read, at := q.ended(), q.rowsRead(), time.Now()
	q.wait(15 * time.Second)
	n := float64(q.ended() - from)
	row.put("rate", n/time.Since(at).Seconds())
	if read > 0 {
		row.put("read", float64(q.rowsRead()-read)/n)
	}
}

// set changes the limit, one after the other, and notes how long each took.
func (q *queueing) set(limits ...int) {
	for _, n := range limits {
		began := time.Now()
		q.c.Must("pools", "set", poolName, strconv.Itoa(n))
		q.limit = max(q.limit, time.Since(began))
	}
}

// wait pauses and weighs.
func (q *queueing) wait(d time.Duration) {
	q.until(d, 200*time.Millisecond, func() bool { q.weigh(); return false })
}

func (q *queueing) until(limit, each time.Duration, cond func() bool) bool {
	return q.stage.until(limit, each, func() bool { q.weigh(); return cond() })
}

func (q *queueing) weigh() { q.memory = max(q.memory, memoryOf(q.center.PID())) }

func (q *queueing) waiting() int {
	return int(q.number("SELECT COUNT(*) FROM instance WHERE state = 'running' AND label = 'held_pool'"))
}

func (q *queueing) ended() int {
	return int(q.number("SELECT COUNT(*) FROM instance WHERE pool = ? AND state = 'success' AND id > ?", poolName, q.since))
}

// others is the p99, in ms, of how late the job without a pool started while do went on.
func (q *queueing) others(p *Part, do func()) float64 {
	from := time.Now()
	do()
	to := time.Now()
	q.pause(time.Second)
	align := func(t time.Time) time.Time { return q.first.Add(t.Sub(q.first).Truncate(freeEach)) }
	got := q.tally(q.free, q.since, align(from).Add(freeEach), align(to), freeEach)
	if got.lost+got.doubled+got.unended > 0 {
		p.note("of the job without a pool %d were lost, %d doubled and %d had not ended.", got.lost, got.doubled, got.unended)
	}
	p.Doubled += got.doubled
	sp, _ := got.spread()
	return sp.p99
}

// rowsRead is how many rows the server has read; 0 where that is not counted.
func (q *queueing) rowsRead() (sum int64) {
	if q.mariadb == nil {
		return 0
	}
	q.each(func(scan func(...any)) {
		var name string
		var n int64
		scan(&name, &n)
		sum += n
	}, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd', 'Handler_read_rnd_next')")
	return sum
}

// come writes the crowd into the tables, ready, as started by hand, in one transaction. It returns the moment after the commit.
func (q *queueing) come() time.Time {
	type owner struct {
		id, project int64
		name        string
		version     int
	}
	var owners []owner
	q.each(func(scan func(...any)) {
		var o owner
		scan(&o.id, &o.project, &o.name, &o.version)
		owners = append(owners, o)
	}, "SELECT id, project_id, name, version FROM job WHERE name LIKE 'pooled!_%' ESCAPE '!'")
	now := time.Now()
	first := int64(domain.IDAt(now.Add(-time.Hour))) // of node numbers that nobody has
	tx, err := q.db.BeginTx(q.ctx, nil)
	q.must(err, "beginning to insert instances")
	defer func() { _ = tx.Rollback() }()
	const row = ", (?, ?, ?, ?, ?, 'manual', '2026-01-01', ?, 'running', 'queued', 1, ?, 1, ?, ?, '{}', 'default', ?, ?, ?, '', ?)"
	const page = 500
	for from := 0; from < q.n; from += page {
		n := min(page, q.n-from)
		var args []any
		for i := from; i < from+n; i++ {
			o, id := owners[i%len(owners)], first+int64(i)
			args = append(args, id, o.project, o.id, o.name, "m:"+strconv.FormatInt(id, 10), now.UnixMilli(), id, domain.NewTraceID(domain.ID(id)), o.version,
				laneRank["default"], now.UnixMilli(), now.UnixMilli(), poolName)
		}
		_, err := tx.ExecContext(q.ctx, "INSERT INTO instance (id, project_id, job_id, job_name, fire_key, trigger_kind, biz_date, expected_at, state, label, ver, run_id, run_no, "+
			"trace_id, version, params, lane, queue_rank, ready_at, created_at, message, pool) VALUES "+strings.TrimPrefix(strings.Repeat(row, n), ", "), args...)
		q.must(err, "inserting instances")
	}
	q.must(tx.Commit(), "inserting instances")
	q.say("%d wait", q.n)
	return time.Now()
}

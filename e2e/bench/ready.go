package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// overdue is fires of jobs that lie in the past: each job has perJob of them, apart one from the other.
type overdue struct {
	jobs
	first time.Time
}

const (
	perJob   = 100
	dueApart = 3 * time.Second
)

// newOverdue plans the past fires of n jobs: each third second of five whole minutes that are over, and so of no other
// minutes within the year.
func newOverdue(j jobs) overdue {
	const span = perJob * dueApart
	first := time.Now().UTC().Add(-2 * span).Truncate(span)
	j.schedule = fmt.Sprintf("cron: \"*/3 %d-%d %d %d %d *\"\ndialect: seconds\ntimezone: UTC",
		first.Minute(), first.Minute()+int(span/time.Minute)-1, first.Hour(), first.Day(), first.Month())
	return overdue{j, first}
}

func (o overdue) last() time.Time { return o.first.Add((perJob - 1) * dueApart) }
func (o overdue) fires() int      { return o.n * perJob }

// setBack makes the past fires due, as if no scheduler had been there for ten minutes. Schedulers see it when they next
// read the coming fires, within about five seconds.
func (s *stage) setBack(o overdue) {
	const of = " WHERE job_id IN (SELECT id FROM job WHERE name LIKE ? ESCAPE '!')"
	s.exec("UPDATE schedule_span SET from_at = ?"+of, o.first.UnixMilli()-1, o.like())
	n := s.exec("UPDATE `trigger` SET next_fire_at = ?, ver = ver + 1"+of, o.first.UnixMilli(), o.like())
	if n != int64(o.n) {
		s.Fatalf("%d of %d triggers were set back", n, o.n)
	}
}

// insert writes the instances of the past fires, ready for a target, as a scheduler would have: rows, latest of the day
// and counters, all in one transaction. It returns the moment after the commit.
func (s *stage) insert(os ...overdue) time.Time {
	tx, err := s.db.BeginTx(s.ctx, nil)
	s.must(err, "beginning to insert instances")
	defer func() { _ = tx.Rollback() }()
	now, sum := time.Now(), 0
	last := int64(domain.IDAt(now.Add(time.Millisecond))) - 1 // of node numbers that nobody has
	for _, o := range os {
		q, args := o.rows(now, last-int64(sum))
		for _, q := range []string{q, o.days(last - int64(sum))} {
			_, err := tx.ExecContext(s.ctx, q, args...)
			s.must(err, "inserting instances")
			args = nil
		}
		sum += o.fires()
	}
	at := now.UnixMilli() / bucket * bucket
	_, err = tx.ExecContext(s.ctx, "INSERT INTO counter (project_id, bucket_at, metric, job_id, total) SELECT p.id, ?, m.metric, 0, 0 "+
		"FROM (SELECT MIN(project_id) AS id FROM job) p JOIN (SELECT 'instances' AS metric UNION ALL SELECT 'queued') m "+
		"WHERE NOT EXISTS (SELECT 1 FROM counter c WHERE c.project_id = p.id AND c.bucket_at = ? AND c.metric = m.metric AND c.job_id = 0)", at, at)
	s.must(err, "counting the inserted instances")
	_, err = tx.ExecContext(s.ctx, "UPDATE counter SET total = total + ? WHERE bucket_at = ? AND metric IN ('instances', 'queued') AND job_id = 0", sum, at)
	s.must(err, "counting the inserted instances")
	s.must(tx.Commit(), "inserting instances")
	return time.Now()
}

// rows is the statement that inserts the instances, the ids going down from last.
func (o overdue) rows(now time.Time, last int64) (string, []any) {
	const trace = "LOWER(CONCAT(LPAD(HEX(h.id >> 47), 4, '0'), LPAD(HEX(h.id >> 31 & 0xffff), 4, '0'), '-', LPAD(HEX(h.id >> 15 & 0xffff), 4, '0'), " +
		"'-8', LPAD(HEX(h.id >> 3 & 0xfff), 3, '0'), '-', HEX(0x80 | (h.id & 7) << 3), '00-000000000000'))"
	return "INSERT INTO instance (id, project_id, job_id, job_name, fire_key, trigger_kind, biz_date, expected_at, state, label, ver, run_id, run_no, trace_id, version, " +
			"params, lane, queue_rank, ready_at, created_at, message) " +
			"SELECT h.id, h.project_id, h.job_id, h.name, CONCAT('s:', h.ms), 'cron', " + day + ", h.ms, 'running', 'queued', 1, h.id, 1, " + trace + ", h.version, " +
			"'{}', ?, ?, ?, ?, '' FROM (SELECT " + fmt.Sprint(last+1) + " - ROW_NUMBER() OVER (ORDER BY k.seq DESC, j.id DESC) AS id, j.id AS job_id, j.project_id, j.name, j.version, " +
			"? + (k.seq - 1) * ? AS ms FROM job j JOIN seq_1_to_" + fmt.Sprint(perJob) + " k WHERE j.name LIKE ? ESCAPE '!') h",
		[]any{cmp.Or(o.lane, "default"), laneRank[cmp.Or(o.lane, "default")], now.UnixMilli(), now.UnixMilli(), o.first.UnixMilli(), dueApart.Milliseconds(), o.like()}
}

// days is the statement that notes the latest of those instances.
func (o overdue) days(last int64) string {
	return fmt.Sprintf("INSERT INTO job_day (job_id, biz_date, project_id, instance_id, state, label, started_at, finished_at) "+
		"SELECT job_id, biz_date, MAX(project_id), MAX(id), '', '', 0, 0 FROM instance WHERE id BETWEEN %d AND %d GROUP BY job_id, biz_date", last-int64(o.fires())+1, last)
}

// laneRank is where live work of a lane stands in the queue.
var laneRank = map[string]int{"high": 10, "default": 20, "low": 30}

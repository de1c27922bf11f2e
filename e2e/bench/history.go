package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/modules/domain"
)

// history is instances that ended long ago, as AX would have left them: evenly spread back from end, one each apart,
// job after job, each with one attempt, the latest of its job and business date, and its share of the counters. One in
// fifty failed. Number n is the n-th before end.
type history struct {
	s    *stage
	db   *sql.DB
	end  time.Time
	have int64
	jobs int64

	project string // the id of the jobs' one
}

// A year of them is five million.
const (
	apart     = 6300 * time.Millisecond
	failedOne = 50
	fillSize  = 250_000 // rows in one statement
)

// newHistory takes the jobs that there are for those of the history.
func (s *stage) newHistory() *history {
	h := &history{s: s, db: s.patient(database), end: time.Now().Add(-time.Hour).Truncate(time.Second)}
	s.Cleanup(func() { _ = h.db.Close() })
	s.exec("CREATE TABLE bench_job (place BIGINT NOT NULL PRIMARY KEY, id BIGINT NOT NULL, name VARCHAR(100) NOT NULL, version INT NOT NULL) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
	h.jobs = s.exec("INSERT INTO bench_job SELECT ROW_NUMBER() OVER (ORDER BY id) - 1, id, name, version FROM job")
	h.project = fmt.Sprint(s.number("SELECT MIN(project_id) FROM job"))
	return h
}

// grow fills the history up to n. The center is not there meanwhile: it would wait for the tables.
func (h *history) grow(n int64) {
	began := time.Now()
	err := h.fill(h.s.ctx, n)
	h.s.must(err, "filling the history")
	h.have = n
	h.s.say("history has %d instances, filled in %.0f s", n, time.Since(began).Seconds())
}

func (h *history) fill(ctx context.Context, n int64) error {
	g, both := errgroup.WithContext(ctx)
	for table, insert := range map[string]func(from, to int64) string{"instance": h.instances, "attempt": h.attempts} {
		g.Go(func() error { return h.bulk(both, table, insert, n) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, q := range h.summaries(n) {
		if _, err := h.db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%.60s…: %w", q, err)
		}
	}
	if _, err := h.db.ExecContext(ctx, "ANALYZE TABLE instance, attempt, job_day, counter"); err != nil {
		return err
	}
	return h.settle(ctx)
}

// settle has the server write its pages to disk now, as it would have done in the months that the history took: else
// it does so while the figures are taken.
func (h *history) settle(ctx context.Context) error {
	server := h.s.asRoot() // AX's account may not change the server
	defer func() { _ = server.Close() }()
	set := func(dirty, most, usual string) error {
		_, err := server.ExecContext(ctx, "SET GLOBAL innodb_max_dirty_pages_pct = "+dirty+", innodb_io_capacity_max = "+most+", innodb_io_capacity = "+usual)
		return err
	}
	if err := set("0", "40000", "20000"); err != nil { // pages a second
		return err
	}
	written := h.s.until(2*time.Minute, 200*time.Millisecond, func() bool {
		return h.s.number("SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_buffer_pool_pages_dirty'") < 500
	})
	h.s.say("written to disk: %t", written)
	return set("DEFAULT", "2000", "200") // the server's own
}

// at is the moment of number n.
func (h *history) at(n int64) time.Time { return h.end.Add(-time.Duration(n) * apart) }

// bulk inserts numbers have+1 … n, oldest first and so in the order of their ids, without the secondary indexes, which
// are made anew after it: sorting once is cheaper than looking up each place.
func (h *history) bulk(ctx context.Context, table string, insert func(from, to int64) string, n int64) error {
	drop, add, err := h.indexes(ctx, table)
	if err != nil {
		return err
	}
	if _, err := h.db.ExecContext(ctx, drop); err != nil {
		return fmt.Errorf("%s: %w", drop, err)
	}
	for to := n; to > h.have; to -= fillSize {
		from := max(to-fillSize, h.have)
		if _, err := h.db.ExecContext(ctx, insert(from+1, to)); err != nil {
			return fmt.Errorf("filling %s: %w", table, err)
		}
		if done := n - from; done%(4*fillSize) == 0 {
			h.s.say("%s: %d of %d rows", table, done, n-h.have)
		}
	}
	if _, err := h.db.ExecContext(ctx, add); err != nil {
		return fmt.Errorf("%s: %w", add, err)
	}
	h.s.say("%s: indexes made", table)
	return nil
}

// indexes are the statements that take the secondary indexes of a table away and put them back, whatever they are.
func (h *history) indexes(ctx context.Context, table string) (drop, add string, err error) {
	rows, err := h.db.QueryContext(ctx, "SELECT index_name, non_unique, GROUP_CONCAT(column_name ORDER BY seq_in_index) FROM information_schema.statistics "+
		"WHERE table_schema = DATABASE() AND table_name = ? AND index_name <> 'PRIMARY' GROUP BY index_name, non_unique", table)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = rows.Close() }()
	var drops, adds []string
	for rows.Next() {
		var name, columns string
		var shared bool
		if err := rows.Scan(&name, &shared, &columns); err != nil {
			return "", "", err
		}
		kind := "UNIQUE INDEX"
		if shared {
			kind = "INDEX"
		}
		drops = append(drops, "DROP INDEX "+name)
		adds = append(adds, "ADD "+kind+" "+name+" ("+columns+")")
	}
	alter := "ALTER TABLE " + table + " "
	return alter + strings.Join(drops, ", "), alter + strings.Join(adds, ", "), rows.Err()
}

// numbers is a table of the numbers n from…to, oldest first, with their moments ms and their ids.
func (h *history) numbers(from, to int64) string {
	idsOfMs := int64(domain.IDAt(h.end)-domain.IDAt(h.end.Add(-time.Second))) / 1000
	return fmt.Sprintf("(SELECT n, %d - n * %d AS ms, %d - n * %d AS id, MOD(n * 7919, %d) AS place FROM (SELECT %d - seq AS n FROM seq_1_to_%d) k) h",
		h.end.UnixMilli(), apart.Milliseconds(), domain.IDAt(h.end), apart.Milliseconds()*idsOfMs, h.jobs, to+1, to-from+1)
}

// day is the business date of ms, as SQL.
const day = "DATE_FORMAT(FROM_UNIXTIME(h.ms / 1000), '%Y-%m-%d')"

func (h *history) instances(from, to int64) string {
	ok := fmt.Sprintf("MOD(h.n, %d) > 0", failedOne)
	return "INSERT INTO instance (id, project_id, job_id, job_name, fire_key, trigger_kind, biz_date, expected_at, state, label, ver, run_id, run_no, trace_id, version, " +
		"params, attempts, lane, queue_rank, met_at, ready_at, wake_at, created_at, started_at, finished_at, attempt_id, message) " +
		"SELECT h.id, " + h.project + ", j.id, j.name, CONCAT('s:', h.ms), 'cron', " + day + ", h.ms, IF(" + ok + ", 'success', 'failed'), IF(" + ok + ", '', 'error'), 4, h.id, 1, " +
		"CONCAT(LPAD(HEX(h.n * 2654435761 & 0xffffffff), 8, '0'), '-0000-4000-8000-', LPAD(HEX(h.n), 12, '0')), j.version, '{}', 1, 'default', 0, h.ms + 3, h.ms + 3, 0, " +
		"h.ms + 3, h.ms + 20, h.ms + 30, h.id + 1, IF(" + ok + ", '', 'exit code 1') FROM " + h.numbers(from, to) + " STRAIGHT_JOIN bench_job j ON j.place = h.place"
}

func (h *history) attempts(from, to int64) string {
	ok := fmt.Sprintf("MOD(h.n, %d) > 0", failedOne)
	return "INSERT INTO attempt (id, project_id, instance_id, run_id, ordinal, state, target, boot, lane, message_id, nonce, dispatched_at, acked_at, granted_at, started_at, finished_at, " +
		"timeout_ms, exit_code, outcome, message, result, late) " +
		"SELECT h.id + 1, " + h.project + ", h.id, h.id, 1, 'ended', 'worker-2', 1, 'default', CONCAT('m-', h.n), CONCAT('n-', h.n), h.ms + 8, h.ms + 12, h.ms + 15, h.ms + 20, h.ms + 30, " +
		"60000, IF(" + ok + ", 0, 1), IF(" + ok + ", 'success', 'error'), IF(" + ok + ", '', 'exit code 1'), '', '' FROM " + h.numbers(from, to)
}

// bucket is the width of a counter in ms.
const bucket = 15 * 60 * 1000

// summaries are what was written beside numbers have+1 … n: the latest of each job and day, and the counters. The
// newest day and bucket of them are left to what is there already.
func (h *history) summaries(n int64) []string {
	newest := h.at(h.have).UTC()
	last := newest.UnixMilli()/bucket - 1
	buckets := last - h.at(n).UnixMilli()/bucket + 1
	perBucket := bucket / apart.Milliseconds()
	return []string{
		"INSERT INTO job_day (job_id, biz_date, project_id, instance_id, state, label, started_at, finished_at) " +
			"SELECT i.job_id, i.biz_date, i.project_id, i.id, i.state, i.label, i.started_at, i.finished_at FROM (SELECT job_id, biz_date, MAX(id) AS id FROM instance " +
			"WHERE biz_date < '" + newest.Format(time.DateOnly) + "' AND biz_date >= '" + h.at(n).UTC().Format(time.DateOnly) + "' GROUP BY job_id, biz_date) d JOIN instance i ON i.id = d.id",
		fmt.Sprintf("INSERT INTO counter (project_id, bucket_at, metric, job_id, total, peak) SELECT %s, (%d - b.seq) * %d, m.metric, 0, m.total * %d / %d, m.peak FROM seq_1_to_%d b JOIN "+
			"(SELECT 'instances' AS metric, %d AS total, 0 AS peak UNION ALL SELECT 'starts', %d, 0 UNION ALL SELECT 'delay', %d, 0 UNION ALL SELECT 'runs', %d, 10 UNION ALL SELECT 'duration', %d, 0 UNION ALL SELECT 'failed', 1, 0) m",
			h.project, last+1, bucket, perBucket, failedOne, buckets, failedOne, failedOne, 20*failedOne, failedOne, 10*failedOne),
		fmt.Sprintf("INSERT INTO counter (project_id, bucket_at, metric, job_id, total) SELECT %s, h.ms DIV %d * %d, 'failed', j.id, COUNT(*) FROM %s STRAIGHT_JOIN bench_job j ON j.place = h.place "+
			"WHERE MOD(h.n, %d) = 0 AND h.ms DIV %d <= %d GROUP BY 2, 4", h.project, bucket, bucket, h.numbers(h.have+1, n), failedOne, bucket, last),
	}
}

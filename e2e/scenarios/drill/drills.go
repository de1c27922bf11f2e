package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
)

// fault is one way to break the system. begin and heal are called once each.
type fault struct {
	key, name string
	lasts     time.Duration    // from begin to heal; 0: it is over at once, or stays
	begin     func(s *trouble) // breaks
	heal      func(s *trouble) // nil: nothing is to be mended
	long      bool             // only when asked for
	calls     []string         // kinds of incidents that it calls for
	clocks    bool             // the processes' clocks must be such that a drill can set them
}

// trouble is a stage with a fault in force.
type trouble struct {
	*stage
	victims []string // names of the workers that are broken
	mend    func()   // what begin left for heal
	turn    func()   // nil, or what is done half-way
}

func (t *trouble) hit(workers ...*setup.Process) {
	for _, w := range workers {
		t.victims = append(t.victims, w.Name)
	}
}

// faults are the drills, in the order in which they are held.
func faults(o options) []fault {
	secs := func(full, brief int) time.Duration {
		switch {
		case o.lasts > 0:
			return o.lasts
		case o.brief:
			return time.Duration(brief) * time.Second
		}
		return time.Duration(full) * time.Second
	}
	return []fault{
		{key: "center_kill", name: "the active center killed -9", begin: killCenter},
		{key: "center_freeze", name: "the active center frozen and thawed", lasts: secs(20, 8), begin: freezeCenter, heal: mended, calls: []string{"fires_locked"}},
		{key: "worker_kill", name: "a worker killed -9", begin: killWorker, calls: []string{"worker_lost"}},
		{key: "worker_freeze", name: "a worker frozen and thawed", lasts: secs(30, 14), begin: freezeWorker, heal: mended, calls: []string{"worker_lost"}},
		{key: "workers_kill", name: "all workers killed -9 and restarted", lasts: secs(30, 8), begin: killWorkers, heal: mended, calls: []string{"worker_lost", "no_target"}},
		{key: "worker_stop", name: "a worker stopped with SIGTERM under load", begin: stopWorker},
		{key: "redis_restart", name: "Redis killed -9 and restarted empty", lasts: secs(20, 6), begin: killRedis, heal: mended, calls: []string{"redis_away"}},
		{key: "redis_freeze", name: "Redis frozen and thawed", lasts: secs(45, 8), begin: freezeRedis, heal: mended, calls: []string{"redis_away"}},
		{key: "redis_flush", name: "Redis emptied in mid-peak (FLUSHALL)", begin: flushRedis},
		{key: "mariadb_restart", name: "MariaDB killed -9 and restarted", lasts: secs(20, 6), begin: killMariaDB, heal: mended},
		{key: "mariadb_cut", name: "all connections to MariaDB killed", begin: killConnections},
		{key: "rows_locked", name: "all rows of the trigger table locked", lasts: secs(60, 6), begin: lockRows, heal: mended, calls: []string{"fires_locked", "fires_not_taken"}},
		{key: "table_locked", name: "the whole trigger table locked", lasts: secs(60, 6), begin: lockTable, heal: mended, calls: []string{"fires_locked", "fires_not_taken"}},
		{key: "center_clock_10s", name: "the active center's clock 10 s ahead, then 10 s behind", lasts: secs(40, 12), begin: shiftCenter(10 * time.Second), heal: mended, clocks: true, calls: []string{"clock"}},
		{key: "center_clock_2h", name: "the active center's clock 2 h ahead, then 2 h behind", lasts: secs(40, 12), begin: shiftCenter(2 * time.Hour), heal: mended, clocks: true, calls: []string{"clock"}},
		{key: "worker_clock_10s", name: "a worker's clock 10 s ahead, then 10 s behind", lasts: secs(40, 12), begin: shiftWorker(10 * time.Second), heal: mended, clocks: true, calls: []string{"clock"}},
		{key: "worker_clock_2h", name: "a worker's clock 2 h ahead, then 2 h behind", lasts: secs(40, 12), begin: shiftWorker(2 * time.Hour), heal: mended, clocks: true, calls: []string{"clock"}},
		{key: "redis_long", name: "the queue (Redis) down for long", lasts: secs(600, 30), begin: killRedis, heal: mended, long: true, calls: []string{"redis_away"}},
	}
}

func mended(t *trouble) { t.mend() }

func killCenter(t *trouble) {
	active, _ := t.broker()
	active.Kill()
	t.mend = active.Restart
}

func freezeCenter(t *trouble) {
	active, _ := t.broker()
	active.Freeze()
	t.mend = active.Thaw
}

// busiest is a live worker that runs something at the moment, by the diary's word.
func (s *stage) busiest() *setup.Process {
	best, most := s.workers[0], int64(-1)
	for _, w := range s.workers {
		if !w.Alive() {
			continue
		}
		n, err := s.number("SELECT COUNT(*) FROM instance i JOIN attempt a ON a.id = i.attempt_id WHERE i.state = 'running' AND i.label = 'executing' AND a.target = ?", w.Name)
		if err == nil && n > most {
			best, most = w, n
		}
	}
	return best
}

func killWorker(t *trouble) {
	w := t.busiest()
	t.hit(w)
	w.Kill()
	t.mend = w.Restart
}

func freezeWorker(t *trouble) {
	w := t.busiest()
	t.hit(w)
	w.Freeze()
	t.mend = w.Thaw
}

func killWorkers(t *trouble) {
	t.hit(t.workers...)
	for _, w := range t.workers {
		w.Kill()
	}
	t.mend = func() {
		for _, w := range t.workers {
			w.Restart()
		}
	}
}

func stopWorker(t *trouble) {
	w := t.busiest()
	t.hit(w)
	w.Stop()
	t.mend = w.Restart
}

func killRedis(t *trouble) {
	t.Must(t.redis.Kill(), "killing Redis")
	t.mend = func() { t.Must(t.redis.Restart(), "restarting Redis") }
}

func freezeRedis(t *trouble) {
	t.Must(t.redis.Freeze(), "freezing Redis")
	t.mend = func() { t.Must(t.redis.Thaw(), "thawing Redis") }
}

func flushRedis(t *trouble) {
	_, err := stores.Ask(strings.TrimPrefix(t.redis.URL, "redis://"), "FLUSHALL")
	t.Must(err, "emptying Redis")
	t.mend = func() {}
}

func killMariaDB(t *trouble) {
	t.Must(t.mariadb.Kill(), "killing MariaDB")
	t.mend = func() { t.Must(t.mariadb.Restart(), "restarting MariaDB") }
}

func freezeMariaDB(t *trouble) {
	t.Must(t.mariadb.Freeze(), "freezing MariaDB")
	t.mend = func() { t.Must(t.mariadb.Thaw(), "thawing MariaDB") }
}

// killConnections kills every connection but the one that asks.
func killConnections(t *trouble) {
	t.mend = func() {}
	db := t.connect("")
	defer func() { _ = db.Close() }()
	ctx := t.Context()
	conn, err := db.Conn(ctx)
	t.Must(err, "connecting to MariaDB")
	defer func() { _ = conn.Close() }()
	rows, err := conn.QueryContext(ctx, "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID()")
	t.Must(err, "listing the connections")
	var ids []int64
	for rows.Next() {
		var id int64
		t.Must(rows.Scan(&id), "listing the connections")
		ids = append(ids, id)
	}
	t.Must(rows.Err(), "listing the connections")
	for _, id := range ids {
		_, _ = conn.ExecContext(ctx, fmt.Sprintf("KILL %d", id)) // it may have ended meanwhile
	}
}

// lockRows holds a lock on every row of the trigger table, as a forgotten transaction does.
func lockRows(t *trouble) {
	db := t.connect(database)
	var tx *sql.Tx
	for tries := 0; ; tries++ {
		var err error
		tx, err = db.BeginTx(t.Context(), nil)
		t.Must(err, "beginning a transaction")
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		_, err = tx.ExecContext(ctx, "UPDATE `trigger` SET updated_at = updated_at")
		cancel()
		if err == nil {
			break
		}
		_ = tx.Rollback()
		if tries == 20 {
			t.Must(err, "locking the rows of the trigger table")
		}
	}
	t.mend = func() {
		_ = tx.Rollback()
		_ = db.Close()
	}
}

// lockTable holds the whole trigger table, as a change of its columns does.
func lockTable(t *trouble) {
	db := t.connect(database)
	conn, err := db.Conn(t.Context())
	t.Must(err, "connecting to MariaDB")
	_, err = conn.ExecContext(t.Context(), "LOCK TABLES `trigger` WRITE")
	t.Must(err, "locking the trigger table")
	t.mend = func() {
		_, err := conn.ExecContext(t.Context(), "UNLOCK TABLES")
		t.Must(err, "unlocking the trigger table")
		_ = conn.Close()
		_ = db.Close()
	}
}

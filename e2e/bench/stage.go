package main

import (
	"database/sql"
	"strings"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/modules/kit/dbx"
)

// stage is the system that is measured.
type stage struct {
	*bench
	site           *setup.Site
	mariadb, redis *stores.Server // nil on embedded stores
	center         *setup.Process // on embedded stores it is all there is
	worker         *setup.Process // nil on embedded stores and where none is wanted
	c              *setup.Client
	db             *sql.DB
	clock          string                   // the database's milliseconds, as SQL
	rest           map[string]time.Duration // processor time that each process takes in a second of idleness
}

// database is the name of the bench's own.
const database = "ax_bench"

// stores starts MariaDB, with further options, and Redis, and makes an empty database.
func (b *bench) stores(options ...string) *stage {
	s := &stage{bench: b, rest: map[string]time.Duration{}}
	var err error
	s.mariadb, err = stores.MariaDBWith("", append(mariadbOptions(), options...)...)
	b.must(err, "starting MariaDB")
	b.Cleanup(s.mariadb.Stop)
	s.redis, err = stores.Redis("")
	b.must(err, "starting Redis")
	b.Cleanup(s.redis.Stop)
	s.create()
	s.site = setup.NewSite(b, s.mariadb.URL+database, s.redis.URL+"/1")
	return s
}

// patient opens the server for statements that may take minutes, with one of its databases ("" for none).
func (s *stage) patient(name string) *sql.DB {
	account, addr := s.address()
	return s.connect(account, addr, name)
}

// asRoot opens the server for what AX's account may not: a change of the server itself.
func (s *stage) asRoot() *sql.DB {
	_, addr := s.address()
	return s.connect("root", addr, "")
}

// address is AX's account, name:password, and where the server listens.
func (s *stage) address() (account, addr string) {
	account, addr, _ = strings.Cut(strings.TrimPrefix(strings.TrimSuffix(s.mariadb.URL, "/"), "mysql://"), "@")
	return account, addr
}

func (s *stage) connect(account, addr, name string) *sql.DB {
	db, err := sql.Open("mysql", account+"@tcp("+addr+")/"+name+"?interpolateParams=true&time_zone=%27%2B00%3A00%27")
	s.must(err, "opening MariaDB")
	return db
}

// create makes the database; the server is private and empty.
func (s *stage) create() {
	db := s.patient("")
	defer func() { _ = db.Close() }()
	_, err := db.ExecContext(s.ctx, "CREATE DATABASE "+database+" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
	s.must(err, "making the database")
}

// real is a center and a worker on MariaDB and Redis.
func (b *bench) real() *stage {
	s := b.stores()
	s.startCenter()
	s.worker = s.site.Worker(b, setup.Opts{})
	return s
}

// startCenter starts a center, which makes the tables, and opens them for the bench.
func (s *stage) startCenter() {
	s.center = s.site.Center(s, setup.Opts{})
	s.c = s.site.Client(s, s.center)
	s.open()
}

// embedded is everything in one process on SQLite and the embedded Redis.
func (b *bench) embedded() *stage {
	s := &stage{bench: b, rest: map[string]time.Duration{}, site: setup.Embedded(b)}
	s.center = s.site.All(b, setup.Opts{})
	s.c = s.site.Client(b, s.center)
	s.open()
	return s
}

func (s *stage) open() {
	db, err := dbx.Open(s.ctx, s.site.DatabaseURL(s.center), dbx.Options{Pool: 4})
	s.must(err, "opening the database")
	s.Cleanup(func() { _ = db.Close() })
	s.db, s.clock = db.SQL(), db.NowSQL()
}

// processes are those of the bill that live.
func (s *stage) processes() map[string]int {
	out := map[string]int{}
	if s.center.Alive() {
		out["center"] = s.center.PID()
	}
	if s.mariadb != nil {
		out["mariadb"], out["redis"] = s.mariadb.PID(), s.redis.PID()
	}
	if s.worker != nil && s.worker.Alive() {
		out["worker"] = s.worker.PID()
	}
	return out
}

// read takes the meters.
func (s *stage) read() meter {
	m := meter{at: time.Now(), cpu: cpuOf(s.processes())}
	if s.mariadb == nil {
		return m
	}
	// What the engine was asked to write: MariaDB from 10.6 has no Innodb_rows_… any more.
	s.each(func(scan func(...any)) {
		var name string
		var n int64
		scan(&name, &n)
		m.writes += n
	}, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Handler_write', 'Handler_update', 'Handler_delete')")
	return m
}

// idle measures what the processes take while nothing is due, which bills leave out.
func (s *stage) idle() {
	s.pause(2 * time.Second) // the start's own work is over by then
	from := s.read()
	s.pause(pick(s.options, 5*time.Second, 3*time.Second))
	to := s.read()
	for name := range from.cpu {
		s.rest[name] = time.Duration(float64(to.cpu[name]-from.cpu[name]) / to.at.Sub(from.at).Seconds())
	}
}

// each runs a query and hands over each row.
func (s *stage) each(row func(scan func(...any)), query string, args ...any) {
	rows, err := s.db.QueryContext(s.ctx, query, args...)
	s.must(err, query)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		row(func(into ...any) { s.must(rows.Scan(into...), query) })
	}
	s.must(rows.Err(), query)
}

// number runs a query whose answer is one number; NULL is 0.
func (s *stage) number(query string, args ...any) int64 {
	var n sql.NullInt64
	s.must(s.db.QueryRowContext(s.ctx, query, args...).Scan(&n), query)
	return n.Int64
}

func (s *stage) exec(query string, args ...any) int64 {
	res, err := s.db.ExecContext(s.ctx, query, args...)
	s.must(err, query)
	n, err := res.RowsAffected()
	s.must(err, query)
	return n
}

// newest is the id of the newest instance: ids rise with time, so what comes later is above it.
func (s *stage) newest() int64 { return s.number("SELECT MAX(id) FROM instance") }

// unended counts the instances above an id that have not ended.
func (s *stage) unended(since int64) int64 {
	return s.number("SELECT COUNT(*) FROM instance WHERE state IN ('running', 'retrying') AND id > ?", since)
}

package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/modules/kit/dbx"
)

// stage is the system that is broken: private stores, two centers, three workers.
type stage struct {
	*setup.Program
	mariadb, redis *stores.Server
	site           *setup.Site
	centers        []*setup.Process // the first is the active broker at the beginning
	workers        []*setup.Process
	db             *sql.DB
	clock          string // the database's milliseconds, as SQL
	diary          *setup.Diary
	clocks         bool // the processes' clocks can be set
}

// database is the name of the drill's own.
const database = "ax_drill"

// raise starts everything. With clocks the processes have wall clocks that can be set.
func raise(p *setup.Program, clocks bool) *stage {
	s := &stage{Program: p, clocks: clocks}
	var err error
	s.mariadb, err = stores.MariaDB("")
	p.Must(err, "starting MariaDB")
	p.Cleanup(s.mariadb.Stop)
	s.redis, err = stores.Redis("")
	p.Must(err, "starting Redis")
	p.Cleanup(s.redis.Stop)
	s.create()
	s.site = setup.NewSite(p, s.mariadb.URL+database, s.redis.URL+"/1")
	s.diary = s.site.Diary(p)
	s.centers = append(s.centers, s.site.Center(p, s.opts("center-a")))
	db, err := dbx.Open(p.Context(), s.site.Database, dbx.Options{Pool: 4})
	p.Must(err, "opening the database")
	p.Cleanup(func() { _ = db.Close() })
	s.db, s.clock = db.SQL(), db.NowSQL()
	if !p.Until(time.Now().Add(30*time.Second), 100*time.Millisecond, func() bool { return s.brokerPID() == s.centers[0].PID() }) {
		p.Fatalf("center-a stands alone and has not become the active broker within 30 s")
	}
	s.centers = append(s.centers, s.site.Center(p, s.opts("center-b")))
	for i := range 3 {
		s.workers = append(s.workers, s.site.Worker(p, s.opts(fmt.Sprintf("w%d", i+1), "AX_WORKER_LANES_DEFAULT=12"))) // two bear the load of three
	}
	return s
}

// create makes the database; the server is private and empty.
func (s *stage) create() {
	db := s.connect("")
	defer func() { _ = db.Close() }()
	_, err := db.ExecContext(s.Context(), "CREATE DATABASE "+database+" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
	s.Must(err, "making the database")
}

// connect opens the server for statements of the drill's own, which may take long, with one of its databases ("" =
// none).
func (s *stage) connect(name string) *sql.DB {
	u := strings.TrimPrefix(strings.TrimSuffix(s.mariadb.URL, "/"), "mysql://")
	account, addr, _ := strings.Cut(u, "@")
	db, err := sql.Open("mysql", account+"@tcp("+addr+")/"+name+"?interpolateParams=true")
	s.Must(err, "opening MariaDB")
	return db
}

// askLimit is how long one of the drill's own questions may take; broken stores answer late or never.
const askLimit = 5 * time.Second

// each runs a query and hands over each row.
func (s *stage) each(row func(scan func(...any) error) error, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(s.Context(), askLimit*6)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// number runs a query whose answer is one number; NULL is 0.
func (s *stage) number(query string, args ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(s.Context(), askLimit)
	defer cancel()
	var n sql.NullInt64
	err := s.db.QueryRowContext(ctx, query, args...).Scan(&n)
	return n.Int64, err
}

// brokerPID is the process that is the active broker; 0 when nobody is or the database does not answer.
func (s *stage) brokerPID() (pid int) {
	_ = s.each(func(scan func(...any) error) error {
		var name string
		if err := scan(&name); err != nil {
			return err
		}
		_, text, _ := strings.Cut(name, " pid ")
		_, _ = fmt.Sscan(text, &pid)
		return nil
	}, "SELECT l.name FROM epoch e JOIN lease l ON l.holder = e.holder WHERE e.name = 'broker'")
	return pid
}

// broker is the center that is the active broker, and the other one.
func (s *stage) broker() (active, other *setup.Process) {
	var pid int
	s.Until(time.Now().Add(10*time.Second), 100*time.Millisecond, func() bool {
		pid = s.brokerPID()
		return pid != 0
	})
	if s.centers[1].Alive() && s.centers[1].PID() == pid {
		return s.centers[1], s.centers[0]
	}
	return s.centers[0], s.centers[1]
}

// client is a client of a center that answers.
func (s *stage) client() *setup.Client {
	for _, c := range s.centers {
		if c.Alive() && c.Answers() {
			return s.site.Client(s, c)
		}
	}
	s.Fatalf("no center is ready, so nobody can be asked")
	return nil
}

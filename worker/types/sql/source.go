package sql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver of SQLite

	"github.com/axsched/ax/worker/protocol/sqltext"
)

// source is one database of the worker's set-up.
type source struct {
	dialect   sqltext.Dialect
	connector driver.Connector
}

// connectLimit bounds how long a database may take to accept a connection.
const connectLimit = 10 * time.Second

// newSource reads a URL. Errors never repeat it: it holds a password.
func newSource(text string) (*source, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("its URL cannot be read")
	}
	switch u.Scheme {
	case "mysql":
		return mysqlSource(u)
	case "postgres", "postgresql":
		return postgresSource(text)
	case "sqlite":
		return sqliteSource(u)
	}
	return nil, errors.New("its URL is none of mysql://, postgres:// and sqlite://")
}

func mysqlSource(u *url.URL) (*source, error) {
	c := mysql.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr = "tcp", u.Host
	if u.Port() == "" {
		c.Addr += ":3306"
	}
	c.DBName = strings.Trim(u.Path, "/")
	c.Timeout = connectLimit
	c.Logger = silent{}
	for key, values := range u.Query() {
		switch key {
		case "tls":
			c.TLSConfig = values[0]
		default:
			return nil, fmt.Errorf("its URL has the option %q; AX knows tls", key)
		}
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, errors.New("the option tls of its URL is none of true, false and preferred")
	}
	return &source{sqltext.MySQL, connector}, nil
}

// silent keeps the driver from writing to the process' standard error: what matters of a connection is told by errors.
type silent struct{}

// Print drops it.
func (silent) Print(...any) {}

func postgresSource(text string) (*source, error) {
	c, err := pgx.ParseConfig(text)
	if err != nil {
		return nil, errors.New("its URL cannot be read as one of PostgreSQL")
	}
	c.ConnectTimeout = connectLimit
	return &source{sqltext.Postgres, stdlib.GetConnector(*c)}, nil
}

// sqliteSource never makes the file: a path mistyped is an error. A writer waits for another.
func sqliteSource(u *url.URL) (*source, error) {
	dsn := "file:" + (&url.URL{Path: u.Path}).EscapedPath() + "?mode=rw&_pragma=busy_timeout(10000)"
	db, err := sql.Open("sqlite", dsn) // connects to nothing yet
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	return &source{sqltext.SQLite, fileConnector{db.Driver(), dsn}}, nil
}

// fileConnector opens a file of SQLite.
type fileConnector struct {
	driver driver.Driver
	dsn    string
}

// Connect opens it.
func (f fileConnector) Connect(context.Context) (driver.Conn, error) { return f.driver.Open(f.dsn) }

// Driver is SQLite's.
func (f fileConnector) Driver() driver.Driver { return f.driver }

// open makes a database of one connection; close it.
func (s *source) open() *sql.DB {
	db := sql.OpenDB(s.connector)
	db.SetMaxOpenConns(1)
	return db
}

// prepare learns the connection's number in the server, 0 where there is no server, and bounds what runs there by itself: should
// this process die, the server ends the work soon after the deadline. limit 0 = none.
func (s *source) prepare(ctx context.Context, c *sql.Conn, limit time.Duration) (id int64, err error) {
	switch s.dialect {
	case sqltext.MySQL:
		if err := c.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			return 0, err
		}
		if limit > 0 { // MariaDB knows the first, MySQL the second, for reading statements only
			if _, err := c.ExecContext(ctx, fmt.Sprintf("SET SESSION max_statement_time = %d", int64(limit.Seconds())+1)); err != nil {
				_, _ = c.ExecContext(ctx, fmt.Sprintf("SET SESSION max_execution_time = %d", limit.Milliseconds())) // without either the kill has to do
			}
		}
	case sqltext.Postgres:
		if err := c.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&id); err != nil {
			return 0, err
		}
		if limit > 0 {
			if _, err := c.ExecContext(ctx, fmt.Sprintf("SET statement_timeout = %d", limit.Milliseconds())); err != nil {
				return 0, err
			}
		}
		_, _ = c.ExecContext(ctx, "SET client_connection_check_interval = 10000") // before version 14 there is none
	}
	return id, nil
}

const (
	// endLimit bounds ending a connection in the server, from the asking to seeing it gone.
	endLimit = 10 * time.Second
	endPause = 50 * time.Millisecond
)

// end ends a connection in the server, from another one, and returns when the server's list does not have it any more. Without
// a server there is nothing to do.
func (s *source) end(id int64) error {
	ask, list := "KILL ?", "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?"
	switch s.dialect {
	case sqltext.SQLite:
		return nil
	case sqltext.Postgres:
		ask, list = "SELECT pg_terminate_backend($1)", "SELECT count(*) FROM pg_stat_activity WHERE pid = $1"
	}
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	db := s.open()
	defer func() { _ = db.Close() }() // nothing was left open
	if s.dialect == sqltext.MySQL {
		ask = fmt.Sprintf("KILL %d", id) // it takes no parameter
		_, err := db.ExecContext(ctx, ask)
		if err != nil && !goneAlready(err) {
			return err
		}
	} else if _, err := db.ExecContext(ctx, ask, id); err != nil {
		return err
	}
	for {
		var n int
		if err := db.QueryRowContext(ctx, list, id).Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the server still lists it")
		case <-time.After(endPause):
		}
	}
}

// goneAlready recognises the server's answer that there is no such connection.
func goneAlready(err error) bool {
	const noSuchThread = 1094
	var own *mysql.MySQLError
	return errors.As(err, &own) && own.Number == noSuchThread
}

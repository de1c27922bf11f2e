// Package dbtest gives tests real databases: one of their own on every dialect that AX speaks.
//
// It owns the databases that it hands out and drops them when the test ends. It refuses to be imported by
// anything but tests. MariaDB is the server of AX_TEST_MYSQL_URL, which the test runner sets; without it the
// package's first test starts a private one that ends with the test process. Where MariaDB is not installed its
// subtest is skipped, in CI it fails.
package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Each runs fn as a subtest per dialect, "sqlite" and "mariadb", each with the URL of a fresh database that has
// all migrations. The database is dropped after the subtest's own cleanups.
func Each(t *testing.T, fn func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { fn(t, SQLite(t)) })
	t.Run("mariadb", func(t *testing.T) { fn(t, MariaDB(t)) })
}

// SQLite returns the URL of a fresh migrated SQLite database in a folder of its own. Name the test or subtest
// so that it has "sqlite" as a part, by which tests are counted.
func SQLite(t *testing.T) string {
	t.Helper()
	text, err := sqliteTemplate()
	if err != nil {
		t.Fatalf("dbtest: making the SQLite template: %v", err)
	}
	dir, err := os.MkdirTemp("", "ax-sqlite-") // not t.TempDir, whose name carries the test's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "ax.db")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path
}

// MariaDB returns the URL of a fresh migrated database on MariaDB. Name the test or subtest so that it has
// "mariadb" as a part, by which tests are counted.
func MariaDB(t *testing.T) string {
	t.Helper()
	db := Empty(t)
	if err := migrate(t.Context(), db); err != nil {
		t.Fatalf("dbtest: migrating: %v", err)
	}
	return db
}

// Empty returns the URL of a fresh MariaDB database without tables.
func Empty(t *testing.T) string {
	t.Helper()
	server := serverURL(t)
	admin, err := openAdmin(server)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	name := databaseName(t.Name())
	if _, err := admin.ExecContext(t.Context(), "CREATE DATABASE `"+name+"` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"); err != nil {
		t.Fatalf("dbtest: creating a database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := admin.ExecContext(ctx, "DROP DATABASE `"+name+"`"); err != nil {
			t.Errorf("dbtest: dropping the database %s (is a transaction still open?): %v", name, err)
		}
		_ = admin.Close()
	})
	return strings.TrimSuffix(server, "/") + "/" + name
}

// serverURL is the server that tests share. It skips the test where there is none, and fails it in CI.
func serverURL(t *testing.T) string {
	t.Helper()
	if server := os.Getenv("AX_TEST_MYSQL_URL"); server != "" {
		return server
	}
	if !stores.HasMariaDB() {
		if os.Getenv("CI") == "true" {
			t.Fatal("MariaDB is not installed, which is a failure in CI")
		}
		t.Skip("MariaDB is not installed: nothing was tested on it; e2e/setup/install.sh brings it")
	}
	s, err := ownServer()
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	return s.URL
}

// ownServer is one server per test process, since starting one takes as long as a hundred tests. It ends when the
// process does (see stores), so nobody need stop it.
var ownServer = sync.OnceValues(func() (*stores.Server, error) { return stores.MariaDB("") })

// sqliteTemplate is a migrated database file, made once per test process and copied for each test.
var sqliteTemplate = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "ax-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "ax.db")
	if err := migrate(context.Background(), "sqlite:"+path); err != nil {
		return nil, err
	}
	return os.ReadFile(path) // complete: the last connection's close has folded the log into it
})

func migrate(ctx context.Context, url string) error {
	db, err := dbx.Open(ctx, url, dbx.Options{Pool: 2})
	if err != nil {
		return err
	}
	if err := db.Migrate(ctx); err != nil {
		_ = db.Close()
		return err
	}
	return db.Close()
}

func openAdmin(server string) (*sql.DB, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("AX_TEST_MYSQL_URL: %w", err)
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User = "tcp", u.Host, u.User.Username()
	c.Passwd, _ = u.User.Password()
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// databaseName is unique among processes on the server and says in a list of databases whose it is.
func databaseName(test string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(test))
	return fmt.Sprintf("ax_%d_%d_%s", os.Getpid(), time.Now().UnixNano(), plain[:min(len(plain), 20)])
}

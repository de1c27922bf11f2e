package dbx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

func TestTranslate(t *testing.T) {
	plain := errors.New("plain")
	for _, c := range []struct {
		err  error
		want domain.Kind
	}{
		{nil, ""},
		{plain, ""},
		{context.Canceled, ""},
		{gorm.ErrRecordNotFound, domain.NotFound},
		{sql.ErrNoRows, domain.NotFound},
		{gorm.ErrDuplicatedKey, domain.Exists},
		{driver.ErrBadConn, domain.Unavailable},
		{mysql.ErrInvalidConn, domain.Unavailable},
		{context.DeadlineExceeded, domain.Unavailable},
		{&mysql.MySQLError{Number: 1205}, domain.Unavailable},
		{&mysql.MySQLError{Number: 1213}, domain.Unavailable},
		{&mysql.MySQLError{Number: 1927}, domain.Unavailable},
		{&mysql.MySQLError{Number: 1064}, ""},
		{errors.New("database is locked (5) (SQLITE_BUSY)"), domain.Unavailable},
		{domain.Fail(domain.Conflict, "moved"), domain.Conflict},
	} {
		wrapped := c.err
		if c.err != nil {
			wrapped = fmt.Errorf("doing: %w", c.err)
		}
		got := dbx.Translate(wrapped)
		if domain.KindOf(got) != c.want || !errors.Is(got, c.err) {
			t.Errorf("%v became %v", c.err, got)
		}
	}
}

func TestErrorsOfRealServers(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		fill(t, db, 1)
		ctx := t.Context()
		if err := db.Insert(ctx, &thing{ID: 1, Name: "other"}); !domain.Is(err, domain.Exists) {
			t.Errorf("same key: %v", err)
		}
		_, err := db.Exec(ctx, "INSERT INTO thing (id, name, n, ver) VALUES (2, 't1', 0, 0)")
		if !domain.Is(err, domain.Exists) {
			t.Errorf("same unique name by a bare statement: %v", err)
		}
		var row thing
		if err := dbx.Translate(db.Q(ctx).First(&row, 77).Error); !domain.Is(err, domain.NotFound) {
			t.Errorf("no row: %v", err)
		}
		if _, err := db.Exec(ctx, "SELEC 1"); err == nil || domain.KindOf(err) != "" {
			t.Errorf("bad SQL: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if _, err := db.Exec(ctx, "DELETE FROM thing"); !domain.Is(err, domain.Unavailable) {
			t.Errorf("a pool whose life is over: %v", err)
		}
	})
}

func TestAnAwayServerIsUnavailable(t *testing.T) {
	_, err := dbx.Open(t.Context(), "mysql://ax:secret@127.0.0.1:1/ax", dbx.Options{})
	if !domain.Is(err, domain.Unavailable) || strings.Contains(err.Error(), "secret") {
		t.Fatal(err)
	}
	for _, url := range []string{"", "postgres://h/db", "mysql://host", "mysql:///db", "sqlite:", "file.db"} {
		if _, err := dbx.Open(t.Context(), url, dbx.Options{}); err == nil || domain.KindOf(err) != "" {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for v, good := range map[string]bool{
		"8.0.36": true, "8.4.0": true, "9.1.0-commercial": true, "5.7.44-log": false,
		"10.6.0-MariaDB": true, "10.11.19-MariaDB-0+deb12u1": true, "11.4.2-MariaDB": true, "10.5.28-MariaDB": false,
		"5.5.5-10.6.12-MariaDB-log": true, "5.5.5-10.3.1-MariaDB": false, "unknown": false, "": false,
	} {
		if err := dbx.CheckVersion(v); (err == nil) != good {
			t.Errorf("%q: %v", v, err)
		}
	}
}

func TestAKilledConnection(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		db := open(t, dbtest.MariaDB(t), dbx.Options{})
		start, err := db.ServerStart(t.Context())
		if err != nil || start <= 0 {
			t.Fatalf("start %d, %v", start, err)
		}
		err = db.Tx(t.Context(), func(ctx context.Context) error {
			var id int64
			if err := db.Scan(ctx, &id, "SELECT CONNECTION_ID()"); err != nil {
				return err
			}
			if err := db.Insert(ctx, &thing{ID: 1, Name: "a"}); err != nil {
				return err
			}
			if err := db.KillConnection(t.Context(), id); err != nil {
				return err
			}
			return db.Insert(ctx, &thing{ID: 2, Name: "b"})
		})
		if !domain.Is(err, domain.Unavailable) {
			t.Errorf("the killed transaction says %v", err)
		}
		if err := db.KillConnection(t.Context(), 1<<40); err != nil {
			t.Errorf("killing nobody: %v", err)
		}
		if got := things(t, db); got != "[]" {
			t.Errorf("%s is left of a killed transaction", got)
		}
	})
}

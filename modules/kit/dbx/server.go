package dbx

import (
	"context"
	"errors"
	"fmt"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// NowSQL is the expression of the database's clock in Unix milliseconds.
func (db *DB) NowSQL() string {
	if db.dialect == SQLite {
		return "CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER)"
	}
	return "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"
}

// Now is the database's clock, to the millisecond. On SQLite that is this
// machine's.
func (db *DB) Now(ctx context.Context) (time.Time, error) {
	if db.dialect == SQLite {
		return time.Now().UTC().Truncate(time.Millisecond), nil
	}
	var ms int64
	err := db.Scan(ctx, &ms, "SELECT "+db.NowSQL())
	return time.UnixMilli(ms).UTC(), err
}

// ServerStart is when the database server started by its own clock, in Unix
// seconds, 2 s more or less. Connection ids are unique from then on. On SQLite 0.
func (db *DB) ServerStart(ctx context.Context) (int64, error) {
	if db.dialect == SQLite {
		return 0, nil
	}
	var up struct {
		Name  string `gorm:"column:Variable_name"`
		Value int64  `gorm:"column:Value"`
	}
	if err := db.Scan(ctx, &up, "SHOW GLOBAL STATUS LIKE 'Uptime'"); err != nil {
		return 0, err
	}
	if up.Name == "" {
		return 0, fmt.Errorf("the database server does not say how long it has been up")
	}
	var now int64
	err := db.Scan(ctx, &now, "SELECT UNIX_TIMESTAMP()")
	return now - up.Value, err
}

// KillConnection ends a connection of the server: what it was doing is rolled
// back. An id that is not there is no error, nor is anything on SQLite.
func (db *DB) KillConnection(ctx context.Context, id int64) error {
	if db.dialect == SQLite {
		return nil
	}
	_, err := db.Exec(ctx, fmt.Sprintf("KILL %d", id))
	var my *mysqldriver.MySQLError
	if errors.As(err, &my) && my.Number == erNoSuchThread {
		return nil
	}
	return err
}

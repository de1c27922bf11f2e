package dbx

import (
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"
)

// writers holds one write lock per SQLite file of this process: SQLite has one
// writer at a time, and waiting in Go is fair where its own busy wait is not.
var writers sync.Map

func (db *DB) openSQLite(path string, _ Options) error {
	dsn := "file:" + strings.ReplaceAll(url.PathEscape(path), "%2F", "/") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)" +
		"&_txlock=immediate&_timezone=UTC"
	g, err := gorm.Open(sqlite.Open(dsn), gormConfig())
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	mu, _ := writers.LoadOrStore(abs, &sync.Mutex{})
	db.g, db.write = g, mu.(*sync.Mutex)
	db.sql, err = g.DB()
	return err
}

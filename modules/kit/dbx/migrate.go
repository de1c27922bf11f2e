package dbx

import (
	"context"
	"fmt"

	"github.com/axsched/ax/migrations"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Migrate brings the tables up to date. Several processes may call it at once:
// on MySQL a named lock lets one work and the others wait, at most 2 minutes.
func (db *DB) Migrate(ctx context.Context) error {
	dialect := database.DialectSQLite3
	if db.dialect == MySQL {
		if db.Stats().MaxOpenConnections < 2 {
			return fmt.Errorf("migrating takes a pool of at least 2 connections: one holds the lock while the other works")
		}
		dialect = database.DialectMySQL
		release, err := db.migrationLock(ctx)
		if err != nil {
			return err
		}
		defer release()
	}
	p, err := goose.NewProvider(dialect, db.sql, migrations.FS)
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	return db.locked(func() error {
		if _, err := p.Up(ctx); err != nil {
			return fmt.Errorf("migrating the database: %w", err)
		}
		return nil
	})
}

func (db *DB) migrationLock(ctx context.Context) (release func(), err error) {
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return nil, Translate(err)
	}
	var got *int
	err = conn.QueryRowContext(ctx, "SELECT GET_LOCK(CONCAT('ax-migrate-', DATABASE()), 120)").Scan(&got)
	if err == nil && (got == nil || *got != 1) {
		err = fmt.Errorf("another process has been migrating this database for over 2 minutes")
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK(CONCAT('ax-migrate-', DATABASE()))")
		_ = conn.Close()
	}, nil
}

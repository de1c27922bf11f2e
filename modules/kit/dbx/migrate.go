package dbx

import (
	"context"
	"fmt"
	"regexp"
	"slices"

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
	if db.dialect == MySQL {
		if err := db.clearHalfMade(ctx); err != nil {
			return err
		}
	}
	p, err := goose.NewProvider(dialect, db.sql, migrations.FS)
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	return db.locked(func() error {
		if _, err := p.Up(ctx); err != nil {
			return Translate(fmt.Errorf("migrating the database: %w", err))
		}
		return nil
	})
}

// created finds the tables that the first migration makes.
var created = regexp.MustCompile("CREATE TABLE `?(\\w+)`?")

// clearHalfMade removes what a process that died in the first migration left: the
// MySQL family commits each table by itself, so the next start would find some of
// them there already. No version was recorded, so AX has never run on them. The
// caller holds the migration lock.
func (db *DB) clearHalfMade(ctx context.Context) error {
	const versions = "goose_db_version"
	var tables []string
	if err := db.Scan(ctx, &tables, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"); err != nil {
		return err
	}
	if slices.Contains(tables, versions) {
		var done int
		if err := db.Scan(ctx, &done, "SELECT COUNT(*) FROM "+versions+" WHERE version_id > 0"); err != nil || done > 0 {
			return err
		}
	}
	first, err := migrations.FS.ReadFile("00001_tables.sql")
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	half := []string{versions}
	for _, m := range created.FindAllStringSubmatch(string(first), -1) {
		half = append(half, m[1])
	}
	for _, t := range half {
		if !slices.Contains(tables, t) {
			continue
		}
		if _, err := db.Exec(ctx, "DROP TABLE `"+t+"`"); err != nil {
			return fmt.Errorf("removing the half-made table %s: %w", t, err)
		}
	}
	return nil
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
		return nil, Translate(err)
	}
	return func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK(CONCAT('ax-migrate-', DATABASE()))")
		_ = conn.Close()
	}, nil
}

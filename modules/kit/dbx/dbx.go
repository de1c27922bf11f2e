package dbx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Dialect is the SQL family that is spoken.
type Dialect string

// The dialects. MariaDB and MySQL are one; what differs between them is not used.
const (
	MySQL  Dialect = "mysql"
	SQLite Dialect = "sqlite"
)

// Options of Open. The zero value opens a pool of 8 without connection hooks.
type Options struct {
	Pool int // most connections at a time; 0 = 8
	// Patience is how long the server may take to answer anything, commits too; then
	// the connection counts as dead and what it was asked fails as Unavailable. 0 =
	// a minute. On SQLite it has no meaning.
	Patience time.Duration
	// OnConnect is called with the server's id of a new connection before its
	// first use, and OnClose when it is gone; both only on MySQL. An error of
	// OnConnect refuses the connection.
	OnConnect func(ctx context.Context, id int64) error
	OnClose   func(id int64)
	// OnTrouble hears of each write that the server would not take and of each lock that was waited for in vain,
	// with the error (see Reason and Locked). It must not block. nil = nobody.
	OnTrouble func(err error)
}

// DB is a pool of connections to AX's database. Safe for concurrent use.
type DB struct {
	g       *gorm.DB
	sql     *sql.DB
	dialect Dialect
	write   *sync.Mutex // SQLite only: one writer at a time in the process
	refused atomic.Pointer[refusal]
	trouble func(err error) // nil: nobody hears of it
}

// refusal is the last write that the server would not take.
type refusal struct {
	err error
	at  time.Time
}

// refusedFor is how long a refused write counts: with a full disk some writes succeed.
const refusedFor = 5 * time.Second

// Refused is why the server would not take some write of the last 5 s (it is
// read-only, its disk is full), else nil.
func (db *DB) Refused() error {
	if r := db.refused.Load(); r != nil && time.Since(r.at) < refusedFor {
		return r.err
	}
	return nil
}

// noted keeps in mind that the server takes no writes, and returns err.
func (db *DB) noted(err error) error {
	if refuses(err) {
		db.refused.Store(&refusal{err, time.Now()})
	}
	if db.trouble != nil && (refuses(err) || Locked(err)) {
		db.trouble(err)
	}
	return err
}

// read is the error of a read. One inside a transaction is noted at its end.
func (db *DB) read(ctx context.Context, err error) error {
	if db.trouble != nil && Locked(err) && !db.InTx(ctx) {
		db.trouble(err)
	}
	return Translate(err)
}

// Open connects to the database that the URL names: mysql://user:pass@host:port/db
// or sqlite:PATH. It checks that the server answers and is new enough; it does
// not migrate. Close it when done.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	if o.Pool == 0 {
		o.Pool = 8
	}
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	dialect, dsn, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	db := &DB{dialect: dialect, trouble: o.OnTrouble}
	if dialect == SQLite {
		err = db.openSQLite(dsn, o)
	} else {
		err = db.openMySQL(dsn, o)
	}
	if err != nil {
		return nil, err
	}
	db.sql.SetMaxOpenConns(o.Pool)
	db.sql.SetMaxIdleConns(o.Pool)
	if err := db.checkServer(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func gormConfig() *gorm.Config {
	return &gorm.Config{
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true, // checkServer asks, under a context
		TranslateError:         true,
		PrepareStmt:            false, // deadlocks on a bounded pool
		Logger:                 logger.Discard,
		NowFunc:                func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) },
	}
}

// Close ends the pool.
func (db *DB) Close() error { return db.sql.Close() }

// Dialect says which family this is.
func (db *DB) Dialect() Dialect { return db.dialect }

// SQL is the bare pool, for goose and for sessions of one connection (leases).
func (db *DB) SQL() *sql.DB { return db.sql }

// Stats are the pool's.
func (db *DB) Stats() sql.DBStats { return db.sql.Stats() }

type ctxKey struct{ db *DB }

type fenceKey struct{}

type txState struct {
	g      *gorm.DB
	before []func(ctx context.Context) error
	after  []func()
	undone []func()
	unsure []func()
	whole  bool // all was done, and the commit is asked for
}

// Q is the handle for statements: the transaction in ctx if there is one, else
// the pool. Statements end with ctx.
func (db *DB) Q(ctx context.Context) *gorm.DB {
	if tx, ok := ctx.Value(ctxKey{db}).(*txState); ok {
		return tx.g.WithContext(ctx)
	}
	return db.g.WithContext(ctx)
}

// InTx reports whether ctx carries a transaction of this pool.
func (db *DB) InTx(ctx context.Context) bool {
	_, ok := ctx.Value(ctxKey{db}).(*txState)
	return ok
}

// WithFence returns a context under which every new transaction, and every
// single write outside one, first calls fence inside its transaction and is
// rolled back with its error.
func WithFence(ctx context.Context, fence func(ctx context.Context) error) context.Context {
	return context.WithValue(ctx, fenceKey{}, fence)
}

// Tx runs fn in a transaction at READ COMMITTED, or in the one that ctx carries
// already. fn gets the context that carries it and must use no other. A deadlock
// is tried once more, so fn must be free of effects outside the database; give
// those to AfterCommit. Unavailable means that it is not known whether the commit
// happened: the connection may have broken before its answer came.
func (db *DB) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	if db.InTx(ctx) {
		return fn(ctx)
	}
	err := db.tryTx(ctx, fn)
	if isDeadlock(err) && ctx.Err() == nil {
		slog.Debug("transaction met a deadlock, once more", "error", err)
		err = db.tryTx(ctx, fn)
	}
	return Translate(db.noted(err))
}

func (db *DB) tryTx(ctx context.Context, fn func(ctx context.Context) error) error {
	st := &txState{}
	err := db.locked(func() error {
		return db.g.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			st.g = tx
			st.before, st.after, st.undone, st.unsure, st.whole = nil, nil, nil, nil, false
			txCtx := context.WithValue(ctx, ctxKey{db}, st)
			if fence, ok := ctx.Value(fenceKey{}).(func(context.Context) error); ok {
				if err := fence(txCtx); err != nil {
					return err
				}
			}
			if err := fn(txCtx); err != nil {
				return err
			}
			err := st.last(txCtx)
			st.whole = err == nil
			return err
		})
	})
	hooks := st.after
	switch {
	case err != nil && st.whole && !answered(err):
		hooks = st.unsure
	case err != nil:
		hooks = st.undone
	}
	for _, f := range hooks {
		f()
	}
	return err
}

// last runs what was put off to the end of the transaction, in order.
func (st *txState) last(ctx context.Context) error {
	for len(st.before) > 0 {
		f := st.before[0]
		st.before = st.before[1:]
		if err := f(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) locked(f func() error) error {
	if db.write != nil {
		db.write.Lock()
		defer db.write.Unlock()
	}
	return f()
}

// BeforeCommit calls f as the last thing in the transaction in ctx, or at once when
// there is none; its error rolls back. It is for rows that every transaction writes:
// each holds their locks until its end.
func (db *DB) BeforeCommit(ctx context.Context, f func(ctx context.Context) error) error {
	if tx, ok := ctx.Value(ctxKey{db}).(*txState); ok {
		tx.before = append(tx.before, f)
		return nil
	}
	return f(ctx)
}

// AfterCommit calls f once the transaction in ctx has committed, or at once when
// there is none. Nothing leaves the process before its row is committed.
func (db *DB) AfterCommit(ctx context.Context, f func()) {
	if tx, ok := ctx.Value(ctxKey{db}).(*txState); ok {
		tx.after = append(tx.after, f)
		return
	}
	f()
}

// IfUndone calls f when the transaction in ctx was not committed. One that meets a
// deadlock is undone before it is tried once more. Outside of a transaction it does
// nothing.
func (db *DB) IfUndone(ctx context.Context, f func()) {
	if tx, ok := ctx.Value(ctxKey{db}).(*txState); ok {
		tx.undone = append(tx.undone, f)
	}
}

// IfUnsure calls f when it is not known whether the transaction in ctx was committed:
// the connection broke before the answer came. Then the server may even be at it still.
// Outside of a transaction it does nothing.
func (db *DB) IfUnsure(ctx context.Context, f func()) {
	if tx, ok := ctx.Value(ctxKey{db}).(*txState); ok {
		tx.unsure = append(tx.unsure, f)
	}
}

// Exec runs one statement and returns the rows it changed. Outside a transaction
// it passes the fence of ctx in one of its own.
func (db *DB) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	var n int64
	err := db.alone(ctx, func(ctx context.Context) error {
		r := db.Q(ctx).Exec(query, args...)
		n = r.RowsAffected
		return r.Error
	})
	return n, err
}

// execPlain is Exec of a text whose every argument is one value: it goes to the driver
// as it is.
func (db *DB) execPlain(ctx context.Context, query string, args []any) (int64, error) {
	var n int64
	err := db.alone(ctx, func(ctx context.Context) error {
		r, err := db.Q(ctx).Statement.ConnPool.ExecContext(ctx, query, args...)
		if err != nil {
			if t, ok := db.g.Dialector.(gorm.ErrorTranslator); ok {
				err = t.Translate(err)
			}
			return err
		}
		n, err = r.RowsAffected()
		return err
	})
	return n, err
}

// alone runs one write: in the transaction of ctx, else in a fenced one of its
// own when ctx carries a fence, else by itself under SQLite's write lock.
func (db *DB) alone(ctx context.Context, run func(ctx context.Context) error) error {
	if db.InTx(ctx) {
		return Translate(run(ctx))
	}
	if ctx.Value(fenceKey{}) != nil {
		return db.Tx(ctx, run)
	}
	return Translate(db.noted(db.locked(func() error { return run(ctx) })))
}

// Scan reads rows into dest (a pointer to a struct, a value or a slice).
func (db *DB) Scan(ctx context.Context, dest any, query string, args ...any) error {
	return db.read(ctx, db.Q(ctx).Raw(query, args...).Scan(dest).Error)
}

// Each calls one for every row; it scans by itself what it needs, without
// reflection. It is for the few reads of which there are thousands a second.
func (db *DB) Each(ctx context.Context, one func(scan func(dest ...any) error) error, query string, args ...any) error {
	rows, err := db.Q(ctx).Raw(query, args...).Rows()
	if err != nil {
		return db.read(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := one(rows.Scan); err != nil {
			return Translate(err)
		}
	}
	return Translate(rows.Err())
}

// Insert writes rows (a slice of structs or a pointer to one) in batches.
func (db *DB) Insert(ctx context.Context, rows any) error {
	return db.alone(ctx, func(ctx context.Context) error { return db.Q(ctx).CreateInBatches(rows, 500).Error })
}

// Ping asks whether the database answers.
func (db *DB) Ping(ctx context.Context) error { return Translate(db.sql.PingContext(ctx)) }

var _ driver.Connector = (*watchedConnector)(nil)

func (db *DB) checkServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if db.dialect == SQLite {
		return db.Ping(ctx)
	}
	var v string
	if err := db.Scan(ctx, &v, "SELECT VERSION()"); err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	return CheckVersion(v)
}

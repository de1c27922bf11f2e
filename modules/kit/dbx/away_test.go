package dbx_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/axsched/ax/e2e/setup/wire"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

// What the server says of its own state passes, and is tried again; what it says of the statement does not.
func TestWhatPassesIsUnavailable(t *testing.T) {
	for number, want := range map[uint16]domain.Kind{
		1040: domain.Unavailable, 1203: domain.Unavailable, 1053: domain.Unavailable, // full, shutting down
		1205: domain.Unavailable, 3572: domain.Unavailable, 1213: domain.Unavailable, // locks
		1290: domain.Unavailable, 1792: domain.Unavailable, 1836: domain.Unavailable, // read-only
		1021: domain.Unavailable, 1030: domain.Unavailable, 1114: domain.Unavailable, 1180: domain.Unavailable, 3: domain.Unavailable, // disk
		1317: domain.Unavailable, 1927: domain.Unavailable, 1969: domain.Unavailable, 3024: domain.Unavailable, // killed
		1064: "", 1406: "", 1264: "", 1366: "", 1054: "", 1146: "", 1452: "", 1045: "", 1142: "", 1049: "",
	} {
		if got := domain.KindOf(dbx.Translate(&mysql.MySQLError{Number: number, Message: "x"})); got != want {
			t.Errorf("error %d is %q, want %q", number, got, want)
		}
	}
}

func TestAHangingStatementFailsInTime(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		const patience = 300 * time.Millisecond
		db := open(t, dbtest.MariaDB(t), dbx.Options{Pool: 1, Patience: patience})
		began := time.Now()
		_, err := db.Exec(t.Context(), "DO SLEEP(30)")
		if took := time.Since(began); !domain.Is(err, domain.Unavailable) || took < patience || took > 10*patience {
			t.Errorf("after %s: %v", took, err)
		}
		if err := db.Ping(t.Context()); err != nil {
			t.Errorf("the pool of one is not free again: %v", err)
		}
	})
}

// A server that takes connections and says nothing must not hold anybody longer either.
func TestASilentServerFailsInTime(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	began := time.Now()
	_, err = dbx.Open(t.Context(), "mysql://ax:ax@"+ln.Addr().String()+"/ax", dbx.Options{Patience: 300 * time.Millisecond})
	if took := time.Since(began); !domain.Is(err, domain.Unavailable) || took > 5*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
}

// A table that somebody else has locked whole is waited for as short as a row is.
func TestALockedTableIsNotWaitedForLong(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		db := open(t, dbtest.MariaDB(t), dbx.Options{Pool: 2})
		conn, err := db.SQL().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.ExecContext(t.Context(), "LOCK TABLES thing WRITE"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = db.Exec(t.Context(), "INSERT INTO thing (id, name, n, ver) VALUES (1, 'a', 0, 0)")
		if took := time.Since(began); !domain.Is(err, domain.Unavailable) || took < 2*time.Second || took > 8*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
		if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), "INSERT INTO thing (id, name, n, ver) VALUES (1, 'a', 0, 0)"); err != nil {
			t.Error(err)
		}
	})
}

// Each cause has a sentence of its own: what is locked, full or killed is not away.
func TestWhatIsNotAwayIsNotCalledAway(t *testing.T) {
	for number, want := range map[uint16]string{1205: "http.locked", 3572: "http.locked", 1213: "http.locked", 1040: "http.database_full", 1226: "http.database_full",
		1317: "http.database_killed", 1927: "http.database_killed", 1969: "http.database_killed", 3024: "http.database_killed", 1290: "http.no_writes", 1053: "", 1158: ""} {
		err := dbx.Translate(fmt.Errorf("saving: %w", &mysql.MySQLError{Number: number, Message: "it said this"}))
		var d *domain.Error
		if !errors.As(err, &d) || d.Kind != domain.Unavailable || d.ID != want || strings.Contains(d.Msg, "is away") != (want == "") || !strings.Contains(d.Msg, "it said this") {
			t.Errorf("error %d: %q (%s), want %s", number, err, d.ID, want)
		}
	}
}

// Whoever wants to hears of each lock that was waited for in vain, by a write, in a transaction and by a look, and of nothing else.
func TestALockThatIsWaitedForInVainIsHeardOf(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		var mu sync.Mutex
		var heard []error
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(heard)
		}
		url := dbtest.MariaDB(t)
		db := open(t, url, dbx.Options{Pool: 2, OnTrouble: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, err)
		}})
		if err := db.Insert(t.Context(), &thing{ID: 1, Name: "a"}); err != nil {
			t.Fatal(err)
		}
		if err := db.Insert(t.Context(), &thing{ID: 1, Name: "a"}); err == nil || count() != 0 {
			t.Fatalf("a key that is there was heard of as trouble: %v", err)
		}
		other := open(t, url, dbx.Options{Pool: 1})
		conn, err := other.SQL().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.ExecContext(t.Context(), "LOCK TABLES thing WRITE"); err != nil {
			t.Fatal(err)
		}
		var n int
		for name, ask := range map[string]func() error{
			"write": func() error { _, err := db.Exec(t.Context(), "UPDATE thing SET n = 1"); return err },
			"transaction": func() error {
				return db.Tx(t.Context(), func(ctx context.Context) error {
					return db.Scan(ctx, &n, "SELECT n FROM thing WHERE id = 1"+db.ForUpdate())
				})
			},
			"look": func() error { return db.Scan(t.Context(), &n, "SELECT n FROM thing WHERE id = 1") },
		} {
			before := count()
			if err := ask(); !dbx.Locked(err) || count() != before+1 {
				t.Errorf("%s: %v was heard of %d times", name, err, count()-before)
			}
		}
		if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Error(err)
		}
	})
}

// A transaction whose context ends in the middle is no fault inside AX.
func TestATransactionOutOfTimeIsUnavailable(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := db.Tx(ctx, func(tx context.Context) error {
			if err := db.Insert(tx, &thing{ID: 1, Name: "a"}); err != nil {
				return err
			}
			<-ctx.Done()
			return db.Insert(tx, &thing{ID: 2, Name: "b"})
		})
		if !domain.Is(err, domain.Unavailable) || strings.Contains(err.Error(), "done") {
			t.Errorf("it says %v", err)
		}
		if got := things(t, db); got != "[]" {
			t.Errorf("%s is left of it", got)
		}
	})
}

// A transaction that its owner has left alone holds its locks for no hours: the server ends it. (On MariaDB; MySQL
// knows no such limit.)
func TestEachSessionHasItsLimits(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		db := open(t, dbtest.MariaDB(t), dbx.Options{Pool: 1})
		for name, want := range map[string]string{"innodb_lock_wait_timeout": "3", "lock_wait_timeout": "3", "idle_transaction_timeout": "20", "tx_isolation": "READ-COMMITTED", "time_zone": "+00:00"} {
			var got string
			if err := db.Scan(t.Context(), &got, "SELECT @@SESSION."+name); err != nil || got != want {
				t.Errorf("%s is %q, want %q: %v", name, got, want, err)
			}
		}
	})
}

// A server that takes no writes is not called away: its reason is said, and nothing else's words are.
func TestTheReasonOfARefusalIsSaid(t *testing.T) {
	const reason = "The server is running with the --read-only option (error 1290)"
	refused := dbx.Translate(fmt.Errorf("saving: %w", &mysql.MySQLError{Number: 1290, Message: "The server is running with the --read-only option"}))
	if refused.Error() != "the database takes no writes: "+reason || dbx.Reason(refused) != reason {
		t.Errorf("it says %q, and of the reason %q", refused, dbx.Reason(refused))
	}
	gone := dbx.Translate(&mysql.MySQLError{Number: 1053, Message: "Server shutdown in progress"})
	if dbx.Reason(gone) != "" || dbx.Reason(nil) != "" || strings.Contains(gone.Error(), "takes no writes") {
		t.Errorf("%q is called a refusal", gone)
	}
	t.Run("sqlite", func(t *testing.T) {
		db := open(t, dbtest.SQLite(t), dbx.Options{Pool: 1})
		if _, err := db.Exec(t.Context(), "PRAGMA query_only = ON"); err != nil {
			t.Fatal(err)
		}
		_, err := db.Exec(t.Context(), "DELETE FROM thing")
		if said := dbx.Reason(err); !strings.HasPrefix(said, "attempt to write a readonly database") || dbx.Reason(db.Refused()) != said {
			t.Errorf("%v has the reason %q", err, said)
		}
	})
}

// A full database is told for a while, also when other writes succeed, and a write that fits ends nothing.
func TestAFullDatabaseIsTold(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		db := open(t, dbtest.SQLite(t), dbx.Options{Pool: 1})
		if err := db.Refused(); err != nil {
			t.Fatalf("nothing was written yet: %v", err)
		}
		var pages int
		if err := db.Scan(t.Context(), &pages, "PRAGMA max_page_count = 1"); err != nil { // no fewer than there are
			t.Fatal(err)
		}
		var err error
		for i := int64(1); err == nil && i < 10_000; i++ {
			err = db.Tx(t.Context(), func(ctx context.Context) error { return db.Insert(ctx, &thing{ID: i, Name: fmt.Sprint("thing ", i)}) })
		}
		if !domain.Is(err, domain.Unavailable) || db.Refused() == nil {
			t.Errorf("a full database says %v, and of itself %v", err, db.Refused())
		}
		if _, err := db.Exec(t.Context(), "DELETE FROM thing"); err != nil {
			t.Errorf("room cannot be made: %v", err)
		}
	})
}

// Whoever must know learns that a commit may have happened, and only then; or that it has not.
func TestALostAnswerToACommitIsToldAsSuch(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		w, url := wire.Through(t, dbtest.MariaDB(t))
		db := open(t, url, dbx.Options{Pool: 1})
		undone := 0
		tell := func(id int64, name string, fails error) (after, unsure bool, err error) {
			err = db.Tx(t.Context(), func(ctx context.Context) error {
				db.IfUndone(ctx, func() { undone++ })
				db.AfterCommit(ctx, func() { after = true })
				db.IfUnsure(ctx, func() { unsure = true })
				return errors.Join(db.Insert(ctx, &thing{ID: id, Name: name}), fails)
			})
			return after, unsure, err
		}
		if after, unsure, err := tell(1, "a", nil); err != nil || !after || unsure {
			t.Errorf("committed: after %v, unsure %v, %v", after, unsure, err)
		}
		if after, unsure, err := tell(2, "b", errWanted); !errors.Is(err, errWanted) || after || unsure {
			t.Errorf("refused by its own: after %v, unsure %v, %v", after, unsure, err)
		}
		if after, unsure, err := tell(3, "a", nil); !domain.Is(err, domain.Exists) || after || unsure {
			t.Errorf("refused by the server: after %v, unsure %v, %v", after, unsure, err)
		}
		w.Judge(func(sql string) wire.Deed {
			if sql == "COMMIT" {
				return wire.LoseAnswer
			}
			return wire.Pass
		})
		if after, unsure, err := tell(4, "d", nil); !domain.Is(err, domain.Unavailable) || after || !unsure {
			t.Errorf("the answer was lost: after %v, unsure %v, %v", after, unsure, err)
		}
		w.Judge(func(sql string) wire.Deed {
			if strings.HasPrefix(sql, "INSERT") {
				return wire.LoseAnswer
			}
			return wire.Pass
		})
		if after, unsure, err := tell(5, "e", nil); !domain.Is(err, domain.Unavailable) || after || unsure {
			t.Errorf("broken before the commit: after %v, unsure %v, %v", after, unsure, err)
		}
		w.Judge(nil)
		if undone != 3 {
			t.Errorf("%d transactions of 5 were told to be undone, want the three that were", undone)
		}
		if got := things(t, db); !strings.Contains(got, "d") || strings.Contains(got, "e") {
			t.Errorf("there is %s", got)
		}
	})
}

package sql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/worker/protocol/sqltext"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// bed is one database with a task's way to it, and another way beside it for the test.
type bed struct {
	t       *testing.T
	dialect sqltext.Dialect
	e       *Executor
	db      *sql.DB
	spool   *runner.Spool
}

// each runs a test on each kind of database, in a fresh one.
func each(t *testing.T, fn func(t *testing.T, b *bed)) {
	t.Run("sqlite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "a db?.sqlite")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		fn(t, newBed(t, "sqlite://"+strings.NewReplacer(" ", "%20", "?", "%3F").Replace(file)))
	})
	t.Run("mariadb", func(t *testing.T) {
		url := server(t, "AX_TEST_MYSQL_URL", stores.HasMariaDB, stores.MariaDB)
		name := fmt.Sprintf("ax_sqltype_%d", time.Now().UnixNano())
		admin(t, url+"information_schema", "CREATE DATABASE "+name+" CHARACTER SET utf8mb4")
		t.Cleanup(func() { admin(t, url+"information_schema", "DROP DATABASE "+name) })
		fn(t, newBed(t, url+name))
	})
	t.Run("postgres", func(t *testing.T) {
		url := server(t, "AX_TEST_POSTGRES_URL", stores.HasPostgres, stores.Postgres)
		name := fmt.Sprintf("ax_sqltype_%d", time.Now().UnixNano())
		admin(t, url, "CREATE ROLE "+name+" LOGIN PASSWORD 'p@ss'")
		admin(t, url, "CREATE DATABASE "+name+" OWNER "+name)
		t.Cleanup(func() {
			admin(t, url, "DROP DATABASE "+name)
			admin(t, url, "DROP ROLE "+name)
		})
		fn(t, newBed(t, strings.Replace(strings.Replace(url, "ax:ax@", name+":p%40ss@", 1), "/postgres", "/"+name, 1)))
	})
}

// server is the one that the test run brought, or one of this test's own.
func server(t *testing.T, variable string, has func() bool, start func(string) (*stores.Server, error)) string {
	t.Helper()
	if url := os.Getenv(variable); url != "" {
		return url
	}
	if !has() {
		t.Skipf("no server is installed: nothing was tested on it; e2e/setup/install.sh brings it")
	}
	s, err := start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s.URL
}

func admin(t *testing.T, url, statement string) {
	t.Helper()
	s, err := newSource(url)
	if err != nil {
		t.Fatal(err)
	}
	db := s.open()
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func newBed(t *testing.T, url string) *bed {
	t.Helper()
	e, err := New(map[string]string{"main": url})
	if err != nil {
		t.Fatal(err)
	}
	spool, err := runner.OpenSpool(t.TempDir(), runner.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, dialect: e.sources["main"].dialect, e: e, db: e.sources["main"].open(), spool: spool}
	t.Cleanup(func() { _ = b.db.Close() })
	return b
}

// script makes pieces of a text in which «…» stands for a value.
func script(text string) []sqltext.Piece {
	var out []sqltext.Piece
	for text != "" {
		before, rest, found := strings.Cut(text, "«")
		if before != "" {
			out = append(out, sqltext.Piece{Text: before})
		}
		if !found {
			break
		}
		value, rest, _ := strings.Cut(rest, "»")
		out = append(out, sqltext.Piece{Value: &value})
		text = rest
	}
	return out
}

// exec is the settings as the center renders them.
func exec(text string, more map[string]any) map[string]any {
	out := map[string]any{"source": "main", "split": true, "scripts": [][]sqltext.Piece{script(text)}}
	for k, v := range more {
		out[k] = v
	}
	return out
}

func (b *bed) run(ctx context.Context, settings map[string]any, task types.Task) (types.Outcome, string) {
	b.t.Helper()
	raw, err := json.Marshal(settings)
	if err != nil {
		b.t.Fatal(err)
	}
	task.Attempt, task.Exec = 1, raw
	out := b.spool.Create(1)
	o := b.e.Run(ctx, task, out)
	out.Finish(time.Now())
	lines, err := out.Lines(1, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	var log strings.Builder
	for _, l := range lines.Lines {
		log.WriteString(l.Text + "\n")
	}
	return o, log.String()
}

// good runs statements that must succeed.
func (b *bed) good(text string) (types.Outcome, string) {
	b.t.Helper()
	o, log := b.run(b.t.Context(), exec(text, nil), types.Task{Deadline: time.Now().Add(30 * time.Second)})
	if o.Run.Outcome != runner.Success {
		b.t.Fatalf("%s: %+v\n%s", text, o, log)
	}
	return o, log
}

// count asks beside the task.
func (b *bed) count(query string) (n int) {
	b.t.Helper()
	if err := b.db.QueryRowContext(b.t.Context(), query).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestStatementsAndTheirResult(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		o, log := b.good(`CREATE TABLE stat (d VARCHAR(10), n INTEGER, cents DECIMAL(10,2), note VARCHAR(200));
INSERT INTO stat VALUES («2026-02-03», «12», «12.50», «; $(id) "x" '中文🚀»), ('2026-02-04', 7, 0.5, NULL);
-- how many; and the first
SELECT COUNT(*) AS rows_in FROM stat;
UPDATE stat SET n = n + 1 WHERE d = «2026-02-03» ;
SELECT d, n, cents, note FROM stat WHERE n > «0» ORDER BY d;`)
		var got map[string]any
		if err := json.Unmarshal(o.Result, &got); err != nil {
			t.Fatalf("result %s: %v", o.Result, err)
		}
		if got["d"] != "2026-02-03" || got["n"] != 13.0 || fmt.Sprint(got["cents"]) != "12.50" && got["cents"] != 12.5 || got["note"] != `; $(id) "x" '中文🚀` {
			t.Errorf("the result: %s", o.Result)
		}
		for _, want := range []string{"statement 1 of 5, line 1", "statement 2 of 5, line 2: 2 rows changed", "statement 3 of 5, line 4: 1 row in", "statement 4 of 5, line 5: 1 row changed",
			"statement 5 of 5, line 6: 2 rows in", "d          | n  | cents", "2026-02-04 | 7  | ", "| NULL"} {
			if !strings.Contains(log, want) {
				t.Errorf("the log lacks %q:\n%s", want, log)
			}
		}
	})
}

func TestManyRowsAreCountedAndFewShown(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		o, log := b.good("WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 900) SELECT i, 'line' AS word FROM s; SELECT 1 AS none_at_all FROM (SELECT 1) x WHERE 1 = 0; SELECT 5 AS five")
		if !strings.Contains(log, "900 rows in") || !strings.Contains(log, "the first 20 of 900 rows") || strings.Count(log, "| line") != 20 || string(o.Result) != `{"five":5}` {
			t.Errorf("%s\n%s", o.Result, log)
		}
		if o, _ := b.good("SELECT 5 AS five; SELECT 1 AS none_at_all FROM (SELECT 1) x WHERE 1 = 0"); o.Result != nil {
			t.Errorf("the last select had no row: %s", o.Result)
		}
	})
}

// A value that looks like SQL is a value.
func TestAValueIsBound(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		b.good("CREATE TABLE t (v VARCHAR(300)); INSERT INTO t VALUES ('kept')")
		for _, v := range []string{"; $(id) \"x\" '中文🚀`", "' OR '1'='1", "'; DROP TABLE t; --", `\' OR 1=1 -- `, "?", "$1", ":v", "%s%n", "", " a ", "a\nb\r\n\tc", "{{biz_date}}", "*/ DROP TABLE t; /*", "\\"} {
			o, _ := b.good("INSERT INTO t VALUES («" + v + "»); SELECT v FROM t WHERE v = «" + v + "»; DELETE FROM t WHERE v = «" + v + "»")
			var got map[string]string
			if err := json.Unmarshal(o.Result, &got); err != nil || got["v"] != v {
				t.Errorf("%q came back as %s (%v)", v, o.Result, err)
			}
		}
		if n := b.count("SELECT COUNT(*) FROM t"); n != 1 {
			t.Errorf("%d rows are left", n)
		}
		o, _ := b.run(t.Context(), exec("SELECT 'it is «x»'", nil), types.Task{})
		if o.Run.Outcome != runner.Failed || !strings.Contains(o.Run.Message, "inside of a string") || !strings.Contains(o.Run.Message, "nothing was sent") {
			t.Errorf("a value in a string: %+v", o)
		}
	})
}

func TestAllStatementsOrThoseBeforeTheFault(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		b.good("CREATE TABLE t (v INTEGER PRIMARY KEY)")
		const text = "INSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2);\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (3)"
		o, _ := b.run(t.Context(), exec(text, nil), types.Task{})
		if n := b.count("SELECT COUNT(*) FROM t"); o.Run.Outcome != runner.Failed || n != 0 || !strings.Contains(o.Run.Message, "statement 3 of 4, line 3") || !strings.Contains(o.Run.Message, "rolled back") {
			t.Errorf("%+v, %d rows", o, n)
		}
		o, _ = b.run(t.Context(), exec(text, map[string]any{"transaction": false}), types.Task{})
		if n := b.count("SELECT COUNT(*) FROM t"); o.Run.Outcome != runner.Failed || n != 2 || !strings.Contains(o.Run.Message, "what ended before it stands: 2") {
			t.Errorf("%+v, %d rows", o, n)
		}
		o, _ = b.run(t.Context(), exec("DELETE FROM t; COMMIT; INSERT INTO nonsense VALUES (1)", nil), types.Task{})
		if n := b.count("SELECT COUNT(*) FROM t"); o.Run.Outcome != runner.Failed || n != 2 || !strings.Contains(o.Run.Message, "nothing was sent") {
			t.Errorf("a commit in the midst: %+v, %d rows", o, n)
		}
	})
}

// slow is a statement that takes a minute, and how the server's list finds it.
func (b *bed) slow() (text, list string) {
	switch b.dialect {
	case sqltext.MySQL:
		return "SELECT SLEEP(60)", "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(60)%'"
	case sqltext.Postgres:
		return "SELECT pg_sleep(60)", "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(60)%'"
	}
	return "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 100000000000) SELECT COUNT(*) FROM s", ""
}

// What runs is ended in the server, and what was not committed is undone.
func TestATimeoutAndAKillEndTheStatementInTheServer(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		b.good("CREATE TABLE t (v INTEGER)")
		slow, list := b.slow()
		for _, want := range []runner.Outcome{runner.Timeout, runner.Killed} {
			ctx, cancel := context.WithCancelCause(t.Context())
			task := types.Task{}
			if want == runner.Timeout {
				task.Deadline = time.Now().Add(time.Second)
			}
			seen := make(chan bool, 1)
			go func() {
				seen <- eventually(func() bool { return list == "" && b.locked() || list != "" && b.count(list) == 1 })
				if want == runner.Killed {
					cancel(runner.ErrKilled)
				}
			}()
			began := time.Now()
			o, _ := b.run(ctx, exec("INSERT INTO t VALUES (1); "+slow, nil), task)
			took := time.Since(began)
			if !<-seen {
				t.Error("the statement was never seen in the server's list: nothing is shown by it being gone")
			}
			if o.Run.Outcome != want || took > 20*time.Second || !strings.Contains(o.Run.Message, "statement 2 of 2") || strings.Contains(o.Run.Message, "could not be made") {
				t.Errorf("%s: %+v after %v", want, o, took)
			}
			if list != "" {
				if n := b.count(list); n != 0 {
					t.Errorf("%s: %d of it are left in the server's list", want, n)
				}
			}
			if n := b.count("SELECT COUNT(*) FROM t"); n != 0 {
				t.Errorf("%s: %d rows stand of what was not committed", want, n)
			}
			cancel(nil)
		}
	})
}

// locked reports whether a task holds SQLite's one lock for writers.
func (b *bed) locked() bool {
	ctx, cancel := context.WithTimeout(b.t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.db.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return true
	}
	if _, err := b.db.ExecContext(b.t.Context(), "ROLLBACK"); err != nil {
		b.t.Error(err)
	}
	return false
}

func eventually(ok func() bool) bool {
	for end := time.Now().Add(15 * time.Second); !ok(); {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(10 * time.Millisecond) // between looks, not for luck
	}
	return true
}

// A list has one statement in each entry, semicolons inside it too.
func TestAListOfStatements(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		var trigger string
		switch b.dialect {
		case sqltext.SQLite:
			trigger = "CREATE TRIGGER copy AFTER INSERT ON t BEGIN INSERT INTO u VALUES (new.v); INSERT INTO u VALUES (new.v); END"
		case sqltext.MySQL:
			trigger = "CREATE TRIGGER copy AFTER INSERT ON t FOR EACH ROW BEGIN INSERT INTO u VALUES (new.v); INSERT INTO u VALUES (new.v); END"
		case sqltext.Postgres:
			trigger = "DO $x$ BEGIN CREATE VIEW w AS SELECT 1; INSERT INTO u VALUES (5); INSERT INTO u VALUES (5); END $x$"
		}
		var scripts [][]sqltext.Piece
		for _, text := range []string{"CREATE TABLE t (v INTEGER)", "CREATE TABLE u (v INTEGER)", trigger, "INSERT INTO t VALUES («5»)", "SELECT COUNT(*) AS n FROM u"} {
			scripts = append(scripts, script(text))
		}
		o, log := b.run(t.Context(), map[string]any{"source": "main", "scripts": scripts}, types.Task{})
		if o.Run.Outcome != runner.Success || string(o.Result) != `{"n":2}` {
			t.Errorf("%+v %s\n%s", o, o.Result, log)
		}
	})
}

func TestWrongSettingsAndSources(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		for says, settings := range map[string]map[string]any{
			`no data source "else"; it has main`: exec("SELECT 1", map[string]any{"source": "else"}),
			"no statement":                       exec(" -- nothing\n;", nil),
			"never closed":                       exec("SELECT 'a", nil),
			"statement 1 of 1, line 1":           exec("SELECTT 1", nil),
			"sorce":                              {"sorce": "main"},
		} {
			if o, _ := b.run(t.Context(), settings, types.Task{}); o.Run.Outcome != runner.Failed || !strings.Contains(o.Run.Message, says) {
				t.Errorf("%s: %+v", says, o)
			}
		}
	})
	for _, url := range []string{"mysql://u:secret@127.0.0.1:1/d", "postgres://u:secret@127.0.0.1:1/d", "sqlite:///no/such/dir/a.db"} {
		b := newBed(t, url)
		if o, _ := b.run(t.Context(), exec("SELECT 1", nil), types.Task{Deadline: time.Now().Add(20 * time.Second)}); o.Run.Outcome != runner.Failed || !strings.Contains(o.Run.Message, "no connection to the data source") || strings.Contains(o.Run.Message, "secret") {
			t.Errorf("%s: %+v", url, o)
		}
	}
	for _, url := range []string{"oracle://u:secret@h/d", "mysql://u:secret@h/d?alwaysTrue=1", "mysql://u:secret@h/d?tls=secret", "postgres://u:secret@h:port/d", "::secret"} {
		if _, err := New(map[string]string{"main": url}); err == nil || !strings.Contains(err.Error(), "main") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

package all

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/job/template"
	"github.com/axsched/ax/modules/scheduler"
	"github.com/axsched/ax/worker/protocol/netguard"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
	typehttp "github.com/axsched/ax/worker/types/http"
	"github.com/axsched/ax/worker/types/program"
	"github.com/axsched/ax/worker/types/python"
	"github.com/axsched/ax/worker/types/shell"
	typesql "github.com/axsched/ax/worker/types/sql"
)

// TestMain lets the test binary play the watchdog.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "watchdog" {
		os.Exit(runner.WatchdogMain(os.Stdin, os.Stdout, os.Stderr, os.Args[2:]))
	}
	os.Exit(m.Run())
}

// nasty are values that mean something to a shell, to Python, to SQL, to HTTP, to JSON, to YAML or to AX itself.
var nasty = []string{
	"; $(id) \"x\" '中文🚀`", "2026-05-06 10:59:09", "it's", `"`, "$(id)", "; touch PWNED", "`touch PWNED`", "${HOME}", "$HOME", `\`, `\\n`, "*", "~", "!!", "#", "-n", "--help",
	"%s%n%d", "' OR '1'='1", "'; DROP TABLE witness; --", `\' OR 1=1 -- `, "?", "$1", ":v", "@v", "*/ DROP TABLE witness; /*", "{{biz_date}}", "{{{{", "}}", "{x}", "<b>&amp;", `{"a":1}`, "a&b=c", "../..",
	"%2e%2e%2f", "__import__('os').system('touch PWNED')", "\"\"\"", "a\tb", "𝒳 é e\u0301 \u202e", "null", "007", "",
}

// multiline are those that a header can't carry.
var multiline = []string{"a\nb", "a\r\nX-Evil: 1", "\n", "'''\nimport os\n'''", "x\nEOF\ntouch PWNED"}

// way is a place of a job file at which a value is given, and how it is read where it arrived.
type way struct {
	name string
	exec string // lines under exec:
	got  func(o types.Outcome, dir string) (string, bool)
	line bool // takes values of one line only
}

// desk has one executor of each type, and what they talk to.
type desk struct {
	t     *testing.T
	types map[string]types.Executor
	spool *runner.Spool
	dir   string // where scripts write
	url   string // of a server that answers with what it was sent
	ways  []way
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	r, err := runner.New(runner.Config{Marker: runner.Marker{UID: "values-test", Boot: int64(os.Getpid())}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	spool, err := runner.OpenSpool(t.TempDir(), runner.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, spool: spool, dir: t.TempDir()}
	mirror := httptest.NewServer(http.HandlerFunc(reflect))
	t.Cleanup(mirror.Close)
	d.url = mirror.URL
	sources := d.sources()
	databases, err := typesql.New(sources)
	if err != nil {
		t.Fatal(err)
	}
	d.types = map[string]types.Executor{"shell": shell.New(r, d.dir, program.Users{}), "python": python.New(r, t.TempDir()), "http": typehttp.New("test", nil), "sql": databases}
	d.programs()
	d.requests()
	for name := range sources {
		d.statements(name)
	}
	return d
}

// reflect answers with what was sent, as JSON.
func reflect(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var inJSON map[string]string
	_ = json.Unmarshal(body, &inJSON) // nil for other bodies
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	_ = r.ParseForm()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"path": strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/p/"), "/end"), "query": r.URL.Query().Get("v"),
		"header": r.Header.Get("X-V"), "evil": r.Header.Get("X-Evil"), "body": string(body), "json": inJSON["v"], "form": r.PostForm.Get("v")})
}

// sources are the databases that there are; each has a table that must outlive the test.
func (d *desk) sources() map[string]string {
	file := filepath.Join(d.t.TempDir(), "values.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		d.t.Fatal(err)
	}
	out := map[string]string{"sqlite": "sqlite://" + file}
	for name, one := range map[string]struct {
		variable, database string
		has                func() bool
		start              func(string) (*stores.Server, error)
	}{
		"mariadb":  {"AX_TEST_MYSQL_URL", "information_schema", stores.HasMariaDB, stores.MariaDB},
		"postgres": {"AX_TEST_POSTGRES_URL", "", stores.HasPostgres, stores.Postgres},
	} {
		url := os.Getenv(one.variable)
		if url == "" && one.has() {
			s, err := one.start("")
			if err != nil {
				d.t.Fatal(err)
			}
			d.t.Cleanup(s.Stop)
			url = s.URL
		}
		if url != "" {
			out[name] = url + one.database
		}
	}
	return out
}

func (d *desk) programs() {
	file := func(_ types.Outcome, dir string) (string, bool) {
		b, err := os.ReadFile(filepath.Join(dir, "got"))
		return string(b), err == nil
	}
	const py = `script: "import os, sys\nopen('got', 'w', newline='').write(%s)"`
	for name, exec := range map[string]string{
		"shell, bare":           "type: shell\n    command: printf %s {{params.v}} > got",
		"shell, double quotes":  `type: shell` + "\n    " + `command: printf %s "{{params.v}}" > got`,
		"shell, bash":           "type: shell\n    shell: bash\n    command: printf %s {{params.v}} > got",
		"shell, a heredoc":      "type: shell\n    command: |\n      printf %s \"$AX_PARAM_v\" > got; cat <<EOF >/dev/null\n      $AX_PARAM_v\n      EOF",
		"shell, environment":    `type: shell` + "\n    " + `command: printf %s "$AX_PARAM_v" > got`,
		"shell, own variable":   `type: shell` + "\n    " + `command: printf %s "$OWN" > got`,
		"python, argument":      "type: python\n    " + fmt.Sprintf(py, "sys.argv[2]") + "\n    args: [x, '{{params.v}}']\n    cwd: CWD",
		"python, in a word":     "type: python\n    " + fmt.Sprintf(py, "sys.argv[1][2:-2]") + "\n    args: ['<<{{params.v}}>>']\n    cwd: CWD",
		"python, environment":   "type: python\n    " + fmt.Sprintf(py, "os.environ['AX_PARAM_v']") + "\n    cwd: CWD",
		"python, own variables": "type: python\n    " + fmt.Sprintf(py, "os.environ['OWN']") + "\n    cwd: CWD",
	} {
		d.ways = append(d.ways, way{name: name, exec: strings.ReplaceAll(exec, "CWD", d.dir), got: file})
	}
}

// sent reads a field of what the mirror answered, which is the task's result.
func sent(field string) func(types.Outcome, string) (string, bool) {
	return func(o types.Outcome, _ string) (string, bool) {
		var m map[string]string
		if json.Unmarshal(o.Result, &m) != nil || m["evil"] != "" {
			return string(o.Result), false
		}
		return m[field], true
	}
}

func (d *desk) requests() {
	at := "type: http\n    url: " + d.url
	d.ways = append(d.ways,
		way{name: "http, path", exec: `type: http` + "\n    " + `url: "` + d.url + `/p/{{params.v}}/end"`, got: sent("path")},
		way{name: "http, query", exec: `type: http` + "\n    " + `url: "` + d.url + `/?v={{params.v}}&w=1"`, got: sent("query")},
		way{name: "http, header", exec: at + "\n    headers: {X-V: '{{params.v}}'}", got: sent("header"), line: true},
		way{name: "http, JSON", exec: at + "\n    body: {v: '{{params.v}}'}", got: sent("json")},
		way{name: "http, text", exec: at + "\n    body: '{{params.v}}'", got: sent("body")},
		way{name: "http, form", exec: at + "\n    headers: {Content-Type: application/x-www-form-urlencoded}\n    body: 'v={{params.v}}&w=1'", got: sent("form")},
		way{name: "http, condition", exec: `type: http` + "\n    " + `url: "` + d.url + `/?v={{params.v}}"` + "\n    expect_json: {/query: '{{params.v}}'}", got: sent("query")},
	)
}

func (d *desk) statements(source string) {
	row := func(o types.Outcome, _ string) (string, bool) {
		var m map[string]any
		if json.Unmarshal(o.Result, &m) != nil {
			return string(o.Result), false
		}
		v, ok := m["v"].(string)
		return v, ok && m["w"] == "1"
	}
	cast := map[string]string{"mariadb": "CHAR", "postgres": "TEXT", "sqlite": "TEXT"}[source]
	d.ways = append(d.ways,
		way{name: "sql, " + source, exec: fmt.Sprintf("type: sql\n    source: %s\n    sql: SELECT CAST({{params.v}} AS %s) AS v, '1' AS w", source, cast), got: row},
		way{name: "sql, a list, " + source, exec: fmt.Sprintf("type: sql\n    source: %s\n    transaction: false\n    sql:\n      - SELECT CAST({{params.v}} AS %s) AS v, '1' AS w", source, cast), got: row})
}

// run runs a job of the way with the value.
func (d *desk) run(w way, value string) (types.Outcome, error) {
	d.t.Helper()
	text := "version: v1\njob:\n  name: values\n  timeout: 30\n  params: {v: ''}\n  env: {OWN: '{{params.v}}'}\n  exec:\n    " + w.exec + "\n"
	parsed, problems := job.ParseFile([]byte(text), job.Options{Now: time.Now(), Schedules: scheduler.Times{}})
	if len(parsed) != 1 {
		d.t.Fatalf("%s: %+v\n%s", w.name, problems, text)
	}
	spec := parsed[0].Spec
	r, err := template.Render(spec, template.Vars{BizDate: domain.BizDateOf(time.Now(), time.UTC), Expected: time.Now(), TraceID: "t", Attempt: 1, Params: map[string]string{"v": value}})
	if err != nil {
		return types.Outcome{}, err
	}
	allow, err := netguard.ParseAllow([]string{netguard.WordLoopback})
	if err != nil {
		d.t.Fatal(err)
	}
	out := d.spool.Create(1)
	o := d.types[spec.Exec.Type].Run(context.Background(), types.Task{Attempt: 1, Exec: r.Exec, Env: r.Env, Params: r.Params, Net: netguard.Policy{Allow: allow}, Deadline: time.Now().Add(30 * time.Second)}, out)
	out.Finish(time.Now())
	return o, out.Remove()
}

// In every type and at every place, a value arrives byte for byte and is evaluated by nobody. (J-G5)
func TestAValueIsByteEqualInEveryType(t *testing.T) {
	d := newDesk(t)
	for _, w := range d.ways {
		t.Run(w.name, func(t *testing.T) {
			for _, value := range slices.Concat(nasty, multiline) {
				_ = os.Remove(filepath.Join(d.dir, "got"))
				o, err := d.run(w, value)
				if w.line && slices.Contains(multiline, value) {
					if err == nil {
						t.Errorf("%q was taken where no line break can stand: %+v", value, o)
					}
					continue
				}
				if w.name == "http, path" && (value == "" || strings.Trim(value, ".") == "") {
					continue // no step of a path
				}
				if err != nil || o.Run.Outcome != runner.Success {
					t.Errorf("%q: %+v, %v", value, o, err)
					continue
				}
				want := value
				if w.line {
					want = strings.Trim(value, " \t") // HTTP itself drops blanks around a header's value
				}
				if got, ok := w.got(o, d.dir); !ok || got != want {
					t.Errorf("%q arrived as %q", value, got)
				}
			}
			left, err := filepath.Glob(filepath.Join(d.dir, "*"))
			for _, name := range left {
				if filepath.Base(name) != "got" {
					t.Errorf("a value was run: it made %s", name)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

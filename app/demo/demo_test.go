package demo

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/job/template"
	"github.com/axsched/ax/modules/scheduler"
)

// A folder that every layer must quote: YAML, the environment and the shell.
const oddName = `it's a {{"demo"}} $HOME 目录`

// parsed are the demo's jobs by name, read as the server reads them.
func parsed(t *testing.T, dir string) map[string]domain.JobSpec {
	t.Helper()
	all, err := jobFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]domain.JobSpec{}
	var together []job.Parsed
	for _, f := range all {
		jobs, problems := job.ParseFile([]byte(f.Text), job.Options{File: f.Name, Now: time.Now(), Schedules: scheduler.Times{}})
		if len(problems) > 0 || len(jobs) != 1 {
			t.Fatalf("%s: %d jobs, problems %+v", f.Name, len(jobs), problems)
		}
		together = append(together, jobs...)
		out[jobs[0].Spec.Key().String()] = jobs[0].Spec
	}
	if problems := job.CheckGraph(job.Graph{}, together); len(problems) > 0 {
		t.Fatalf("the files do not fit together: %+v", problems)
	}
	return out
}

// run runs a job's command as a worker's shell would.
func run(t *testing.T, spec domain.JobSpec, date domain.BizDate, path string) (string, error) {
	t.Helper()
	r, err := template.Render(spec, template.Vars{BizDate: date, Expected: time.Date(2026, 2, 3, 2, 0, 0, 0, time.UTC), Zone: time.UTC, ShardTotal: 1})
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(r.Exec, &settings); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", settings.Command)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + path, "LANG=C.UTF-8"}
	for k, v := range r.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestTheScriptsLoadAndSum(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not here")
	}
	dir := filepath.Join(t.TempDir(), oddName)
	if err := writeScripts(dir); err != nil {
		t.Fatal(err)
	}
	jobs, date, path := parsed(t, dir), mustDate(t, "2026-02-02"), os.Getenv("PATH")
	out, err := run(t, jobs["demo/order_stat_daily"], date, path)
	if err == nil || !strings.Contains(out, "2026-02-02 has 0 orders and 0 payments loaded") {
		t.Fatalf("statistics of a day that is not loaded: %v\n%s", err, out)
	}
	for range 2 { // a day that is loaded again is the same day
		for _, name := range fired() {
			if out, err = run(t, jobs[name], date, path); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
		}
		for _, want := range []string{"statistics of 2026-02-02", "orders", "payments", "unpaid", "wallet"} {
			if !strings.Contains(out, want) {
				t.Errorf("the statistics lack %q:\n%s", want, out)
			}
		}
	}
	query := exec.CommandContext(t.Context(), "python3", "-c", `
import sqlite3
db = sqlite3.connect("demo.db")
stat = db.execute("SELECT orders, order_cents, pays, pay_cents FROM order_stat").fetchall()
made = db.execute("SELECT (SELECT COUNT(*) FROM orders), (SELECT SUM(cents) FROM orders), (SELECT COUNT(*) FROM pays), (SELECT SUM(cents) FROM pays)").fetchall()
assert stat == made and 100 < stat[0][2] < stat[0][0], (stat, made)`)
	query.Dir = dir
	if out, err := query.CombinedOutput(); err != nil {
		t.Errorf("the sums are not those of the rows: %v\n%s", err, out)
	}
}

func TestWithoutPythonTheTaskSaysSo(t *testing.T) {
	dir := t.TempDir()
	if err := writeScripts(dir); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sh, filepath.Join(bin, "sh")); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, parsed(t, dir)["demo/sync_pay_daily"], mustDate(t, "2026-02-02"), bin)
	if err == nil || !strings.Contains(out, "python3 is not installed where this worker runs") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheHeartbeatBeats(t *testing.T) {
	out, err := run(t, parsed(t, t.TempDir())["demo/heartbeat"], mustDate(t, "2026-02-02"), os.Getenv("PATH"))
	if err != nil || !strings.Contains(out, "is about 2026-02-02\nload of this machine: ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func mustDate(t *testing.T, s string) domain.BizDate {
	t.Helper()
	d, err := domain.ParseBizDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// site plays the API and notes the changes.
type site struct {
	mu       sync.Mutex
	projects string
	changes  []string
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := r.URL.EscapedPath()
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodPost {
		s.changes = append(s.changes, path+" "+string(body))
	}
	switch {
	case path == "/api/v1/projects":
		_, _ = io.WriteString(w, s.projects)
	case strings.HasPrefix(path, "/api/v1/instances/"):
		_, _ = io.WriteString(w, `{"id":"7","state":"success","label":""}`)
	default:
		_, _ = io.WriteString(w, `{"id":"7","state":"running","label":"queued","schedule":{"timezone":"Asia/Shanghai"}}`)
	}
}

func TestInstallOnceOnly(t *testing.T) {
	s := &site{projects: `{"projects":[{"name":"default"}]}`}
	server := httptest.NewServer(s)
	defer server.Close()
	data := t.TempDir()
	if err := Install(context.Background(), server.URL, "secret", data); err != nil {
		t.Fatal(err)
	}
	shanghai, err := scheduler.Times{}.Zone("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	date := domain.BizDateOf(time.Now(), shanghai).AddDays(-1).String()
	if len(s.changes) != 4 || !strings.HasPrefix(s.changes[0], "/api/v1/apply ") {
		t.Fatalf("changes were\n%s", strings.Join(s.changes, "\n"))
	}
	for i, name := range fired() {
		want := "/api/v1/jobs/" + strings.Replace(name, "/", "%2F", 1) + `/trigger {"bizDate":"` + date + `"`
		if got := s.changes[i+1]; !strings.HasPrefix(got, want) {
			t.Errorf("fire %d is\n%s\nwanted\n%s", i, got, want)
		}
	}
	s.projects, s.changes = `{"projects":[{"name":"default"},{"name":"demo"}]}`, nil
	if err := os.Remove(filepath.Join(data, "demo", "shop.py")); err != nil {
		t.Fatal(err)
	}
	if err := Install(context.Background(), server.URL, "secret", data); err != nil {
		t.Fatal(err)
	}
	if len(s.changes) > 0 {
		t.Errorf("a demo that is there was changed: %s", strings.Join(s.changes, "\n"))
	}
	entries, err := os.ReadDir(filepath.Join(data, "demo"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "shop.py" }) {
		t.Error("the scripts were not written anew")
	}
}

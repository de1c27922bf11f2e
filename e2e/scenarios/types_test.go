package scenarios

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup"
)

// typeJob is a job file with these lines under exec:.
func typeJob(name string, exec ...string) string {
	project, bare, found := strings.Cut(name, "/")
	if !found {
		project, bare = "default", name
	}
	return fmt.Sprintf("version: v1\njob:\n  project: %s\n  name: %s\n  timeout: 30\n  exec:\n    %s\n", project, bare, strings.Join(exec, "\n    "))
}

// A request goes where the project's list lets it, from the next task on, and never to AX's own stores. What the first start of
// everything in one process opens is that machine, for the default project. (G-J6)
func TestARequestGoesWhereTheProjectMayGo(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		reached := make(chan string, 100)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached <- r.URL.Path
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"state":"ok"}`)
		}))
		t.Cleanup(server.Close)
		c := s.Up(t, setup.Opts{Env: hurried})
		c.Apply(files(typeJob("call", "type: http", "url: "+server.URL+"/default", "expect_json: {/state: ok}"), typeJob("pay/call", "type: http", "url: "+server.URL+"/pay")))
		if s.IsEmbedded() { // mode all
			c.Await(c.Trigger("call").ID, "success")
		} else {
			in := c.Await(c.Trigger("call").ID, "failed/error")
			c.Must("projects", "allow", "default", "loopback")
			if !strings.Contains(in.Why, "loopback") || !strings.Contains(in.Why, "admin may allow") {
				t.Errorf("refused with %q", in.Why)
			}
			c.Await(c.Trigger("call").ID, "success")
		}
		if in := c.Await(c.Trigger("pay/call").ID, "failed/error"); !strings.Contains(in.Why, "127.0.0.1") {
			t.Errorf("a project without a list: %s", in)
		}
		c.Must("projects", "allow", "pay", "127.0.0.1")
		c.Await(c.Trigger("pay/call").ID, "success")
		c.Must("projects", "allow", "pay", "--none")
		c.Await(c.Trigger("pay/call").ID, "failed/error")
		close(reached)
		got := map[string]int{}
		for path := range reached {
			got[path]++
		}
		if got["/default"] != 1 || got["/pay"] != 1 {
			t.Errorf("the server was reached so often: %v", got)
		}
		if s.IsEmbedded() {
			return
		}
		for name, url := range map[string]string{"redis": s.Redis, "database": s.Database} {
			_, rest, _ := strings.Cut(url, "://")
			host := strings.Split(rest[strings.LastIndex(rest, "@")+1:], "/")[0]
			c.Apply(typeJob(name, "type: http", "url: http://"+host+"/"))
			if in := c.Await(c.Trigger(name).ID, "failed/error"); !strings.Contains(in.Why, "store of AX") {
				t.Errorf("%s: %s", name, in)
			}
		}
	})
}

// A job goes only to a worker that has its data source, and one that nobody has is told as what is missing.
func TestAnSQLJobGoesWhereItsSourceIs(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		file := filepath.Join(s.Dir(), "orders.db")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c := s.Client(t, s.Center(t, setup.Opts{Env: hurried}))
		s.Worker(t, setup.Opts{Name: "plain", Env: hurried})
		s.Worker(t, setup.Opts{Name: "rich", Env: append([]string{"AX_WORKER_SOURCES=orders=sqlite://" + file}, hurried...)})
		c.Apply(files(typeJob("load", "type: sql", "source: orders", "sql: |", "  CREATE TABLE IF NOT EXISTS t (d TEXT, n INTEGER);", "  INSERT INTO t VALUES ({{biz_date}}, 1);", "  SELECT COUNT(*) AS n FROM t"),
			typeJob("nowhere", "type: sql", "source: mart", "sql: SELECT 1")))
		for range 3 {
			in := c.Await(c.Trigger("load").ID, "success")
			if len(in.Attempts) != 1 || in.Attempts[0].Target != "rich" {
				t.Errorf("it went elsewhere: %s", in)
			}
		}
		id := c.Trigger("nowhere").ID
		why := ""
		setup.Until(t, awaited, "why names the source", func() bool {
			why = c.Must("why", id)
			return strings.Contains(why, "none has the data source mart")
		}, func() string { return why })
	})
}

// A script's stacks are in its log when it is ended for its time.
func TestAPythonJobThroughAWholeAX(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{Env: hurried})
		hung := strings.Replace(typeJob("hung", "type: python", "script: |", "  import time", "  def stuck():", "      time.sleep(600)", "  stuck()"), "timeout: 30", "timeout: 2", 1)
		c.Apply(files(typeJob("hello", "type: python", "script: |", "  import os, sys", "  print(sys.argv[1], os.environ['AX_BIZ_DATE'])", "args: ['{{biz_date}}']"), hung))
		in := c.Await(c.Trigger("hello").ID, "success")
		if log := c.Must("logs", in.ID, "-f"); !strings.Contains(log, in.BizDate+" "+in.BizDate) { // to the end of what is on its way
			t.Errorf("its log: %s", log)
		}
		in = c.Await(c.Trigger("hung").ID, "failed/timeout")
		if log := c.Must("logs", in.ID, "-f"); !strings.Contains(log, "in stuck") {
			t.Errorf("no stacks: %s", log)
		}
	})
}

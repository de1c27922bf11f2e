package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// designFile is the job file of AX's own documents, letter for letter.
const designFile = `version: v1
job:
  name: order_stat_daily
  cron: "0 2 * * *"
  deps:
    - name: sync_order_daily
      biz_date: current
      check: success
    - name: sync_pay_daily
      biz_date: current
      check: success
  exec:
    type: shell
    command: python3 run_stat.py --date {{biz_date}}
  retry:
    times: 2
    interval: 60
  timeout: 120
`

func TestFileOfTheDocumentsRunsBehindItsUpstream(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		script := "import sys\nprint('statistics of', sys.argv[2])\n"
		if err := os.WriteFile(filepath.Join(s.Dir(), "run_stat.py"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		c := s.Up(t, setup.Opts{})
		if said := c.Run("apply", "-f", c.File(designFile)); said.Code != 1 || !strings.Contains(said.Err, "sync_order_daily") || !strings.Contains(said.Err, "sync_pay_daily") {
			t.Fatalf("alone it must be refused with both missing names: %+v", said)
		}
		c.Apply(files(designFile, shellJob("sync_order_daily", "echo orders of {{biz_date}}"), shellJob("sync_pay_daily", "echo payments of {{biz_date}}")))
		if said := c.Must("apply", "-f", c.File(strings.Replace(designFile, `"0 2 * * *"`, `0 2 * * *`, 1))); said == "" {
			t.Error("apply of the same meaning with a plain cron says nothing")
		}

		stat := c.Trigger("order_stat_daily", "--biz-date", "2026-02-03")
		c.Await(stat.ID, "running/waiting_deps")
		if why := c.Must("why", stat.ID); !strings.Contains(why, "sync_order_daily") || !strings.Contains(why, "sync_pay_daily") {
			t.Errorf("why must name both: %q", why)
		}
		order := c.Trigger("sync_order_daily", "--biz-date", "2026-02-03")
		c.Await(order.ID, "success")
		other := c.Trigger("sync_pay_daily", "--biz-date", "2026-02-04")
		c.Await(other.ID, "success")
		if got := c.Instance(stat.ID); got.Status() != "running/waiting_deps" {
			t.Fatalf("a success of another date released it: %v", got)
		}
		c.Trigger("sync_pay_daily", "--biz-date", "2026-02-03")
		done := c.Await(stat.ID, "success")
		if len(done.Attempts) != 1 || done.Attempts[0].Outcome != "success" || done.Attempts[0].ExitCode == nil || *done.Attempts[0].ExitCode != 0 {
			t.Errorf("one successful attempt expected: %v", done)
		}
		c.AwaitLog(stat.ID, "statistics of 2026-02-03")
		if listed := c.Instances("--job", "order_stat_daily", "--biz-date", "2026-02-03"); len(listed) != 1 || listed[0].ID != stat.ID {
			t.Errorf("the list shows %v", listed)
		}
		if byTrace := c.Instances("--trace", stat.TraceID); len(byTrace) != 1 || byTrace[0].ID != stat.ID {
			t.Errorf("by trace id: %v", byTrace)
		}
	})
}

func TestFailedUpstreamCancelsDownstreamAndItsRerunBringsItBack(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		healed := c.Path("healed")
		dep := func(name string) string {
			return "deps:\n  - name: " + name + "\n    biz_date: current\n    check: success"
		}
		c.Apply(files(
			shellJob("load", "test -e "+healed+" || { echo the source is away; exit 7; }"),
			shellJob("sum", "echo summed", dep("load")),
			shellJob("mail", "echo mailed", dep("sum"))))
		sum := c.Trigger("sum", "--biz-date", "2026-03-01")
		mail := c.Trigger("mail", "--biz-date", "2026-03-01")
		load := c.Trigger("load", "--biz-date", "2026-03-01")
		failed := c.Await(load.ID, "failed/error")
		if a := failed.Attempts[0]; a.ExitCode == nil || *a.ExitCode != 7 || a.Outcome != "error" {
			t.Errorf("the exit code is lost: %v", failed)
		}
		c.Await(sum.ID, "cancelled/upstream_failed")
		c.Await(mail.ID, "cancelled/upstream_failed")
		if why := c.Must("why", sum.ID); !strings.Contains(why, "load") {
			t.Errorf("why of the cancelled one must name its cause: %q", why)
		}

		if err := os.WriteFile(healed, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c.Must("rerun", load.ID)
		setup.Until(t, awaited, "all three succeed after the rerun", func() bool {
			for _, id := range []string{load.ID, sum.ID, mail.ID} {
				if c.Instance(id).State != "success" {
					return false
				}
			}
			return true
		}, func() string {
			return c.Instance(load.ID).String() + "\n" + c.Instance(sum.ID).String() + "\n" + c.Instance(mail.ID).String()
		})
		if n := len(c.Instances("--job", "sum", "--biz-date", "2026-03-01")); n != 1 {
			t.Errorf("the rerun made a second instance: %d", n)
		}
	})
}

// A thousand pairs, one behind the other, are due in the same second, half of them in lane high and half in lane low. All
// of them run, each once and the second after the first. (J-B4)
func TestAThousandPairsOfOneMomentAllRun(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		const pairs = 1000
		center := s.Center(t, setup.Opts{})
		c := s.Client(t, center)
		s.Worker(t, setup.Opts{})
		db := tables(t, s.DatabaseURL(center))
		all := func(at time.Time) string {
			var docs []string
			for i := range pairs {
				lane := "priority: " + []string{"high", "low"}[i%2]
				due := "at: " + at.UTC().Format(time.RFC3339)
				docs = append(docs, noopJob(fmt.Sprintf("first%04d", i), due, lane),
					noopJob(fmt.Sprintf("second%04d", i), due, lane, fmt.Sprintf("deps: [{name: first%04d}]", i)))
			}
			return files(docs...)
		}
		began := time.Now()
		c.Apply(all(began.AddDate(0, 6, 0)))
		lead := 5*time.Second + 2*time.Since(began) // what applying takes is the machine's business
		at := time.Now().Add(lead).Truncate(time.Second)
		c.Apply(all(at))
		ended := "SELECT COUNT(*) FROM instance WHERE state = 'success' AND attempts = 1 AND finished_at > 0 AND job_name LIKE "
		setup.Until(t, lead+2*awaited, "all have ended", func() bool { return db.number(ended+"'second%'") == pairs }, func() string {
			return fmt.Sprintf("%d of the first, %d of the second\n%s", db.number(ended+"'first%'"), db.number(ended+"'second%'"), center.Tail(10))
		})
		t.Logf("%d pairs ended %s after their moment", pairs, time.Since(at).Round(10*time.Millisecond))
		if n := db.number("SELECT COUNT(*) FROM instance"); n != 2*pairs {
			t.Errorf("%d instances, want %d", n, 2*pairs)
		}
		if n := db.number("SELECT COUNT(*) FROM dep d JOIN instance b ON b.id = d.instance_id JOIN instance a ON a.job_id = d.upstream_job_id WHERE b.ready_at < a.finished_at"); n != 0 {
			t.Errorf("%d were ready before what they wait for had ended", n)
		}
	})
}

// What everybody else is owed while a wide graph is released.
const slowestFire = 2 * time.Second

// One job, 1,200 that its end starts, and one that waits for all of them. The join comes about once, after the
// last; meanwhile a job that fires each half second is late by less than 2 s. (J-D6, J-B13)
func TestWideJoinIsReleasedOnceAndStarvesNobody(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		const wide = 1200
		center := s.Center(t, setup.Opts{})
		c := s.Client(t, center)
		s.Worker(t, setup.Opts{})
		db := tables(t, s.DatabaseURL(center))
		noop := func(name string, more ...string) string {
			return "version: v1\njob:\n  name: " + name + "\n  timeout: 60\n  exec: {type: noop}\n  " + strings.Join(more, "\n  ") + "\n"
		}
		all := []string{noop("head"), noop("beat", "every: 500ms", "overlap: allow")}
		deps := "deps:"
		for i := range wide {
			name := fmt.Sprintf("leaf%04d", i)
			all = append(all, noop(name, "trigger: upstream", "deps: [{name: head}]"))
			deps += "\n    - name: " + name
		}
		c.Apply(files(append(all, noop("join", "trigger: upstream", deps))...))
		setup.Until(t, awaited, "the beat has begun", func() bool {
			return db.number("SELECT COUNT(*) FROM instance WHERE job_name = 'beat' AND state = 'success'") > 2
		}, func() string { return center.Tail(10) })
		began := time.Now()
		c.Trigger("head", "--biz-date", "2026-02-03")
		join := "SELECT COUNT(*) FROM instance WHERE job_name = 'join' AND state = 'success'"
		setup.Until(t, 3*awaited, "the join has ended", func() bool { return db.number(join) == 1 }, func() string {
			return fmt.Sprintf("%d of %d leaves ended, %d dependencies wait\n%s", db.number("SELECT COUNT(*) FROM instance WHERE job_name LIKE 'leaf%' AND state = 'success'"), wide,
				db.number("SELECT COUNT(*) FROM dep WHERE state = 'waiting'"), center.Tail(10))
		})
		took := time.Since(began)
		if n := db.number("SELECT COUNT(*) FROM instance WHERE job_name LIKE 'leaf%' AND state = 'success' AND attempts = 1"); n != wide {
			t.Errorf("%d of %d leaves ended well at the first sending", n, wide)
		}
		if n := db.number("SELECT COUNT(*) FROM attempt a JOIN instance i ON i.id = a.instance_id WHERE i.job_name = 'join'"); n != 1 {
			t.Errorf("the join was sent %d times", n)
		}
		if n := db.number("SELECT COUNT(*) FROM instance j JOIN instance l ON l.job_name LIKE 'leaf%' AND l.finished_at > j.ready_at WHERE j.job_name = 'join'"); n != 0 {
			t.Errorf("the join was ready before %d leaves had ended", n)
		}
		worst := time.Duration(db.number(fmt.Sprintf("SELECT COALESCE(MAX(started_at - expected_at), 0) FROM instance WHERE job_name = 'beat' AND started_at > 0 AND expected_at >= %d", began.UnixMilli()))) * time.Millisecond
		beats := db.number(fmt.Sprintf("SELECT COUNT(*) FROM instance WHERE job_name = 'beat' AND expected_at >= %d", began.UnixMilli()))
		t.Logf("1 → %d → 1 in %s; meanwhile %d fires of another job, the latest of them %s late", wide, took.Round(10*time.Millisecond), beats, worst)
		if worst >= slowestFire {
			t.Errorf("another job was %s late meanwhile", worst)
		}
	})
}

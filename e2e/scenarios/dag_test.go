package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

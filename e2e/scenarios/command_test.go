package scenarios

import (
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup"
)

// The commands and the fields that other tools rely on.
func TestCommandsShowTheLifeOfAnInstance(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		c.Apply(shellJob("talk", `i=1; while test $i -le 5; do echo "line $i of {{params.who}}"; i=$((i+1)); sleep 0.2; done; echo oops >&2; exit 4`, "params:\n  who: nobody"))
		in := c.Trigger("talk", "--biz-date", "2026-06-01", "--param", "who=me & <you>")

		followed := c.Must("logs", in.ID, "-f") // ends with the instance
		for _, want := range []string{"line 1 of me & <you>", "line 5 of me & <you>", "oops"} {
			if !strings.Contains(followed, want) {
				t.Errorf("ax logs -f lacks %q:\n%s", want, followed)
			}
		}
		c.Await(in.ID, "failed/error")
		if again := c.Logs(in.ID); strings.Count(again, "line 3") != 1 || !strings.Contains(again, "oops") {
			t.Errorf("ax logs:\n%s", again)
		}

		var doc map[string]any
		c.JSON(&doc, "instance", in.ID)
		mustHave(t, doc, "id", "job", "traceId", "bizDate", "expectedTime", "state", "label", "why", "attempts")
		attempts, _ := doc["attempts"].([]any)
		if len(attempts) != 1 {
			t.Fatalf("attempts: %v", doc["attempts"])
		}
		attempt, _ := attempts[0].(map[string]any)
		mustHave(t, attempt, "target", "dispatchedAt", "ackedAt", "startedAt", "finishedAt", "exitCode", "outcome")
		if _, text := doc["id"].(string); !text {
			t.Errorf("ids are strings: %v", doc["id"])
		}
		for command, field := range map[string]string{"jobs": "jobs", "instances": "instances", "workers": "workers"} {
			var list map[string]any
			c.JSON(&list, command)
			mustHave(t, list, field, "cursor")
			if rows, _ := list[field].([]any); len(rows) != 1 {
				t.Errorf("ax --json %s: %v", command, list[field])
			}
		}
		for filter, want := range map[string]int{"--state=failed": 1, "--state=success": 0, "--label=error": 1, "--label=timeout": 0, "--biz-date=2026-06-01": 1, "--biz-date=2026-06-02": 0} {
			if got := c.Instances(filter); len(got) != want {
				t.Errorf("ax instances %s: %d, want %d", filter, len(got), want)
			}
		}
		if why := c.Must("why", in.ID); !strings.Contains(why, "4") {
			t.Errorf("why does not name the exit code: %q", why)
		}
		if out := c.Must("next", "--tz", "Asia/Shanghai", "--from", "2026-02-03T00:00:00Z", "-n", "2", "--", "0 2 * * *"); out != "2026-02-04T02:00:00+08:00\n2026-02-05T02:00:00+08:00\n" {
			t.Errorf("ax next: %q", out)
		}
	})
}

// A job that others need can't be deleted; without them it can, and its history stays.
func TestDeleteIsRefusedWhileSomethingDependsOnIt(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		c.Apply(files(shellJob("up", "true"), shellJob("down", "true", "deps:\n  - name: up\n    biz_date: current\n    check: success")))
		in := c.Trigger("up")
		c.Await(in.ID, "success")
		if said := c.Run("delete", "up"); said.Code != 1 || !strings.Contains(said.Err, "down") {
			t.Errorf("a refusal that names the dependant is expected: %+v", said)
		}
		c.Must("delete", "down")
		c.Must("delete", "up")
		if got := c.Instance(in.ID); got.Job != "up" || got.State != "success" {
			t.Errorf("history went with the job: %v", got)
		}
		if said := c.Run("trigger", "up"); said.Code != 1 {
			t.Errorf("a deleted job was started: %+v", said)
		}
	})
}

// An apply whose meaning is the same makes no new version.
func TestApplyIsAllOrNothingAndVersionsByMeaning(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		type applied struct {
			Results []struct {
				Job, Change string
				Version     int
			}
		}
		apply := func(text string, more ...string) applied {
			var a applied
			c.JSON(&a, append([]string{"apply", "-f", c.File(text)}, more...)...)
			if len(a.Results) != 1 {
				t.Fatalf("one result expected: %+v", a)
			}
			return a
		}
		first := apply(shellJob("v", "echo 1", "timeout: 30"))
		same := apply("# a comment\n" + shellJob("v", "echo 1", "timeout:   30"))
		dry := apply(shellJob("v", "echo 2", "timeout: 30"), "--dry-run")
		second := apply(shellJob("v", "echo 3", "timeout: 30"))
		if first.Results[0].Version != 1 || same.Results[0].Version != 1 || second.Results[0].Version != 2 {
			t.Errorf("versions 1, 1, 2 expected: %+v %+v %+v", first, same, second)
		}
		if first.Results[0].Change == same.Results[0].Change || dry.Results[0].Change != second.Results[0].Change {
			t.Errorf("changes: %+v %+v %+v %+v", first, same, dry, second)
		}
	})
}

func mustHave(t *testing.T, doc map[string]any, fields ...string) {
	t.Helper()
	for _, f := range fields {
		if _, there := doc[f]; !there {
			t.Errorf("the field %s is missing: %v", f, doc)
		}
	}
}

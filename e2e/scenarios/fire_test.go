package scenarios

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

const awaited = 60 * time.Second

// eachSecond is a schedule that fires each second.
const eachSecond = "cron: \"* * * * * *\"\ndialect: seconds"

// instant parses what the API calls an instant.
func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatalf("%q is no RFC 3339 instant: %v", text, err)
	}
	return at
}

// account is the ledger as the command line prints it.
type account struct {
	Balanced bool `json:"balanced"`
	Jobs     []struct {
		Job                                      string
		Planned, Fired, Skipped, Missed, Pending int
		Absent                                   []string
	} `json:"jobs"`
}

// ledgerOf balances the books of [from, to).
func ledgerOf(c *setup.Client, from, to time.Time, more ...string) account {
	var a account
	c.JSON(&a, append([]string{"ledger", "--from", from.UTC().Format(time.RFC3339), "--to", to.UTC().Format(time.RFC3339)}, more...)...)
	return a
}

func TestCronFiresEachSecondOnceAndOnTime(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		d := s.Diary(t)
		c.Apply(files(
			shellJob("tick", d.Command("tick", ""), eachSecond, "overlap: allow"),
			shellJob("beat", "echo beat", "every: 500ms", "overlap: allow")))
		setup.Until(t, awaited, "six fires of each", func() bool {
			return len(d.Of("end", "")) >= 6 && len(c.Instances("--job", "beat", "--state", "success")) >= 6
		}, func() string { return "" })
		c.Must("pause", "tick")
		c.Must("pause", "beat")
		expected := map[string]string{}
		for _, in := range c.Instances("--job", "tick") {
			if was, twice := expected[in.ExpectedTime]; twice {
				t.Errorf("two instances for %s: %s and %s", in.ExpectedTime, was, in.ID)
			}
			expected[in.ExpectedTime] = in.ID
			at := instant(t, in.ExpectedTime)
			if at.Nanosecond() != 0 {
				t.Errorf("expected at %s, between seconds", in.ExpectedTime)
			}
		}
		var first, last time.Time
		for at := range expected {
			when := instant(t, at)
			if first.IsZero() || when.Before(first) {
				first = when
			}
			if when.After(last) {
				last = when
			}
		}
		if n := int(last.Sub(first)/time.Second) + 1; n != len(expected) {
			t.Errorf("%d fires between %s and %s, want one each second: %d", len(expected), first, last, n)
		}
		books := ledgerOf(c, first, last.Add(time.Second), "--job", "tick")
		if !books.Balanced || len(books.Jobs) != 1 || books.Jobs[0].Fired != len(expected) || books.Jobs[0].Planned != len(expected) {
			t.Errorf("the ledger says %+v, instances are %d", books, len(expected))
		}
	})
}

func TestScheduledDAGFollows(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		at := "at: " + time.Now().Add(4*time.Second).UTC().Format(time.RFC3339)
		c.Apply(files(
			shellJob("extract_a", "sleep 0.3; echo a", at),
			shellJob("extract_b", "sleep 0.6; echo b", at),
			shellJob("report", "echo reported", at, "deps:\n  - name: extract_a\n    biz_date: current\n    check: success\n  - name: extract_b\n    biz_date: current\n    check: success")))
		done := c.AwaitOf("report", "success")
		begun := instant(t, c.Instance(done.ID).Attempts[0].StartedAt)
		for _, up := range []string{"extract_a", "extract_b"} {
			full := c.Instance(c.AwaitOf(up, "success").ID)
			if ended := instant(t, full.Attempts[0].FinishedAt); begun.Before(ended) {
				t.Errorf("report began at %s, before the end of %s at %s", begun, up, ended)
			}
		}
	})
}

func TestPausedJobDoesNotFireAndIsNotMadeUp(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		c.Apply(files(
			shellJob("halted", "true", "every: 500ms", "overlap: allow"),
			shellJob("witness", "true", "every: 500ms", "overlap: allow")))
		c.AwaitOf("halted", "success")
		c.Must("pause", "halted")
		before := len(c.Instances("--job", "halted"))
		seen := len(c.Instances("--job", "witness"))
		setup.Until(t, awaited, "four more fires of the other job", func() bool { return len(c.Instances("--job", "witness")) >= seen+4 }, func() string { return "" })
		if now := len(c.Instances("--job", "halted")); now != before {
			t.Errorf("a paused job fired: %d, then %d", before, now)
		}
		resumed := time.Now()
		c.Must("resume", "halted")
		setup.Until(t, awaited, "fires after the resume", func() bool { return len(c.Instances("--job", "halted")) >= before+2 }, func() string { return "" })
		after := c.Instances("--job", "halted")
		late := 0
		for _, in := range after {
			if at := instant(t, in.ExpectedTime); at.Before(resumed.Add(-time.Second)) {
				late++
			}
		}
		if late > before {
			t.Errorf("%d fires from before the resume, %d before it: the pause was made up", late, before)
		}
	})
}

func TestTriggerIsIdempotent(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		d := s.Diary(t)
		c.Apply(shellJob("once", d.Command("once", "")))
		type made struct{ ID, TraceID string }
		var answers []made
		for range 3 {
			a, err := c.Call(http.MethodPost, "/api/v1/jobs/once/trigger", `{"bizDate":"2026-04-01"}`, "Idempotency-Key", "key-1")
			var m made
			if err != nil || a.Status/100 != 2 || json.Unmarshal([]byte(a.Body), &m) != nil || m.ID == "" {
				t.Fatalf("trigger: %v %+v", err, a)
			}
			answers = append(answers, m)
		}
		if answers[0] != answers[1] || answers[1] != answers[2] {
			t.Errorf("the same key gave different answers: %v", answers)
		}
		c.Await(answers[0].ID, "success")
		if a, err := c.Call(http.MethodPost, "/api/v1/jobs/once/trigger", `{"bizDate":"2026-04-02"}`, "Idempotency-Key", "key-1"); err != nil || a.Status/100 == 2 {
			t.Errorf("the same key with another body must be refused: %v %+v", err, a)
		}
		if n := len(c.Instances("--job", "once")); n != 1 {
			t.Errorf("%d instances, want 1", n)
		}
		if n := len(d.Of("start", "")); n != 1 {
			t.Errorf("it ran %d times", n)
		}
		var waited setup.Instance
		c.JSON(&waited, "trigger", "once", "--biz-date", "2026-04-03", "--wait")
		if waited.State != "success" {
			t.Errorf("--wait returned %v", waited)
		}
		if out := c.Must("workers"); !strings.Contains(out, "shell") {
			t.Errorf("ax workers does not show the type shell:\n%s", out)
		}
	})
}

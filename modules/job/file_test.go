package job

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

var placeholder = regexp.MustCompile(`\{\{[^{}]*\}\}|\{([a-zA-Z][a-zA-Z0-9_]*)\}`)

const orderStat = `version: v1
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

func TestTheFirstFileReads(t *testing.T) {
	quoted := parseOne(t, orderStat)
	plain := parseOne(t, strings.Replace(orderStat, `"0 2 * * *"`, "0 2 * * *  # nightly", 1))
	want := domain.JobSpec{
		Project: "default", Name: "order_stat_daily", Timezone: "Asia/Shanghai",
		Schedule: domain.Schedule{Kind: domain.ScheduleCron, Expr: "0 2 * * *", Dialect: "unix"},
		Misfire:  domain.MisfireOnce, Overlap: domain.OverlapQueue, BizDate: domain.BizDateT,
		Priority: domain.LaneDefault, OnWorkerLost: domain.LossRetry,
		Exec:       domain.Exec{Type: "shell", Spec: json.RawMessage(`{"command":"python3 run_stat.py --date {{biz_date}}"}`)},
		Retry:      domain.Retry{Times: 2, BackoffSec: []int{60, 60}},
		TimeoutSec: 120, TimeoutGiven: true, Enabled: true,
		Deps: []domain.Dep{
			{Project: "default", Name: "sync_order_daily", BizDate: "current", Check: "success", Require: "all"},
			{Project: "default", Name: "sync_pay_daily", BizDate: "current", Check: "success", Require: "all"},
		},
	}
	if !reflect.DeepEqual(quoted.Spec, want) {
		t.Errorf("got  %+v\nwant %+v", quoted.Spec, want)
	}
	if plain.Spec.Digest() != quoted.Spec.Digest() {
		t.Error("a quoted cron and a plain one differ in meaning")
	}
	if quoted.Text != orderStat || len(quoted.Next) != 5 {
		t.Errorf("text kept: %v, next fires: %d", quoted.Text == orderStat, len(quoted.Next))
	}
}

func TestLayoutIsNoMeaning(t *testing.T) {
	want := parseOne(t, orderStat).Spec.Digest()
	for name, text := range map[string]string{
		"windows line ends": strings.ReplaceAll(orderStat, "\n", "\r\n"),
		"byte order mark":   "\ufeff" + orderStat,
		"comments":          "# a\n" + strings.ReplaceAll(orderStat, "deps:", "deps: # two"),
		"defaults spelled":  orderStat + "  priority: default\n  overlap: queue\n  misfire: fire_once\n  timezone: Asia/Shanghai\n  enabled: true\n",
		"backoff spelled":   strings.Replace(orderStat, "interval: 60", "backoff: [60, 60]", 1),
		"markers":           "---\n" + orderStat + "...\n---\n# nothing\n",
		"no last newline":   strings.TrimSuffix(orderStat, "\n"),
		"deps the other way round": strings.NewReplacer("sync_order", "sync_pay", "sync_pay", "sync_order").
			Replace(orderStat),
	} {
		if got := parseOne(t, text).Spec.Digest(); got != want {
			t.Errorf("%s changed the meaning", name)
		}
	}
}

func TestValuesStayAsWritten(t *testing.T) {
	s := parseOne(t, `version: v1
job:
  name: on
  project: 财务
  owner: 007
  title: yes
  description: |
    two
    lines
  timeout: 5
  params: {a: 007, b: 1.50, c: true, d: "x\ny", e: 'line1\nline2', f: 2026-02-03, g: "", h: 1_000}
  env: {DAY: "{{biz_date}}"}
  exec: {type: noop}
  topics: [x, 报表]
  tags: gpu
`).Spec
	if s.Name != "on" || s.Owner != "007" || s.Title != "yes" || s.Description != "two\nlines" || s.Project != "财务" {
		t.Errorf("texts changed: %+v", s)
	}
	want := map[string]string{"a": "007", "b": "1.50", "c": "true", "d": "x\ny", "e": `line1\nline2`, "f": "2026-02-03", "g": "", "h": "1_000"}
	if !reflect.DeepEqual(s.Params, want) {
		t.Errorf("params: got %q, want %q", s.Params, want)
	}
	if !reflect.DeepEqual(s.Tags, []string{"gpu"}) || !reflect.DeepEqual(s.Topics, []string{"x", "报表"}) {
		t.Errorf("tags %q topics %q", s.Tags, s.Topics)
	}
}

func TestSeveralJobsInOneFile(t *testing.T) {
	text := "--- # first\n" + jobYAML("") + "---\n\n# nothing here\n---\n" + strings.Replace(jobYAML("  colour: red\n"), "name: a", "name: b", 1) +
		"---\n" + strings.Replace(jobYAML(""), "name: a", "name: c", 1)
	jobs, problems := ParseFile([]byte(text), options())
	if len(jobs) != 2 || jobs[0].Spec.Name != "a" || jobs[1].Spec.Name != "c" {
		t.Fatalf("jobs: %+v", jobs)
	}
	if len(problems) != 1 || problems[0].ID != idKeyUnknown || lineOf(strings.Split(text, "\n"), problems[0].Line) != "  colour: red" {
		t.Fatalf("problems: %+v", problems)
	}
	if strings.Contains(jobs[1].Text, "---") || !strings.HasPrefix(jobs[1].Text, "version: v1") {
		t.Errorf("text of the last job: %q", jobs[1].Text)
	}
}

// Each kind of schedule is read as it is written. (J-A24)
func TestSchedules(t *testing.T) {
	for keys, want := range map[string]domain.Schedule{
		"":                             {Kind: domain.ScheduleNone},
		"  every: 250ms\n":             {Kind: domain.ScheduleEvery, EveryMs: 250},
		"  every: 1h30m\n":             {Kind: domain.ScheduleEvery, EveryMs: 5400000},
		"  every: 30d\n":               {Kind: domain.ScheduleEvery, EveryMs: 2592000000},
		"  every: 2147483648s\n":       {Kind: domain.ScheduleEvery, EveryMs: 2147483648000},
		"  at: 2027-01-02T03:04:05Z\n": {Kind: domain.ScheduleAt, AtMs: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli()},
		"  at: 2027-01-02 03:04\n":     {Kind: domain.ScheduleAt, AtMs: time.Date(2027, 1, 1, 19, 4, 0, 0, time.UTC).UnixMilli()},
		// clocks show it twice: the first, as for a cron, or the one whose offset is written
		"  timezone: Europe/Berlin\n  at: 2027-10-31 02:30\n":              {Kind: domain.ScheduleAt, AtMs: time.Date(2027, 10, 31, 0, 30, 0, 0, time.UTC).UnixMilli()},
		"  timezone: Europe/Berlin\n  at: \"2027-10-31T02:30:00+01:00\"\n": {Kind: domain.ScheduleAt, AtMs: time.Date(2027, 10, 31, 1, 30, 0, 0, time.UTC).UnixMilli()},
		"  timezone: Australia/Lord_Howe\n  at: 2027-04-04 01:45\n":        {Kind: domain.ScheduleAt, AtMs: time.Date(2027, 4, 3, 14, 45, 0, 0, time.UTC).UnixMilli()},
		"  at: \"2027-01-02 03:04:05\"\n":                                  {Kind: domain.ScheduleAt, AtMs: time.Date(2027, 1, 1, 19, 4, 5, 0, time.UTC).UnixMilli()},
		"  dialect: unix\n  cron: 0 2 * * *\n":                             {Kind: domain.ScheduleCron, Expr: "0 2 * * *", Dialect: "unix"},
		"  timezone: UTC\n  cron: '@daily - -  -  -'\n":                    {Kind: domain.ScheduleCron, Expr: "@daily - -  -  -", Dialect: "unix"},
	} {
		if got := parseOne(t, jobYAML(keys)).Spec.Schedule; got != want {
			t.Errorf("%q: got %+v, want %+v", keys, got, want)
		}
	}
}

func TestRetryPatterns(t *testing.T) {
	for keys, want := range map[string]domain.Retry{
		"":                                    {},
		"  retry: {times: 3}\n":               {Times: 3, BackoffSec: []int{30, 60, 120}},
		"  retry: {times: 5}\n":               {Times: 5, BackoffSec: []int{30, 60, 120, 240, 480}},
		"  retry: {times: 2, interval: 60}\n": {Times: 2, BackoffSec: []int{60, 60}},
		"  retry: {backoff: [5, 10]}\n":       {Times: 2, BackoffSec: []int{5, 10}},
		"  retry: {times: 0}\n":               {},
	} {
		if got := parseOne(t, jobYAML(keys)).Spec.Retry; !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", keys, got, want)
		}
	}
}

// A sound file is advised about what its author may not have thought of. (J-F11)
func TestWarnings(t *testing.T) {
	for text, want := range map[string][]string{
		strings.Replace(jobYAML(""), "  timeout: 5\n", "", 1):          {idTimeoutDefault},
		jobYAML("  retry: {times: 4}\n"):                               {idRetryMany},
		jobYAML("  retry: {times: 3}\n"):                               nil,
		jobYAML("  on_upstream_failure: run\n"):                        {idDepIdle},
		jobYAML("  at: 2020-01-01 00:00\n"):                            {idAtPast},
		jobYAML("  timezone: Europe/Berlin\n  at: 2027-10-31 02:30\n"): {idAtTwice},
	} {
		jobs, problems := ParseFile([]byte(text), options())
		var got []string
		for _, p := range problems {
			if p.Warning {
				got = append(got, p.ID)
			}
		}
		if len(jobs) != 1 || len(problems.Errors()) != 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d jobs, warnings %v, want %v", text, len(jobs), got, want)
		}
	}
	spec := parseOne(t, strings.Replace(jobYAML(""), "  timeout: 5\n", "", 1)).Spec
	if spec.TimeoutSec != 60 || spec.TimeoutGiven {
		t.Errorf("no timeout gives %d, given %v", spec.TimeoutSec, spec.TimeoutGiven)
	}
}

func TestMillionCharacterParam(t *testing.T) {
	for _, n := range []int{70 << 10, 1 << 20, 5 << 20} {
		text := jobYAML("  params:\n    small: x\n    big: " + strings.Repeat("x", n) + "\n")
		start := time.Now()
		jobs, problems := ParseFile([]byte(text), options())
		if len(jobs) != 0 || len(problems) != 1 {
			t.Fatalf("%d bytes: %d jobs, %d problems", n, len(jobs), len(problems))
		}
		p := problems[0]
		if n < MaxFileBytes && (p.ID != idValuesTooBig || p.Args["largest"] != "params.big" || p.Line != 8) {
			t.Errorf("%d bytes: %+v", n, p)
		}
		if message := p.Render(speaker(t, "en")); len(message) > 1000 {
			t.Errorf("%d bytes: a message of %d bytes", n, len(message))
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%d bytes took %v", n, took)
		}
	}
}

func TestManyJobsReadFast(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		b.WriteString("---\n" + strings.Replace(orderStat, "order_stat_daily", fmt.Sprintf("job_%d", i), 1))
	}
	start := time.Now()
	jobs, problems := ParseFile([]byte(b.String()), options())
	if len(jobs) != 1000 || len(problems) != 0 {
		t.Fatalf("%d jobs, %d problems", len(jobs), len(problems))
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("1,000 jobs took %v", took)
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add(orderStat)
	f.Add(jobYAML("  cron: * * * * *\n"))
	f.Add("---\n" + jobYAML("  params: {a: \"\\u4f60{{biz_date}}\", b: 'x''y'}\n") + "...\n")
	f.Add("version: v1\njob:\n  exec:\n    type: shell\n    command: >-\n      echo {{\n      'x' $(y)\n")
	f.Add("a: &a [*a, *a]\n? x\n: y\n")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, problems := ParseFile([]byte(text), options())
		if len(jobs) == 0 && len(problems.Errors()) == 0 {
			t.Fatal("neither a job nor an error")
		}
		lines := strings.Split(normalise([]byte(text)), "\n")
		for _, p := range problems {
			if p.Line > len(lines) || p.Line < 0 || p.Column < 0 {
				t.Fatalf("a place outside of the file: %+v", p)
			}
			p.Render(func(key string, _ map[string]string) string { return key })
		}
		for _, j := range jobs {
			j.Spec.Digest()
		}
	})
}

package center

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/secret"
	"github.com/axsched/ax/worker/protocol"
)

const inputJob = `version: v1
job:
  name: load
  timeout: 60
  exec: {type: shell, command: 'load {{params.mode}} {{params.note}}'}
  env: {NOTE: '{{params.note}}', PW: '{{params.password}}'}
  inputs:
    - {name: mode, type: choice, choices: [full, delta], default: delta}
    - {name: tables, type: multi_choice, choices: [orders, payments]}
    - {name: rows, type: number}
    - {name: day, type: biz_date}
    - {name: since, type: date, default: '{{biz_date-1d}}'}
    - {name: source, type: file, required: true, pattern: '/data/.*'}
    - {name: note}
    - {name: password, type: secret, choices: [db_prod, db_test]}
`

func (b *bench) requests() *instance.Requests {
	return &instance.Requests{Lifecycle: b.lifecycle, Audit: audit{b.access}, Values: values{b.secrets}, Calendars: b.jobs}
}

// start starts a job by hand.
func (b *bench) start(name string, params map[string]string) (domain.Instance, error) {
	b.t.Helper()
	j, err := b.jobs.Find(b.ctx, name)
	b.must(err)
	return b.requests().Trigger(b.ctx, j, instance.TriggerOptions{BizDate: day, Params: params})
}

func (b *bench) twoSecrets() {
	b.t.Helper()
	for name, value := range map[string]string{"db_prod": "hunter2-prod", "db_test": "hunter2-test"} {
		_, err := b.secrets.Set(b.ctx, secret.Change{Project: "default", Name: name, Value: value}, anybody)
		b.must(err)
	}
}

// A value reaches the task byte for byte on each of its ways, and is evaluated on none. (J-G2, J-G5, J-G7, G-F3, G-F5, G-F9)
func TestInputsReachTheTaskByteForByte(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		if id := b.refusal(inputJob); id != "secret.missing" {
			t.Errorf("choices that are no secrets: %s", id)
		}
		b.twoSecrets()
		b.put(inputJob)
		for _, note := range []string{`; $(id) "x" '中文🚀`, `line1\nline2`, "line1\nline2", "{{biz_date}} {{ env.SECRET }}", "ﷺ é (e\u0301) \u202e", "2026-05-06 10:59:09", "it's", `\`, " a ", strings.Repeat("名", 600),
			`{"id": 9007199254740993, "n": 1e400}`} {
			in, err := b.start("load", map[string]string{"source": "/data/a b.csv", "rows": "9007199254740993", "tables": "payments,orders", "note": note, "password": "db_prod"})
			b.must(err)
			task, why := b.grant(in.ID)
			if task == nil {
				t.Fatal(why)
			}
			want := map[string]string{"mode": "delta", "tables": "payments,orders", "rows": "9007199254740993", "day": day.String(), "since": day.AddDays(-1).String(),
				"source": "/data/a b.csv", "note": note, "password": "hunter2-prod"}
			var all map[string]string
			b.must(json.Unmarshal([]byte(task.Env["AX_PARAMS"]), &all))
			if !maps.Equal(task.Params, want) || !maps.Equal(all, want) {
				t.Errorf("params %q, as JSON %q, want %q", task.Params, all, want)
			}
			for name, value := range want {
				if got := task.Env["AX_PARAM_"+name]; got != value {
					t.Errorf("AX_PARAM_%s is %q, want %q", name, got, value)
				}
			}
			if task.Env["NOTE"] != note || task.Env["AX_V2"] != note || !strings.Contains(string(task.Exec), `load \"${AX_V1}\" \"${AX_V2}\"`) {
				t.Errorf("the command is %s with %q", task.Exec, task.Env)
			}
			if len(task.Secrets) != 1 || task.Secrets[0] != "hunter2-prod" || task.Env["PW"] != "hunter2-prod" {
				t.Errorf("to be masked: %q", task.Secrets)
			}
			if again := b.get(in.ID); again.Params["password"] != "db_prod" {
				t.Errorf("the instance keeps %q", again.Params["password"])
			}
		}
		if rows := b.dump(); strings.Contains(rows, "hunter2") {
			t.Error("a row holds a secret")
		}
	})
}

// What is wrong is refused with the field, what is too much with the limit. (J-G6, G-F6, G-F8)
func TestWhatNoInputTakesIsRefusedWithItsField(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		b.twoSecrets()
		b.put(inputJob, strings.ReplaceAll(noop("open", "inputs:\n  - {name: token, type: secret}"), "60", "61"))
		for given, want := range map[string]string{
			"": "params.source", "source=/etc/passwd": "params.source", "source=/data/x rows=x": "params.rows", "source=/data/x mode=half": "params.mode",
			"source=/data/x tables=orders,orders": "params.tables", "source=/data/x day=2026-02-30": "params.day", "source=/data/x password=other": "params.password",
			"source=/data/x extra=1": "params.extra", "source=/data/x note=" + strings.Repeat("x", 70_000): "params",
		} {
			params := map[string]string{}
			for _, pair := range strings.Fields(given) {
				name, value, _ := strings.Cut(pair, "=")
				params[name] = value
			}
			_, err := b.start("load", params)
			var said *domain.Error
			if !asError(err, &said) || said.Field != want {
				t.Errorf("%.60q: %v, want the field %s", given, err, want)
			}
			if want == "params" && (said == nil || said.Kind != domain.TooLarge || !strings.Contains(said.Msg, "65536")) {
				t.Errorf("70 KB: %v", err)
			}
		}
		if _, err := b.start("load", map[string]string{"source": "/data/x", "note": "a\x00b"}); !domain.Is(err, domain.Invalid) || !strings.Contains(err.Error(), "NUL") {
			t.Errorf("a NUL: %v", err)
		}
		if _, err := b.start("load", map[string]string{"source": "/data/x", "note": strings.Repeat("x", 60_000)}); err != nil {
			t.Errorf("60 KB: %v", err)
		}
		if _, err := b.start("open", map[string]string{"token": "nosuch"}); err == nil || !strings.Contains(err.Error(), "no secret of this name") {
			t.Errorf("an unknown secret: %v", err)
		}
		if _, err := b.start("open", map[string]string{"token": "db_test"}); err != nil {
			t.Error(err)
		}
		if _, err := b.start("open", nil); err != nil {
			t.Error(err)
		}
	})
}

// One template says the same whatever made the job due. (J-G8)
func TestATemplateSaysTheSameOnEveryRoad(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		b.put("version: v1\njob:\n  name: call\n  timeout: 60\n  exec: {type: http, url: 'http://h/{{biz_date}}?d={{biz_date-1d}}', body: '{{biz_date | yyyyMMdd}}'}\n")
		granted := func(in domain.Instance) *protocol.Task {
			t.Helper()
			task, why := b.grant(in.ID)
			if task == nil {
				t.Fatal(why)
			}
			return task
		}
		by, err := b.start("call", nil)
		b.must(err)
		want := string(granted(by).Exec)
		if !strings.Contains(want, "http://h/"+day.String()) {
			t.Fatal(want)
		}
		planned := b.made("call", domain.NewInstance{Trigger: domain.TriggerCron, BizDate: day, Expected: b.now()})
		backfilled := b.made("call", domain.NewInstance{Trigger: domain.TriggerBackfill, BizDate: day, Expected: b.now()})
		for name, in := range map[string]domain.Instance{"cron": planned, "backfill": backfilled} {
			if got := string(granted(in).Exec); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		failed := b.fire("call")
		b.end(failed.ID, domain.OutcomeError)
		b.rerun(failed.ID)
		if got := string(granted(b.get(failed.ID)).Exec); got != want {
			t.Errorf("rerun: %s, want %s", got, want)
		}
	})
}

package center

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

func asError(err error, into **domain.Error) bool { return errors.As(err, into) }

// hand plays broker and worker: the instance succeeds and hands a result over.
func (b *bench) hand(id domain.ID, result string) {
	b.t.Helper()
	task, why := b.grant(id)
	if task == nil {
		b.t.Fatal(why)
	}
	report := protocol.Report{Attempt: task.Attempt, Outcome: protocol.OutcomeSuccess, Started: b.now().UnixMilli()}
	if result != "" {
		report.Result = json.RawMessage(result)
	}
	b.must(b.lifecycle.Apply(b.ctx, []protocol.Uplink{{Worker: "w", Reports: []protocol.Report{report}}}))
	b.sweep()
}

func down(expr string) string {
	return fmt.Sprintf("version: v1\njob:\n  name: down\n  timeout: 60\n  exec: {type: shell, command: 'x %s'}\n  env: {V: '%s'}\n  deps: [{name: up-1.daily}]\n", expr, expr)
}

// What an upstream handed over is what its downstream gets, text as it is, numbers digit for digit, the rest as JSON.
func TestResultsGoDownstream(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		up := noop("up-1.daily", "outputs: [rows, text, list, deep, yes]")
		if id := b.refusal(up, down("{{upstream.up-1.daily.result.row}}")); id != "result.missing" {
			t.Errorf("a key that the upstream does not promise: %s", id)
		}
		b.put(up)
		if id := b.refusal(down("{{upstream.up-1.daily.result.nothing}}")); id != "result.missing" {
			t.Errorf("the same of an upstream that is there: %s", id)
		}
		for key, want := range map[string]string{"rows": "9007199254740993", "text": `; $(id) "x" '中文🚀`, "list": `[1,2,{"a":null}]`, "deep": `{"b":1e400}`, "yes": "true"} {
			b.put(strings.ReplaceAll(down("{{upstream.up-1.daily.result.KEY}}"), "KEY", key))
			first, in := b.on("up-1.daily", day), b.on("down", day)
			b.want(in.ID, "running/waiting_deps")
			b.hand(first.ID, `{"rows": 9007199254740993, "text": "; $(id) \"x\" '中文🚀", "list": [1, 2, {"a": null}], "deep": {"b": 1e400}, "yes": true}`)
			task, why := b.grant(in.ID)
			if task == nil {
				t.Fatal(why)
			}
			if task.Env["V"] != want || task.Env["AX_V1"] != want || !strings.Contains(string(task.Exec), `x \"${AX_V1}\"`) {
				t.Errorf("%s is %q in env, %q in the command %s; want %q", key, task.Env["V"], task.Env["AX_V1"], task.Exec, want)
			}
			b.must(b.lifecycle.Apply(b.ctx, []protocol.Uplink{{Worker: "w", Reports: []protocol.Report{{Attempt: task.Attempt, Outcome: protocol.OutcomeSuccess}}}}))
		}
	})
}

// What is not there is told with the instance that lacks it, and nothing runs.
func TestAResultThatLacksTheKeyIsNamed(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		b.put(noop("up-1.daily"), down("{{upstream.up-1.daily.result.rows}}"))
		for result, want := range map[string]string{`{"other":1}`: `of the upstream instance %s lacks the key "rows"`, `{"rows":null}`: `lacks the key "rows"`, "": "upstream instance %s handed no result over", `{"rows":"a\u0000b"}`: "NUL"} {
			up, in := b.on("up-1.daily", day), b.on("down", day)
			b.hand(up.ID, result)
			if strings.Contains(want, "%s") {
				want = fmt.Sprintf(want, up.ID)
			}
			if task, why := b.grant(in.ID); task != nil || !strings.Contains(why, want) {
				t.Errorf("%s: %+v %q, want %q", result, task, why, want)
			}
			if is := b.get(in.ID); is.State != domain.Failed || !strings.Contains(is.Message, want) {
				t.Errorf("%s: %s %s", result, is.Status, is.Message)
			}
		}
		up, in := b.on("up-1.daily", day.AddDays(1)), b.on("down", day.AddDays(1))
		_ = up
		_, err := b.lifecycle.ReleaseByHand(b.ctx, in.ID, "tester", "now")
		b.must(err)
		if task, why := b.grant(in.ID); task != nil || !strings.Contains(why, "no upstream instance met this dependency: it is waived") {
			t.Errorf("released by hand: %+v %q", task, why)
		}
	})
}

// A rerun of the upstream counts for whoever is granted after it.
func TestARerunsResultIsTheNewOne(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		b.put(noop("up-1.daily"), down("{{upstream.up-1.daily.result.n}}"))
		up, in := b.on("up-1.daily", day), b.on("down", day)
		b.hand(up.ID, `{"n":1}`)
		b.want(in.ID, "running/queued")
		_, err := b.lifecycle.Rerun(b.ctx, up.ID, "tester", "again")
		b.must(err)
		b.hand(up.ID, `{"n":2}`)
		if task, why := b.grant(in.ID); task == nil || task.Env["V"] != "2" {
			t.Errorf("%+v %s", task, why)
		}
	})
}

func TestWhoseResultMustBeSaid(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		b.put(noop("up-1.daily"), noop("other"))
		for text, want := range map[string]string{
			down("{{upstream.other.result.n}}"):        "template.upstream_dep",
			down("{{upstream.up-1.daily.n}}"):          "template.upstream",
			down("{{upstream.up-1.daily.result.a-b}}"): "template.upstream",
			down("'{{upstream.up-1.daily.result.n}}'"): "yaml.syntax",
			strings.ReplaceAll(down("{{upstream.up-1.daily.result.n}}"), "[{name: up-1.daily}]", "[{name: up-1.daily, biz_date: month(current)}]"):                     "template.upstream_dates",
			strings.ReplaceAll(down("{{upstream.up-1.daily.result.n}}"), "[{name: up-1.daily}]", "[{name: up-1.daily}, {name: up-1.daily, biz_date: current-1d}]"):     "template.upstream_twice",
			strings.ReplaceAll(down("{{upstream.default/up-1.daily.result.n}}"), "x {{upstream.default/up-1.daily.result.n}}", "x `{{upstream.up-1.daily.result.n}}`"): "template.shell_backtick",
		} {
			if id := b.refusal(text); id != want && want != "yaml.syntax" {
				t.Errorf("%s: %s, want %s", text, id, want)
			}
		}
	})
}

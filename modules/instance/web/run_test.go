package web_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// withInputs gives the first job of the world inputs.
func (w *world) withInputs() {
	w.jobs[0].Spec.Inputs = []domain.Input{
		{Name: "mode", Type: domain.InputChoice, Choices: []string{"full", "delta"}, Required: true, Title: "装载 <b>方式"},
		{Name: "tables", Type: domain.InputChoices, Choices: []string{"orders", "payments"}, Default: "orders"},
		{Name: "rows", Type: domain.InputNumber}, {Name: "day", Type: domain.InputBizDate}, {Name: "note", Type: domain.InputText},
		{Name: "password", Type: domain.InputSecret},
	}
}

func TestTheRunFormShowsInputsAndSaysWhatIsWrong(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.withInputs()
		b := w.browser("2")
		page := b.get("/jobs/11/run")
		has(t, "the form", page, "装载 &lt;b&gt;方式", `name="param.mode"`, `value="full"`, `name="param.tables" value="orders" checked`, `name="param.rows"`, `name="param.day"`,
			`<textarea`, `value="db_prod"`, `value="2026-02-03"`)
		has(t, "in Chinese", b.get("/jobs/11/run", "Accept-Language", "zh-CN"), "以逗号分隔")
		bad := b.submit("/jobs/11/run", "/jobs/11/run", "biz_date", "2026-02-04", "param.rows", "x<i>", "param.note", "kept <as typed>")
		if bad.status != 422 {
			t.Fatalf("%d %s", bad.status, bad.body)
		}
		for _, part := range []string{"mode needs a value", "rows wants a number", "x&lt;i&gt;", "kept &lt;as typed&gt;", `value="2026-02-04"`} {
			if !strings.Contains(bad.body, part) {
				t.Errorf("the form that was refused lacks %q", part)
			}
		}
		if a := b.submit("/jobs/11/run", "/jobs/11/run", "biz_date", "today", "param.mode", "full"); a.status != 422 {
			t.Errorf("a wrong date: %d", a.status)
		}
		ok := b.submit("/jobs/11/run", "/jobs/11/run", "biz_date", "2026-02-04", "param.mode", "delta", "param.rows", " 9007199254740993 ", "param.note", " a\r\nb", "param.password", "db_prod")
		if ok.status != 303 {
			t.Fatalf("%d %s", ok.status, ok.body)
		}
		id, err := domain.ParseID(strings.TrimPrefix(ok.header.Get("Location"), "/instances/"))
		w.ok(err)
		in, err := w.st.Get(t.Context(), id)
		w.ok(err)
		for name, want := range map[string]string{"mode": "delta", "rows": "9007199254740993", "note": " a\nb", "password": "db_prod"} {
			if in.Params[name] != want {
				t.Errorf("%s is %q, want %q", name, in.Params[name], want)
			}
		}
		if _, given := in.Params["day"]; given || in.BizDate.String() != "2026-02-04" {
			t.Errorf("%q about %s", in.Params, in.BizDate)
		}
		if a := w.browser("3").get("/jobs/11/run"); a.status != 403 {
			t.Errorf("a viewer: %d", a.status)
		}
	})
}

// The API answers with the field, as the form does, and takes nothing that is not declared.
func TestTheAPINamesTheInput(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.withInputs()
		for body, field := range map[string]string{`{}`: "params.mode", `{"params":{"mode":"x"}}`: "params.mode", `{"params":{"mode":"full","zz":"1"}}`: "params.zz",
			`{"params":{"mode":"full","rows":"1e"}}`: "params.rows"} {
			a := w.api(operator, "POST", "/api/v1/jobs/load/trigger", body)
			var got struct {
				Error struct{ Field, Message string }
			}
			a.into(t, &got)
			if a.status != 400 && a.status != 422 || got.Error.Field != field {
				t.Errorf("%s: %d %s, want the field %s", body, a.status, a.body, field)
			}
		}
		if a := w.api(operator, "POST", "/api/v1/jobs/load/trigger", `{"params":{"mode":"full"}}`); a.status != 201 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

func TestTheResultIsShown(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(11, "2026-02-01")
		a := w.run(in)
		long := strings.Repeat("名", 400)
		result, err := json.Marshal(map[string]any{"rows": 12, "note": "<b>x</b>", "long": long})
		w.ok(err)
		w.ok(w.life.Apply(t.Context(), []protocol.Uplink{{Worker: a.Target, Boot: a.Boot, Reports: []protocol.Report{{Attempt: int64(a.ID), Outcome: protocol.OutcomeSuccess, Result: result}}}}))
		page := w.browser("2").get("/instances/" + in.ID.String())
		has(t, "the page", page, "Result", "<code>rows</code>", "<code>12</code>", "&lt;b&gt;x&lt;/b&gt;", strings.Repeat("名", 300)+"…")
		lacks(t, "the page", page, long)
	})
}

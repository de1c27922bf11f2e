package web_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/domain"
)

// announced is what targets announce, to any project.
type announced map[string]domain.TypeOffer

func (a announced) Offered(context.Context, string) (map[string]domain.TypeOffer, error) {
	return a, nil
}

// A type that AX does not know is taken; a save warns when nobody announces it.
func TestAnOpenTypeIsTakenAndWarnedOfWhenNobodyAnnouncesIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		job := strings.Replace(yaml("a"), "{type: noop}", "{type: acme_copy, table: \"{{biz_date}}\", deep: [1, {x: y}]}", 1)
		for name, c := range map[string]struct {
			types announced
			says  string
		}{
			"announced":                        {announced{"acme_copy": {Type: "acme_copy"}}, ""},
			"another is near":                  {announced{"acme_coppy": {Type: "acme_coppy"}}, "did you mean acme_coppy"},
			"nobody announces":                 {announced{"shell": {Type: "shell"}}, "announced now: shell"},
			"nobody is up, which is no matter": {announced{}, ""},
		} {
			w.jobs.Types = c.types
			r := w.apply(edge.AdminToken, job).Results[0]
			said := slices.ContainsFunc(r.Warnings, func(p map[string]any) bool {
				return strings.Contains(p["message"].(string), "announces the type acme_copy") && p["line"] == 5.0 && strings.Contains(p["hint"].(string), c.says)
			})
			if said != (c.says != "") || len(r.Warnings) > 1 {
				t.Errorf("%s: warnings %v", name, r.Warnings)
			}
		}
	})
}

// The form makes a job of any type, shows it again as it is and leaves alone what was not touched.
func TestTheFormWritesSettingsOfAnyType(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.jobs.Types = announced{"acme_copy": {Type: "acme_copy"}}
		b := w.Browser("admin", edge.AdminPassword)
		page := b.Get("/jobs/new?mode=form")
		sound(t, "/jobs/new", page)
		if !strings.Contains(page.Body, `<option value="acme_copy">`) {
			t.Error("an announced type is not offered")
		}
		a := b.Submit("/jobs/new", "/jobs/new", "mode", "form", "name", "copy", "when", "none", "type", "acme_copy", "settings", "  table: orders\r\n  rows: 5\r\n", "timeout", "5")
		if a.Status != 303 {
			t.Fatalf("a new one: %d %s", a.Status, a.Body)
		}
		edit := "/jobs/" + w.idOf("copy") + "/edit"
		j, err := w.jobs.Get(t.Context(), "copy")
		if err != nil || j.Spec.Exec.Type != "acme_copy" || string(j.Spec.Exec.Spec) != `{"rows":5,"table":"orders"}` {
			t.Fatalf("%s %s, %v\n%s", j.Spec.Exec.Type, j.Spec.Exec.Spec, err, j.Source)
		}
		page = b.Get(edit)
		sound(t, edit, page)
		if !strings.Contains(page.Body, "rows: 5\ntable: orders</textarea>") || !strings.Contains(page.Body, `value="acme_copy"`) {
			t.Errorf("it is not shown as it is: %s", page.Body)
		}
		if a = b.Submit(edit, edit, "mode", "form", "base_version", "1", "when", "none", "type", "acme_copy", "settings", "rows: 5\ntable: orders", "timeout", "6"); a.Status != 303 {
			t.Fatalf("an edit: %d", a.Status)
		}
		later, err := w.jobs.Get(t.Context(), "copy")
		if err != nil || strings.Replace(later.Source, "timeout: 6", "timeout: 5", 1) != j.Source {
			t.Errorf("what was not touched changed: %v\n%s", err, later.Source)
		}
		a = b.Submit(edit, edit, "mode", "form", "base_version", "2", "when", "none", "type", "Acme", "settings", "rows: 5", "timeout", "6")
		if a.Status != 422 || !strings.Contains(a.Body, `id="e-type"`) {
			t.Errorf("a type that is none: %d", a.Status)
		}
		a = b.Submit(edit, edit, "mode", "form", "base_version", "2", "when", "none", "type", "acme_copy", "settings", "rows: \"{{nope}}\"", "timeout", "6")
		if a.Status != 422 || !strings.Contains(a.Body, `id="e-settings"`) {
			t.Errorf("a template that is none: %d", a.Status)
		}
		if a = b.Submit(edit, edit, "mode", "form", "base_version", "2", "when", "none", "type", "shell", "command", "true", "timeout", "6"); a.Status != 303 {
			t.Errorf("to a shell job: %d", a.Status)
		}
		if j, err = w.jobs.Get(t.Context(), "copy"); err != nil || j.Spec.Exec.Type != "shell" {
			t.Errorf("%v %+v", err, j.Spec.Exec)
		}
	})
}

// A type that says what it takes has a field for each key, in the reader's language; what is typed there is the job's settings, and
// what no field is for stays.
func TestTheFormHasTheFieldsThatATypeAnnounces(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := domain.TypeDescription{Type: "acme_copy", Version: "1", About: domain.Words{"en": "copies a table", "zh-CN": "复制表"}, Params: []domain.TypeParam{
			{Name: "table", Kind: domain.KindText, Required: true, Label: domain.Words{"en": "Table", "zh-CN": "表名"}}, {Name: "rows", Kind: domain.KindNumber, Default: "10"},
			{Name: "deep", Kind: domain.KindBoolean}, {Name: "cols", Kind: domain.KindList}, {Name: "map", Kind: domain.KindMap}, {Name: "mode", Kind: domain.KindText, Choices: []string{"full", "part"}}}}
		w.jobs.Types = announced{"acme_copy": {Type: "acme_copy", By: []string{"w1"}, Description: d}, "noop": {Type: "noop", Description: domain.TypeDescription{Type: "noop", Params: []domain.TypeParam{}}}}
		b := w.Browser("admin", edge.AdminPassword)
		for lang, want := range map[string]string{"en": "Table", "zh-CN": "表名"} {
			page := b.Get("/jobs/new?mode=form", "Accept-Language", lang)
			sound(t, "/jobs/new", page)
			if !strings.Contains(page.Body, want) || !strings.Contains(page.Body, `name="x.acme_copy.number.rows"`) || !strings.Contains(page.Body, d.About.In(lang)) {
				t.Errorf("%s: the fields are not there", lang)
			}
		}
		const odd = "; $(id) \"x\" '中文🚀"
		a := b.Submit("/jobs/new", "/jobs/new", "mode", "form", "name", "copy", "when", "none", "type", "acme_copy", "timeout", "5",
			"x.acme_copy.text.table", odd, "x.acme_copy.number.rows", "{{params.n}}", "x.acme_copy.boolean.deep", "true", "x.acme_copy.list.cols", "a\r\nb: c\r\n",
			"x.acme_copy.map.map", "k: v: w\r\n", "x.acme_copy.text.mode", "")
		if a.Status != 422 || !strings.Contains(a.Body, "params.n") || !strings.Contains(a.Body, "b: c") {
			t.Fatalf("a template that is none: %d", a.Status)
		}
		a = b.Submit("/jobs/new", "/jobs/new", "mode", "form", "name", "copy", "when", "none", "type", "acme_copy", "timeout", "5",
			"x.acme_copy.text.table", odd, "x.acme_copy.number.rows", "7", "x.acme_copy.boolean.deep", "true", "x.acme_copy.list.cols", "a\r\nb: c\r\n",
			"x.acme_copy.map.map", "k: v: w\r\n", "x.acme_copy.text.mode", "", "rest.acme_copy", "more: [1]")
		if a.Status != 303 {
			t.Fatalf("a new one: %d %s", a.Status, a.Body)
		}
		j, err := w.jobs.Get(t.Context(), "copy")
		want := `{"cols":["a","b: c"],"deep":true,"map":{"k":"v: w"},"more":[1],"rows":7,"table":"; $(id) \"x\" '中文🚀"}`
		if err != nil || string(j.Spec.Exec.Spec) != want {
			t.Fatalf("%v\n%s\n%s", err, j.Spec.Exec.Spec, j.Source)
		}
		edit := "/jobs/" + w.idOf("copy") + "/edit"
		page := b.Get(edit)
		sound(t, edit, page)
		for _, want := range []string{"a\nb: c</textarea>", "k: v: w</textarea>", `<option value="true" selected>`, "more: [1]</textarea>", `value="7"`} {
			if !strings.Contains(page.Body, want) {
				t.Errorf("%q is not shown", want)
			}
		}
		same := []string{"mode", "form", "base_version", "1", "when", "none", "type", "acme_copy", "timeout", "6",
			"x.acme_copy.text.table", odd, "x.acme_copy.number.rows", "7", "x.acme_copy.boolean.deep", "true", "x.acme_copy.list.cols", "a\nb: c",
			"x.acme_copy.map.map", "k: v: w", "x.acme_copy.text.mode", "", "rest.acme_copy", "more: [1]"}
		if a = b.Submit(edit, edit, same...); a.Status != 303 {
			t.Fatalf("an edit of the time-out: %d", a.Status)
		}
		later, err := w.jobs.Get(t.Context(), "copy")
		if err != nil || strings.Replace(later.Source, "timeout: 6", "timeout: 5", 1) != j.Source {
			t.Errorf("what was not touched changed: %v\n%s", err, later.Source)
		}
		if a = b.Submit(edit, edit, "mode", "form", "base_version", "2", "when", "none", "type", "noop", "timeout", "6"); a.Status != 303 {
			t.Errorf("to another type: %d %s", a.Status, a.Body)
		}
		if j, err = w.jobs.Get(t.Context(), "copy"); err != nil || j.Spec.Exec.Type != "noop" || string(j.Spec.Exec.Spec) != "{}" {
			t.Errorf("%v %s %s", err, j.Spec.Exec.Type, j.Spec.Exec.Spec)
		}
	})
}

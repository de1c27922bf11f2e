package web_test

import (
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup/edge"
)

// TestTheFormSaysDaysAndPolicies: what the form asks for stands in the file, opens in the form again, stays where
// it is not posted, and a trigger of upstream goes back to a time.
func TestTheFormSaysDaysAndPolicies(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.Browser("admin", edge.AdminPassword)
		w.apply(edge.AdminToken, yaml("sync"))
		a := b.Submit("/jobs/new", "/jobs/new", "mode", "form", "name", "report", "when", "upstream", "deps", "sync\nsync current-1d", "biz_date", "T-1", "misfire", "skip", "overlap", "allow", "command", "true", "timeout", "5")
		if a.Status != 303 {
			t.Fatalf("by upstream: %d %s", a.Status, a.Body)
		}
		edit := "/jobs/" + w.idOf("report") + "/edit"
		for _, lang := range []string{"en", "zh-CN"} {
			page := b.Get(edit, "Accept-Language", lang)
			sound(t, edit, page)
			for _, want := range []string{`value="upstream" checked`, "sync current-1d", `value="T-1"`, `value="skip" selected`, `value="allow" selected`} {
				if !strings.Contains(page.Body, want) {
					t.Errorf("%s: %q is not shown", lang, want)
				}
			}
		}
		if a = b.Submit(edit, edit, "mode", "form", "base_version", "1", "when", "daily", "time", "07:30", "deps", "sync current-1d", "command", "true", "timeout", "5", "misfire", ""); a.Status != 303 {
			t.Fatalf("an edit: %d", a.Status)
		}
		j, err := w.jobs.Get(t.Context(), "report")
		if err != nil {
			t.Fatal(err)
		}
		if s := j.Spec; s.Trigger != "" || s.Schedule.Expr != "30 7 * * *" || s.BizDate != "T-1" || s.Overlap != "allow" || s.Misfire != "fire_once" || len(s.Deps) != 1 || s.Deps[0].BizDate != "current-1d" {
			t.Errorf("%+v\n%s", s, j.Source)
		}
		if a = b.Submit(edit, edit, "mode", "form", "base_version", "2", "when", "daily", "time", "07:30", "calendar", "nope", "deps", "sync yesterday", "command", "true"); a.Status != 422 || !strings.Contains(a.Body, `id="e-deps"`) || !strings.Contains(a.Body, "sync yesterday") || !strings.Contains(a.Body, `value="nope"`) {
			t.Errorf("a wrong one: %d", a.Status)
		}
	})
}

package web_test

import (
	"html"
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

// idOf finds a job.
func (w *world) idOf(name string) string {
	w.T.Helper()
	j, err := w.jobs.Get(w.T.Context(), name)
	if err != nil {
		w.T.Fatal(err)
	}
	return j.ID.String()
}

// sound fails unless a page is one, in words of the catalogs.
func sound(t *testing.T, name string, a edge.Answer) {
	t.Helper()
	if a.Status != 200 || strings.Contains(a.Body, "⟦") || !strings.Contains(a.Body, "</html>") {
		at := max(strings.Index(a.Body, "⟦"), 0)
		t.Errorf("%s: %d …%.200s", name, a.Status, a.Body[at:])
	}
}

func TestPagesShowWhatIsThere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.Browser("admin", edge.AdminPassword)
		if page := b.Get("/jobs"); page.Status != 200 || !strings.Contains(page.Body, "No jobs yet") {
			t.Errorf("no jobs: %d", page.Status)
		}
		w.apply(edge.AdminToken, yaml("up", "title: <script>alert(1)</script>", `cron: "0 2 * * *"`, "owner: <i>"), yaml("down", "deps: [{name: up}]", "every: 10m", "retry: {times: 2}"),
			strings.Replace(yaml("far", "project: other", "at: 2099-01-01 00:00", "tags: [gpu]", "queue_timeout: 5"), "  timeout: 5\n", "", 1))
		w.apply(edge.AdminToken, yaml("up", "title: <script>alert(2)</script>", `cron: "0 3 * * *"`))
		day, _ := domain.ParseBizDate("2026-02-03")
		up, err := domain.ParseID(w.idOf("up"))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.ran.Insert(t.Context(), []domain.Instance{{ID: 77, JobID: up, BizDate: day, Status: domain.Status{State: domain.Failed, Label: domain.ErrorLabel}, StartedAt: now(), FinishedAt: now()}}); err != nil {
			t.Fatal(err)
		}
		for _, lang := range []string{"en", "zh-CN"} {
			for _, path := range []string{"/jobs", "/jobs?q=up", "/jobs?enabled=false", "/jobs?project=other", "/jobs/new", "/jobs/new?mode=yaml", "/jobs/" + w.idOf("up"), "/jobs/up", "/jobs/other%2Ffar",
				"/jobs/down", "/jobs/up?tab=deps", "/jobs/up?tab=versions", "/jobs/up?tab=yaml", "/jobs/up?tab=yaml&version=1", "/jobs/up/edit"} {
				page := b.Get(path, "Accept-Language", lang)
				sound(t, path, page)
				if strings.Contains(page.Body, "<script>alert") || strings.Contains(page.Body, "<i>") {
					t.Errorf("%s: markup of a definition is markup of the page", path)
				}
			}
		}
		list := b.Get("/jobs").Body
		for _, want := range []string{"/instances/77", "0 3 * * *", "other/far", "/jobs/new?mode=yaml"} {
			if !strings.Contains(list, want) {
				t.Errorf("the list lacks %s", want)
			}
		}
		overview := b.Get("/jobs/up").Body
		for _, want := range []string{"/jobs/" + w.idOf("up") + "/trigger", "/instances?job=up", "/pause", "03:00", `name="idempotency_key"`} {
			if !strings.Contains(overview, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		if strings.Contains(overview, `action="/jobs/`+w.idOf("up")+`/delete"`) || !strings.Contains(b.Get("/jobs/down").Body, "/delete") {
			t.Error("delete is offered where something depends on the job, or not where nothing does")
		}
		if text := b.Get("/jobs/up?tab=yaml&version=1").Body; !strings.Contains(text, "alert(1)") || strings.Contains(text, "alert(2)</li>") {
			t.Error("the text of version 1 is not shown")
		}
		if versions := b.Get("/jobs/up?tab=versions").Body; !strings.Contains(versions, "owner, schedule, title") {
			t.Error("what changed is not said")
		}
		if bad := b.Get("/jobs?enabled=perhaps"); bad.Status != 422 || !strings.Contains(bad.Body, "perhaps") {
			t.Errorf("a wrong filter: %d", bad.Status)
		}
		if gone := b.Get("/jobs/nosuch"); gone.Status != 404 {
			t.Errorf("no such job: %d", gone.Status)
		}
	})
}

func TestAJobIsMadeByTheShortForm(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.Browser("admin", edge.AdminPassword)
		w.apply(edge.AdminToken, yaml("sync"))
		before := w.definitions()
		bad := []string{"mode", "form", "name", "stat", "title", `Ti"tle <b>`, "cron", "61 * * * *", "deps", "sink", "command", "echo '{{biz_date}}'", "timeout", "12O"}
		a := b.Submit("/jobs/new", "/jobs/new", bad...)
		if a.Status != 422 {
			t.Fatalf("a bad form: %d", a.Status)
		}
		for i := 3; i < len(bad); i += 2 {
			if !strings.Contains(a.Body, html.EscapeString(bad[i])) {
				t.Errorf("%s was typed and is lost", bad[i])
			}
		}
		if strings.Count(a.Body, `class="field-error"`) < 2 {
			t.Errorf("errors stand beside %d fields", strings.Count(a.Body, `class="field-error"`))
		}
		if w.definitions() != before {
			t.Error("a refused form changed the database")
		}
		good := []string{"mode", "form", "name", "stat", "title", "T", "cron", "0 2 * * *", "deps", "sync", "command", "echo {{biz_date}}", "timeout", ""}
		a = b.Submit("/jobs/new", "/jobs/new", good...)
		if a.Status != 303 || a.Header.Get("Location") != "/jobs/"+w.idOf("stat") {
			t.Fatalf("a good form: %d %s", a.Status, a.Body)
		}
		after := w.definitions()
		if again := b.Submit("/jobs/new", "/jobs/new", append(good[:len(good)-4:len(good)-4], "command", "rm -rf x", "timeout", "7")...); again.Status != 409 || !strings.Contains(again.Body, "rm -rf x") || w.definitions() != after {
			t.Errorf("a form over a job that is there: %d", again.Status)
		}
	})
}

func TestAnEditKeepsItsTextAndSeesWhoWasFaster(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(edge.AdminToken, yaml("j"))
		b := w.Browser("admin", edge.AdminPassword)
		edit := "/jobs/" + w.idOf("j") + "/edit"
		save := func(base, text string) edge.Answer {
			return b.Submit(edit, edit, "mode", "yaml", "base_version", base, "text", text)
		}
		ed := w.As("eve", access.Editor, "")
		w.apply(ed, yaml("j", "title: hers"))
		before := w.definitions()
		a := save("1", yaml("j", "title: mine"))
		if a.Status != 409 || !strings.Contains(a.Body, "title: mine") || !strings.Contains(a.Body, "eve saved version 2") || !strings.Contains(a.Body, "version=2") || !strings.Contains(a.Body, `name="base_version" value="2"`) {
			t.Errorf("overtaken: %d", a.Status)
		}
		for name, c := range map[string]struct {
			text   string
			status int
		}{"wrong": {yaml("j", "timout: 5"), 422}, "another name": {yaml("k"), 422}, "two": {yaml("j") + "---\n" + yaml("k"), 422}, "elsewhere": {yaml("j", "project: other"), 422}} {
			if a := save("2", c.text); a.Status != c.status || !strings.Contains(a.Body, html.EscapeString(c.text[20:40])) {
				t.Errorf("%s: %d", name, a.Status)
			}
		}
		if w.definitions() != before {
			t.Error("a refused edit changed the database")
		}
		if a := save("x", yaml("j")); a.Status != 422 {
			t.Errorf("without a version: %d", a.Status)
		}
		if a := save("2", yaml("j", "title: mine")); a.Status != 303 {
			t.Errorf("the second save: %d %s", a.Status, a.Body)
		}
		if j, err := w.jobs.Get(t.Context(), "j"); err != nil || j.Version != 3 || j.Title != "mine" {
			t.Errorf("%+v %v", j, err)
		}
	})
}

func TestTheCheckBesideTheEditor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.Browser("admin", edge.AdminPassword)
		before := w.definitions()
		good := b.Submit("/jobs/new", "/jobs/check", "mode", "yaml", "text", yaml("a", `cron: "0 2 * * *"`))
		if good.Status != 200 || strings.Count(good.Body, "02:00") < 5 || strings.Contains(good.Body, "<html") || strings.Contains(good.Body, "⟦") {
			t.Errorf("good: %d %s", good.Status, good.Body)
		}
		bad := b.Submit("/jobs/new", "/jobs/check", "mode", "yaml", "text", yaml("a", "timout: 5"))
		if bad.Status != 200 || !strings.Contains(bad.Body, `data-line="6" data-column="3"`) {
			t.Errorf("bad: %d %s", bad.Status, bad.Body)
		}
		never := b.Submit("/jobs/new", "/jobs/check", "mode", "yaml", "text", yaml("a", "dialect: quartz", `cron: "0 0 13/0 * * ? *"`)) // J-A8: the save says so too
		if never.Status != 200 || !strings.Contains(never.Body, "step of 0") || strings.Contains(never.Body, "13:00") {
			t.Errorf("never: %d %s", never.Status, never.Body)
		}
		if w.definitions() != before {
			t.Error("the check wrote")
		}
	})
}

func TestPauseResumeAndDeleteByForm(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Project("mine")
		w.apply(edge.AdminToken, yaml("up", "every: 10m"), yaml("down", "deps: [{name: up}]"))
		b := w.Browser("admin", edge.AdminPassword)
		up := "/jobs/" + w.idOf("up")
		if a := b.Submit(up, up+"/pause", "reason", "files change"); a.Status != 303 || a.Header.Get("Location") != up {
			t.Errorf("pause: %d", a.Status)
		}
		if page := b.Get(up); !strings.Contains(page.Body, "/resume") || !strings.Contains(page.Body, "None while it is paused") {
			t.Error("the page does not say that it is paused")
		}
		if a := b.Submit(up, up+"/resume"); a.Status != 303 {
			t.Errorf("resume: %d", a.Status)
		}
		if a := b.Submit(up, up+"/delete"); a.Status != 409 || !strings.Contains(a.Body, "down") {
			t.Errorf("delete of what is depended on: %d", a.Status)
		}
		down := "/jobs/" + w.idOf("down")
		if a := b.Submit(down, down+"/delete"); a.Status != 303 || a.Header.Get("Location") != "/jobs" {
			t.Errorf("delete: %d", a.Status)
		}
		w.As("viewer", access.Viewer, "")
		v := w.Browser("viewer", "password of viewer")
		page := v.Get(up)
		sound(t, "as a viewer", page)
		if strings.Contains(page.Body, `action="`+up) {
			t.Error("a viewer is offered a change")
		}
		for _, path := range []string{up + "/pause", up + "/delete", up + "/edit", "/jobs/new"} {
			if a := v.Submit("/jobs", path, "mode", "yaml", "base_version", "1", "text", yaml("up")); a.Status != 403 {
				t.Errorf("a viewer at %s: %d", path, a.Status)
			}
		}
		w.As("local", access.Editor, "mine")
		l := w.Browser("local", "password of local")
		if a := l.Submit("/jobs/new", "/jobs/new", "mode", "yaml", "text", yaml("fresh")); a.Status != 403 || !strings.Contains(a.Body, "name: fresh") || !strings.Contains(a.Body, "project default") {
			t.Errorf("an editor of another project: %d", a.Status)
		}
		trail := strings.Join(w.Trail(), "\n")
		for _, line := range []string{"admin job.pause job/default/up", "admin job.resume job/default/up", "admin job.delete job/default/down", "viewer job.pause POST " + up + "/pause refused", "local job.write POST /jobs/new refused"} {
			if !strings.Contains(trail, line) {
				t.Errorf("the trail lacks %q:\n%s", line, trail)
			}
		}
	})
}

package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

func has(t *testing.T, a edge.Answer, status int, parts ...string) {
	t.Helper()
	if a.Status != status {
		t.Fatalf("%d, want %d: %s", a.Status, status, a.Body)
	}
	for _, p := range append(parts, "") {
		if !strings.Contains(a.Body, p) {
			t.Errorf("the page lacks %q", p)
		}
	}
	if strings.Contains(a.Body, "⟦") {
		t.Error("a word is missing")
	}
}

func TestACalendarIsUploadedLookedAtAndDeleted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.Browser("admin", edge.AdminPassword)
		has(t, b.Get("/calendars"), 200, "No calendars yet")
		const page = "/calendars/new"
		text := sample(t, "cn-2024.csv")
		has(t, b.Submit(page, page, "base_version", "0", "text", "date,kind\n2024-02-30,off\n", "file", "a.csv", "name", "cn"), 422, "2024-02-30 is no date", "Line 2, column 1", `value="cn"`)
		has(t, b.Submit(page, page, "base_version", "0", "text", text, "file", "cn-2024.csv"), 422, "give the name of the calendar")
		has(t, b.Submit(page, page, "base_version", "0", "text", text, "file", "cn-2024.csv", "name", "cn", "preview", "1"), 200, "A new calendar", "2024-02-10 – 02-11", "rest day → holiday", "春节")
		if found, err := w.calendars.List(t.Context(), domain.ProjectSet{All: true}, domain.BizDateOf(now(), time.UTC)); err != nil || len(found) != 0 {
			t.Fatalf("the preview has saved something: %v, %v", found, err)
		}
		saved := b.Submit(page, page, "base_version", "0", "text", text, "file", "cn-2024.csv", "name", "cn")
		if saved.Status != 303 {
			t.Fatalf("%d %s", saved.Status, saved.Body)
		}
		here := saved.Header.Get("Location")
		has(t, b.Get("/calendars"), 200, `href="`+here+`"`, "not known this year")
		has(t, b.Get(here), 200, "251 worked", "115 off", "30 holidays", `datetime="2024-02-18" data-kind="makeup"`, "made up for 春节", "10–17", "v1", "cn-2024.csv",
			"does not know the special days of "+now().Format("2006"))
		has(t, b.Get(here+"?year=2025", "Accept-Language", "zh-CN"), 200, "日历不知道 2025 年的特殊日")
		has(t, b.Get(here+"?year=x"), 400)
		has(t, b.Get(here+"?version=9"), 404)
		if again := b.Submit(page, page, "base_version", "0", "text", text, "name", "cn"); again.Status != 409 || !strings.Contains(again.Body, "There is a calendar cn already") {
			t.Errorf("%d %s", again.Status, again.Body)
		}
		w.change(t, b, here)
	})
}

// change works on the calendar at its page.
func (w *world) change(t *testing.T, b *edge.Browser, here string) {
	f, err := w.calendars.Find(t.Context(), "cn")
	if err != nil {
		t.Fatal(err)
	}
	job := w.use("report", f.ID, f.ProjectID)
	at := time.Date(2026, 5, 4, 7, 30, 0, 0, time.UTC)
	w.played.moves = []domain.CalendarMove{{Job: job, GoneCount: 30, Gone: []domain.Coming{{At: at, BizDate: domain.BizDateOf(at, time.UTC), From: domain.NewBizDate(2026, time.May, 1)}}}}
	edit := here + "/edit"
	has(t, b.Get(edit), 200, "2024-02-10..2024-02-17: 春节", "you change version 1")
	more := "date,kind,label\n2025-01-01,off,<b>\n"
	checked := b.Submit(edit, "/calendars/check?calendar="+f.ID.String(), "base_version", "1", "text", more, "file", "more.csv")
	has(t, checked, 200, "Becomes version 2", "Jobs whose fires move: 1 of 1", "report", "30 no more, 0 new", "2026-05-04 07:30", "moved from Fri 2026-05-01", "and 29 more that happen no more", "&lt;b&gt;")
	if strings.Contains(checked.Body, "<html") {
		t.Error("the fragment is a whole page")
	}
	if saved := b.Submit(edit, edit, "base_version", "1", "text", more, "file", "more.csv"); saved.Status != 303 {
		t.Fatalf("%d %s", saved.Status, saved.Body)
	}
	has(t, b.Get(here+"?year=2024"), 200, "v2", "30 holidays")
	has(t, b.Get(here+"?version=1"), 200, "This is version 1; in force is version 2")
	late := b.Submit(edit, edit, "base_version", "1", "text", more+"2025-01-02,off,x\n", "file", "more.csv")
	has(t, late, 409, "admin saved version 2 of calendar cn after version 1", `name="base_version" value="2"`, "2025-01-02,off,x")
	if gone := b.Submit(here, here+"/delete", "base_version", "2"); gone.Status != 409 || !strings.Contains(gone.Body, "report") {
		t.Errorf("delete: %d %s", gone.Status, gone.Body)
	}
	if err := w.calendars.Store.Use(t.Context(), f.ProjectID, job, 0); err != nil {
		t.Fatal(err)
	}
	if gone := b.Submit(here, here+"/delete", "base_version", "2"); gone.Status != 303 {
		t.Errorf("delete: %d %s", gone.Status, gone.Body)
	}
	has(t, b.Get(here), 404)
	has(t, b.Get("/calendars"), 200, "No calendars yet")
}

func TestAViewerLooksAtCalendarsAndChangesNone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(map[string]any{"file": "cn-2024.yaml", "text": sample(t, "cn-2024.yaml")})
		w.As("vi", access.Viewer, "default")
		f, err := w.calendars.Find(t.Context(), "cn")
		if err != nil {
			t.Fatal(err)
		}
		here := "/calendars/" + f.ID.String()
		b := w.Browser("vi", "password of vi")
		has(t, b.Get("/calendars"), 200, "中国 2024 年节假日")
		page := b.Get(here)
		has(t, page, 200, "calendar.write")
		if strings.Contains(page.Body, `action="`+here+`/delete"`) {
			t.Error("a viewer is offered the end of a calendar")
		}
		for _, path := range []string{here + "/edit", "/calendars/new"} {
			has(t, b.Get(path), 403)
		}
		before := w.tables()
		for _, path := range []string{here + "/edit", here + "/delete", "/calendars/new", "/calendars/check"} {
			if a := b.Submit("/calendars", path, "base_version", "1", "text", "x"); a.Status != 403 {
				t.Errorf("%s: %d", path, a.Status)
			}
		}
		if w.tables() != before {
			t.Error("something has changed")
		}
	})
}

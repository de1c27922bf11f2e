package web_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/calendar"
	"github.com/axsched/ax/modules/domain"
)

const apply = "/api/v1/calendars"

type answer struct {
	Calendar, ID, Change string
	Version              int
	Days                 []map[string]string
	Moves                []struct {
		Job       string
		Gone      []map[string]string
		GoneCount int
	}
	DryRun bool
}

func (w *world) apply(fields map[string]any) answer {
	w.T.Helper()
	a := w.API(edge.AdminToken, "POST", apply, body(w.T, fields))
	if a.Status != 200 {
		w.T.Fatalf("%d %s", a.Status, a.Body)
	}
	var out answer
	a.JSON(w.T, &out)
	return out
}

func TestTheThreeFormatsMakeTheSameCalendar(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var first string
		for _, file := range []string{"cn-2024.yaml", "cn-2024.csv", "cn-2024.ics"} {
			name := strings.TrimPrefix(file, "cn-2024.")
			fields := map[string]any{"file": file, "text": strings.Replace(sample(t, file), "name: cn", "name: yaml", 1), "name": name}
			if dry := w.apply(map[string]any{"file": file, "text": fields["text"], "name": name, "dryRun": true}); dry.Change != "created" || dry.ID != "0" && dry.ID != "" || !dry.DryRun {
				t.Errorf("dry: %+v", dry)
			}
			if got := w.apply(fields); got.Change != "created" || got.Version != 1 || len(got.Days) != 38 {
				t.Errorf("%s: %+v with %d days", file, got, len(got.Days))
			}
			var one struct{ Days []map[string]string }
			w.API(edge.AdminToken, "GET", apply+"/"+name, "").JSON(t, &one)
			days := fmt.Sprint(one.Days)
			if first == "" {
				first = days
			}
			if days != first || len(one.Days) == 0 {
				t.Errorf("%s has the days %s", file, days)
			}
		}
		if again := w.apply(map[string]any{"file": "cn-2024.csv", "text": sample(t, "cn-2024.csv"), "name": "csv"}); again.Change != "unchanged" || again.Version != 1 {
			t.Errorf("again: %+v", again)
		}
		var list struct{ Calendars []map[string]any }
		w.API(edge.AdminToken, "GET", apply, "").JSON(t, &list)
		if len(list.Calendars) != 3 || list.Calendars[0]["name"] != "csv" || list.Calendars[0]["special"] != 38.0 {
			t.Errorf("%v", list.Calendars)
		}
	})
}

// Whatever is wrong with a file, it is said with its place, and nothing is changed.
func TestAFaultyFileChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(map[string]any{"file": "cn-2024.yaml", "text": sample(t, "cn-2024.yaml")})
		before := w.tables()
		const head = "version: v1\ncalendar:\n  name: cn\n"
		for _, c := range []struct {
			file, text, id string
			line, column   float64
		}{
			{"a.yaml", head + "  holidays:\n    2024-02-30: x\n", "date", 5, 5},
			{"a.yaml", head + "  oops: 1\n", "key", 4, 3},
			{"a.yaml", head + "  rest: [mon, tue, wed, thu, fri, sat, sun]\n  years: 2024\n", "all_rest", 0, 0},
			{"a.csv", "date,kind\n2024-02-03,off\n2024-02-03,work\n", "both", 3, 1},
			{"a.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20240203T080000Z\nEND:VEVENT\nEND:VCALENDAR\n", "ics_time", 3, 1},
			{"a.yaml", strings.Repeat("#", calendar.MaxBytes+1), "too_big", 0, 0},
			{"a.yaml", head + "  years: 1970..2040\n", "year", 4, 10},
			{"a.yaml", "version: v1\ncalendar:\n  name: other\n  years: 2024\n", "other_name", 0, 0},
			{"a.yaml", head + "  project: p\n  years: 2024\n", "other_project", 0, 0},
			{"a.csv", "date,kind\n" + manyDays(calendar.MaxDays+1), "many_days", 0, 0},
		} {
			a := w.API(edge.AdminToken, "POST", apply, body(t, map[string]any{"file": c.file, "text": c.text, "name": "cn", "project": "default"}))
			f := a.Failure(t)
			if a.Status != 422 || len(f.Problems) == 0 || f.Problems[0]["id"] != c.id || f.Problems[0]["line"] != c.line || f.Problems[0]["column"] != c.column || f.Problems[0]["message"] == "" {
				t.Errorf("%s: %d %s", c.id, a.Status, a.Body)
			}
			if strings.Contains(a.Body, "⟦") {
				t.Errorf("%s: a word is missing: %s", c.id, a.Body)
			}
		}
		for _, c := range []struct {
			fields map[string]any
			status int
		}{
			{map[string]any{"text": "date,kind\n2024-02-03,off\n"}, 422}, // whose?
			{map[string]any{"text": ""}, 400}, {map[string]any{"text": "x", "what": 1}, 400},
			{map[string]any{"text": "date,kind\n2024-02-03,off\n", "name": "cn", "base": 7}, 409},
			{map[string]any{"text": "date,kind\n2024-02-03,off\n", "name": "cn", "base": 0}, 409},
			{map[string]any{"text": "date,kind\n2024-02-03,off\n", "name": "new", "base": 1}, 409},
			{map[string]any{"text": "date,kind\n2024-02-03,off\n", "name": "a b"}, 422},
		} {
			if a := w.API(edge.AdminToken, "POST", apply, body(t, c.fields)); a.Status != c.status {
				t.Errorf("%v: %d %s", c.fields, a.Status, a.Body)
			}
		}
		if w.tables() != before {
			t.Error("a refused file has changed something")
		}
		if f := w.API(edge.AdminToken, "POST", apply, "{\"text\":\"a\\u0000\"}"); f.Status != 400 {
			t.Errorf("NUL: %d", f.Status)
		}
	})
}

// manyDays are lines of CSV.
func manyDays(n int) string {
	var b strings.Builder
	for d := domain.NewBizDate(2024, time.January, 1); n > 0; n-- {
		b.WriteString(d.String() + ",off\n")
		d = d.AddDays(1)
	}
	return b.String()
}

// A schedule that cannot go over to a version leaves the version unsaved.
func TestAVersionAndItsSchedulesAreSavedTogether(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(map[string]any{"file": "cn-2024.yaml", "text": sample(t, "cn-2024.yaml")})
		f, err := w.calendars.Find(t.Context(), "cn")
		if err != nil {
			t.Fatal(err)
		}
		job := w.use("report", f.ID, f.ProjectID)
		w.played.moves = []domain.CalendarMove{{Job: job, GoneCount: 30, Gone: []domain.Coming{{At: now(), BizDate: domain.BizDateOf(now(), time.UTC)}}}}
		change := map[string]any{"file": "x.csv", "text": "date,kind,label\n2024-03-01,off,<b>\n", "name": "cn"}
		w.played.fails = errors.New("planted")
		before := w.tables()
		if a := w.API(edge.AdminToken, "POST", apply, body(t, change)); a.Status != 500 || w.tables() != before {
			t.Errorf("%d %s, and the tables are the same: %v", a.Status, a.Body, w.tables() == before)
		}
		w.played.fails, w.played.put = nil, nil
		change["dryRun"] = true
		if got := w.apply(change); len(w.played.put) != 0 || len(got.Moves) != 1 || got.Moves[0].Job != "report" || got.Moves[0].GoneCount != 30 || w.tables() != before {
			t.Errorf("dry: %+v, put %v", got, w.played.put)
		}
		delete(change, "dryRun")
		if got := w.apply(change); got.Version != 2 || fmt.Sprint(w.played.put) != "[2]" {
			t.Errorf("%+v, put %v", got, w.played.put)
		}
		if a := w.API(edge.AdminToken, "DELETE", apply+"/cn", ""); a.Status != 409 || !strings.Contains(a.Body, "report") {
			t.Errorf("delete: %d %s", a.Status, a.Body)
		}
		if err := w.calendars.Store.Use(t.Context(), f.ProjectID, job, 0); err != nil {
			t.Fatal(err)
		}
		for path, status := range map[string]int{"/cn?base=1": 409, "/cn?base=x": 400, "/none": 404} {
			if a := w.API(edge.AdminToken, "DELETE", apply+path, ""); a.Status != status {
				t.Errorf("%s: %d %s", path, a.Status, a.Body)
			}
		}
		if a := w.API(edge.AdminToken, "DELETE", apply+"/cn?base=2", ""); a.Status != 204 {
			t.Errorf("delete: %d %s", a.Status, a.Body)
		}
		trail := strings.Join(w.Trail(), "\n")
		if strings.Count(trail, "calendar.write calendar/default/cn") != 2 || !strings.Contains(trail, "calendar.delete calendar/default/cn") {
			t.Errorf("the trail:\n%s", trail)
		}
	})
}

func TestCalendarsAreOfTheirProject(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Project("pay")
		text := "version: v1\ncalendar:\n  project: pay\n  name: cn\n  years: 2026\n"
		editor, viewer, other := w.As("ed", access.Editor, "pay"), w.As("vi", access.Viewer, "pay"), w.As("ot", access.Editor, "default")
		send := body(t, map[string]any{"text": text})
		for _, c := range []struct {
			token, method, path, body string
			status                    int
		}{
			{viewer, "POST", apply, send, 403}, {other, "POST", apply, send, 403}, {editor, "POST", apply, send, 200},
			{viewer, "GET", apply + "/" + url.PathEscape("pay/cn"), "", 200}, {other, "GET", apply + "/" + url.PathEscape("pay/cn"), "", 404},
			{other, "DELETE", apply + "/" + url.PathEscape("pay/cn"), "", 404}, {viewer, "DELETE", apply + "/" + url.PathEscape("pay/cn"), "", 403},
			{editor, "POST", apply, strings.Replace(send, "pay", "nowhere", 1), 403}, {editor, "DELETE", apply + "/" + url.PathEscape("pay/cn"), "", 204},
		} {
			if a := w.API(c.token, c.method, c.path, c.body); a.Status != c.status {
				t.Errorf("%s %s: %d %s, want %d", c.method, c.path, a.Status, a.Body, c.status)
			}
		}
		var list struct{ Calendars []any }
		w.API(other, "GET", apply, "").JSON(t, &list)
		if len(list.Calendars) != 0 {
			t.Errorf("%v", list.Calendars)
		}
	})
}

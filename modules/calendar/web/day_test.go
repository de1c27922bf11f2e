package web_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

const day = apply + "/cn/days/"

func (w *world) set(days string, fields map[string]any) edge.Answer {
	return w.API(edge.AdminToken, "PUT", day+days, body(w.T, fields))
}

// kinds is what the calendar says of its special days.
func (w *world) kinds() map[string]string {
	w.T.Helper()
	var one struct{ Days []map[string]string }
	w.API(edge.AdminToken, "GET", apply+"/cn", "").JSON(w.T, &one)
	out := map[string]string{}
	for _, d := range one.Days {
		out[d["date"]] = strings.TrimSpace(d["kind"] + " " + d["label"])
	}
	return out
}

// A day is set, a stretch, and both go back to the rhythm; the other days stay, and the trail and the versions say it.
func TestADayIsSetAndGoesBackToTheRhythm(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(map[string]any{"file": "cn-2024.yaml", "text": sample(t, "cn-2024.yaml")})
		before := w.kinds()
		f, err := w.calendars.Find(t.Context(), "cn")
		if err != nil {
			t.Fatal(err)
		}
		job := w.use("report", f.ID, f.ProjectID)
		w.played.moves = []domain.CalendarMove{{Job: job, GoneCount: 1}}
		dry := w.set("2024-07-01", map[string]any{"kind": "holiday", "label": "Fair <b>", "base": 1, "dryRun": true})
		if len(w.kinds()) != len(before) || dry.Status != 200 || !strings.Contains(dry.Body, `"job":"report"`) {
			t.Errorf("dry: %d %s", dry.Status, dry.Body)
		}
		var got answer
		w.set("2024-07-01", map[string]any{"kind": "holiday", "label": " Fair <b> ", "base": 1}).JSON(t, &got)
		if got.Change != "updated" || got.Version != 2 || len(got.Days) != 1 || got.Days[0]["was"] != "workday" || got.Days[0]["is"] != "holiday" {
			t.Errorf("%+v", got)
		}
		w.set("2024-07-06..2024-07-08", map[string]any{"kind": "workday"}).JSON(t, &got)
		if got.Version != 3 || len(got.Days) != 3 {
			t.Errorf("%+v", got)
		}
		now := w.kinds()
		if now["2024-07-01"] != "holiday Fair <b>" || now["2024-07-07"] != "makeup" || len(now) != len(before)+4 || now["2024-02-10"] != before["2024-02-10"] {
			t.Errorf("%v", now)
		}
		if w.set("2024-07-08", map[string]any{"kind": "workday"}).JSON(t, &got); got.Change != "unchanged" || got.Version != 3 {
			t.Errorf("the same again: %+v", got)
		}
		w.set("2024-07-01..2024-07-31", map[string]any{"kind": "rule"}).JSON(t, &got)
		if fmt.Sprint(w.kinds()) != fmt.Sprint(before) || got.Version != 4 {
			t.Errorf("back: %+v, %v", got, w.kinds())
		}
		if fmt.Sprint(w.played.put) != "[2 3 4]" {
			t.Errorf("put into force: %v", w.played.put)
		}
		if trail := strings.Join(w.Trail(), "\n"); strings.Count(trail, "calendar.write calendar/default/cn") != 4 {
			t.Errorf("trail:\n%s", trail)
		}
	})
}

func TestWhatNoDayCanBe(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(map[string]any{"file": "cn-2024.yaml", "text": sample(t, "cn-2024.yaml")})
		before := w.tables()
		for _, c := range []struct {
			days   string
			fields map[string]any
			status int
			part   string
		}{
			{"2024-02-30", map[string]any{"kind": "holiday"}, 400, "2024-02-30"}, {"x", map[string]any{"kind": "holiday"}, 400, "date"}, {"1969-01-01", map[string]any{"kind": "holiday"}, 400, "1970"},
			{"2024-07-02..2024-07-01", map[string]any{"kind": "holiday"}, 400, "stretch"}, {"2024-07-01", map[string]any{"kind": "off"}, 400, "workday, holiday or rule"},
			{"2024-07-01", map[string]any{}, 400, "kind"}, {"2024-07-01", map[string]any{"kind": "rule", "label": "x"}, 400, "label"}, {"2024-07-01", map[string]any{"kind": "holiday", "label": "a\nb"}, 400, "label"},
			{"2024-07-01", map[string]any{"kind": "holiday", "label": strings.Repeat("节", 101)}, 400, "100"}, {"2024-07-01", map[string]any{"kind": "holiday", "what": 1}, 400, "what"},
			{"2025-01-01", map[string]any{"kind": "holiday"}, 400, "2025"}, {"2024-12-31..2025-01-01", map[string]any{"kind": "holiday"}, 400, "2025"}, {"2024-07-01", map[string]any{"kind": "holiday", "base": 7}, 409, "version 1"},
		} {
			if a := w.set(c.days, c.fields); a.Status != c.status || !strings.Contains(a.Body, c.part) || strings.Contains(a.Body, "⟦") {
				t.Errorf("%s %v: %d %s", c.days, c.fields, a.Status, a.Body)
			}
		}
		if w.tables() != before {
			t.Error("something has changed")
		}
		if a := w.API(edge.AdminToken, "PUT", apply+"/none/days/2024-07-01", `{"kind":"holiday"}`); a.Status != 404 {
			t.Errorf("no calendar: %d", a.Status)
		}
		var got answer
		if w.set("2025-01-01", map[string]any{"kind": "holiday", "addYear": true}).JSON(t, &got); got.Version != 2 || !strings.Contains(w.API(edge.AdminToken, "GET", apply+"/cn", "").Body, `"years":[2024,2025]`) {
			t.Errorf("%+v", got)
		}
		viewer := w.As("vi", access.Viewer, "default")
		if a := w.API(viewer, "PUT", day+"2024-07-01", `{"kind":"holiday"}`); a.Status != 403 {
			t.Errorf("a viewer: %d", a.Status)
		}
	})
}

// Of those who change the same version at once one is taken, and each of the others is told; those who name no version are
// all taken, and none undoes the other's day.
func TestDaysThatManySetAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(map[string]any{"file": "cn-2024.yaml", "text": sample(t, "cn-2024.yaml")})
		before := len(w.kinds())
		race := func(fields map[string]any) map[int]int {
			var mu sync.Mutex
			var wait sync.WaitGroup
			out := map[int]int{}
			for i := range 6 {
				wait.Go(func() {
					a := w.set(fmt.Sprintf("2024-07-%02d", i+1), fields)
					mu.Lock()
					defer mu.Unlock()
					out[a.Status]++
				})
			}
			wait.Wait()
			return out
		}
		if got := race(map[string]any{"kind": "holiday", "base": 1}); got[200] != 1 || got[409] != 5 || len(w.kinds()) != before+1 {
			t.Errorf("with the version that they saw: %v", got)
		}
		if got := race(map[string]any{"kind": "holiday"}); got[200] != 6 || len(w.kinds()) != before+6 {
			t.Errorf("without: %v, %d days", got, len(w.kinds())-before)
		}
	})
}

// The page of a day needs no script.
func TestThePageOfADay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(map[string]any{"file": "cn-2024.yaml", "text": sample(t, "cn-2024.yaml")})
		f, err := w.calendars.Find(t.Context(), "cn")
		if err != nil {
			t.Fatal(err)
		}
		here := "/calendars/" + f.ID.String()
		b := w.Browser("admin", edge.AdminPassword)
		page, save := here+"/day?date=2024-05-01", here+"/day"
		has(t, b.Get(here+"?year=2024"), 200, `id="d-2024-05-01" href="`+page+`"`)
		if strings.Contains(b.Get(here+"?year=2024&version=1").Body, "looking back") {
			t.Error("the version in force is looked back at")
		}
		has(t, b.Get(page), 200, "2024-05-01", "holiday · 劳动节", `value="holiday" checked`, `value="劳动节"`, "by the weekly rule (working day)")
		has(t, b.Get(here+"/day?date=2025-01-04", "Accept-Language", "zh-CN"), 200, "按每周规则（休息日）", `name="add_year"`)
		has(t, b.Get(here+"/day?date=x"), 400)
		has(t, b.Submit(page, save, "base_version", "1", "date", "2024-05-01", "kind", "rule", "label", "劳动节", "preview", "1"), 200, "Becomes version 2", "holiday → working day")
		has(t, b.Submit(page, save+"/check", "base_version", "1", "date", "2024-05-01", "kind", "holiday", "label", "Fair"), 200, "Becomes version 2", "Fair")
		has(t, b.Submit(page, save+"/check", "base_version", "1", "date", "2024-05-01", "kind", "holiday", "until", "2024-04-01"), 200, "check-sum")
		has(t, b.Submit(page, save, "base_version", "1", "date", "2024-05-01", "kind", "holiday", "until", "2024-04-01", "label", "Fair"), 422, "must not be before the first", `value="Fair"`)
		has(t, b.Submit(page, save, "base_version", "1", "date", "2025-05-01", "kind", "holiday"), 422, "does not know the special days of 2025", `name="add_year"`)
		if a := b.Submit(page, save, "base_version", "1", "date", "2024-05-01", "kind", "rule", "label", "劳动节"); a.Status != 303 || a.Header.Get("Location") != here+"?year=2024#d-2024-05-01" {
			t.Errorf("%d %s", a.Status, a.Header.Get("Location"))
		}
		has(t, b.Get(here), 200, "v2", "2024-05-01 by the weekly rule again")
		has(t, b.Submit(page, save, "base_version", "1", "date", "2024-07-01", "kind", "holiday", "label", "late"), 409, "admin saved version 2 of calendar cn after version 1", `value="late"`, `name="base_version" value="2"`)
		if strings.Contains(b.Get(here+"?version=1").Body, `id="d-2024-05-01"`) {
			t.Error("a version of the past can be changed")
		}
	})
}

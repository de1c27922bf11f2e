package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

func TestAnIncidentIsClosedByHand(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		pay := w.Project("pay")
		w.raise(pay, 2)
		w.raise(domain.EveryProject, 1)
		ids := map[string]string{}
		for _, in := range w.list(edge.AdminToken, "").Incidents {
			ids[in.Subject] = in.ID
		}
		operator, viewer := w.As("op", access.Operator, "pay"), w.As("viewer", access.Viewer, "pay")
		post := func(token, id, body string) edge.Answer {
			return w.API(token, "POST", "/api/v1/incidents/"+id+"/close", body)
		}
		const why = `{"reason":"the <b>input</b> was late"}`
		for _, c := range []struct {
			token, id, body string
			status          int
		}{
			{viewer, ids["job1"], why, 403}, {operator, ids["w1"], why, 403}, {operator, ids["job1"], `{"reason":" "}`, 400}, {operator, "999", why, 404},
			{w.As("other", access.Operator, "default"), ids["job1"], why, 404}, {operator, ids["job1"], why, 200}, {operator, ids["job1"], why, 409}, {edge.AdminToken, ids["w1"], why, 200},
		} {
			if a := post(c.token, c.id, c.body); a.Status != c.status {
				t.Errorf("%s %s: %d %s, want %d", c.id, c.body, a.Status, a.Body, c.status)
			}
		}
		b := w.Browser("admin", edge.AdminPassword)
		page := b.Get("/incidents?id=" + ids["job2"])
		if !strings.Contains(page.Body, `action="/incidents/`+ids["job2"]+`/close"`) {
			t.Fatal("the page of an open incident offers no end by hand")
		}
		if a := b.Submit("/incidents?id="+ids["job2"], "/incidents/"+ids["job2"]+"/close", "reason", "by form"); a.Status != 303 {
			t.Errorf("by form: %d %s", a.Status, a.Body)
		}
		page = b.Get("/incidents?id=" + ids["job1"])
		if !strings.Contains(page.Body, "closed by op: the &lt;b&gt;input&lt;/b&gt; was late") || strings.Contains(page.Body, "/close\"") {
			t.Error("the page does not say who closed it and why, or offers it again")
		}
		if trail := strings.Join(w.Trail(), "\n"); strings.Count(trail, "incident.close incident/") < 3 {
			t.Errorf("the trail lacks the ends by hand:\n%s", trail)
		}
		w.raise(pay, 1) // it goes on
		if open := w.list(edge.AdminToken, "?state=open"); len(open.Incidents) != 1 || open.Incidents[0].Subject != "job1" || open.Incidents[0].ID == ids["job1"] {
			t.Errorf("what goes on is not opened anew: %+v", open.Incidents)
		}
	})
}

func TestOrphansAreSettledAndNotClosed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		pay := w.Project("pay")
		if err := w.store.Raise(t.Context(), []store.Occurrence{{ProjectID: pay, Kind: domain.IncidentOrphan, Subject: "7", Name: "job7", At: time.Now().UTC(), Cases: []domain.ID{5}}}); err != nil {
			t.Fatal(err)
		}
		id := w.list(edge.AdminToken, "").Incidents[0].ID
		if a := w.API(edge.AdminToken, "POST", "/api/v1/incidents/"+id+"/close", `{"reason":"x"}`); a.Status != 409 || !strings.Contains(a.Body, "settled") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

func TestThePageSaysHowTheNoticesFare(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.Browser("admin", edge.AdminPassword)
		says := func(parts ...string) {
			t.Helper()
			page := b.Get("/incidents")
			for _, p := range parts {
				if !strings.Contains(page.Body, p) {
					t.Errorf("the page lacks %q", p)
				}
			}
			if strings.Contains(page.Body, "⟦") || strings.Contains(page.Body, "<i>") {
				t.Error("a word is missing, or markup of a fault is there")
			}
		}
		channels := func() (out []map[string]any) {
			var got struct{ Channels []map[string]any }
			w.API(edge.AdminToken, "GET", "/api/v1/incidents", "").JSON(t, &got)
			return got.Channels
		}
		says("Nobody is told of incidents")
		if got := channels(); len(got) != 0 {
			t.Errorf("%v", got)
		}
		if err := w.store.KeepChannel(t.Context(), "webhook"); err != nil {
			t.Fatal(err)
		}
		says("no notice has gone out yet")
		at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
		if err := w.store.Tell(t.Context(), []store.Notice{{ID: w.IDs.Next(), Group: store.Group{What: store.Opening, Kind: domain.IncidentClock}, Incident: 9, Covers: 1, Body: "{}"}}, at); err != nil {
			t.Fatal(err)
		}
		if err := w.store.Failed(t.Context(), "webhook", store.Failure{At: at, Fault: "the receiver answers <i>500", Next: at, Rests: at.Add(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		says("takes no notices since 2026-02-03 04:05:06: the receiver answers &lt;i&gt;500", "1 notice waits", "next try", "2026-02-03 04:06:06")
		if got := channels(); len(got) != 1 || got[0]["failingAt"] != "2026-02-03T04:05:06Z" || got[0]["nextAt"] != "2026-02-03T04:06:06Z" || got[0]["waiting"] != 1.0 || got[0]["takenAt"] != nil || got[0]["fault"] == "" {
			t.Errorf("%v", got)
		}
		if err := w.store.Sent(t.Context(), "webhook", 0, at.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		says("last delivery", "last failure")
		if got := channels(); got[0]["failingAt"] != nil || got[0]["fault"] != "" || got[0]["takenAt"] != "2026-02-03T05:05:06Z" {
			t.Errorf("%v", got)
		}
	})
}

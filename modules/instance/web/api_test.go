package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

type shownInstance struct {
	ID, Job, TraceID, BizDate, ExpectedTime, State, Label, Why, RequestedBy, Note string
	StartedAt                                                                     *string
	DelayMs                                                                       *int64
	Run                                                                           int
	Params                                                                        map[string]string
	Attempts                                                                      []struct {
		ID, State, Target, Outcome string
		DispatchedAt, AckedAt      string
		StartedAt, FinishedAt      *string
		ExitCode                   *int
	}
	Runs []struct{ No int }
}

type shownList struct {
	Instances []shownInstance
	Cursor    string
}

func (w *world) list(token string, query string) shownList {
	w.t.Helper()
	var l shownList
	a := w.api(token, "GET", "/api/v1/instances"+query, "")
	if a.status != http.StatusOK {
		w.t.Fatalf("list %s: %d %s", query, a.status, a.body)
	}
	a.into(w.t, &l)
	return l
}

func TestAPIList(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var all []domain.Instance
		for i := range 7 {
			all = append(all, w.fire(11, fmt.Sprintf("2026-02-0%d", 1+i%3)))
		}
		other := w.fire(13, "2026-02-01")
		_, err := w.life.Kill(t.Context(), all[0].ID, "x", "")
		w.ok(err)

		ids := func(l shownList) string {
			var s []string
			for _, in := range l.Instances {
				s = append(s, in.ID)
			}
			return strings.Join(s, " ")
		}
		seen := map[string]int{}
		for _, base := range []string{"?limit=3", "?limit=3&job=load"} {
			l, pages := w.list(operator, base), 1
			for {
				for _, in := range l.Instances {
					seen[in.ID]++
				}
				if l.Cursor == "" {
					break
				}
				l = w.list(operator, base+"&cursor="+url.QueryEscape(l.Cursor))
				pages++
			}
			if pages != 3 {
				t.Errorf("%s: %d pages of 3 for 7 instances", base, pages)
			}
		}
		if len(seen) != 7 || seen[other.ID.String()] != 0 {
			t.Errorf("paged over %v", seen)
		}
		for _, in := range all {
			if seen[in.ID.String()] != 2 {
				t.Errorf("instance %s was listed %d times in two walks", in.ID, seen[in.ID.String()])
			}
		}
		for query, want := range map[string]int{"?job=load&biz_date=2026-02-01": 3, "?state=cancelled": 1, "?state=running": 6, "?label=queued": 6, "?state=queued": 6,
			"?state=waiting": 0, "?state=waiting&label=queued": 0, "?state=cancelled&label=killed&job=11": 1, "?trace=" + all[3].TraceID: 1, "?trace=" + strings.ToUpper(all[3].TraceID): 1,
			"?trace=a1b2c3d4-e5f6-7890-abcd-ef1234567890": 0, "?trace=x": 0, "?trace=" + other.TraceID: 0, "?trace=" + all[3].TraceID + "&state=failed": 0} {
			if l := w.list(operator, query); len(l.Instances) != want {
				t.Errorf("%s: %d instances (%s), want %d", query, len(l.Instances), ids(l), want)
			}
		}
		if l := w.list(admin, ""); len(l.Instances) != 8 {
			t.Errorf("the admin sees %d instances, want 8", len(l.Instances))
		}
		if l := w.list(stranger, ""); ids(l) != other.ID.String() || l.Instances[0].Job != "other/secret" {
			t.Errorf("the stranger sees %+v", l)
		}
		for query, says := range map[string]string{"?state=done": "cancelled", "?label=finished": "waiting_deps", "?biz_date=2026-2-1": "2026-02-03", "?limit=0": "500", "?cursor=x": "cursor"} {
			a := w.api(operator, "GET", "/api/v1/instances"+query, "")
			if a.status != http.StatusBadRequest || !strings.Contains(a.body, says) {
				t.Errorf("%s: %d %s, want 400 that names %q", query, a.status, a.body, says)
			}
		}
		for _, query := range []string{"?job=nothing", "?job=other/secret"} {
			if a := w.api(operator, "GET", "/api/v1/instances"+query, ""); a.status != http.StatusNotFound {
				t.Errorf("%s: %d", query, a.status)
			}
		}
	})
}

func TestAPIShow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(11, "2026-02-03")
		path := "/api/v1/instances/" + in.ID.String()
		get := func() (s shownInstance) {
			t.Helper()
			a := w.api(viewer, "GET", path, "")
			if a.status != http.StatusOK {
				t.Fatalf("%d %s", a.status, a.body)
			}
			a.into(t, &s)
			return s
		}
		s := get()
		if s.ID != in.ID.String() || s.Job != "load" || s.State != "running" || s.Label != "queued" || !strings.Contains(s.Why, "no worker is alive") || s.StartedAt != nil || len(s.Attempts) != 0 || s.Params["source"] != "job's" {
			t.Errorf("queued: %+v", s)
		}
		if at, err := time.Parse(time.RFC3339, s.ExpectedTime); err != nil || !at.Equal(in.Expected) || len(s.ExpectedTime) != len("2026-02-03T04:05:06.000Z") {
			t.Errorf("expected time %q: %v", s.ExpectedTime, err)
		}
		a := w.run(in)
		s = get()
		if len(s.Attempts) != 1 || s.Attempts[0].Target != "w1" || s.Attempts[0].StartedAt == nil || s.Attempts[0].FinishedAt != nil || s.Attempts[0].AckedAt == "" || s.DelayMs == nil {
			t.Errorf("executing: %+v", s)
		}
		w.end(a, domain.OutcomeError, 3, 0)
		s = get()
		if s.State != "failed" || s.Attempts[0].ExitCode == nil || *s.Attempts[0].ExitCode != 3 || s.Attempts[0].Outcome != "error" || s.Attempts[0].FinishedAt == nil || len(s.Runs) != 1 {
			t.Errorf("failed: %+v", s)
		}
		for _, sub := range []string{"", "/why", "/logs", "/logs/raw", "/logs/stream"} {
			if a := w.api(stranger, "GET", path+sub, ""); a.status != http.StatusNotFound {
				t.Errorf("a stranger reads %s: %d", sub, a.status)
			}
			for _, id := range []string{"999999", "x", "-1"} {
				if a := w.api(viewer, "GET", "/api/v1/instances/"+id+sub, ""); a.status != http.StatusNotFound {
					t.Errorf("instance %s%s: %d", id, sub, a.status)
				}
			}
		}
		var why struct{ Why, Code, State, ID string }
		w.api(viewer, "GET", path+"/why", "").into(t, &why)
		if why.Why != s.Why || why.Code != "why.error" || why.ID != s.ID {
			t.Errorf("why: %+v", why)
		}
	})
}

// run brings an instance to executing on w1.
func (w *world) run(in domain.Instance) domain.Attempt {
	w.t.Helper()
	in, err := w.st.Get(w.t.Context(), in.ID)
	w.ok(err)
	as, err := w.life.Dispatch(w.t.Context(), []domain.Assignment{{Instance: in, Attempt: w.life.IDs.Next(), Target: "w1", Boot: 1, MessageID: "m"}})
	w.ok(err)
	tasks, denied, err := w.life.Grant(w.t.Context(), []domain.Claim{{Attempt: as[0].ID, Worker: "w1", Boot: 1}})
	w.ok(err)
	if len(tasks) != 1 {
		w.t.Fatalf("denied: %v", denied)
	}
	w.ok(w.life.Apply(w.t.Context(), []protocol.Uplink{{Worker: "w1", Started: []protocol.Started{{Attempt: int64(as[0].ID), At: now().UnixMilli()}}}}))
	return as[0]
}

// end reports the outcome of an attempt that printed so many lines.
func (w *world) end(a domain.Attempt, outcome domain.Outcome, code int, lines int64) {
	w.t.Helper()
	r := protocol.Report{Attempt: int64(a.ID), Outcome: string(outcome), ExitCode: &code, Started: now().UnixMilli(), Finished: now().UnixMilli(), LogLines: lines}
	w.ok(w.life.Apply(w.t.Context(), []protocol.Uplink{{Worker: "w1", Reports: []protocol.Report{r}}}))
}

func TestAPITrigger(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		post := func(token, job, body string, headers ...string) answer {
			return w.api(token, "POST", "/api/v1/jobs/"+url.PathEscape(job)+"/trigger", body, headers...)
		}
		var s shownInstance
		a := post(operator, "load", `{"bizDate":"2026-02-03","params":{"source":"mine","n":"1"},"reason":"test"}`, "Idempotency-Key", "k1")
		a.into(t, &s)
		if a.status != http.StatusCreated || s.ID == "" || s.TraceID == "" || s.State != "running" || s.Label != "queued" || s.Job != "load" || s.BizDate != "2026-02-03" || s.RequestedBy != "person2" || s.Params["source"] != "mine" {
			t.Fatalf("%d %s", a.status, a.body)
		}
		again := post(operator, "load", `{"bizDate":"2026-02-03","params":{"source":"mine","n":"1"},"reason":"test"}`, "Idempotency-Key", "k1")
		if again.status != http.StatusCreated || again.body != strings.TrimSpace(a.body) || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("repeated: %d %q, first %q", again.status, again.body, a.body)
		}
		if a := post(operator, "load", ``, "Idempotency-Key", "k1"); a.status != http.StatusConflict {
			t.Errorf("the same key for another request: %d", a.status)
		}
		a = post(stranger, "other/secret", "")
		a.into(t, &s)
		if a.status != http.StatusCreated || s.Job != "other/secret" || s.BizDate != now().Format(time.DateOnly) {
			t.Errorf("a job of a project, without a body: %d %s", a.status, a.body)
		}
		if a := post(admin, "13", "{}"); a.status != http.StatusCreated {
			t.Errorf("by its id: %d %s", a.status, a.body)
		}
		w.jobs[1].Enabled = false
		a = post(operator, "stat", "")
		a.into(t, &s)
		if a.status != http.StatusCreated || !strings.Contains(s.Note, "paused") {
			t.Errorf("a paused job: %d %s", a.status, a.body)
		}
		for name, c := range map[string]struct {
			token, job, body string
			status           int
		}{
			"a viewer":       {viewer, "load", "", http.StatusForbidden},
			"foreign":        {operator, "other/secret", "", http.StatusNotFound},
			"nothing":        {operator, "nothing", "", http.StatusNotFound},
			"bad date":       {operator, "load", `{"bizDate":"2026-02-30"}`, http.StatusBadRequest},
			"unknown key":    {operator, "load", `{"biz_date":"2026-02-03"}`, http.StatusBadRequest},
			"bad params":     {operator, "load", `{"params":{"a b":"c"}}`, http.StatusBadRequest},
			"param no text":  {operator, "load", `{"params":{"a":1}}`, http.StatusBadRequest},
			"NUL":            {operator, "load", `{"params":{"a":"\u0000"}}`, http.StatusBadRequest},
			"1 MB":           {operator, "load", `{"params":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`, http.StatusRequestEntityTooLarge},
			"not JSON":       {operator, "load", `{`, http.StatusBadRequest},
			"a wrong token":  {"nonsense", "load", "", http.StatusUnauthorized},
			"name as markup": {operator, "<b>x</b>", "", http.StatusNotFound},
		} {
			if a := post(c.token, c.job, c.body); a.status != c.status || !strings.Contains(a.body, `"message"`) {
				t.Errorf("%s: %d %s, want %d", name, a.status, a.body, c.status)
			}
		}
		if l := w.list(admin, "?limit=100"); len(l.Instances) != 4 {
			t.Errorf("there are %d instances, want 4: refused calls left some", len(l.Instances))
		}
		if len(w.trail) != 4 {
			t.Errorf("trail: %q", w.trail)
		}
	})
}

func TestAPIKillAndRerun(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(11, "2026-02-03")
		post := func(token, verb, body string, headers ...string) answer {
			return w.api(token, "POST", "/api/v1/instances/"+in.ID.String()+"/"+verb, body, headers...)
		}
		for token, status := range map[string]int{viewer: http.StatusForbidden, stranger: http.StatusNotFound} {
			for _, verb := range []string{"kill", "rerun"} {
				if a := post(token, verb, ""); a.status != status {
					t.Errorf("%s by %s: %d, want %d", verb, token, a.status, status)
				}
			}
		}
		if a := post(operator, "rerun", ""); a.status != http.StatusConflict {
			t.Errorf("rerun of what has not ended: %d %s", a.status, a.body)
		}
		var s shownInstance
		a := post(operator, "kill", `{"reason":"wrong date"}`)
		a.into(t, &s)
		if a.status != http.StatusOK || s.State != "cancelled" || s.Label != "killed" {
			t.Errorf("kill: %d %s", a.status, a.body)
		}
		if a := post(operator, "kill", ""); a.status != http.StatusConflict {
			t.Errorf("kill of what has ended: %d", a.status)
		}
		a = post(operator, "rerun", `{"reason":"right date"}`, "Idempotency-Key", "r1")
		a.into(t, &s)
		if a.status != http.StatusCreated || s.Run != 2 || s.Label != "queued" || s.RequestedBy != "person2" {
			t.Errorf("rerun: %d %s", a.status, a.body)
		}
		if again := post(operator, "rerun", `{"reason":"right date"}`, "Idempotency-Key", "r1"); again.status != http.StatusCreated {
			t.Errorf("repeated rerun: %d %s", again.status, again.body)
		}
		at := w.run(in)
		w.end(at, domain.OutcomeSuccess, 0, 0)
		if a := post(operator, "rerun", ""); a.status != http.StatusForbidden || !strings.Contains(a.body, "instance.rerun_success") {
			t.Errorf("an operator reran a success: %d %s", a.status, a.body)
		}
		a = post(admin, "rerun", "")
		a.into(t, &s)
		if a.status != http.StatusCreated || s.Run != 3 {
			t.Errorf("rerun of a success by an admin: %d %s", a.status, a.body)
		}
		if len(w.denied) != 5 || len(w.trail) != 3 {
			t.Errorf("denied %q, trail %q", w.denied, w.trail)
		}
	})
}

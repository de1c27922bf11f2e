package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// orphan makes one of the job, which from then on says hold.
func (w *world) orphan(job domain.ID, date string) (domain.Instance, domain.Attempt) {
	w.t.Helper()
	i := slices.IndexFunc(w.jobs, func(j domain.Job) bool { return j.ID == job })
	w.jobs[i].Spec.OnWorkerLost = domain.LossHold
	in := w.fire(job, date)
	a := w.run(in)
	w.ok(w.life.Lost(w.t.Context(), []domain.ID{a.ID}, "worker w1 (boot 1) has been silent for 10s", time.Time{}))
	return in, a
}

func pick(in domain.Instance, a domain.Attempt) string { return in.ID.String() + "." + a.ID.String() }

// send posts a form whose fields may come several times.
func (b *browser) send(page, path string, form url.Values) answer {
	b.w.t.Helper()
	m := csrfInput.FindStringSubmatch(b.get(page).body)
	if m == nil {
		b.w.t.Fatalf("no token in %s", page)
	}
	form.Set("csrf", m[1])
	req, err := http.NewRequestWithContext(b.w.t.Context(), "POST", b.w.server.URL+path, strings.NewReader(form.Encode()))
	b.w.ok(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.w.do(b.c, req)
}

func TestOrphansPage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.browser("2")
		has(t, "none", b.get("/orphans"), "No orphan waits for you")
		in, a := w.orphan(11, "2026-02-03")
		other, oa := w.orphan(12, "2026-02-04")
		foreign, _ := w.orphan(13, "2026-02-05")
		list := b.get("/orphans")
		has(t, "the list", list, pick(in, a), pick(other, oa), "has been silent for 10s", "w1", "2026-02-03", "attempt="+a.ID.String(), "orphans/settle")
		lacks(t, "the list", list, foreign.ID.String())
		has(t, "success is an admin's", list, "it takes an admin", `value="success" disabled`)
		lacks(t, "of one job", b.get("/orphans?job=load"), pick(other, oa))
		has(t, "in Chinese", b.get("/orphans", "Accept-Language", "zh-CN"), "孤儿实例", "只有管理员可以操作")
		lacks(t, "a viewer's", w.browser("3").get("/orphans"), `id="settle"`)
		has(t, "an admin's", w.browser("1").get("/orphans"), pick(in, a), foreign.ID.String())

		noReason := b.send("/orphans", "/orphans/settle", url.Values{"pick": {pick(in, a)}, "as": {"failed"}})
		refused := func(what string, a answer, part string) {
			t.Helper()
			if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, part) {
				t.Errorf("%s: %d %s", what, a.status, a.body)
			}
		}
		refused("without a reason", noReason, "Say why")
		refused("without a reason", noReason, "data-open")
		if !regexp.MustCompile(`value="` + regexp.QuoteMeta(pick(in, a)) + `" checked`).MatchString(noReason.body) {
			t.Error("what was chosen is forgotten")
		}
		refused("nothing chosen", b.send("/orphans", "/orphans/settle", url.Values{"as": {"failed"}, "reason": {"x"}}), "at least one")
		has(t, "success by an operator", b.send("/orphans", "/orphans/settle", url.Values{"pick": {pick(in, a)}, "as": {"success"}, "reason": {"x"}}), "orphan.settle_success", "was left as it is")
		if len(w.trail) != 0 {
			t.Errorf("refusals left a trail: %v", w.trail)
		}

		w.end(oa, domain.OutcomeSuccess, 0, 0) // settled by itself meanwhile
		form := url.Values{"pick": {pick(in, a), pick(other, oa), "nonsense"}, "as": {"rerun"}, "reason": {"looked into the ledger"}, "idempotency_key": {"k1"}}
		refused("a wrong pick", b.send("/orphans", "/orphans/settle", form), "nonsense")
		form["pick"], form["idempotency_key"] = form["pick"][:2], []string{"k2"}
		done := b.send("/orphans", "/orphans/settle", form)
		has(t, "the answer", done, "1 orphan was settled", "is no orphan", "stat 2026-02-04", "No orphan waits for you")
		if again := b.send("/orphans", "/orphans/settle", form); again.status != http.StatusSeeOther || again.header.Get("Location") != "/orphans" {
			t.Errorf("sent twice: %d %s", again.status, again.body)
		}
		if len(w.trail) != 1 || w.trail[0] != "orphan.settle instance/"+in.ID.String() {
			t.Errorf("trail %v", w.trail)
		}
		has(t, "its history", b.get("/instances/"+in.ID.String()+"?tab=history"), "it did not run: it runs again", "looked into the ledger", "person2")
	})
}

func TestSettleOnItsPage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in, a := w.orphan(11, "2026-02-03")
		page := "/instances/" + in.ID.String()
		b := w.browser("2")
		has(t, "an orphan", b.get(page), "a person must say what happened", page+"/settle", `name="attempt" value="`+a.ID.String(), "it takes an admin")
		lacks(t, "a viewer's", w.browser("3").get(page), `action="`+page+"/settle")
		if f := b.submit(page, page+"/settle", "as", "success", "reason", "x", "attempt", a.ID.String()); f.status != http.StatusForbidden {
			t.Errorf("success by an operator: %d", f.status)
		}
		if f := w.browser("3").submit(page, page+"/settle", "as", "failed", "reason", "x"); f.status != http.StatusForbidden {
			t.Errorf("by a viewer: %d", f.status)
		}
		if f := w.browser("4").submit("", page+"/settle"); f.status == http.StatusSeeOther {
			t.Errorf("by a stranger without a token: %d", f.status)
		}
		boss := w.browser("1")
		if f := boss.submit(page, page+"/settle", "as", "success", "reason", "the bank has it", "attempt", "7"); f.status != http.StatusConflict {
			t.Errorf("of another attempt: %d %s", f.status, f.body)
		}
		if f := boss.submit(page, page+"/settle", "as", "success", "reason", "the bank has it", "attempt", a.ID.String()); f.status != http.StatusSeeOther {
			t.Fatalf("%d %s", f.status, f.body)
		}
		has(t, "settled", b.get(page), "person1 said at", "the bank has it")
		lacks(t, "settled", b.get(page), `id="settle"`)
		if f := boss.submit(page, page+"/settle", "as", "failed", "reason", "x"); f.status != http.StatusConflict {
			t.Errorf("twice: %d", f.status)
		}
	})
}

func TestAPIOrphans(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in, a := w.orphan(11, "2026-02-03")
		other, _ := w.orphan(12, "2026-02-04")
		foreign, _ := w.orphan(13, "2026-02-05")
		var list struct {
			Orphans []struct{ ID, Job, Label, Attempt, Target, Evidence, LostAt string }
			Cursor  string
		}
		w.api(viewer, "GET", "/api/v1/orphans?limit=1", "").into(t, &list)
		if len(list.Orphans) != 1 || list.Orphans[0].ID != other.ID.String() || list.Cursor == "" {
			t.Fatalf("%+v", list)
		}
		w.api(viewer, "GET", "/api/v1/orphans?limit=1&cursor="+list.Cursor, "").into(t, &list)
		if o := list.Orphans[0]; o.ID != in.ID.String() || o.Job != "load" || o.Label != "orphan" || o.Attempt != a.ID.String() || o.Target != "w1" || !strings.Contains(o.Evidence, "silent") || o.LostAt == "" {
			t.Errorf("%+v", list)
		}
		if got := w.api(viewer, "POST", "/api/v1/orphans/settle", `{"instances":[{"id":"`+in.ID.String()+`"}],"as":"failed","reason":"x"}`); got.status != http.StatusForbidden {
			t.Errorf("a viewer: %d", got.status)
		}
		for body, field := range map[string]string{`{"instances":[],"as":"failed","reason":"x"}`: "instances", `{"instances":[{"id":"1"}],"as":"cancelled","reason":"x"}`: "as", `{"instances":[{"id":"1"}],"as":"failed"}`: "reason"} {
			if got := w.api(operator, "POST", "/api/v1/orphans/settle", body); got.status != 400 || !strings.Contains(got.body, `"field":"`+field+`"`) {
				t.Errorf("%s: %d %s", body, got.status, got.body)
			}
		}
		body := `{"instances":[{"id":"` + in.ID.String() + `","attempt":"` + a.ID.String() + `"},{"id":"` + foreign.ID.String() + `"},{"id":"` + other.ID.String() + `","attempt":"5"}],"as":"failed","reason":"no trace"}`
		var done struct {
			Settled int
			Results []struct{ ID, State, Label, Error string }
		}
		first := w.api(operator, "POST", "/api/v1/orphans/settle", body, "Idempotency-Key", "s1")
		first.into(t, &done)
		if done.Settled != 1 || len(done.Results) != 3 || done.Results[0].State != "failed" || done.Results[0].Label != "worker_lost" || done.Results[0].Error != "" ||
			done.Results[1].State != "" || done.Results[1].Error == "" || !strings.Contains(done.Results[2].Error, "orphan of another attempt") {
			t.Fatalf("%s", first.body)
		}
		if again := w.api(operator, "POST", "/api/v1/orphans/settle", body, "Idempotency-Key", "s1"); again.body != strings.TrimSpace(first.body) {
			t.Errorf("sent twice: %s", again.body)
		}
		one := "/api/v1/instances/" + other.ID.String() + "/settle"
		if got := w.api(operator, "POST", one, `{"as":"success","reason":"x"}`); got.status != http.StatusForbidden {
			t.Errorf("success by an operator: %d", got.status)
		}
		var s shownInstance
		w.api(admin, "POST", one, `{"as":"success","reason":"it did"}`).into(t, &s)
		if s.State != "success" {
			t.Errorf("%+v", s)
		}
		if got := w.api(admin, "POST", one, `{"as":"success","reason":"it did"}`); got.status != http.StatusConflict {
			t.Errorf("twice: %d %s", got.status, got.body)
		}
	})
}

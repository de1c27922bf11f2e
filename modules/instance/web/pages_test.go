package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
)

func has(t *testing.T, what string, a answer, parts ...string) {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("%s: %d %s", what, a.status, a.body)
	}
	if strings.Contains(a.body, "⟦") {
		i := strings.Index(a.body, "⟦")
		t.Errorf("%s: a word is missing: %s", what, a.body[i:min(i+80, len(a.body))])
	}
	for _, p := range parts {
		if !strings.Contains(a.body, p) {
			t.Errorf("%s lacks %q", what, p)
		}
	}
}

func lacks(t *testing.T, what string, a answer, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(a.body, p) {
			t.Errorf("%s has %q", what, p)
		}
	}
}

func TestListPage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.browser("2")
		has(t, "the empty list", b.get("/instances"), "No instances yet")
		first := w.fire(11, "2026-02-01")
		for range 50 {
			w.fire(11, "2026-02-02")
		}
		secret := w.fire(13, "2026-02-01")
		w.end(w.run(w.fire(12, "2026-02-03")), domain.OutcomeError, 3, 0)
		list := b.get("/instances")
		has(t, "the list", list, "2026-02-02", "stat", "cursor=", "state=waiting", "state=queued", "state=executing", `href="/workers"`)
		lacks(t, "the list", list, secret.ID.String(), first.ID.String())
		has(t, "in Chinese", b.get("/instances", "Accept-Language", "zh-CN"), "任务实例")
		for bad, says := range map[string]string{"state=bogus": "没有状态 bogus", "label=bogus": "没有标签 bogus", "biz_date=x": "x 不是业务日期", "made_from=x": "x 不是时刻"} {
			if a := b.get("/instances?"+bad, "Accept-Language", "zh-CN"); a.status != 422 || !strings.Contains(a.body, says) {
				t.Errorf("%s in Chinese: %d, or not %q", bad, a.status, says)
			}
		}
		only := b.get("/instances?state=failed")
		has(t, "failed ones", only, "2026-02-03")
		lacks(t, "failed ones", only, "2026-02-02")
		has(t, "none waits", b.get("/instances?state=waiting&job=load"), `value="load"`)
		has(t, "a trace", b.get("/instances?trace="+first.TraceID), first.ID.String())
		if a := b.get("/instances?state=nonsense&label=x"); a.status != http.StatusUnprocessableEntity && a.status != http.StatusBadRequest || !strings.Contains(a.body, "nonsense") || !strings.Contains(a.body, "<form") {
			t.Errorf("a wrong filter: %d", a.status)
		}
	})
}

func TestInstancePage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.browser("2")
		in := w.fire(11, "2026-02-03")
		page := "/instances/" + in.ID.String()
		has(t, "a queued one", b.get(page), "no worker is alive", in.TraceID, page+"/kill", "Not sent to a worker yet", "/api/v1/instances/"+in.ID.String()+"/logs/stream")
		a := w.run(in)
		w.ship(a, 1, 600)
		running := b.get(page)
		has(t, "a running one", running, "runs on w1", "&lt;img onerror=x&gt; 600 日终", `id="L101"`, "attempt="+a.ID.String())
		lacks(t, "a running one", running, "<img onerror", `id="L100"`)
		has(t, "in Chinese", b.get(page, "Accept-Language", "zh-CN"), "在 w1 上运行")

		older := b.get(page + "/log?attempt=" + a.ID.String() + "&before=101")
		var rows [][4]any
		older.into(t, &rows)
		if len(rows) != 100 || rows[0][0] != 1.0 || rows[99][0] != 100.0 {
			t.Errorf("%d older lines", len(rows))
		}

		if f := b.submit("", page+"/kill"); f.status != http.StatusForbidden {
			t.Errorf("a form without its token: %d", f.status)
		}
		if f := b.submit(page, page+"/kill", "reason", "wrong date"); f.status != http.StatusSeeOther || f.header.Get("Location") != page {
			t.Errorf("kill: %d %s %s", f.status, f.header.Get("Location"), f.body)
		}
		has(t, "a stopping one", b.get(page), "end was asked for at")
		w.end(a, domain.OutcomeKilled, 137, 600)
		has(t, "a killed one", b.get(page), "killed by person2", "wrong date", page+"/rerun", "/backfills/new?", "dates="+in.BizDate.String(), "reach=downstream", "wanted=missing")
		for range 2 { // a form sent twice
			if f := b.submit(page, page+"/rerun", "reason", "right date", "idempotency_key", "k1"); f.status != http.StatusSeeOther {
				t.Errorf("rerun: %d %s", f.status, f.body)
			}
		}
		for tab, part := range map[string]string{"dispatch": "exit code 137", "params": "job&#39;s", "deps": "stat", "history": "rerun", "log": "rerun by person2: right date", "nonsense": "rerun by person2"} {
			w.missing = []instance.Dependency{{InstanceDep: domain.InstanceDep{Upstream: 12, Name: "stat", BizDate: in.BizDate, To: in.BizDate, Rule: domain.DepCurrent, Check: "success", Require: "all", State: domain.DepWaiting},
				Standing: domain.DepStanding{State: domain.DepWaiting, Planned: 1}}}
			w.waiters = []domain.InstanceDep{{InstanceID: in.ID, Rule: domain.DepCurrent, Check: "success", Require: "all", State: domain.DepWaiting}}
			has(t, "tab "+tab, b.get(page+"?tab="+tab), part)
		}
		has(t, "the attempt of the first run", b.get(page+"?attempt="+a.ID.String()), `id="L600"`)

		look := w.browser("3")
		lacks(t, "a viewer's page", look.get(page), `action="`+page+"/kill", `action="`+page+"/rerun")
		if f := look.submit(page, page+"/kill"); f.status != http.StatusForbidden {
			t.Errorf("kill by a viewer: %d", f.status)
		}
		if a := w.browser("4").get(page); a.status != http.StatusNotFound {
			t.Errorf("a stranger sees the page: %d", a.status)
		}
	})
}

func TestTriggerForm(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.browser("2")
		in := w.fire(11, "2026-02-03")
		page := "/instances/" + in.ID.String()
		f := b.submit(page, "/jobs/load/trigger", "biz_date", "2026-02-04", "params", "source=a=b\r\n\r\nnote=日终\r\n")
		if f.status != http.StatusSeeOther || !strings.HasPrefix(f.header.Get("Location"), "/instances/") {
			t.Fatalf("%d %s", f.status, f.body)
		}
		var s shownInstance
		w.api(viewer, "GET", "/api/v1"+f.header.Get("Location"), "").into(t, &s)
		if s.BizDate != "2026-02-04" || s.Params["source"] != "a=b" || s.Params["note"] != "日终" || s.RequestedBy != "person2" {
			t.Errorf("%+v", s)
		}
		for _, fields := range [][]string{{"biz_date", "tomorrow"}, {"params", "no equals sign"}} {
			if f := b.submit(page, "/jobs/load/trigger", fields...); f.status != http.StatusUnprocessableEntity {
				t.Errorf("%v: %d", fields, f.status)
			}
		}
		if f := b.submit(page, "/jobs/other%2Fsecret/trigger"); f.status != http.StatusNotFound {
			t.Errorf("a foreign job: %d", f.status)
		}
	})
}

// TestManyAttempts shows an instance that was tried, lost and rerun often.
func TestManyAttempts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(11, "2026-02-03")
		for n := range 6 {
			a := w.run(in)
			w.end(a, domain.OutcomeError, n, 0)
			if n < 5 {
				if _, err := w.life.Rerun(t.Context(), in.ID, "ana", fmt.Sprint("try ", n)); err != nil {
					t.Fatal(err)
				}
			}
		}
		var s shownInstance
		w.api(viewer, "GET", "/api/v1/instances/"+in.ID.String(), "").into(t, &s)
		if len(s.Attempts) != 6 || len(s.Runs) != 6 || s.Runs[5].No != 6 || s.Run != 6 {
			b, _ := json.Marshal(s)
			t.Errorf("%s", b)
		}
		has(t, "the page", w.browser("3").get("/instances/"+in.ID.String()+"?tab=dispatch"), "exit code 5", "try 4")
	})
}

// The page of an instance that was split shows each shard, and a shard's page leads back and
// offers nothing that is done to the whole.
func TestPagesOfShards(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(11, "2026-02-03")
		w.ok(w.life.Split(t.Context(), []domain.Split{{Instance: in, Shards: 3}}))
		shards, err := w.life.Store.ShardsOf(t.Context(), in.JobID, in.RunID)
		w.ok(err)
		w.ship(w.run(shards[1]), 1, 3)
		w.ok(w.life.Gather(t.Context(), []domain.ID{in.ID}))
		b, page := w.browser("2"), "/instances/"+in.ID.String()
		has(t, "the whole", b.get(page), "split into 3 shards", "shard 2", "/instances/"+shards[2].ID.String(), "w1", page+"/kill")
		has(t, "in Chinese", b.get(page, "Accept-Language", "zh-CN"), "本轮拆成 3 个分片")
		part := "/instances/" + shards[1].ID.String()
		whole := b.get(page) // the one that was sent
		has(t, "the log of the whole", whole, "Output of shard 1:", "3 日终", `data-src="/api/v1`+part+"/logs/stream", page+"?shard=0&amp;tab=log", page+"?shard=2&amp;tab=log")
		has(t, "the log of another", b.get(page+"?tab=log&shard=2"), "Output of shard 2:", "Not sent to a worker yet")
		if got := b.get(page + "?shard=3"); got.status != http.StatusNotFound {
			t.Errorf("the log of a shard that is not: %d", got.status)
		}
		var lines struct {
			Shards int
			Lines  []any
		}
		w.api(viewer, "GET", "/api/v1"+page+"/logs", "").into(t, &lines)
		if lines.Shards != 3 || len(lines.Lines) != 0 {
			t.Errorf("of the whole the API says %+v", lines)
		}
		got := b.get(part)
		has(t, "a shard", got, "runs on w1", "shard 1/3 of instance", page, "one shard")
		lacks(t, "a shard", got, `action="`+part+"/kill", `action="`+part+"/rerun")
		lacks(t, "the list", b.get("/instances"), shards[1].ID.String())
		if f := b.submit(page, part+"/kill", "reason", "x"); f.status != http.StatusConflict {
			t.Errorf("kill of a shard: %d", f.status)
		}
		var s struct {
			Shards []struct {
				ID             string
				Index          int
				Label          string
				Worker, Target string
			}
			Shard *struct {
				Instance     string
				Index, Total int
			}
		}
		w.api(viewer, "GET", "/api/v1"+page, "").into(t, &s)
		if len(s.Shards) != 3 || s.Shards[1].Label != "executing" || s.Shards[2].Index != 2 || s.Shard != nil ||
			s.Shards[1].Target != "w1" || s.Shards[2].Target != "" || s.Shards[1].Worker != "" {
			t.Errorf("the API says %+v", s)
		}
		w.api(viewer, "GET", "/api/v1"+part, "").into(t, &s)
		if s.Shard == nil || s.Shard.Instance != in.ID.String() || s.Shard.Index != 1 || s.Shard.Total != 3 {
			t.Errorf("of a shard the API says %+v", s)
		}
	})
}

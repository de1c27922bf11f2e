package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// page asks for the page as somebody with a token.
func page(t *testing.T, b *books, token, query string, headers ...string) (int, string) {
	t.Helper()
	router := routed(t, b)
	req := httptest.NewRequest(http.MethodGet, "/ledger"+query, nil)
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	router.ServeHTTP(rec, req)
	body := rec.Body.String()
	if i := strings.Index(body, "⟦"); i >= 0 {
		t.Errorf("a word is missing: %.60s", body[i:])
	}
	return rec.Code, body
}

func contains(t *testing.T, what, body string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(body, p) {
			t.Errorf("%s lacks %q", what, p)
		}
	}
}

func TestTheLedgerPage(t *testing.T) {
	at := time.Date(2026, 2, 3, 5, 0, 0, 0, time.UTC)
	b := &books{answer: scheduler.Ledger{Next: 9, Jobs: []scheduler.Account{{
		Job: 70, Planned: 10, Fired: 4, Skipped: 2, Missed: 2, Absent: 2, AbsentFires: []time.Time{at}, Untaken: true,
		Reasons: []scheduler.Reason{{Kind: plan.Missed, Reason: plan.ReasonOld, Fires: 2}, {Kind: plan.Skipped, Reason: "misfire: fire_once took 02:30 of that day", Fires: 1}, {Kind: plan.Skipped, Reason: "<b>odd</b>", Fires: 1}},
	}, {Job: 71, Refused: domain.Fail(domain.TooLarge, "too many").Coded("ledger.too_many", "max", "100000")}}}}
	status, body := page(t, b, "everywhere", "")
	contains(t, "the page", body, "seen/a", "2 absent", "2026-02-03 05:00:00", "No scheduler has come to them yet", "older than 7 days", "made up the one of 02:30", "&lt;b&gt;odd",
		"More than 100000 planned fires", "not judged", "/jobs/70", "cursor=", "UTC")
	if q := b.asked; status != 200 || q.Limit != 50 || q.Unbalanced || q.Projects != nil || q.To.Sub(q.From) != 24*time.Hour || time.Since(q.From) > 24*time.Hour+time.Minute {
		t.Errorf("%d, asked %+v", status, q)
	}
	b.answer.Jobs[0].Untaken = false
	_, body = page(t, b, "one", "?range=own&from=2026-02-01&to=2026-02-03&only=unbalanced", "Accept-Language", "zh-CN")
	contains(t, "in Chinese", body, "台账", "缺失 2 次", "调度器已经处理过它们", "错过触发策略 fire_once：当天只补了 02:30 那一次", `value="2026-02-01"`)
	if q := b.asked; !q.Unbalanced || len(q.Projects) != 1 || !q.From.Equal(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)) || q.To.Sub(q.From) != 72*time.Hour {
		t.Errorf("asked %+v", q)
	}
	next := regexp.MustCompile(`href="(/ledger\?[^"]*cursor=[^"]*)"`).FindStringSubmatch(body)
	if next == nil {
		t.Fatal("no next page")
	}
	where, err := url.Parse(strings.ReplaceAll(next[1], "&amp;", "&"))
	if err != nil {
		t.Fatal(err)
	}
	page(t, b, "one", "?"+where.RawQuery)
	if q := b.asked; q.After != 9 || !q.Unbalanced || q.To.Sub(q.From) != 72*time.Hour {
		t.Errorf("the next page asked %+v", q)
	}
	for rng, days := range map[string]int{"today": 1, "yesterday": 1, "week": 7} {
		if page(t, b, "one", "?range="+rng); b.asked.To.Sub(b.asked.From) != time.Duration(days)*24*time.Hour {
			t.Errorf("%s asked %+v", rng, b.asked)
		}
	}
}

func TestTheLedgerOfOneJob(t *testing.T) {
	at := time.Date(2026, 2, 3, 5, 0, 0, 0, time.UTC)
	day := domain.BizDateOf(at, time.UTC)
	b := &books{more: true, answer: scheduler.Ledger{Balanced: true, Jobs: []scheduler.Account{{Job: 70, Planned: 3, Skipped: 1, Missed: 2}}},
		fires: []scheduler.FireRow{{Expected: at, BizDate: day, State: scheduler.FireMissed, Reason: plan.ReasonOld}, {Expected: at.Add(time.Hour), BizDate: day, State: scheduler.FireSkipped, Reason: "an earlier instance of the job is unfinished: x", Instance: 5},
			{Expected: at.Add(2 * time.Hour), BizDate: day, State: scheduler.FireAbsent}}}
	status, body := page(t, b, "one", "?job=seen/a&range=week")
	contains(t, "the page", body, `value="seen/a"`, "2026-02-03 05:00:00", "/instances/5", "an earlier instance was unfinished", "absent", "cursor=", "state=missed")
	if status != 200 || b.asked.Job != 70 || b.wanted.Job != 70 || b.wanted.Limit != 100 || len(b.wanted.States) != 3 {
		t.Errorf("%d, asked %+v and %+v", status, b.asked, b.wanted)
	}
	if page(t, b, "one", "?job=71&state=absent"); b.asked.Job != 71 || len(b.wanted.States) != 1 || b.wanted.States[0] != scheduler.FireAbsent {
		t.Errorf("of a deleted one: asked %+v and %+v", b.asked, b.wanted)
	}
	b.err = domain.Fail(domain.TooLarge, "too many").Coded("ledger.too_many", "max", "100000")
	status, body = page(t, b, "one", "?job=seen/a")
	contains(t, "too much", body, "choose a shorter time", `name="from"`)
	if status != http.StatusRequestEntityTooLarge && status/100 != 4 {
		t.Errorf("too much: %d", status)
	}
}

func TestAWrongLedgerIsSaidInThePage(t *testing.T) {
	b := &books{}
	for query, want := range map[string]string{"?from=abc": "abc is no date", "?range=own&from=tomorrow": "tomorrow is no date", "?range=own&from=2026-02-03&to=2026-13-01": "2026-13-01 is no date", "?job=other/b": "no such thing", "?job=nosuch": "nosuch", "?only=x": "x", "?cursor=x": "", "?job=seen/a&state=lost": "lost"} {
		b.answer.Jobs = []scheduler.Account{{Job: 70}}
		status, body := page(t, b, "one", query)
		if status/100 != 4 || !strings.Contains(body, "<form") || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.300s", query, status, body)
		}
	}
}

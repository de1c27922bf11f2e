package web_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/idem"
	"github.com/axsched/ax/modules/scheduler"
	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/modules/scheduler/web"
)

// people is everybody that the edge asks about: the bearers "everywhere", who sees
// all projects, and "one", who sees project 7.
type people struct{}

func (people) Allowed(_ context.Context, account, project domain.ID, _ domain.Action) bool {
	return account == 1 || account == 2 && project == 7
}

func (people) Visible(_ context.Context, account domain.ID, _ domain.Action) domain.ProjectSet {
	return domain.ProjectSet{All: account == 1, IDs: []domain.ID{7}}
}

func (people) Known(a domain.Action) bool { return a == domain.ActJobRead }

func (people) Account(context.Context, domain.ID) (domain.Principal, error) {
	return domain.Principal{}, domain.Fail(domain.Unauthentic, "nobody")
}

func (people) Bearer(_ context.Context, secret string) (domain.Principal, error) {
	id, ok := map[string]domain.ID{"everywhere": 1, "one": 2}[secret]
	if !ok {
		return domain.Principal{}, domain.Fail(domain.Unauthentic, "nobody")
	}
	return domain.Principal{ID: id, Name: secret, Kind: domain.PrincipalToken}, nil
}

func (people) FindCtx(context.Context, string) ([]byte, bool, error)          { return nil, false, nil }
func (people) CommitCtx(context.Context, string, []byte, time.Time) error     { return nil }
func (people) DeleteCtx(context.Context, string) error                        { return nil }
func (people) Denied(context.Context, domain.ID, domain.Action, string) error { return nil }
func (people) Once(context.Context, idem.Key, func(context.Context) (idem.Answer, error)) (idem.Answer, bool, error) {
	return idem.Answer{}, false, nil
}

// books answers one ledger and its fires, and notes what it was asked.
type books struct {
	answer scheduler.Ledger
	err    error
	asked  scheduler.LedgerQuery
	fires  []scheduler.FireRow
	more   bool
	wanted scheduler.FiresQuery
}

func (b *books) Ledger(_ context.Context, q scheduler.LedgerQuery) (scheduler.Ledger, error) {
	b.asked = q
	return b.answer, b.err
}

func (b *books) Fires(_ context.Context, q scheduler.FiresQuery) ([]scheduler.FireRow, bool, error) {
	b.wanted = q
	return b.fires, b.more, nil
}

type jobs struct{}

func (jobs) InHistory(_ context.Context, name string) (domain.Job, []domain.JobName, error) {
	j, err := find(name)
	if j.ID == 72 {
		return j, []domain.JobName{{ID: 73, Key: domain.JobKey{Project: "seen", Name: "gone"}, DeletedAt: time.Unix(1, 0).UTC()}}, err
	}
	return j, nil, err
}

func find(name string) (domain.Job, error) {
	switch name {
	case "seen/a":
		return domain.Job{ID: 70, ProjectID: 7, Spec: domain.JobSpec{Project: "seen", Name: "a"}}, nil
	case "71":
		return domain.Job{ID: 71, ProjectID: 7, DeletedAt: time.Unix(1, 0)}, nil
	case "seen/gone":
		return domain.Job{ID: 72, ProjectID: 7, DeletedAt: time.Unix(9, 0)}, nil
	case "other/b":
		return domain.Job{ID: 80, ProjectID: 8}, nil
	}
	return domain.Job{}, domain.Fail(domain.NotFound, "there is no job %q", name)
}

func (jobs) NamesOf(context.Context, []domain.ID) (map[domain.ID]domain.JobName, error) {
	return map[domain.ID]domain.JobName{70: {ID: 70, Key: domain.JobKey{Project: "seen", Name: "a"}}, 72: {ID: 72, Key: domain.JobKey{Project: "seen", Name: "gone"}, DeletedAt: time.Unix(9, 0).UTC()}}, nil
}

func routed(t *testing.T, b *books) *httpx.Router {
	t.Helper()
	router, err := httpx.New(httpx.Options{Policy: people{}, Identity: people{}, Sessions: people{}, Ledger: people{}, Denials: people{}, Patience: time.Minute,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := router.Add((&web.Handlers{Books: b, Jobs: jobs{}}).Routes()...); err != nil {
		t.Fatal(err)
	}
	return router
}

func serve(t *testing.T, b *books) func(token, query string) (int, map[string]any) {
	t.Helper()
	router := routed(t, b)
	return func(token, query string) (int, map[string]any) {
		t.Helper()
		if !strings.HasPrefix(query, "/") {
			query = "/api/v1/ledger?" + query
		}
		req := httptest.NewRequest(http.MethodGet, query, nil)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		rec := httptest.NewRecorder()
		router.ServeHTTP(rec, req)
		var m map[string]any
		if err := json.Unmarshal(rec.Body.Bytes(), &m); err != nil {
			t.Fatalf("%v in %s", err, rec.Body)
		}
		return rec.Code, m
	}
}

const span = "from=2026-02-03T00:00:00Z&to=2026-02-04T08:00:00%2B08:00"

// What did not run is counted by reason. (G-B14)
func TestTheLedgerTellsEveryFigure(t *testing.T) {
	at := time.Date(2026, 2, 3, 5, 0, 0, 0, time.UTC)
	b := &books{answer: scheduler.Ledger{From: at, To: at.Add(time.Hour), Now: at, Jobs: []scheduler.Account{{
		Job: 70, Planned: 10, Fired: 4, Skipped: 1, Missed: 2, Pending: 1, Absent: 2, Unplanned: 3, AbsentFires: []time.Time{at},
		Reasons: []scheduler.Reason{{Kind: plan.Missed, Reason: "nobody was alive", Fires: 2}, {Kind: plan.Skipped, Reason: "overlap", Fires: 1}},
	}}}}
	status, got := serve(t, b)("everywhere", span)
	if status != http.StatusOK || got["balanced"] != false {
		t.Fatalf("%d %v", status, got)
	}
	account := got["jobs"].([]any)[0].(map[string]any)
	want := map[string]any{"id": "70", "job": "seen/a", "deletedAt": nil, "planned": 10.0, "fired": 4.0, "skipped": 1.0, "missed": 2.0, "pending": 1.0, "unplanned": 3.0,
		"balanced": false, "absentCount": 2.0, "absent": []any{"2026-02-03T05:00:00Z"}, "untaken": false, "refused": "",
		"reasons": map[string]any{"missed: nobody was alive": 2.0, "skipped: overlap": 1.0}}
	if !reflect.DeepEqual(account, want) {
		t.Errorf("the account is\n%v\nwanted\n%v", account, want)
	}
	if q := b.asked; !q.From.Equal(time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)) || !q.To.Equal(time.Date(2026, 2, 4, 0, 0, 0, 0, time.UTC)) || q.Job != 0 || q.Projects != nil || q.Limit != 100 {
		t.Errorf("asked was %+v", q)
	}
}

func TestTheLedgerKeepsToWhatMayBeSeen(t *testing.T) {
	b := &books{answer: scheduler.Ledger{Balanced: true}}
	get := serve(t, b)
	if status, got := get("one", span); status != 200 || !reflect.DeepEqual(b.asked.Projects, []domain.ID{7}) || got["balanced"] != true {
		t.Errorf("without a job: %d %v, projects %v", status, got, b.asked.Projects)
	}
	if status, _ := get("one", span+"&job=seen/a"); status != 200 || b.asked.Job != 70 {
		t.Errorf("an own job: %d, job %s", status, b.asked.Job)
	}
	b.asked.Job = 0
	for name, want := range map[string]int{"other/b": 404, "nosuch": 404} {
		if status, _ := get("one", span+"&job="+name); status != want || b.asked.Job != 0 {
			t.Errorf("job %s: %d, and the books were asked about %s", name, status, b.asked.Job)
		}
	}
	if status, _ := get("", span); status != 401 {
		t.Errorf("nobody: %d", status)
	}
}

func TestAWrongMomentIsNamed(t *testing.T) {
	get := serve(t, &books{})
	for _, query := range []string{"", "from=yesterday&to=2026-02-03T00:00:00Z", "from=2026-02-03T00:00:00Z", "from=2026-02-03T00:00:00Z&to=2026-02-30T00:00:00Z"} {
		status, got := get("everywhere", query)
		said, _ := got["error"].(map[string]any)
		if field, _ := said["field"].(string); status != 400 || !strings.Contains("from to", field) || field == "" {
			t.Errorf("%q: %d %v", query, status, got)
		}
	}
	if status, _ := get("everywhere", "from=2026-02-03T00:00:00+08:00&to=2026-02-04T00:00:00Z"); status != 200 {
		t.Errorf("a plus that was not encoded: %d", status)
	}
}

func TestPagesOfTheLedger(t *testing.T) {
	b := &books{answer: scheduler.Ledger{Balanced: true, Next: 99, Jobs: []scheduler.Account{{Job: 70, Refused: domain.Fail(domain.TooLarge, "more than 5")}}}}
	get := serve(t, b)
	status, got := get("everywhere", span+"&limit=7&only=unbalanced")
	cursor, _ := got["cursor"].(string)
	if status != 200 || b.asked.Limit != 7 || !b.asked.Unbalanced || b.asked.After != 0 || cursor == "" || got["jobs"].([]any)[0].(map[string]any)["refused"] != "more than 5" {
		t.Fatalf("%d %v, asked %+v", status, got, b.asked)
	}
	if status, _ := get("everywhere", span+"&cursor="+cursor); status != 200 || b.asked.After != 99 {
		t.Errorf("%d, asked %+v", status, b.asked)
	}
	for _, wrong := range []string{"&limit=0", "&limit=501", "&only=some", "&cursor=x"} {
		if status, _ := get("everywhere", span+wrong); status != 400 {
			t.Errorf("%s: %d", wrong, status)
		}
	}
}

func TestFiresOneByOne(t *testing.T) {
	at := time.Date(2026, 2, 3, 5, 0, 0, 0, time.UTC)
	b := &books{more: true, fires: []scheduler.FireRow{{Expected: at, BizDate: domain.BizDateOf(at, time.UTC), State: scheduler.FireMissed, Reason: "nobody"},
		{Expected: at.Add(time.Hour), BizDate: domain.BizDateOf(at, time.UTC), State: scheduler.FireFired, Instance: 5}}}
	get := serve(t, b)
	status, got := get("one", "/api/v1/ledger/fires?"+span+"&job=seen/a&state=missed,fired&limit=2")
	rows, _ := got["fires"].([]any)
	if status != 200 || len(rows) != 2 || !reflect.DeepEqual(rows[0], map[string]any{"expected": "2026-02-03T05:00:00Z", "bizDate": "2026-02-03", "state": "missed", "reason": "nobody", "instance": ""}) ||
		rows[1].(map[string]any)["instance"] != "5" || !reflect.DeepEqual(b.wanted.States, []scheduler.FireState{scheduler.FireMissed, scheduler.FireFired}) {
		t.Fatalf("%d %v, asked %+v", status, got, b.wanted)
	}
	if status, _ := get("one", "/api/v1/ledger/fires?"+span+"&job=seen/a&cursor="+got["cursor"].(string)); status != 200 || !b.wanted.After.Equal(at.Add(time.Hour)) {
		t.Errorf("%d, asked %+v", status, b.wanted)
	}
	for query, want := range map[string]int{"&job=other/b": 404, "": 400, "&job=seen/a&state=lost": 400, "&job=seen/a&limit=1001": 400} {
		if status, _ := get("one", "/api/v1/ledger/fires?"+span+query); status != want {
			t.Errorf("%s: %d, want %d", query, status, want)
		}
	}
}

func TestADeletedJobIsFoundByItsName(t *testing.T) {
	b := &books{answer: scheduler.Ledger{Balanced: true, Jobs: []scheduler.Account{{Job: 72}}}}
	get := serve(t, b)
	status, got := get("one", span+"&job=seen/gone")
	if status != 200 || b.asked.Job != 72 || !reflect.DeepEqual(got["namesakes"], []any{map[string]any{"id": "73", "deletedAt": "1970-01-01T00:00:01Z"}}) {
		t.Errorf("%d %v, asked %+v", status, got, b.asked)
	}
	if account := got["jobs"].([]any)[0].(map[string]any); account["job"] != "seen/gone" || account["deletedAt"] != "1970-01-01T00:00:09Z" {
		t.Errorf("the account does not say that its job is gone: %v", account)
	}
	status, got = get("one", "/api/v1/ledger/fires?"+span+"&job=seen/gone")
	if status != 200 || b.wanted.Job != 72 || len(got["namesakes"].([]any)) != 1 {
		t.Errorf("%d %v, asked %+v", status, got, b.wanted)
	}
	status, body := page(t, b, "one", "?job=seen/gone")
	contains(t, "the page", body, "deleted 1970-01-01 00:00:09", "job=73", "deleted 1970-01-01 00:00:01", `value="seen/gone"`)
	if status != 200 || strings.Contains(body, "/jobs/72") {
		t.Errorf("%d; the page leads to a job that is gone: %v", status, strings.Contains(body, "/jobs/72"))
	}
	_, body = page(t, b, "one", "?job=seen/gone", "Accept-Language", "zh-CN")
	contains(t, "in Chinese", body, "已于 1970-01-01 00:00:09 删除", "以下同名任务不在此列")
}

package web_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// ByName finds the projects of the test.
func (w *world) ByName(_ context.Context, name string) (domain.ID, error) {
	switch name {
	case domain.DefaultProject:
		return mine, nil
	case "theirs":
		return theirs, nil
	}
	return 0, domain.Fail(domain.NotFound, "there is no project %q", name)
}

// waiting inserts instances of a pool, of which the first few have a place and the others wait, and one of another pool.
func (w *world) waiting(held, waits int) {
	w.t.Helper()
	began := now().Add(-time.Duration(held+waits+2) * time.Second)
	var all []domain.Instance
	for n := range held + waits + 1 {
		at := began.Add(time.Duration(n) * time.Second)
		in := domain.Instance{ID: domain.IDAt(at) + 1, ProjectID: mine, JobID: 11, JobName: "load", FireKey: fmt.Sprint("m:", n), Trigger: domain.TriggerManual,
			BizDate: domain.BizDateOf(at, time.UTC), Expected: at, Status: domain.Status{State: domain.Running, Label: domain.HeldPool}, Ver: 1, RunID: domain.IDAt(at) + 1, RunNo: 1,
			TraceID: fmt.Sprintf("%036d", n), Version: 1, Lane: domain.LaneDefault, CreatedAt: at, ReadyAt: at, Pool: "db"}
		switch {
		case n < held:
			in.Label = domain.Executing
		case n == held+waits:
			in.Pool = "other"
		}
		all = append(all, in)
	}
	w.ok(w.st.Insert(w.t.Context(), all))
}

func TestThoseInAPoolAreListed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.waiting(3, 7)
		for query, want := range map[string]int{"?pool=db&place=holds": 3, "?pool=db&place=waits": 7, "?pool=db": 10, "?pool=other&place=holds": 0, "?pool=other": 1, "?pool=db&place=waits&state=executing": 0,
			"?pool=db&place=holds&state=executing": 3, "?pool=db&place=holds&label=orphan": 0, "?pool=db&place=waits&state=failed": 0, "?pool=db&place=waits&job=load": 7, "?pool=default%2Fdb&place=waits": 7} {
			if l := w.list(operator, query); len(l.Instances) != want {
				t.Errorf("%s: %d, want %d", query, len(l.Instances), want)
			}
		}
		for query, status := range map[string]int{"?pool=db&place=x": 400, "?place=holds": 400, "?pool=none%2Fdb": 404, "?pool=theirs%2Fdb": 404} {
			if a := w.api(operator, "GET", "/api/v1/instances"+query, ""); a.status != status {
				t.Errorf("%s: %d %s", query, a.status, a.body)
			}
		}
		b := w.browser("2")
		page := b.get("/instances?pool=db&place=waits")
		has(t, "those that wait", page, "Wait for a place in pool db", "It waits since", `name="pool" value="db"`)
		lacks(t, "those that wait", page, "⟦", "state-chip on")
		has(t, "in Chinese", b.get("/instances?pool=db&place=holds", "Accept-Language", "zh-CN"), "占着资源池 db 的位置")
	})
}

// Ten thousand that wait come a page at a time, each once, the newest first, and no page takes long.
func TestThoseThatWaitForAPoolComeInPages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const many = 10_000
		w.waiting(2, many)
		b := w.browser("2")
		began := time.Now()
		page := b.get("/instances?pool=db&place=waits")
		has(t, "the first page", page, `rel="next"`, "cursor=")
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the first page took %s", took)
		} else {
			t.Logf("the first page took %s", took)
		}
		seen, query := map[string]bool{}, "?pool=db&place=waits&limit=500"
		for n, cursor := 0, ""; ; n++ {
			l := w.list(operator, query+"&cursor="+cursor)
			for _, in := range l.Instances {
				seen[in.ID] = true
			}
			if cursor = l.Cursor; cursor == "" || n > many/500+2 {
				break
			}
		}
		if len(seen) != many {
			t.Errorf("%d of %d", len(seen), many)
		}
		began = time.Now()
		first, err := w.st.WaitForPool(t.Context(), domain.PoolKey{Project: mine, Name: "db"}, 20)
		t.Logf("the longest waiting took %s", time.Since(began))
		if err != nil || len(first) != 20 || !first[0].ReadyAt.Before(first[1].ReadyAt) || first[0].ReadyAt.After(now().Add(-(many-1)*time.Second)) {
			t.Errorf("%d, %v", len(first), err)
		}
	})
}

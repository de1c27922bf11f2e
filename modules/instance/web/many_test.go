package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance/store"
)

// What is rare among very many is not waited for: the page says how far it looked, and the next goes on.
func TestAPageThatLookedAtEnoughSaysHowFar(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		began := now().Add(-time.Duration(store.MaxLooked+100) * time.Second)
		var all []domain.Instance
		for n := range store.MaxLooked + 50 {
			at := began.Add(time.Duration(n) * time.Second)
			in := domain.Instance{ID: domain.IDAt(at) + 1, ProjectID: mine, JobID: 11, JobName: "load", FireKey: fmt.Sprint("m:", n), Trigger: domain.TriggerManual,
				BizDate: domain.BizDateOf(at, time.UTC), Expected: at, Status: domain.Status{State: domain.Failed, Label: domain.ErrorLabel}, Ver: 1, RunID: domain.IDAt(at) + 1, RunNo: 1,
				TraceID: fmt.Sprintf("%036d", n), Version: 1, Lane: domain.LaneDefault, CreatedAt: at, Message: "exit code 1"}
			if n == 7 {
				in.Label = domain.WorkerLost
			}
			all = append(all, in)
		}
		if err := w.st.Insert(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		b := w.browser("2")
		page := b.get("/instances?label=worker_lost")
		has(t, "a search that was left off", page, "None found so far", "Searched back to", "cursor=")
		lacks(t, "a search that was left off", page, "⟦", all[7].ID.String())
		lacks(t, "in Chinese", b.get("/instances?label=worker_lost", "Accept-Language", "zh-CN"), "⟦", "None found")
		lacks(t, "a full page", b.get("/instances?state=failed"), "Searched back to")

		l := w.list(operator, "?label=worker_lost")
		if len(l.Instances) != 0 || l.Cursor == "" {
			t.Fatalf("%d instances, cursor %q", len(l.Instances), l.Cursor)
		}
		if l = w.list(operator, "?label=worker_lost&cursor="+l.Cursor); len(l.Instances) != 1 || l.Cursor != "" {
			t.Errorf("going on: %d instances, cursor %q", len(l.Instances), l.Cursor)
		}
	})
}

package web_test

import (
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// What waits again after a loss is nowhere and has not started: what was lost stands in the record of its attempts, as
// long as it was heard of.
func TestWhatWaitsAfterALossIsNowhere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.browser("2")
		in := w.fire(11, "2026-02-03")
		a := w.run(in)
		started := w.get(in.ID).StartedAt
		w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "worker w1 (boot 1) has not been heard since 2026-02-03T04:05:06Z", started.Add(2*time.Second)))
		list := b.get("/instances")
		has(t, "the list", list, in.ID.String())
		lacks(t, "the list", list, ">w1<")
		page := "/instances/" + in.ID.String()
		has(t, "the record of its attempts", b.get(page+"?tab=dispatch"), ">w1<", "last heard of at", "counted as lost at")
		has(t, "in Chinese", b.get(page+"?tab=dispatch", "Accept-Language", "zh-CN"), "最后一次得到消息", "判定失联")
		var got struct {
			StartedAt *time.Time
			Attempts  []struct{ StartedAt, FinishedAt, ReportedAt, HeardAt, LostAt *time.Time }
		}
		w.api(operator, "GET", "/api/v1/instances/"+in.ID.String(), "").into(t, &got)
		lost := got.Attempts[0]
		if got.StartedAt != nil || lost.StartedAt == nil || lost.FinishedAt != nil || lost.ReportedAt != nil || lost.HeardAt == nil || lost.LostAt == nil {
			t.Errorf("%+v, its attempt %+v", got, lost)
		}
	})
}

// An orphan took as long as it was heard of, at least, however long it waits for a person.
func TestAnOrphansTimeStandsStill(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.browser("2")
		in, a := w.orphan(11, "2026-02-03")
		_, err := w.db.Exec(t.Context(), "UPDATE attempt SET finished_at = ? WHERE id = ?", domain.Millis(w.get(in.ID).StartedAt.Add(7*time.Second)), a.ID)
		w.ok(err)
		for _, path := range []string{"/instances", "/instances/" + in.ID.String()} {
			has(t, path, b.get(path), "at least 7 s")
			has(t, path, b.get(path, "Accept-Language", "zh-CN"), "至少 7 秒")
		}
		has(t, "the list of orphans", b.get("/orphans"), "last heard of at")
		has(t, "why", w.api(viewer, "GET", "/api/v1/instances/"+in.ID.String()+"/why", ""), "nothing was heard of it since")
	})
}

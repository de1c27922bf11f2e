package center

import (
	"maps"
	"testing"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/dbtest"
)

// Params that somebody gives one run are that run's: its rerun has them, the definition and the runs after it have not. (J-E13)
func TestParamsOfOneRunLeaveTheDefinition(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("load", "params: {source: orders}", `cron: "0 2 1 1 *"`))
		before, err := b.jobs.Find(b.ctx, "load")
		b.must(err)
		requests := &instance.Requests{Lifecycle: b.lifecycle, Audit: audit{b.access}, Values: values{b.secrets}, Calendars: b.jobs}
		mine, err := requests.Trigger(b.ctx, before, instance.TriggerOptions{BizDate: day, Params: map[string]string{"source": "mine", "extra": "1"}})
		b.must(err)
		b.end(mine.ID, domain.OutcomeError)
		again, err := b.lifecycle.Rerun(b.ctx, mine.ID, "tester", "")
		b.must(err)
		if !maps.Equal(again.Params, map[string]string{"source": "mine", "extra": "1"}) {
			t.Errorf("the rerun has %v", again.Params)
		}
		after, err := b.jobs.Find(b.ctx, "load")
		b.must(err)
		if after.Version != before.Version || after.Source != before.Source || after.Spec.Digest() != before.Spec.Digest() || !maps.Equal(after.Spec.Params, map[string]string{"source": "orders"}) {
			t.Errorf("the definition is version %d with %v", after.Version, after.Spec.Params)
		}
		plain, err := requests.Trigger(b.ctx, after, instance.TriggerOptions{BizDate: day.AddDays(1)})
		b.must(err)
		if len(plain.Params) != 0 || b.fire("load").Params["source"] != "" {
			t.Errorf("a run after it has %v", plain.Params)
		}
	})
}

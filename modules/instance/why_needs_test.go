package instance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/i18n"
)

// What a job names of a worker's set-up and no worker has is told as what it is, not as a tag.
func TestWhyNamesTheDataSourceThatNobodyHas(t *testing.T) {
	lanes := map[domain.Lane]int{domain.LaneDefault: 2}
	w1 := domain.Worker{Name: "w1", State: domain.WorkerAvailable, Types: []string{"sql", "shell"}, Tags: []string{domain.NeedSource("mart")}, Lanes: lanes}
	w2 := domain.Worker{Name: "w2", State: domain.WorkerAvailable, Types: []string{"shell"}, Tags: []string{domain.NeedSource("orders")}, Lanes: lanes}
	facts := func(exec domain.Exec, workers ...domain.Worker) instance.Facts {
		return instance.Facts{Instance: domain.Instance{Status: running(domain.Queued), Lane: domain.LaneDefault, ReadyAt: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)},
			Spec: domain.JobSpec{Exec: exec}, Workers: workers, BrokerKnown: true, BrokerThere: true}
	}
	for want, f := range map[string]instance.Facts{
		"of the workers that run sql, none has the data source orders (w1)":          facts(domain.Exec{Type: "sql", Needs: []string{domain.NeedSource("orders")}}, w1, w2),
		"of the workers that run shell, none has leave to run tasks as etl (w1, w2)": facts(domain.Exec{Type: "shell", Needs: []string{domain.NeedUser("etl")}}, w1, w2),
		"about to be sent": facts(domain.Exec{Type: "sql", Needs: []string{domain.NeedSource("mart")}}, w1, w2),
	} {
		if got := instance.Why(f).English(); !strings.Contains(got, want) {
			t.Errorf("%q, want %q in it", got, want)
		}
		if got := instance.Why(f).In(i18n.With(t.Context(), "zh-CN")); strings.ContainsAny(got, "⟦⟧{}") {
			t.Errorf("in Chinese: %q", got)
		}
	}
}

package instance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/i18n"
)

// What nobody takes because of clocks says whose, which way and by how much; one clock that is right is enough.
func TestWhyNobodyWithARightClockTakesIt(t *testing.T) {
	worker := func(name string, skew time.Duration) domain.Worker {
		return domain.Worker{Name: name, State: domain.WorkerAvailable, Types: []string{"shell"}, Lanes: map[domain.Lane]int{domain.LaneDefault: 2}, Skew: skew}
	}
	f := instance.Facts{Instance: domain.Instance{Status: running(domain.Queued), Lane: domain.LaneDefault, ReadyAt: time.Now()},
		Spec: domain.JobSpec{Exec: domain.Exec{Type: "shell"}}, BrokerKnown: true, BrokerThere: true}
	for _, c := range []struct {
		workers []domain.Worker
		en, zh  string
	}{
		{[]domain.Worker{worker("w1", 6*time.Second), worker("w2", -6200*time.Millisecond)}, "w1 is 6 s ahead", "w1 快 6"},
		{[]domain.Worker{worker("w1", 6*time.Second), worker("w2", -6200*time.Millisecond)}, "w2 is 6.2 s behind", "w2 慢 6.2"},
		{[]domain.Worker{worker("w1", 6*time.Second), worker("w2", 4*time.Second)}, "about to be sent", ""},
		{[]domain.Worker{worker("w1", -5*time.Second)}, "about to be sent", ""},
	} {
		f.Workers = c.workers
		for lang, want := range map[string]string{"en": c.en, "zh-CN": c.zh} {
			if text := instance.Why(f).In(i18n.With(t.Context(), lang)); !strings.Contains(text, want) {
				t.Errorf("%s: %q lacks %q", lang, text, want)
			}
		}
	}
}

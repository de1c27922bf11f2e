package instance_test

import (
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// What a target did not take stands in the lane where it stood, before all that became ready later.
func TestWhatIsTakenBackKeepsItsPlaceInTheLane(t *testing.T) {
	for name, takeBack := range map[string]func(t *testing.T, w *world, a domain.Attempt) error{
		"no ack": func(t *testing.T, w *world, a domain.Attempt) error {
			_, err := w.life.Withdraw(t.Context(), []domain.ID{a.ID}, domain.OutcomeNoAck, "no ack within 5 s")
			return err
		},
		"refused before the grant": func(t *testing.T, w *world, a domain.Attempt) error {
			_, err := w.life.Withdraw(t.Context(), []domain.ID{a.ID}, domain.OutcomeRefused, "draining")
			return err
		},
		"refused after the grant": func(_ *testing.T, w *world, a domain.Attempt) error {
			w.grant(a)
			w.report(a, domain.OutcomeRefused, "draining")
			return nil
		},
		"its worker was lost before the grant": func(t *testing.T, w *world, a domain.Attempt) error {
			return w.life.Lost(t.Context(), []domain.ID{a.ID}, "silent", time.Time{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				first := w.fire(jobA)
				sent := w.dispatch(first.ID)
				var younger []domain.Instance
				for range 3 {
					younger = append(younger, w.fire(jobB))
				}
				w.pass(time.Minute)
				w.ok(takeBack(t, w, sent))
				w.is(first.ID, running(domain.Queued))
				line, err := w.st.Ready(t.Context(), domain.LaneDefault, domain.Instance{}, 10)
				w.ok(err)
				if len(line) != 4 || line[0].ID != first.ID || line[1].ID != younger[0].ID {
					t.Errorf("the lane is %v, want %s first", line, first.ID)
				}
			})
		})
	}
}

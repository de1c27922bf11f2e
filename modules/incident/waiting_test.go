package incident

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/kit/i18n"
)

// What is held by its job's overlap policy or by its pool for over an hour is as wrong as what is ready and not taken: one
// incident for a job, however many of it wait and however.
func TestAnHourOfBeingHeldIsAnIncident(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		waits := func(job domain.ID, label domain.Label, since time.Duration) domain.Instance {
			in := w.instance(job, domain.Status{State: domain.Running, Label: label})
			in.ReadyAt = now().Add(-since)
			w.ins[in.ID] = in
			return in
		}
		held := waits(1, domain.HeldOverlap, 61*time.Minute)
		waits(1, domain.Queued, 70*time.Minute)
		waits(2, domain.HeldPool, 2*time.Hour)
		waits(3, domain.HeldPool, 59*time.Minute)
		waits(4, domain.HeldOverlap, 30*time.Minute)
		w.workers = []domain.Worker{{Name: "w1", State: domain.WorkerAvailable, Lanes: map[domain.Lane]int{domain.LaneDefault: 1}, Types: []string{""}}}
		w.round()
		w.round()
		w.want("queue_limit pay/job2×1; queue_limit pay/job1×1")
		for id, in := range w.ins { // the longest waiting goes on, and the other still waits
			if in.JobID == 1 && in.ID != held.ID || in.JobID == 2 {
				in.Label = domain.Executing
				w.ins[id] = in
			}
		}
		w.round()
		w.want("queue_limit pay/job1×1; queue_limit pay/job2×1→moved")
		held.Label = domain.Executing
		w.ins[held.ID] = held
		w.round()
		w.want("queue_limit pay/job1×1→moved; queue_limit pay/job2×1→moved")
	})
}

// Whatever waits for too long: its incident and the notice say why, as its page does, in the reader's language; and where that
// cannot be read, that it waits.
func TestAnIncidentSaysWhyItWaits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.begin(deaf{})
		w.k.Whys = w
		for job, label := range map[domain.ID]domain.Label{1: domain.Queued, 2: domain.HeldPool, 3: domain.WaitingDeps} {
			in := w.instance(job, domain.Status{State: domain.Running, Label: label})
			in.ReadyAt, in.CreatedAt, in.RunNo = now().Add(-25*time.Hour), now().Add(-25*time.Hour), 1
			w.ins[in.ID] = in
		}
		w.workers = []domain.Worker{{Name: "w2", State: domain.WorkerAvailable}}
		w.round()
		w.want("deps_limit pay/job3×1; queue_limit pay/job2×1; queue_limit pay/job1×1; no_target pay/job1×1")
		said := func(lang string) (out []string) {
			all, err := w.store.List(t.Context(), store.Filter{Seen: domain.ProjectSet{All: true}, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range all {
				out = append(out, Said(i18n.With(t.Context(), lang), i))
			}
			return out
		}
		for lang, want := range map[string]string{i18n.English: "Why job3 waits: w1 is lost.|Why job2 waits: w1 is lost.|Why job1 waits: w1 is lost.|Why job1 waits: w1 is lost.",
			i18n.Chinese: "job3 在等待：w1 失联。|job2 在等待：w1 失联。|job1 在等待：w1 失联。|job1 在等待：w1 失联。"} {
			if got := strings.Join(said(lang), "|"); got != want {
				t.Errorf("%s: %q, want %q", lang, got, want)
			}
		}
		for _, b := range w.notices() {
			if !strings.Contains(b.Message, "waits: w1 is lost.") {
				t.Errorf("a notice says %q", b.Message)
			}
		}
		w.silent = errors.New("nothing can be read")
		clear(w.k.term.last)
		if err := w.k.Round(t.Context()); !errors.Is(err, w.silent) {
			t.Errorf("what could not be read is not told: %v", err)
		}
		if got := strings.Join(said(i18n.English), "|"); strings.Count(got, "It has been ready since") != 2 || !strings.Contains(got, "It has waited for its dependencies since") {
			t.Errorf("without a reason is said: %q", got)
		}
	})
}

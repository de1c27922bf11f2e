package incident

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// bodies are what the receiver was sent, and whether it took it.
func (r *receiver) said(t *testing.T) []Body {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Body, len(r.bodies))
	for i, text := range r.bodies {
		if err := json.Unmarshal([]byte(text), &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestNoEndIsToldBeforeItsBeginning(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := newReceiver(t)
		w.begin(deaf{})
		s := w.sender(r)
		r.behave(func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "no", http.StatusServiceUnavailable) })
		w.fail(1)
		w.round()
		for range 3 { // its back-off is 4 s by now
			w.due()
			w.send(s)
		}
		w.succeed(1, true)
		w.fail(2)
		w.round()
		r.behave(nil)
		before := len(r.got())
		w.send(s)
		got := r.said(t)[before:]
		if len(got) != 1 || got[0].Recovered || got[0].Subject != "pay/job2" {
			t.Fatalf("while the opening of job1 waits, %+v was told", got)
		}
		w.due()
		w.send(s)
		got = r.said(t)[before+1:]
		if len(got) != 2 || got[0].Recovered || !got[1].Recovered || got[0].Subject != "pay/job1" || got[1].Subject != "pay/job1" {
			t.Errorf("then %+v was told", got)
		}
	})
}

// Openings told together hold back each end that they may cover, and ends told together
// wait for each opening.
func TestNoEndOvertakesWhatWasToldTogether(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := newReceiver(t)
		w.begin(deaf{})
		s := w.sender(r)
		dice := rand.New(rand.NewPCG(1, 2))
		r.behave(func(rw http.ResponseWriter, _ *http.Request) {
			if dice.IntN(3) > 0 {
				http.Error(rw, "no", http.StatusServiceUnavailable)
			}
		})
		w.storm(1, 2*singlesMost)
		w.round()
		for job := range 2 * singlesMost {
			w.succeed(domain.ID(job+1), true)
		}
		w.round()
		for deadline := time.Now().Add(20 * time.Second); ; {
			w.due()
			w.send(s)
			left := 0
			for _, n := range w.outbox() {
				if n.SentAt == 0 {
					left++
				}
			}
			if left == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d are not told", left)
			}
		}
		var order []struct {
			ID     int64
			SentAt int64
			Owes   int
		}
		if err := w.db.Scan(t.Context(), &order, "SELECT id, sent_at, owes FROM notice ORDER BY id"); err != nil {
			t.Fatal(err)
		}
		last := map[int]int64{}
		for _, n := range order {
			last[n.Owes] = max(last[n.Owes], n.SentAt)
		}
		for _, n := range order {
			if n.Owes == 2 && n.SentAt < last[1] {
				t.Errorf("the end %d was taken at %d, an opening at %d", n.ID, n.SentAt, last[1])
			}
		}
		if len(order) < 2 || last[2] == 0 {
			t.Errorf("%+v proves nothing", order)
		}
	})
}

func TestHowTheChannelFaresIsKnown(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		reader := &Reader{Store: w.store, Projects: w}
		fares := func() (string, []time.Time) {
			t.Helper()
			found, err := reader.Channels(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(found) == 0 {
				return "none", nil
			}
			c := found[0]
			return c.Name + " " + c.Fault + " " + count(c.Waiting), []time.Time{c.TakenAt, c.FailedAt, c.FailingAt, c.NextAt}
		}
		if got, _ := fares(); got != "none" {
			t.Errorf("before any: %s", got)
		}
		r := newReceiver(t)
		w.told(2)
		s := w.sender(r)
		if err := w.store.KeepChannel(t.Context(), ChannelWebhook); err != nil {
			t.Fatal(err)
		}
		r.behave(func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "no", http.StatusInternalServerError) })
		w.send(s)
		_, first := fares()
		w.due()
		w.send(s)
		got, at := fares()
		if got != "webhook the receiver answers 500 2" || !at[0].IsZero() || at[1].Before(first[1]) || !at[2].Equal(first[2]) || !at[3].After(at[1]) {
			t.Errorf("while it fails: %s %v, first %v", got, at, first)
		}
		if err := w.store.KeepChannel(t.Context(), ChannelWebhook); err != nil { // another broker takes over
			t.Fatal(err)
		}
		if again, when := fares(); again != got || !when[2].Equal(at[2]) {
			t.Errorf("the next broker knows %s %v", again, when)
		}
		r.behave(nil)
		w.due()
		w.send(s)
		if got, at := fares(); got != "webhook the receiver answers 500 0" || at[0].IsZero() || at[1].IsZero() || !at[2].IsZero() || !at[3].IsZero() {
			t.Errorf("when all are taken: %s %v", got, at)
		}
		if err := w.store.DropChannels(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, _ := fares(); got != "none" {
			t.Errorf("without a receiver: %s", got)
		}
	})
}

package incident

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// deaf takes nothing.
type deaf struct{}

// Send refuses.
func (deaf) Send(context.Context, time.Time, domain.ID, string) error {
	return errors.New("refused by the test")
}

const secret = "a secret of the receiver"

// receiver is a real HTTP server that behaves as the test wants.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	ids    []string
	act    func(w http.ResponseWriter, r *http.Request)
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP takes a notice.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	act := r.act
	r.bodies, r.ids = append(r.bodies, string(body)), append(r.ids, req.Header.Get(HeaderNotice))
	r.mu.Unlock()
	if Sign(secret, req.Header.Get(HeaderTimestamp), body) != req.Header.Get(HeaderSignature) {
		http.Error(w, "the signature is wrong", http.StatusUnauthorized)
		return
	}
	if act != nil {
		act(w, req)
	}
}

func (r *receiver) behave(act func(w http.ResponseWriter, r *http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.act = act
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids)
}

func (w *world) sender(r *receiver) *Sender {
	return &Sender{Store: w.store, Hook: NewWebhook(r.URL, secret)}
}

// send is one round of a sender, as if it had not failed before.
func (w *world) send(s *Sender) {
	w.t.Helper()
	s.rests = time.Time{}
	if err := s.round(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// due lets all notices be due now.
func (w *world) due() {
	w.t.Helper()
	if _, err := w.db.Exec(w.t.Context(), "UPDATE notice SET next_at = 0 WHERE sent_at = 0"); err != nil {
		w.t.Fatal(err)
	}
}

type outboxRow struct {
	ID     int64
	Tries  int
	SentAt int64
	Fault  string
}

func (w *world) outbox() []outboxRow {
	w.t.Helper()
	var rows []outboxRow
	if err := w.db.Scan(w.t.Context(), &rows, "SELECT id, tries, sent_at, fault FROM notice ORDER BY id"); err != nil {
		w.t.Fatal(err)
	}
	return rows
}

// told makes so many notices, of one job each.
func (w *world) told(n int) {
	w.begin(deaf{})
	w.storm(1, n)
	w.round()
}

func TestANoticeIsSignedSentOnceAndMarked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := newReceiver(t)
		w.told(3)
		s := w.sender(r)
		w.send(s)
		w.send(s)
		if got := r.got(); len(got) != 3 {
			t.Fatalf("%d deliveries", len(got))
		}
		for i, row := range w.outbox() {
			var b Body
			if err := json.Unmarshal([]byte(r.bodies[i]), &b); err != nil || b.ID != domain.ID(row.ID) || r.ids[i] != b.ID.String() || row.SentAt == 0 || row.Tries != 1 {
				t.Errorf("%+v was sent as %s", row, r.bodies[i])
			}
		}
		if s := NewWebhook(r.URL, "another secret"); s.Send(t.Context(), now(), 1, "{}") == nil {
			t.Error("a wrong signature is taken, so the test proves nothing")
		}
	})
}

func TestAReceiverThatDoesNotTakeIt(t *testing.T) {
	for name, c := range map[string]struct {
		act   func(w http.ResponseWriter, r *http.Request)
		fault string
	}{
		"refuses": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }, "answers 500"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "redirects are not followed"},
		"dies":  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				r := newReceiver(t)
				r.behave(c.act)
				w.told(1)
				hook := NewWebhook(r.URL, secret)
				hook.client.Timeout = 300 * time.Millisecond
				s := &Sender{Store: w.store, Hook: hook}
				w.send(s)
				w.send(s) // not due yet
				if got := r.got(); len(got) != 1 {
					t.Fatalf("%d tries at once", len(got))
				}
				if row := w.outbox()[0]; row.SentAt != 0 || !strings.Contains(row.Fault, c.fault) || strings.Contains(row.Fault, r.URL) {
					t.Errorf("%+v", row)
				}
				r.behave(nil)
				w.due()
				w.send(s)
				if row := w.outbox()[0]; row.SentAt == 0 || row.Tries != 2 || row.Fault != "" {
					t.Errorf("%+v", row)
				}
				if got := r.got(); len(got) != 2 || got[0] != got[1] {
					t.Errorf("the second try has another id: %v", got)
				}
			})
		})
	}
}

func TestOneNoticeThatIsRefusedForEverLetsTheOthersPass(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := newReceiver(t)
		w.told(4)
		bad := w.outbox()[0].ID
		r.behave(func(rw http.ResponseWriter, req *http.Request) {
			if req.Header.Get(HeaderNotice) == domain.ID(bad).String() {
				http.Error(rw, "not this one", http.StatusBadRequest)
			}
		})
		s := w.sender(r)
		w.send(s)
		w.send(s)
		for _, row := range w.outbox() {
			if (row.SentAt == 0) != (row.ID == bad) {
				t.Errorf("%+v", row)
			}
		}
	})
}

func TestTheBackOffGrowsToFiveMinutes(t *testing.T) {
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 9: 256 * time.Second, 10: backOffTop, 1000: backOffTop} {
		if got := backOff(n); got != want {
			t.Errorf("after %d failures %s, want %s", n, got, want)
		}
	}
}

func TestASenderRestsAfterAFailure(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := newReceiver(t)
		r.behave(func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "no", http.StatusServiceUnavailable) })
		w.told(5)
		s := w.sender(r)
		for range 5 {
			if err := s.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.got(); len(got) != 1 {
			t.Errorf("a receiver that is away was asked %d times in a row", len(got))
		}
	})
}

// The claim that a sender made and left is taken up when it has run out, with the same id.
func TestASenderThatDiesBetweenSendingAndMarkingIsFollowed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := newReceiver(t)
		w.told(1)
		dying, die := context.WithCancel(t.Context())
		r.behave(func(http.ResponseWriter, *http.Request) { die() })
		s := w.sender(r)
		for range 2 {
			_ = s.round(dying) // its context ends in the middle
		}
		if row := w.outbox()[0]; row.SentAt != 0 || row.Tries != 1 {
			t.Fatalf("%+v: the first sender did not die in between", row)
		}
		r.behave(nil)
		successor := w.sender(r)
		w.send(successor)
		if got := r.got(); len(got) != 1 {
			t.Fatalf("a claim in force is not respected: %d deliveries", len(got))
		}
		w.due() // the claim has run out
		w.send(successor)
		if got := r.got(); len(got) != 2 || got[0] != got[1] {
			t.Errorf("%v", got)
		}
	})
}

func TestTwoSendersDeliverEachNoticeOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := newReceiver(t)
		r.behave(func(http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Millisecond) }) // a receiver takes time
		w.told(20)
		var all sync.WaitGroup
		for range 2 {
			s := w.sender(r)
			all.Go(func() {
				for range 100 {
					if err := s.round(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		got := r.got()
		slices.Sort(got)
		if len(got) != 20 || len(slices.Compact(got)) != 20 {
			t.Errorf("%d deliveries of 20 notices", len(got))
		}
	})
}

// A sender whose epoch is over writes no claim, so it sends nothing.
func TestAFencedSenderSendsNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := newReceiver(t)
		w.told(2)
		over := errors.New("another process is the active one now")
		ctx := dbx.WithFence(t.Context(), func(context.Context) error { return over })
		if err := w.sender(r).round(ctx); !errors.Is(err, over) {
			t.Errorf("its round says %v", err)
		}
		if got := r.got(); len(got) != 0 {
			t.Errorf("it sent %v", got)
		}
	})
}

func TestAddressesThatNoReceiverHas(t *testing.T) {
	for address, good := range map[string]bool{
		"127.0.0.1:80": true, "10.1.2.3:8443": true, "[2001:db8::1]:443": true, "203.0.113.7:443": true,
		"169.254.169.254:80": false, "169.254.0.1:80": false, "[::ffff:169.254.169.254]:80": false, "[fe80::1%eth0]:80": false, "[fd00:ec2::254]:80": false, "100.100.100.200:80": false, "0.0.0.0:80": false, "nonsense": false,
	} {
		if err := allowed(address); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
	err := NewWebhook("http://169.254.169.254/latest/meta-data", secret).Send(t.Context(), now(), 1, "{}")
	if err == nil || !strings.Contains(err.Error(), "not an address that notices may go to") {
		t.Errorf("the web-hook says %v", err)
	}
}

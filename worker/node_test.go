package worker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

func TestATaskRunsAndItsOutcomeAndLogArrive(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		n := start(t, l, worker.Config{})
		c.send(n.boot, "m1", protocol.LaneHigh, sh(1, "echo one; echo two >&2; exit 3"), nothing(2))
		c.await(2, protocol.OutcomeSuccess)
		r := c.await(1, protocol.OutcomeError)
		if r.ExitCode == nil || *r.ExitCode != 3 || r.LogLines != 2 || r.Started == 0 || r.Finished < r.Started {
			t.Errorf("reported %+v", r)
		}
		within(t, 5*time.Second, "both lines arrive", func() bool { return strings.Count(c.log(1), "\n") == 1 })
		if log := c.log(1); !strings.Contains(log, `"out","one"`) || !strings.Contains(log, `"err","two"`) {
			t.Errorf("log:\n%s", log)
		}
		within(t, 5*time.Second, "everything is confirmed", func() bool { return n.Status().Unconfirmed == 0 })
	})
}

func TestLogsArriveWhileTheTaskRuns(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		data := t.TempDir()
		n := start(t, l, worker.Config{Data: data})
		release := filepath.Join(t.TempDir(), "go")
		c.send(n.boot, "m1", protocol.LaneDefault, sh(1, "echo early; while [ ! -e "+release+" ]; do sleep 0.05; done; echo late"))
		within(t, 5*time.Second, "the first line arrives", func() bool { return strings.Contains(c.log(1), "early") })
		if c.report(1) != nil {
			t.Fatal("it had ended by then")
		}
		if err := os.WriteFile(release, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c.await(1, protocol.OutcomeSuccess)
		within(t, 5*time.Second, "the last line arrives", func() bool { return strings.Contains(c.log(1), "late") })
		within(t, 5*time.Second, "the spool is emptied", func() bool {
			left, err := os.ReadDir(filepath.Join(data, "logs"))
			return err == nil && len(left) == 0
		})
	})
}

func TestAClaimWithoutAnswerIsRepeatedAndAnOldAnswerStartsNothing(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l)
		var held *protocol.Answer
		c.onClaim = func(cl protocol.Claim, nth int) []protocol.Downlink {
			switch nth {
			case 1: // lost; kept for later
				held = c.grantAll(cl)
				return nil
			case 2: // somebody else's nonce, and the old one
				a := c.grantAll(cl)
				a.Nonce = "foreign"
				return []protocol.Downlink{{Answer: a}, {Answer: held}}
			default: // right, and twice
				a := c.grantAll(cl)
				return []protocol.Downlink{{Answer: a}, {Answer: a}}
			}
		}
		c.run()
		n := start(t, l, worker.Config{})
		file := filepath.Join(t.TempDir(), "ran")
		c.send(n.boot, "m1", protocol.LaneHigh, sh(1, "echo ran >> "+file))
		c.await(1, protocol.OutcomeSuccess)
		cs := c.claimed("m1")
		if len(cs) < 3 || cs[0].Nonce == cs[1].Nonce || cs[1].Nonce == cs[2].Nonce {
			t.Errorf("claims %+v, want three with their own nonces", cs)
		}
		// The answers again, and the message again under both its own name and another.
		c.tell(n.boot, protocol.Downlink{Answer: held})
		c.send(n.boot, "m1", protocol.LaneHigh, sh(1, "echo ran >> "+file))
		c.send(n.boot, "m2", protocol.LaneHigh, sh(1, "echo ran >> "+file), nothing(2))
		c.await(2, protocol.OutcomeSuccess)
		if ran := countLines(t, file); ran != 1 {
			t.Errorf("the attempt ran %d times", ran)
		}
	})
}

func TestAnAnswerThreeSecondsLateIsClaimedAgain(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l)
		held := make(chan protocol.Answer, 20)
		const slow = 6 // the claim after which the next one is five seconds away
		c.onClaim = func(cl protocol.Claim, nth int) []protocol.Downlink {
			if nth > slow {
				return []protocol.Downlink{{Answer: c.grantAll(cl)}}
			}
			held <- *c.grantAll(cl)
			return nil
		}
		c.run()
		clock := &jump{}
		n := start(t, l, worker.Config{Boot: clock.now})
		c.send(n.boot, "m1", protocol.LaneHigh, nothing(1))
		for range slow - 1 {
			<-held
			clock.by(5 * time.Second) // the next claim is due
		}
		newest := <-held
		clock.by(3 * time.Second)
		c.tell(n.boot, protocol.Downlink{Answer: &newest})
		within(t, time.Second, "it claims again at once", func() bool { return len(c.claimed("m1")) > slow })
		c.await(1, protocol.OutcomeSuccess)
		w := httptest.NewRecorder()
		n.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if !strings.Contains(w.Body.String(), "ax_worker_late_answers_total 1") {
			t.Error("the late answer was not told")
		}
	})
}

func TestKillBeforeAndAfterTheStart(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l)
		c.onClaim = func(cl protocol.Claim, _ int) []protocol.Downlink {
			if cl.Message == "never" {
				return nil
			}
			return []protocol.Downlink{{Answer: c.grantAll(cl)}}
		}
		c.run()
		n := start(t, l, worker.Config{Lanes: map[string]int{protocol.LaneHigh: 1}})
		file := filepath.Join(t.TempDir(), "ran")
		c.send(n.boot, "m1", protocol.LaneHigh, sh(1, "echo ran >> "+file+"; sleep 60"), sh(2, "echo ran >> "+file))
		c.send(n.boot, "never", protocol.LaneHigh, sh(3, "echo ran >> "+file))
		within(t, 10*time.Second, "the first runs", func() bool { return countLines(t, file) == 1 })
		within(t, 5*time.Second, "the third is claimed", func() bool { return len(c.claimed("never")) > 0 })
		for range 2 {
			for id := int64(1); id <= 4; id++ { // 4 is unknown
				c.tell(n.boot, protocol.Downlink{Kill: &protocol.Kill{Attempt: id, Reason: "by anna"}})
			}
		}
		for id := int64(1); id <= 3; id++ {
			r := c.await(id, protocol.OutcomeKilled)
			if !strings.Contains(r.Message, "by anna") {
				t.Errorf("attempt %d: message %q does not say why", id, r.Message)
			}
			if (r.Started != 0) != (id == 1) {
				t.Errorf("attempt %d: started %d", id, r.Started)
			}
		}
		within(t, 5*time.Second, "nothing is held", func() bool { s := n.Status(); return s.Unconfirmed+s.Claimed+s.Queued+s.Running == 0 })
		if c.report(4) != nil || countLines(t, file) != 1 {
			t.Errorf("unknown attempt reported %v; %d ran, want 1", c.report(4), countLines(t, file))
		}
	})
}

func TestLowTakesNoThreadOfHighAndNoopTakesNone(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		n := start(t, l, worker.Config{Lanes: map[string]int{protocol.LaneHigh: 2, protocol.LaneLow: 1}})
		var slow []protocol.Task
		for id := int64(1); id <= 4; id++ {
			slow = append(slow, sh(id, "sleep 60"))
		}
		c.send(n.boot, "m1", protocol.LaneLow, slow...)
		within(t, 10*time.Second, "low is busy", func() bool { s := n.Status(); return s.Running == 1 && s.Queued == 3 })
		c.send(n.boot, "m2", protocol.LaneHigh, sh(11, "true"), sh(12, "true"))
		c.send(n.boot, "m3", protocol.LaneLow, nothing(13))
		for id := int64(11); id <= 13; id++ {
			c.await(id, protocol.OutcomeSuccess)
		}
		if s := n.Status(); s.Running != 1 || s.Queued != 3 {
			t.Errorf("status %+v, want one running and three queued", s)
		}
		for id := int64(1); id <= 4; id++ {
			c.tell(n.boot, protocol.Downlink{Kill: &protocol.Kill{Attempt: id}})
		}
		for id := int64(1); id <= 4; id++ {
			c.await(id, protocol.OutcomeKilled)
		}
	})
}

func TestWhatCannotRunHereIsRefused(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		n := start(t, l, worker.Config{})
		ahead, early := nothing(1), nothing(2)
		ahead.Expected = time.Now().Add(time.Minute).UnixMilli()
		early.Expected, early.Early = ahead.Expected, true
		cobol := protocol.Task{Attempt: 3, ExecType: "cobol"}
		c.send(n.boot, "m1", protocol.LaneHigh, ahead, early, cobol)
		if r := c.await(1, protocol.OutcomeRefused); !strings.Contains(r.Message, "before its planned time") {
			t.Errorf("message %q", r.Message)
		}
		c.await(2, protocol.OutcomeSuccess)
		if r := c.await(3, protocol.OutcomeRefused); !strings.Contains(r.Message, "cobol") {
			t.Errorf("message %q", r.Message)
		}
	})
}

func TestAWorkerWhoseClockIsOffRefuses(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		w, err := worker.Open(worker.Config{Data: t.TempDir(), Name: "w1",
			Now: func() time.Time { return time.Now().Add(6 * time.Second) }}, l, executors)
		if err != nil {
			t.Fatal(err)
		}
		run(t, w)
		within(t, 5*time.Second, "it says why it is not ready", func() bool { return strings.Contains(w.Status().Error, "clock") })
		at := boot{"w1", w.Boot()}
		c.send(at, "m1", protocol.LaneHigh, nothing(1))
		within(t, 5*time.Second, "the attempt is handed back", func() bool { return strings.Contains(c.refusal(1), "clock") })
		if len(c.claimed("m1")) != 0 {
			t.Error("it claimed")
		}
	})
}

func TestDrainByTheCenterAndBack(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		n := start(t, l, worker.Config{})
		yes, no := true, false
		c.tell(n.boot, protocol.Downlink{Drain: &yes})
		within(t, 5*time.Second, "the registry says draining", func() bool { return state(t, l) == protocol.WorkerDraining })
		c.send(n.boot, "m1", protocol.LaneHigh, nothing(1))
		within(t, 5*time.Second, "the attempt is handed back", func() bool { return strings.Contains(c.refusal(1), "draining") })
		c.tell(n.boot, protocol.Downlink{Drain: &no})
		within(t, 5*time.Second, "the registry says available", func() bool { return state(t, l) == protocol.WorkerAvailable })
		c.send(n.boot, "m2", protocol.LaneHigh, nothing(2))
		c.await(2, protocol.OutcomeSuccess)
	})
}

func TestStopFinishesWhatRunsAndHandsBackTheRest(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l)
		c.onClaim = func(cl protocol.Claim, _ int) []protocol.Downlink {
			if cl.Message == "never" {
				return nil
			}
			return []protocol.Downlink{{Answer: c.grantAll(cl)}}
		}
		c.run()
		n := start(t, l, worker.Config{Grace: 2 * time.Second, Lanes: map[string]int{protocol.LaneHigh: 2}})
		c.send(n.boot, "m1", protocol.LaneHigh, sh(1, "sleep 0.5; echo done"), sh(2, "sleep 60"), sh(3, "true"))
		c.send(n.boot, "never", protocol.LaneHigh, sh(4, "true"))
		within(t, 10*time.Second, "two run", func() bool { return c.isStarted(1) && c.isStarted(2) && len(c.claimed("never")) > 0 })
		n.stop()
		if err := n.end(t); err != nil {
			t.Errorf("stopped with %v", err)
		}
		c.await(1, protocol.OutcomeSuccess)
		for id := int64(2); id <= 3; id++ {
			if r := c.await(id, protocol.OutcomeRefused); !strings.Contains(r.Message, "worker") {
				t.Errorf("attempt %d: message %q", id, r.Message)
			}
		}
		within(t, 5*time.Second, "the unclaimed is handed back", func() bool { return c.refusal(4) != "" })
		if c.isStarted(3) || c.isStarted(4) {
			t.Error("something started after the stop")
		}
		if ws, _, err := transport.Workers(t.Context(), l.Registry); err != nil || len(ws) != 0 {
			t.Errorf("the registry still has %v (%v)", ws, err)
		}
		keys := l.Transport.Keys(t.Context(), "*w1*").Val()
		if len(keys) != 0 {
			t.Errorf("left behind: %q", keys)
		}
	})
}

func TestASecondHolderOfANameIsRefused(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		start(t, l, worker.Config{})
		w, err := worker.Open(worker.Config{Data: t.TempDir(), Name: "w1"}, l, executors)
		if err != nil {
			t.Fatal(err)
		}
		err = w.Run(t.Context())
		if !errors.Is(err, worker.ErrNameHeld) || !strings.Contains(err.Error(), "Give this process a name of its own") {
			t.Errorf("the second holder got %v", err)
		}
	})
}

// A container without a disk of its own comes back under its name: the center must tell its lives apart.
func TestANameThatAnotherDirectoryHadGoesOnWithALaterBoot(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		old := protocol.Heartbeat{Name: "w1", UID: "old", Boot: 5}
		if _, err := transport.Beat(t.Context(), l.Registry, old, 0); err != nil {
			t.Fatal(err)
		}
		w, err := worker.Open(worker.Config{Data: t.TempDir(), Name: "w1", LostAfter: time.Millisecond}, l, executors)
		if err != nil {
			t.Fatal(err)
		}
		run(t, w)
		within(t, 10*time.Second, "it goes on with boot 6 after another's boot 5", func() bool { return w.Boot() == 6 })
	})
}

func TestAReplacedWorkerKillsItsTasksAndStops(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		n := start(t, l, worker.Config{})
		pidFile := filepath.Join(t.TempDir(), "pid")
		c.send(n.boot, "m1", protocol.LaneHigh, sh(1, "echo $$ > "+pidFile+"; exec sleep 60"))
		within(t, 10*time.Second, "it runs", func() bool { return countLines(t, pidFile) == 1 })
		usurper := protocol.Heartbeat{Name: "w1", UID: "other", Boot: 1}
		if _, err := transport.Beat(t.Context(), l.Registry, usurper, 0); err != nil {
			t.Fatal(err)
		}
		if err := n.end(t); !errors.Is(err, worker.ErrReplaced) {
			t.Errorf("ended with %v", err)
		}
		c.await(1, protocol.OutcomeWorkerLost)
		if alive(t, pidFile) {
			t.Error("its task lives on")
		}
		if ws, _, err := transport.Workers(t.Context(), l.Registry); err != nil || len(ws) != 1 || ws[0].UID != "other" {
			t.Errorf("the registry says %v (%v), want the other", ws, err)
		}
	})
}

func TestHealthPages(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		n := start(t, l, worker.Config{})
		c.send(n.boot, "m1", protocol.LaneHigh, nothing(1))
		c.await(1, protocol.OutcomeSuccess)
		get := func(path string) (int, string) {
			w := httptest.NewRecorder()
			n.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w.Code, w.Body.String()
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			code, body := get(path)
			var s worker.Status
			if err := json.Unmarshal([]byte(body), &s); err != nil || code != 200 || s.Name != "w1" {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
		_, metrics := get("/metrics")
		for _, want := range []string{"ax_worker_claims_total 1", "ax_worker_starts_total 1",
			`ax_worker_outcomes_total{outcome="success"} 1`, "ax_worker_unconfirmed ", "ax_worker_heartbeat_age_seconds "} {
			if !strings.Contains(metrics, want) {
				t.Errorf("metrics lack %q", want)
			}
		}
		n.stop()
		if err := n.end(t); err != nil {
			t.Fatal(err)
		}
		if code, body := get("/readyz"); code != 503 || !strings.Contains(body, `"worker":{"ok":false,"note":"the worker is draining"}`) || !strings.Contains(body, `"redis":{"ok":true}`) {
			t.Errorf("after the stop /readyz says %d %s", code, body)
		}
	})
}

// run runs a node until the test ends.
func run(t *testing.T, w *worker.Node) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func state(t *testing.T, l *transport.Link) string {
	t.Helper()
	ws, _, err := transport.Workers(t.Context(), l.Registry)
	if err != nil || len(ws) != 1 {
		t.Fatalf("registry: %v, %v", ws, err)
	}
	return ws[0].State
}

// alive says whether the process whose number is in the file still is one.
func alive(t *testing.T, pidFile string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(pidFile))
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", strings.TrimSpace(string(text))))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

package worker_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/transport"
	"github.com/axsched/ax/worker/types"
	"github.com/axsched/ax/worker/types/noop"
)

// moody is a type that can be of no use for a while, and gives back what it is given when told to.
type moody struct {
	fault   *atomic.Pointer[string]
	version *atomic.Pointer[string]
	refuse  *atomic.Bool
}

func newMoody(fault string) moody {
	m := moody{&atomic.Pointer[string]{}, &atomic.Pointer[string]{}, &atomic.Bool{}}
	one := "1"
	m.fault.Store(&fault)
	m.version.Store(&one)
	return m
}

func (m moody) Type() string  { return "moody" }
func (m moody) Fault() string { return *m.fault.Load() }
func (m moody) Describe() types.Description {
	return types.Description{Type: "moody", Version: *m.version.Load(), Plugin: "acme", Params: []types.Param{{Name: "a", Kind: protocol.KindText}}}
}
func (m moody) Run(context.Context, types.Task, *runner.Capture) types.Outcome {
	if m.refuse.Load() {
		return types.Outcome{Run: types.Ended(runner.Failed, time.Time{}, time.Now(), "it broke"), Refused: true}
	}
	return types.Outcome{Run: types.Ended(runner.Success, time.Now(), time.Now(), "")}
}

// A type that can run nothing is not announced, what is sent to it all the same goes elsewhere without a retry, and what the
// types take is told when it changes, not with each heartbeat.
func TestATypeOfNoUseIsNotAnnounced(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		m := newMoody("no licence")
		plugins := func() []protocol.PluginState {
			if fault := m.Fault(); fault != "" {
				return []protocol.PluginState{{Name: "acme", State: protocol.PluginFailed, Fault: fault}}
			}
			return []protocol.PluginState{{Name: "acme", State: protocol.PluginReady}}
		}
		ended := make(chan struct{})
		n := startWith(t, l, worker.Config{Plugins: plugins, End: func() { close(ended) }}, func(*runner.Runner) []types.Executor { return []types.Executor{noop.Executor{}, m} })
		beat := func() protocol.Heartbeat {
			all, _, err := transport.Workers(t.Context(), l.Registry)
			if err != nil || len(all) != 1 {
				t.Fatalf("%v, %v", all, err)
			}
			return all[0]
		}
		told := func() protocol.Catalog {
			cat, ok, err := transport.Catalog(t.Context(), l.Registry, "w1")
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return protocol.Catalog{}
			}
			return cat
		}
		if hb := beat(); slices.Contains(hb.Types, "moody") || !slices.Contains(hb.Types, "noop") || hb.Catalog == "" {
			t.Errorf("announced %+v", hb)
		}
		within(t, 5*time.Second, "its fault is told", func() bool { return len(told().Plugins) == 1 && told().Plugins[0].Fault == "no licence" })
		first := told()
		if first.Boot != 1 || first.Rev != beat().Catalog || len(first.Types) != 2 || first.Types[0].Params[0].Name != "a" {
			t.Errorf("told %+v", first)
		}
		rec := httptest.NewRecorder()
		n.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/readyz", nil))
		var ready worker.Readiness
		if err := json.Unmarshal(rec.Body.Bytes(), &ready); err != nil || rec.Code != 200 || ready.Parts["plugins"].OK || ready.Parts["plugins"].Note != "acme: no licence" {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		task := func(id int64) protocol.Task { return protocol.Task{Attempt: id, ExecType: "moody", Timeout: 60_000} }
		c.send(n.boot, "m1", protocol.LaneDefault, task(1))
		if r := c.await(1, protocol.OutcomeRefused); !strings.Contains(r.Message, "no licence") {
			t.Errorf("%+v", r)
		}
		well := ""
		m.fault.Store(&well)
		within(t, 5*time.Second, "it is announced", func() bool { return slices.Contains(beat().Types, "moody") })
		within(t, 5*time.Second, "its state is told", func() bool { return told().Plugins[0].State == protocol.PluginReady && told().Rev != first.Rev })
		c.send(n.boot, "m2", protocol.LaneDefault, task(2))
		c.await(2, protocol.OutcomeSuccess)
		m.refuse.Store(true)
		c.send(n.boot, "m3", protocol.LaneDefault, task(3))
		if r := c.await(3, protocol.OutcomeRefused); r.Message != "it broke" {
			t.Errorf("%+v", r)
		}
		if err := l.Registry.HSet(t.Context(), protocol.KeyCatalogs, "w1", "mine").Err(); err != nil {
			t.Fatal(err)
		}
		seq := beat().Seq
		within(t, 10*time.Second, "two more heartbeats", func() bool { return beat().Seq >= seq+2 })
		if got := l.Registry.HGet(t.Context(), protocol.KeyCatalogs, "w1").Val(); got != "mine" {
			t.Errorf("what did not change was told again: %s", got)
		}
		later := "2"
		m.version.Store(&later)
		within(t, 5*time.Second, "the new version is told", func() bool { return told().Worker != "" && told().Types[0].Version == "2" })
		n.stop()
		if err := n.end(t); err != nil {
			t.Error(err)
		}
		<-ended
		if told().Worker != "" {
			t.Error("what a worker that has left told is still there")
		}
	})
}

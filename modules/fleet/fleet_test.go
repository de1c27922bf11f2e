package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/fleet/store"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/worker/protocol"
)

// hall is a watch over a registry in memory and a real table. mono and wall move by
// the test's word alone.
type hall struct {
	t          *testing.T
	w          *Watch
	store      *store.Store
	db         *dbx.DB
	mono, wall time.Time
	beats      map[string]protocol.Heartbeat
	catalogs   map[string]protocol.Catalog
	emptied    bool
	gone       []domain.Boot // told while time passed
	err        error
}

// begun is the wall clock's reading when a test begins.
var begun = time.UnixMilli(1_800_000_000_000).UTC()

func each(t *testing.T, fn func(t *testing.T, h *hall)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 2})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		h := &hall{t: t, db: db, store: store.New(db), mono: time.Unix(1000, 0), wall: begun, beats: map[string]protocol.Heartbeat{}}
		h.restart()
		fn(t, h)
	})
}

// restart is another broker's watch over the same registry and rows.
func (h *hall) restart() {
	h.w = New(h, h.store, 10*time.Second, func() time.Time { return h.mono }, func() time.Time { return h.wall })
}

// Beats is the registry.
func (h *hall) Beats(context.Context) ([]protocol.Heartbeat, bool, error) {
	var out []protocol.Heartbeat
	for _, hb := range h.beats {
		out = append(out, hb)
	}
	return out, h.emptied, h.err
}

// Forget is the registry's.
func (h *hall) Forget(context.Context, string, int64) error { return h.err }

// Catalog is the registry's.
func (h *hall) Catalog(_ context.Context, worker string) (protocol.Catalog, bool, error) {
	c, ok := h.catalogs[worker]
	return c, ok, nil
}

// beat lets workers write a heartbeat each.
func (h *hall) beat(names ...string) {
	for _, name := range names {
		hb := h.beats[name]
		if hb.Name == "" {
			hb = protocol.Heartbeat{Name: name, UID: "u-" + name, Boot: 1, State: protocol.WorkerAvailable, Types: []string{"shell"}, Tags: []string{"eu"},
				Lanes: map[string]int{protocol.LaneHigh: 2}, Cores: 8, Held: []int64{7}, MeanMs: 1500, SkewMs: -3}
		}
		hb.Seq++
		h.beats[name] = hb
	}
}

// pass lets time go by, with a look each second as the broker's.
func (h *hall) pass(d time.Duration) {
	for ; d > time.Second; d -= time.Second {
		h.jump(time.Second)
		if v, err := h.w.Look(h.t.Context()); err == nil {
			h.gone = append(h.gone, v.Gone...)
		}
	}
	h.jump(d)
}

// jump lets time go by in which nobody looks.
func (h *hall) jump(d time.Duration) { h.mono, h.wall = h.mono.Add(d), h.wall.Add(d) }

// look is one look as "alive names | gone name:boot reasons".
func (h *hall) look() string {
	h.t.Helper()
	v, err := h.w.Look(h.t.Context())
	if err != nil {
		return "away"
	}
	var alive, gone []string
	for _, w := range v.Workers {
		alive = append(alive, w.Name)
	}
	for _, g := range append(h.gone, v.Gone...) {
		gone = append(gone, fmt.Sprintf("%s:%d %s", g.Name, g.Boot, h.told(g)))
	}
	h.gone = nil
	slices.Sort(gone)
	return fmt.Sprint(alive, " | ", gone)
}

// told is why a life is over, with the moment as the time since the test began.
func (h *hall) told(g domain.Boot) string {
	const since = "has not been heard since "
	text, ok := strings.CutPrefix(g.Reason, since)
	if !ok {
		return g.Reason
	}
	moment, rest, more := strings.Cut(text, ",")
	at, err := time.Parse(time.RFC3339, moment)
	if err != nil || !g.Heard.IsZero() && !g.Heard.Truncate(time.Second).Equal(at) {
		h.t.Fatalf("%q, heard last at %s", g.Reason, g.Heard)
	}
	if more {
		rest = "," + rest
	}
	return since + "+" + at.Sub(begun).String() + rest
}

func (h *hall) want(want string) {
	h.t.Helper()
	if got := h.look(); got != want {
		h.t.Fatalf("the look gives %q, want %q", got, want)
	}
}

// live brings the workers up and seen.
func (h *hall) live(names ...string) {
	h.t.Helper()
	h.look()
	h.beat(names...)
	h.want(fmt.Sprint(names, " | []"))
}

func (h *hall) row(name string) domain.Worker {
	h.t.Helper()
	rows, err := h.store.List(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(w domain.Worker) bool { return w.Name == name })
	if i < 0 {
		h.t.Fatalf("no row of %s in %v", name, rows)
	}
	return rows[i]
}

func TestSilenceIsMeasuredOnTheMonotonicClock(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a", "b")
		h.wall = h.wall.Add(24 * time.Hour) // set, not passed
		h.want("[a b] | []")
		h.wall = h.wall.Add(-48 * time.Hour)
		for range 10 {
			h.pass(time.Second)
			h.beat("b")
			h.want("[a b] | []")
		}
		h.pass(time.Second)
		h.beat("b")
		h.want("[b] | [a:1 has not been heard since +-24h0m0s]")
		h.pass(time.Second)
		h.beat("b")
		h.want("[b] | []") // told once
	})
}

// A worker that cannot write its journal is alive and refuses; the row says why and since when, and a later loss names it.
func TestAWorkersDiskIsKeptAndToldAtItsLoss(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a", "b")
		hb := h.beats["a"]
		hb.Disk = "disk full (no space left on device)" + strings.Repeat("é", diskMost)
		h.beats["a"] = hb
		h.pass(time.Second)
		h.beat("a", "b")
		h.want("[a b] | []")
		since := h.wall
		r := h.row("a")
		if r.Standing() != domain.WorkerRefusing || !strings.HasPrefix(r.Disk, "disk full (no") || len(r.Disk) > diskMost || !r.RefusingAt.Equal(since) {
			t.Fatalf("the row says %+v", r)
		}
		hb = h.beats["a"]
		hb.Disk = ""
		h.beats["a"] = hb
		h.pass(time.Second)
		h.beat("a", "b")
		h.want("[a b] | []")
		if r := h.row("a"); r.Standing() != domain.WorkerAvailable || r.Disk != "" || !r.RefusingAt.IsZero() {
			t.Fatalf("the row says %+v", r)
		}
		hb = h.beats["a"]
		hb.Disk = "disk full (x)"
		h.beats["a"] = hb
		h.pass(time.Second)
		h.beat("a", "b")
		h.want("[a b] | []")
		for range 10 {
			h.pass(time.Second)
			h.beat("b")
			h.look()
		}
		h.pass(time.Second)
		h.beat("b")
		h.want("[b] | [a:1 has not been heard since +3s, and could not write its journal before that: disk full (x)]")
	})
}

func TestALaterBootEndsTheOneBefore(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a")
		hb := h.beats["a"]
		hb.Boot, hb.Seq = 2, 0
		h.beats["a"] = hb
		h.beat("a")
		h.want("[a] | [a:1 was restarted]")
		old := h.beats["a"]
		old.Boot, old.Seq = 1, 99
		h.beats["a"] = old // an old copy of the registry comes back
		h.pass(time.Second)
		h.want("[a] | []")
		if b := h.row("a").Boot; b != 2 {
			t.Fatalf("the row says boot %d", b)
		}
	})
}

// A container without a disk of its own begins at boot 1 each time.
func TestAnotherDirectoryMayTakeTheNameWithALowerBoot(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.beats["a"] = protocol.Heartbeat{Name: "a", UID: "old", Boot: 7, State: protocol.WorkerAvailable}
		h.live("a")
		h.beats["a"] = protocol.Heartbeat{Name: "a", UID: "new", Boot: 1, Seq: 1, State: protocol.WorkerAvailable}
		h.want("[a] | [a:7 was restarted]")
		if b := h.row("a").Boot; b != 1 {
			t.Fatalf("the row says boot %d", b)
		}
	})
}

func TestWhoIsExpectedAndNeverSeenIsLost(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.w.Expect([]domain.Boot{{Name: "a", Boot: 3}, {Name: "a", Boot: 1}, {Name: "b", Boot: 1}, {Name: "b", Boot: 2}})
		h.err = errors.New("away")
		h.pass(time.Minute)
		h.want("away")
		h.err = nil
		h.want("[] | [a:1 was restarted b:1 was restarted]")
		h.pass(11 * time.Second)
		h.want("[] | [a:3 has not been heard since +1m0s b:2 has not been heard since +1m0s]")
		h.pass(time.Minute)
		h.want("[] | []")
	})
}

func TestWhoIsExpectedAndComesWithALaterBootIsTold(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.w.Expect([]domain.Boot{{Name: "a", Boot: 1}})
		h.look()
		h.beats["a"] = protocol.Heartbeat{Name: "a", UID: "u", Boot: 2, Seq: 1, State: protocol.WorkerAvailable}
		h.want("[a] | [a:1 was restarted]")
	})
}

// The last word of a dead worker stays in the registry: whoever looks for the first
// time waits for a second one before it gives work.
func TestADeadWorkersLastHeartbeatIsNotALife(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.beat("dead", "alive")
		h.want("[] | []")
		h.pass(time.Second)
		h.beat("alive")
		h.want("[alive] | []")
		h.beat("new")
		h.want("[alive new] | []") // it was not there before
		h.pass(10 * time.Second)
		h.beat("alive", "new")
		h.want("[alive new] | [dead:1 has not been heard since +0s]")
	})
}

func TestALostOneThatThawsIsBack(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a")
		h.pass(20 * time.Second)
		h.want("[] | [a:1 has not been heard since +0s]")
		lost := h.row("a")
		if lost.State != domain.WorkerGone || h.wall.Sub(lost.LostAt) > 10*time.Second {
			t.Fatalf("the row says %s, lost at %s", lost.State, lost.LostAt)
		}
		h.pass(time.Hour)
		h.look()
		if again := h.row("a"); !again.LostAt.Equal(lost.LostAt) || !again.SeenAt.Equal(lost.SeenAt) {
			t.Fatalf("lost at %s, seen %s: both moved", again.LostAt, again.SeenAt)
		}
		h.beat("a")
		h.want("[a] | []")
		if r := h.row("a"); r.State != domain.WorkerAvailable || !r.LostAt.IsZero() {
			t.Fatalf("the row says %s, lost at %s", r.State, r.LostAt)
		}
	})
}

// Worker, broker and registry end together: the row must not say "available" for ever.
func TestWhoTheRowsCallAliveAndNobodySeesIsLost(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a")
		clear(h.beats)
		h.restart()
		h.want("[] | []")
		h.pass(11 * time.Second)
		h.want("[] | [a:1 has not been heard since +0s]")
		if r := h.row("a"); r.State != domain.WorkerGone {
			t.Fatalf("the row says %s", r.State)
		}
		if len(h.w.lives) != 0 {
			t.Fatal("lives that are over are remembered for ever")
		}
	})
}

func TestTheRowSaysWhatTheHeartbeatSaid(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a")
		r := h.row("a")
		if r.State != domain.WorkerAvailable || r.Cores != 8 || r.Lanes[domain.LaneHigh] != 2 || r.Mean != 1500*time.Millisecond ||
			r.Skew != -3*time.Millisecond || !slices.Equal(r.Types, []string{"shell"}) || !slices.Equal(r.Tags, []string{"eu"}) || !r.SeenAt.Equal(h.wall) {
			t.Fatalf("%+v", r)
		}
		v, err := h.w.Look(t.Context())
		if err != nil || !slices.Equal(v.Workers[0].Held, []domain.ID{7}) {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

func TestWhoIsAskedToDrainStaysAskedAcrossBoots(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a", "b")
		if err := h.store.SetDrain(t.Context(), "a", true); err != nil {
			t.Fatal(err)
		}
		hb := h.beats["a"]
		hb.Boot++
		h.beats["a"] = hb
		h.pass(5 * time.Second)
		h.beat("a", "b")
		v, err := h.w.Look(t.Context())
		if err != nil || len(v.Workers) != 2 || !v.Workers[0].Drain || v.Workers[1].Drain {
			t.Fatalf("%+v, %v", v.Workers, err)
		}
		if r := h.row("a"); !r.Drain || r.State != domain.WorkerDraining || r.Boot != 2 {
			t.Fatalf("the row says %+v", r)
		}
		if err := h.store.SetDrain(t.Context(), "a", false); err != nil {
			t.Fatal(err)
		}
		if v, err := h.w.Look(t.Context()); err != nil || v.Workers[0].Drain {
			t.Fatalf("%+v, %v", v.Workers, err)
		}
	})
}

// The database is not the registry: without it nobody is lost, nobody disappears,
// and what was found is told and written later.
func TestADatabaseThatIsAwayHidesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a", "b")
		good := h.w.store
		closed, err := dbx.Open(t.Context(), dbtest.SQLite(t), dbx.Options{Pool: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		h.w.store = store.New(closed)
		h.pass(11 * time.Second)
		h.beat("a")
		h.want("[a] | [b:1 has not been heard since +0s]")
		h.w.store = good
		h.beat("a")
		h.want("[a] | []")
		if r := h.row("b"); r.State != domain.WorkerGone {
			t.Fatalf("the row says %s", r.State)
		}
	})
}

// The machine slept, or this process stood still: whether workers did so too is not known before they were given the
// time to say a word.
func TestAPauseInWhichNobodyLookedLosesNobody(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a", "b")
		h.jump(26 * time.Hour)
		h.want("[a b] | []")
		h.pass(5 * time.Second)
		h.beat("a")
		h.want("[a b] | []")
		h.pass(5 * time.Second)
		h.beat("a")
		h.pass(time.Second)
		h.want("[a] | [b:1 has not been heard since +0s]")
	})
}

func TestALookTellsThatTheRegistryWasEmptied(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a")
		for _, emptied := range []bool{true, false} {
			h.emptied = emptied
			if v, err := h.w.Look(t.Context()); err != nil || v.Emptied != emptied {
				t.Fatalf("%+v, %v; want emptied %v", v, err, emptied)
			}
		}
	})
}

func TestSinceWhenAWorkerRefusesForItsClock(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		skewed := func(ms int64) {
			t.Helper()
			hb := h.beats["a"]
			hb.SkewMs = ms
			h.beats["a"] = hb
			h.beat("a")
			h.jump(time.Second)
			h.want("[a] | []")
		}
		h.live("a")
		skewed(5000)
		if r := h.row("a"); r.Standing() != domain.WorkerAvailable || !r.RefusingAt.IsZero() {
			t.Errorf("at the limit: %+v", r)
		}
		skewed(-7000)
		since := h.wall
		if r := h.row("a"); r.Standing() != domain.WorkerRefusing || !r.RefusingAt.Equal(since) || r.Skew != -7*time.Second {
			t.Errorf("beyond it the row says %s since %s, want refusing since %s, at once", r.Standing(), r.RefusingAt, since)
		}
		skewed(-8000)
		h.restart() // another broker goes on with what the row says
		h.look()
		skewed(-9000)
		h.jump(saveEach)
		skewed(-9500)
		if r := h.row("a"); !r.RefusingAt.Equal(since) || r.Skew != -9500*time.Millisecond {
			t.Errorf("it has refused since %s, the row says %s", since, r.RefusingAt)
		}
		skewed(20)
		if r := h.row("a"); r.Standing() != domain.WorkerAvailable || !r.RefusingAt.IsZero() {
			t.Errorf("set right it still stands as %s since %s", r.Standing(), r.RefusingAt)
		}
		skewed(9000)
		h.pass(12 * time.Second)
		h.look()
		if r := h.row("a"); r.Standing() != domain.WorkerGone || !r.RefusingAt.IsZero() || r.Running != 0 {
			t.Errorf("lost: %+v", r)
		}
	})
}

// After a take-over it is known who is there once each that is expected was seen to live, or counts as lost; somebody
// who comes later was never missing.
func TestItIsToldWhetherSomebodyMayBeMissing(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		partial := func(want bool, when string) {
			t.Helper()
			v, err := h.w.Look(t.Context())
			if err != nil || v.Partial != want {
				t.Errorf("%s: %d workers, partial is %v: %v", when, len(v.Workers), v.Partial, err)
			}
		}
		h.beat("a", "b")
		partial(true, "first look")
		h.pass(time.Second)
		h.beat("a")
		partial(true, "one was seen to live")
		h.pass(time.Second)
		h.beat("a", "b")
		partial(false, "both were")
		h.restart()
		delete(h.beats, "b")
		for range 11 {
			h.beat("a")
			partial(true, "b is expected by its row")
			h.pass(time.Second)
		}
		h.beat("a")
		if v, err := h.w.Look(t.Context()); err != nil || len(v.Gone) != 1 {
			t.Fatalf("gone: %+v, %v", v.Gone, err)
		}
		partial(false, "b counts as lost")
		h.pass(time.Second)
		h.beat("a", "c")
		partial(false, "c is new")
	})
}

// What a worker tells of its types is read once for each word of it, kept with its rows, and told to whoever asks what can be run.
func TestWhatAWorkerTellsOfItsTypesIsKept(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.catalogs = map[string]protocol.Catalog{}
		tell := func(name, rev, version string, boot int64) {
			hb := h.beats[name]
			hb.Catalog, hb.Types = rev, []string{"shell", "acme_copy"}
			h.beats[name] = hb
			h.catalogs[name] = protocol.Catalog{Worker: name, Boot: boot, Rev: rev, Types: []protocol.TypeDescription{{Type: "acme_copy", Version: version, Plugin: "acme",
				About: protocol.Words{"en": "copies", "zh-CN": "复制"}, Params: []protocol.TypeParam{{Name: "table", Kind: "text", Required: true, Label: protocol.Words{"zh-CN": "表"}}}}},
				Plugins: []protocol.PluginState{{Name: "bad", State: protocol.PluginFailed, Fault: "no licence"}}}
			h.pass(time.Second)
			h.beat("a", "b")
			h.want("[a b] | []")
		}
		h.live("a", "b")
		if got, err := h.store.Catalogs(t.Context()); err != nil || len(got) != 0 {
			t.Fatalf("%v, %v", got, err)
		}
		tell("a", "r1", "1.9", 1)
		tell("b", "r2", "1.10", 1)
		offers, err := h.store.Offers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o := offers["acme_copy"]
		if fmt.Sprint(o.By) != "[a b]" || o.Description.Version != "1.10" || o.Description.About.In("zh-CN") != "复制" || o.Description.Params[0].LabelIn("zh-CN") != "表" || o.Description.Params[0].LabelIn("en") != "table" {
			t.Errorf("%+v", o)
		}
		if o := offers["shell"]; len(o.By) != 2 || o.Description.Params != nil {
			t.Errorf("%+v", o)
		}
		tell("a", "r3", "2", 7) // of another boot: not what the heartbeat means
		got, err := h.store.Catalogs(t.Context())
		if err != nil || got["a"].Rev != "r1" || got["b"].Plugins[0].Fault != "no licence" {
			t.Errorf("%+v, %v", got, err)
		}
		tell("a", "r3", "2", 1)
		if got, err = h.store.Catalogs(t.Context()); err != nil || got["a"].Rev != "r3" {
			t.Errorf("%+v, %v", got["a"], err)
		}
		h.restart()
		h.look()
		for range 12 {
			h.pass(time.Second)
			h.beat("b")
			h.look()
		}
		if offers, err = h.store.Offers(t.Context()); err != nil || fmt.Sprint(offers["acme_copy"].By) != "[b]" {
			t.Errorf("with a lost: %+v, %v", offers, err)
		}
	})
}

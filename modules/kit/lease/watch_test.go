package lease

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func nodes(rows []row) []int {
	var out []int
	for _, r := range rows {
		out = append(out, r.Node)
	}
	return out
}

func TestJudge(t *testing.T) {
	t0 := time.Unix(1000, 0)
	still := []row{{Node: 3, Holder: "a", Counter: 7}}
	look := func(w *watch, ms int, rows []row, fit bool) []int {
		return nodes(w.judge(rows, t0.Add(time.Duration(ms)*time.Millisecond), fit))
	}
	t.Run("a counter that stands still for 3 s is frozen and not before", func(t *testing.T) {
		var w watch
		for ms := 0; ms < 3000; ms += 500 {
			if got := look(&w, ms, still, true); got != nil {
				t.Fatalf("after %d ms: %v", ms, got)
			}
		}
		if got := look(&w, 3000, still, true); !slices.Equal(got, []int{3}) {
			t.Fatalf("after 3 s: %v", got)
		}
	})
	t.Run("a watcher that stood still itself starts anew", func(t *testing.T) {
		var w watch
		look(&w, 0, still, true)
		if got := look(&w, 60_000, still, true); got != nil {
			t.Fatalf("judged %v by a gap of its own", got)
		}
	})
	t.Run("an outage starts all clocks anew", func(t *testing.T) {
		var w watch
		for ms := 0; ms <= 2500; ms += 500 {
			look(&w, ms, still, true)
		}
		look(&w, 3000, still, false)
		for ms := 3500; ms < 6000; ms += 500 {
			if got := look(&w, ms, still, true); got != nil {
				t.Fatalf("judged %v at %d ms", got, ms)
			}
		}
		if got := look(&w, 6000, still, true); !slices.Equal(got, []int{3}) {
			t.Fatalf("3 s after the outage: %v", got)
		}
	})
	t.Run("another holder of the number is another process", func(t *testing.T) {
		var w watch
		for ms := 0; ms <= 2500; ms += 500 {
			look(&w, ms, still, true)
		}
		if got := look(&w, 3000, []row{{Node: 3, Holder: "b", Counter: 7}}, true); got != nil {
			t.Fatalf("judged %v", got)
		}
	})
	t.Run("what somebody condemned is finished at once", func(t *testing.T) {
		var w watch
		if got := look(&w, 0, []row{{Node: 3, Holder: "a", Counter: condemned}}, false); !slices.Equal(got, []int{3}) {
			t.Fatalf("%v", got)
		}
	})
}

// However looks, outages and freezes of the watcher fall, a process that moves at least each 2.9 s is never judged,
// and one that stands still is judged once the watcher has been well for 3 s and a look.
func TestJudgeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w watch
		now, moved, counter := 0, 0, int64(1)
		well := 0 // ms since the clocks last started anew
		frozen := rapid.Bool().Draw(t, "frozen")
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			step := rapid.IntRange(1, 2000).Draw(t, "step")
			fit := rapid.IntRange(0, 9).Draw(t, "fit") > 0
			now += step
			if !frozen && now-moved > 900 {
				counter, moved = counter+1, now
			}
			if well += step; step > int(maxGap.Milliseconds()) || !fit || w.last.IsZero() {
				well = 0
			}
			got := w.judge([]row{{Node: 1, Holder: "a", Counter: counter}}, time.UnixMilli(int64(now)), fit)
			if want := frozen && well >= 3000; (len(got) == 1) != want {
				t.Fatalf("judged %v, well for %d ms, frozen %v", got, well, frozen)
			}
		}
	})
}

func TestCandidates(t *testing.T) {
	const now = 1_000_000
	rows := []row{
		{Node: 0, Holder: "a"},
		{Node: 1, Holder: "", RenewedAt: now - 59_999},
		{Node: 3, Holder: "", RenewedAt: now - 60_000},
		{Node: 4, Holder: "", RenewedAt: now + 5_000},
	}
	got := candidates(rows, now)
	if len(got) != 1024-3 {
		t.Fatalf("%d candidates", len(got))
	}
	if got[0] != (candidate{2, true}) || got[1] != (candidate{3, false}) || got[2] != (candidate{5, true}) {
		t.Fatalf("first candidates %v", got[:3])
	}
}

func TestConnectionsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64().Draw(t, "start")
		ids := rapid.SliceOf(rapid.Int64()).Draw(t, "ids")
		gotStart, gotIDs, err := decode(encode(start, ids))
		if err != nil || gotStart != start || !slices.Equal(gotIDs, ids) {
			t.Fatalf("%d %v %v", gotStart, gotIDs, err)
		}
	})
	for _, bad := range []string{"x", "1", "1:a", "1:2,", ":3"} {
		if _, _, err := decode(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestForgetKeepsWhatCameAfter(t *testing.T) {
	var c connections
	old := c.add(5)
	c.add(9)
	c.forget(old)
	if ids, gen := c.snapshot(); !slices.Equal(ids, []int64{9}) || gen != 2 {
		t.Fatalf("%v at %d", ids, gen)
	}
}

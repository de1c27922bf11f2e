package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// draining lets a worker say that it drains and how many it still runs, and the watch hear it.
func (h *hall) draining(name string, running int) {
	h.t.Helper()
	h.beat(name)
	hb := h.beats[name]
	hb.State, hb.Running = protocol.WorkerDraining, running
	h.beats[name] = hb
	h.jump(time.Second)
	h.look()
	if r := h.row(name); r.State != domain.WorkerDraining || r.Running != running {
		h.t.Fatalf("the row says %s with %d running, want %d", r.State, r.Running, running)
	}
}

// A worker that ends takes itself off the registry when its tasks have ended, and may have said for the last time before
// that how many ran.
func TestWhoHasLeftRunsNothing(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a", "b")
		h.draining("a", 1)
		h.draining("a", 0) // is shown at once
		h.draining("b", 1)
		hb := h.beats["a"]
		hb.Boot++ // its next life
		h.beats["a"] = hb
		h.draining("a", 1)
		heard, last := h.row("a").SeenAt, h.beats["a"]
		delete(h.beats, "a")
		h.pass(2 * time.Second)
		h.beat("b")
		h.want("[a b] | []") // what it reported may be on its way
		if a, b := h.row("a"), h.row("b"); a.Running != 0 || a.State != domain.WorkerDraining || !a.SeenAt.Equal(heard) || b.Running != 1 {
			t.Errorf("a %s runs %d, heard at %s, not %s; b runs %d", a.State, a.Running, a.SeenAt, heard, b.Running)
		}
		last.Seq, last.Running = last.Seq+1, 3 // it was no leaving
		h.beats["a"] = last
		h.pass(4 * time.Second)
		h.look()
		if a := h.row("a"); a.Running != 3 {
			t.Errorf("back again it runs %d", a.Running)
		}
	})
}

// What swept a heartbeat away, or hid what did, is no word of its worker.
func TestWhoWasSweptAwayHasNotLeft(t *testing.T) {
	for name, sweep := range map[string]func(h *hall){
		"seen at once": func(h *hall) { h.emptied = true; h.look() },
		"seen late":    func(h *hall) { h.look(); h.jump(time.Second); h.emptied = true; h.look() },
		"in an outage": func(h *hall) { h.err = context.DeadlineExceeded; h.look(); h.err = nil; h.look() },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *hall) {
				h.live("a")
				h.draining("a", 1)
				clear(h.beats)
				h.jump(time.Second)
				sweep(h)
				h.emptied = false
				h.pass(7 * time.Second)
				h.look()
				if r := h.row("a"); r.State != domain.WorkerDraining || r.Running != 1 {
					t.Errorf("the row says %s with %d running", r.State, r.Running)
				}
			})
		})
	}
}

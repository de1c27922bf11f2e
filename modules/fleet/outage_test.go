package fleet

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

func TestAnOutageOfTheRegistryLosesNobody(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a")
		h.pass(8 * time.Second)
		h.err = errors.New("connection refused")
		for range 60 {
			h.pass(time.Second)
			h.want("away")
		}
		h.err = nil
		h.want("[a] | []")
		h.pass(9 * time.Second)
		h.want("[a] | []")
		h.pass(2 * time.Second)
		h.want("[] | [a:1 has not been heard since +0s]")
	})
}

// When a worker was last heard is what a person settles an orphan by: an outage of the registry, or another broker, does
// not make it later, though no patience ran meanwhile.
func TestAnOutageMakesNoLastHeartbeatLater(t *testing.T) {
	for name, come := range map[string]func(h *hall){
		"as it was":      func(*hall) {},
		"empty":          func(h *hall) { clear(h.beats) },
		"another broker": func(h *hall) { h.restart() },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *hall) {
				h.live("a")
				heard := h.wall
				h.pass(3 * time.Second)
				h.look()
				h.err = errors.New("connection refused")
				h.pass(time.Minute)
				h.err = nil
				come(h)
				h.look()
				for range 4 {
					h.pass(4 * time.Second)
					if r := h.row("a"); !r.SeenAt.Equal(heard) {
						t.Fatalf("last seen %s, heard last at %s", r.SeenAt, heard)
					}
				}
				if r := h.row("a"); r.State != domain.WorkerGone {
					t.Fatalf("the row says %s", r.State)
				}
				if text := h.look(); !strings.Contains(text, "a:1 has not been heard since +"+heard.Sub(begun).String()) {
					t.Fatal(text)
				}
			})
		})
	}
}

func TestARegistryThatLostItsDataLosesNobodyWhoComesBack(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a")
		kept := h.beats["a"]
		delete(h.beats, "a")
		h.pass(3 * time.Second)
		h.want("[a] | []")
		h.beats["a"] = kept
		h.beat("a")
		h.pass(8 * time.Second)
		h.want("[a] | []")
	})
}

// What swept the heartbeats away was no silence of their workers, however often it happens; who then stays away is lost.
func TestARegistryThatIsEmptiedAgainAndAgainLosesNobody(t *testing.T) {
	each(t, func(t *testing.T, h *hall) {
		h.live("a", "b")
		h.emptied = true
		kept := h.beats
		h.beats = map[string]protocol.Heartbeat{}
		h.pass(14 * time.Second)
		h.want("[a b] | []")
		h.emptied, h.beats = false, kept
		h.beat("b")
		delete(h.beats, "a")
		h.pass(9 * time.Second)
		h.beat("b")
		h.want("[a b] | []")
		h.pass(3 * time.Second)
		h.want("[b] | [a:1 has not been heard since +0s]")
	})
}

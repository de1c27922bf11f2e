package worker

import (
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// The machine's clock is judged by the database's; Redis' own clock is only what lies between.
func TestSkewIsMeasuredAgainstTheDatabase(t *testing.T) {
	type step struct {
		name        string
		pass        time.Duration // real time since the step before
		wall, redis time.Duration // how far these are off the database's clock now
		looked      time.Duration // the broker's last look, ago; negative = never
		told        time.Duration // what it said of Redis' clock then
		stampOff    time.Duration // of Redis' clock at that look
		want        time.Duration
	}
	const never = -1
	for name, steps := range map[string][]step{
		"before any broker Redis is all there is": {
			{"right", 0, 0, 0, never, 0, 0, 0},
			{"6 s ahead", time.Second, 6 * time.Second, 0, never, 0, 0, 6 * time.Second},
		},
		"Redis ten minutes ahead": {
			{"told", 0, 0, 10 * time.Minute, time.Second, 10 * time.Minute, 10 * time.Minute, 0},
			{"and the worker 6 s behind", time.Second, -6 * time.Second, 10 * time.Minute, time.Second, 10 * time.Minute, 10 * time.Minute, -6 * time.Second},
		},
		"Redis is set while work goes on": {
			{"right", 0, 0, 0, time.Second, 0, 0, 0},
			{"set forward, nobody looked yet", time.Second, 0, 10 * time.Minute, time.Second, 0, 0, 0},
			{"told", time.Second, 0, 10 * time.Minute, time.Second, 10 * time.Minute, 10 * time.Minute, 0},
			{"set back, nobody looked yet", time.Second, 0, -10 * time.Minute, time.Second, 10 * time.Minute, 10 * time.Minute, 0},
			{"told", time.Second, 0, -10 * time.Minute, time.Second, -10 * time.Minute, -10 * time.Minute, 0},
		},
		"the worker's clock is set while no broker looks": {
			{"right", 0, 0, 0, time.Second, 0, 0, 0},
			{"still right", time.Minute, 0, 0, time.Minute, 0, 0, 0},
			{"set by 2 h", time.Minute, 2 * time.Hour, 0, 2 * time.Minute, 0, 0, 2 * time.Hour},
			{"and back", time.Minute, 0, 0, 3 * time.Minute, 0, 0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var k skew
			base, boot := time.UnixMilli(1_800_000_000_000), time.Duration(0)
			for _, s := range steps {
				boot += s.pass
				now := base.Add(boot)
				see := sighting{boot: boot, wall: now.Add(s.wall), redis: now.Add(s.redis), ahead: s.told}
				if s.looked != never {
					see.looked = now.Add(-s.looked).Add(s.stampOff)
				}
				if k = k.judge(see); k.off != s.want {
					t.Fatalf("%s: off by %s, want %s", s.name, k.off, s.want)
				}
			}
		})
	}
}

func TestClaimsThatCouldNotBeWrittenAreDueAtOnce(t *testing.T) {
	b, next := newBook(), nonces()
	b.receive("high", protocol.Message{ID: "m", IDs: []int64{1}}, 0)
	now := time.Duration(0)
	for range 6 { // at the longest of its waits
		b.claims(now, next)
		now = b.messages["m"].next
	}
	cs := b.claims(now, next)
	b.unsent(cs, now)
	if again := b.claims(now, next); len(again) != 1 {
		t.Fatalf("claimed %v at once, want it again", again)
	}
	stale := b.claims(now+claimMost, next)
	b.claims(now+3*claimMost, next)
	b.unsent(stale, now)
	if got := b.claims(now+3*claimMost, next); len(got) != 0 {
		t.Errorf("an older claim's failure made %v due", got)
	}
}

package worker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
)

// nonces counts, so that a test can name them.
func nonces() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint("n", n) }
}

func grantOf(nonce string, ids ...int64) protocol.Answer {
	a := protocol.Answer{Message: "m", Nonce: nonce}
	for _, id := range ids {
		a.Grants = append(a.Grants, protocol.Task{Attempt: id})
	}
	return a
}

func granted(as []*attempt) []int64 {
	var ids []int64
	for _, a := range as {
		ids = append(ids, a.id)
	}
	return ids
}

func TestOnlyTheNewestClaimsAnswerCounts(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		name  string
		nonce string
		at    time.Duration // of the answer; claims go at 0 and at claimFirst
		want  []int64
		again bool
	}{
		{"newest, at once", "n2", claimFirst, []int64{1, 2}, false},
		{"older claim's", "n1", claimFirst, nil, false},
		{"nobody's", "x", second, nil, false},
		{"none", "", second, nil, false},
		{"just within three seconds", "n2", claimFirst + 3*second - 1, []int64{1, 2}, false},
		{"three seconds late", "n2", claimFirst + 3*second, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, next := newBook(), nonces()
			b.receive("high", protocol.Message{ID: "m", IDs: []int64{1, 2}}, 0)
			b.claims(0, next)
			b.claims(claimFirst, next)
			as, again := b.answer(grantOf(c.nonce, 1, 2, 3), c.at)
			if !slices.Equal(granted(as), c.want) || again != c.again {
				t.Errorf("granted %v, again %v; want %v, %v", granted(as), again, c.want, c.again)
			}
			if again && len(b.claims(c.at, next)) != 1 {
				t.Error("a late answer was not claimed again at once")
			}
		})
	}
}

func TestClaimsAreRepeatedWithBackOffAndFreshNonces(t *testing.T) {
	b, next := newBook(), nonces()
	b.receive("high", protocol.Message{ID: "m", IDs: []int64{1}}, 0)
	var at []time.Duration
	seen := map[string]bool{}
	for now := time.Duration(0); now < 20*time.Second; now += 100 * time.Millisecond {
		for _, c := range b.claims(now, next) {
			at, seen[c.Nonce] = append(at, now), true
		}
	}
	const ms = time.Millisecond
	want := []time.Duration{0, 1000 * ms, 3000 * ms, 7000 * ms, 12000 * ms, 17000 * ms}
	if !slices.Equal(at, want) || len(seen) != len(at) {
		t.Errorf("claimed at %v with %d nonces, want %v", at, len(seen), want)
	}
}

func TestClaimsKeepTheCentersOrder(t *testing.T) {
	b := newBook()
	ids := []int64{9, 3, 7, 1, 8, 2, 6, 4}
	b.receive("high", protocol.Message{ID: "m", IDs: ids}, 0)
	b.kill(7, runner.ErrKilled)
	got := b.claims(0, nonces())[0].IDs
	if want := []int64{9, 3, 1, 8, 2, 6, 4}; !slices.Equal(got, want) {
		t.Errorf("claimed %v, want %v", got, want)
	}
}

func TestWhatIsNeitherGrantedNorDeniedIsForgotten(t *testing.T) {
	b := newBook()
	b.receive("high", protocol.Message{ID: "m", IDs: []int64{1, 2, 3}}, 0)
	b.claims(0, nonces())
	b.answer(grantOf("n1", 2), 0)
	if held := b.held(); !slices.Equal(held, []int64{2}) || len(b.messages) != 0 {
		t.Errorf("holds %v and %d messages, want 2 and none", held, len(b.messages))
	}
}

func TestAConfirmedAttemptIsNotTakenUpByWhatIsStillUnderWay(t *testing.T) {
	b := newBook()
	b.restore(1)
	b.confirm([]int64{1}, 0)
	if b.receive("high", protocol.Message{ID: "m", IDs: []int64{1}}, 14*time.Second) {
		t.Error("a message that repeats a confirmed attempt was taken")
	}
	b.restore(2)
	b.confirm([]int64{2}, 16*time.Second)
	b.restore(3)
	b.confirm([]int64{3}, 32*time.Second)
	if b.known(1) {
		t.Error("confirmed attempts are remembered for ever")
	}
}

// TestNoAttemptStartsTwice lets messages, answers, kills and confirmations come in any order, repeated and misdirected.
func TestNoAttemptStartsTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, next := newBook(), nonces()
		starts := map[int64]int{}
		killed := map[int64]bool{}
		var waiting, going []*attempt
		var claims []protocol.Claim
		now := time.Duration(0)
		id := rapid.Int64Range(1, 4)
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) { now += time.Duration(rapid.IntRange(0, 4000).Draw(t, "ms")) * time.Millisecond },
			"message": func(t *rapid.T) {
				m := protocol.Message{ID: rapid.SampledFrom([]string{"m", "o"}).Draw(t, "message"), IDs: rapid.SliceOfN(id, 1, 4).Draw(t, "ids")}
				b.receive("high", m, now)
			},
			"claim": func(*rapid.T) { claims = append(claims, b.claims(now, next)...) },
			"answer": func(t *rapid.T) {
				if len(claims) == 0 {
					return
				}
				c := rapid.SampledFrom(claims).Draw(t, "claim")
				a := grantOf(c.Nonce, rapid.SliceOfN(id, 0, 4).Draw(t, "grants")...)
				a.Message = c.Message
				as, _ := b.answer(a, now)
				waiting = append(waiting, as...)
			},
			"start": func(*rapid.T) {
				for _, a := range waiting {
					if b.begin(a) {
						starts[a.id]++
						if killed[a.id] {
							t.Fatalf("attempt %d started after its kill", a.id)
						}
						going = append(going, a)
					}
				}
				waiting = nil
			},
			"end": func(*rapid.T) {
				for _, a := range going {
					b.end(a)
				}
				going = nil
			},
			"kill": func(t *rapid.T) {
				k := id.Draw(t, "killed")
				if b.kill(k, runner.ErrKilled) != nil {
					killed[k] = true
				}
			},
			"": func(t *rapid.T) {
				for id, n := range starts {
					if n > 1 {
						t.Fatalf("attempt %d started %d times", id, n)
					}
				}
				sum := 0
				for _, n := range b.count {
					sum += n
				}
				if sum != len(b.attempts) {
					t.Fatalf("counts %v, %d attempts", b.count, len(b.attempts))
				}
			},
		})
	})
}

func TestMeanForgetsAfterFiveMinutes(t *testing.T) {
	var m mean
	at := time.Unix(1_700_000_000, 0)
	if m.of(at) != 0 {
		t.Error("a mean of nothing")
	}
	m.add(at, time.Second)
	m.add(at.Add(4*time.Minute), 3*time.Second)
	if got := m.of(at.Add(4 * time.Minute)); got != 2*time.Second {
		t.Errorf("mean %s, want 2s", got)
	}
	if got := m.of(at.Add(6 * time.Minute)); got != 3*time.Second {
		t.Errorf("mean %s two minutes later, want 3s", got)
	}
	if got := m.of(at.Add(time.Hour)); got != 0 {
		t.Errorf("mean %s an hour later, want 0", got)
	}
}

func TestWorkIsRefusedForClockAndDrainOnly(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	for _, c := range []struct {
		ahead time.Duration
		early bool
		want  bool
	}{{5 * time.Second, false, false}, {5001 * time.Millisecond, false, true}, {time.Hour, true, false}, {-24 * time.Hour, false, false}} {
		task := protocol.Task{Expected: now.Add(c.ahead).UnixMilli(), Early: c.early}
		if got := early(task, now) != ""; got != c.want {
			t.Errorf("planned %s ahead, early allowed %v: refused %v, want %v", c.ahead, c.early, got, c.want)
		}
	}
	for skew, want := range map[time.Duration]bool{0: false, 5 * time.Second: false, 5001 * time.Millisecond: true, -6 * time.Second: true} {
		if got := unfit("", skew, false) != ""; got != want {
			t.Errorf("clock %s off: refused %v, want %v", skew, got, want)
		}
	}
	if unfit("", 0, true) == "" {
		t.Error("a draining worker takes work")
	}
	if got := unfit("disk full (x)", 0, false); got != "the worker cannot write its journal: disk full (x)" {
		t.Errorf("without a journal: %q", got)
	}
}

func TestEntriesOfReportsAreBounded(t *testing.T) {
	small := make([]protocol.Report, 300)
	if n := cut(small); n != protocol.MaxBatch {
		t.Errorf("%d small reports in one entry, want %d", n, protocol.MaxBatch)
	}
	large := make([]protocol.Report, 20)
	for i := range large {
		large[i].Result = make([]byte, protocol.MaxResult)
	}
	if n := cut(large); n != entryBytes/protocol.MaxResult {
		t.Errorf("%d large reports in one entry, want %d", n, entryBytes/protocol.MaxResult)
	}
	if n := cut(large[:1]); n != 1 {
		t.Errorf("cut one report into %d", n)
	}
}

package wheel

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 2, 3, 2, 0, 0, 0, time.UTC)

// list is the model: all keys with their moments, sorted when asked.
type list struct {
	now   time.Time
	added int
	keys  map[int]listed
}

type listed struct {
	at    time.Time
	order int
}

func (l *list) add(key int, at time.Time) bool {
	if at.Sub(l.now) > Horizon {
		return false
	}
	l.added++
	l.keys[key] = listed{at, l.added}
	return true
}

func (l *list) advance(now time.Time) []int {
	l.now = now
	var due []int
	for key, x := range l.keys {
		// A moment has come when the tick that begins at or after it has begun.
		if !x.at.Add(Tick - 1).Truncate(Tick).After(now) {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b int) int {
		x, y := l.keys[a], l.keys[b]
		if c := x.at.Compare(y.at); c != 0 {
			return c
		}
		return x.order - y.order
	})
	for _, key := range due {
		delete(l.keys, key)
	}
	return due
}

// TestWheelIsASortedList: whatever is added, moved and removed, and however time goes,
// each batch is what a sorted list gives.
func TestWheelIsASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := start.Add(time.Duration(rapid.Int64Range(0, int64(4*time.Hour)).Draw(t, "start")))
		w, l := New[int](now), &list{now: now, keys: map[int]listed{}}
		key := rapid.IntRange(0, 40)
		delay := rapid.OneOf(
			rapid.Int64Range(-int64(time.Minute), int64(5*time.Second)),
			rapid.Int64Range(0, int64(5*time.Minute)),
			rapid.Int64Range(0, int64(Horizon+time.Minute)),
			rapid.Map(rapid.Int64Range(-3, 70_000), func(n int64) int64 { return n * int64(Tick) * 5 }),
		)
		step := rapid.OneOf(
			rapid.Int64Range(0, int64(50*time.Millisecond)),
			rapid.Int64Range(-int64(15*time.Second), int64(10*time.Second)),
			rapid.Int64Range(0, int64(30*time.Minute)),
			rapid.Int64Range(-int64(5*time.Hour), int64(5*time.Hour)),
		)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				k, at := key.Draw(t, "key"), now.Add(time.Duration(delay.Draw(t, "delay")))
				if took, err := l.add(k, at), w.Add(k, at); took != (err == nil) {
					t.Fatalf("adding at %s: %v", at, err)
				}
			},
			"remove": func(t *rapid.T) {
				k := key.Draw(t, "key")
				_, has := l.keys[k]
				delete(l.keys, k)
				if w.Remove(k) != has {
					t.Fatalf("removing %d: want %v", k, has)
				}
			},
			"advance": func(t *rapid.T) {
				now = now.Add(time.Duration(step.Draw(t, "step")))
				if got, want := w.Advance(now), l.advance(now); !slices.Equal(got, want) {
					t.Fatalf("at %s: got %v, want %v", now, got, want)
				}
			},
			"tick by tick": func(t *rapid.T) {
				for range rapid.IntRange(1, 600).Draw(t, "ticks") {
					now = now.Add(Tick)
					if got, want := w.Advance(now), l.advance(now); !slices.Equal(got, want) {
						t.Fatalf("at %s: got %v, want %v", now, got, want)
					}
				}
			},
			"": func(t *rapid.T) {
				if w.Len() != len(l.keys) {
					t.Fatalf("%d keys, want %d", w.Len(), len(l.keys))
				}
			},
		})
		now = now.Add(12 * time.Hour)
		if got, want := w.Advance(now), l.advance(now); !slices.Equal(got, want) || w.Len() != 0 {
			t.Fatalf("at the end: got %v, want %v, %d left", got, want, w.Len())
		}
	})
}

// TestThousandsTickByTick crosses every ring's edges without a jump.
func TestThousandsTickByTick(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	now := start
	w, l := New[int](now), &list{now: now, keys: map[int]listed{}}
	for k := range 5000 {
		at := now.Add(time.Duration(rng.Int64N(int64(Horizon))))
		l.add(k, at)
		if err := w.Add(k, at); err != nil {
			t.Fatal(err)
		}
	}
	fired := 0
	for now.Before(start.Add(Horizon + time.Second)) {
		now = now.Add(time.Duration(1+rng.IntN(300)) * Tick / 10)
		got := w.Advance(now)
		fired += len(got)
		if len(got) > 0 && !slices.Equal(got, l.advance(now)) {
			t.Fatalf("at %s: got %v", now, got)
		}
	}
	if fired != 5000 || w.Len() != 0 {
		t.Errorf("%d fired, %d left", fired, w.Len())
	}
}

// TestEdgesOfTheRings has a key on, before and after each tick where a slot of an outer
// ring begins, and expects each at its own tick.
func TestEdgesOfTheRings(t *testing.T) {
	begin := time.UnixMilli(start.UnixMilli() / (middleSpan * 10) * (middleSpan * 10))
	w := New[int](begin)
	want := map[int]int{} // key, which is its tick → times seen
	for edge := innerSlots; edge < int(Horizon/Tick)-1; edge += innerSlots {
		for _, tick := range []int{edge - 1, edge, edge + 1} {
			want[tick] = 0
			if err := w.Add(tick, begin.Add(time.Duration(tick)*Tick)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for tick := range int(Horizon/Tick) + 1 {
		for _, key := range w.Advance(begin.Add(time.Duration(tick) * Tick)) {
			if want[key]++; key != tick {
				t.Fatalf("the key of tick %d comes at tick %d", key, tick)
			}
		}
	}
	for key, seen := range want {
		if seen != 1 {
			t.Errorf("the key of tick %d came %d times", key, seen)
		}
	}
}

func TestNeverEarly(t *testing.T) {
	w := New[string](start)
	at := start.Add(25*time.Millisecond + 1)
	if err := w.Add("a", at); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{25 * time.Millisecond, 0}, {29 * time.Millisecond, 0}, {30 * time.Millisecond, 1}, {40 * time.Millisecond, 0}} {
		if got := w.Advance(start.Add(c.after)); len(got) != c.want {
			t.Errorf("after %s: %v, want %d keys", c.after, got, c.want)
		}
	}
}

func TestBeyondHorizon(t *testing.T) {
	w := New[int64](start)
	if err := w.Add(1, start.Add(Horizon)); err != nil {
		t.Errorf("the horizon itself: %v", err)
	}
	for _, at := range []time.Time{start.Add(Horizon + 1), start.AddDate(500, 0, 0)} {
		if err := w.Add(1, at); !errors.Is(err, ErrBeyondHorizon) {
			t.Errorf("at %s: %v", at, err)
		}
	}
	if got := w.Advance(start.Add(Horizon)); !slices.Equal(got, []int64{1}) {
		t.Errorf("after refused moves: %v, want the first moment kept", got)
	}
	if err := w.Add(2, time.Time{}); err != nil {
		t.Errorf("a moment long past: %v", err)
	}
	if got := w.Advance(start.Add(Horizon)); !slices.Equal(got, []int64{2}) {
		t.Errorf("long past: %v", got)
	}
}

// TestClockCorrections is two hours forward, then back, with keys on both sides.
func TestClockCorrections(t *testing.T) {
	w := New[string](start)
	for key, at := range map[string]time.Duration{"a": time.Second, "b": 40 * time.Minute} {
		if err := w.Add(key, start.Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Advance(start.Add(2 * time.Hour)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("forward: %v", got)
	}
	if err := w.Add("c", start.Add(2*time.Hour+30*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := w.Advance(start); got != nil {
		t.Errorf("back: %v comes again", got)
	}
	if err := w.Add("d", start.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := w.Advance(start.Add(59 * time.Second)); got != nil {
		t.Errorf("%v is early", got)
	}
	if got := w.Advance(start.Add(time.Minute)); !slices.Equal(got, []string{"d"}) {
		t.Errorf("%v, want d", got)
	}
	now := start.Add(time.Minute)
	for ; now.Before(start.Add(2*time.Hour + 30*time.Minute)); now = now.Add(7 * time.Second) {
		if got := w.Advance(now); got != nil {
			t.Fatalf("%v at %s", got, now)
		}
	}
	if got := w.Advance(now); !slices.Equal(got, []string{"c"}) {
		t.Errorf("%v, want c", got)
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		w := New[int](begin)
		for k := range 100 {
			if err := w.Add(k, begin.Add(time.Duration(k)*100*time.Millisecond)); err != nil {
				t.Fatal(err)
			}
		}
		var got []int
		ended := make(chan error)
		go func() {
			ended <- w.Run(ctx, time.Now, func(batch []int) {
				for _, k := range batch {
					if late := time.Since(begin.Add(time.Duration(k) * 100 * time.Millisecond)); k != 50 && late > 2*time.Second || late < 0 {
						t.Errorf("%d is %s late", k, late)
					}
				}
				got = append(got, batch...)
				if slices.Contains(batch, 50) {
					time.Sleep(2*time.Second - Tick) // a slow taker: what comes due meanwhile waits for it
				}
			})
		}()
		time.Sleep(20 * time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run ended with %v", err)
		}
		want := make([]int, 100)
		for k := range want {
			want[k] = k
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

// TestConcurrentUse: each key that is not removed comes exactly once.
func TestConcurrentUse(t *testing.T) {
	const adders, each = 4, 2000
	w := New[int](start)
	var adding sync.WaitGroup
	removed := make([]map[int]bool, adders)
	for a := range adders {
		removed[a] = map[int]bool{}
		adding.Go(func() {
			for i := range each {
				k := a*each + i
				if err := w.Add(k, start.Add(time.Duration(i)*time.Millisecond)); err != nil {
					t.Error(err)
				}
				if i%3 == 0 && w.Remove(k) {
					removed[a][k] = true
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { adding.Wait(); close(done) }()
	seen := map[int]int{}
	for now, running := start, true; running || w.Len() > 0; now = now.Add(Tick) {
		select {
		case <-done:
			running = false
		default:
		}
		for _, k := range w.Advance(now) {
			seen[k]++
		}
	}
	for k := range adders * each {
		want := 1
		if removed[k/each][k] {
			want = 0
		}
		if seen[k] != want {
			t.Errorf("key %d came %d times, want %d", k, seen[k], want)
		}
	}
}

func BenchmarkAddRemove(b *testing.B) {
	w := New[int64](start)
	for i := range int64(100_000) {
		if err := w.Add(i, start.Add(time.Duration(i)*time.Millisecond)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		if err := w.Add(-1, start.Add(time.Duration(i%3000)*time.Second)); err != nil {
			b.Fatal(err)
		}
		w.Remove(-1)
	}
}

func BenchmarkTickIdle(b *testing.B) {
	w, now := New[int64](start), start
	for b.Loop() {
		now = now.Add(Tick)
		w.Advance(now)
	}
}

// BenchmarkJump is a correction of two hours over 100,000 waiting keys, and back.
func BenchmarkJump(b *testing.B) {
	w := New[int64](start)
	for i := range int64(100_000) {
		if err := w.Add(i, start.Add(time.Hour)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		w.Advance(start.Add(-2 * time.Hour))
		w.Advance(start)
	}
}

// BenchmarkFire is the whole life of 10,000 keys spread over a minute: added, moved inwards, handed out tick by tick.
func BenchmarkFire(b *testing.B) {
	const keys = 10_000
	w, now := New[int64](start), start
	b.ReportAllocs()
	for b.Loop() {
		for k := range int64(keys) {
			if err := w.Add(k, now.Add(time.Duration(k)*6*time.Millisecond)); err != nil {
				b.Fatal(err)
			}
		}
		for left := keys; left > 0; now = now.Add(Tick) {
			left -= len(w.Advance(now))
		}
	}
	b.ReportMetric(keys*float64(b.N)/b.Elapsed().Seconds(), "keys/s")
}

// BenchmarkFireTogether is the same with all of them in one tick.
func BenchmarkFireTogether(b *testing.B) {
	const keys = 10_000
	w, now := New[int64](start), start
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		for k := range int64(keys) {
			if err := w.Add(k, now); err != nil {
				b.Fatal(err)
			}
		}
		if n := len(w.Advance(now)); n != keys {
			b.Fatalf("%d keys", n)
		}
	}
	b.ReportMetric(keys*float64(b.N)/b.Elapsed().Seconds(), "keys/s")
}

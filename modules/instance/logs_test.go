package instance_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/worker/protocol"
)

func (w *world) records() *instance.Records {
	return &instance.Records{Store: w.st, Specs: w, Deps: w, Workers: w, Now: w.now}
}

// shipped is a piece of output whose lines, from place first on, say their places.
func shipped(a domain.Attempt, first, last int64) protocol.LogLines {
	p := protocol.LogLines{Worker: a.Target, Boot: a.Boot, Attempt: int64(a.ID), First: first, Last: last}
	for n := first; n <= last; n++ {
		p.Lines = append(p.Lines, line(n, protocol.StreamOut, fmt.Sprint("line ", n)))
	}
	return p
}

func line(n int64, stream, text string) json.RawMessage {
	b, err := json.Marshal([]any{n, 1_770_091_506_000 + n, stream, text})
	if err != nil {
		panic(err)
	}
	return b
}

func (w *world) logOf(a domain.Attempt) instance.LogPage {
	w.t.Helper()
	p, err := w.records().LogAfter(w.t.Context(), w.attempt(a.ID), 0, 100_000)
	w.ok(err)
	return p
}

// TestKeepInAnyOrder ships random overlapping pieces, in any order and again: every
// line is there once, in order.
func TestKeepInAnyOrder(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rnd := rand.New(rand.NewPCG(1, 2))
		for round := range 10 {
			in := w.fire(jobA)
			a := w.run(in.ID)
			const last = 60
			var pieces []protocol.LogLines
			for at := int64(1); at <= last; {
				to := min(at+rnd.Int64N(9), last)
				pieces = append(pieces, shipped(a, at, to))
				at = to + 1
			}
			for range 5 {
				from := 1 + rnd.Int64N(last)
				pieces = append(pieces, shipped(a, from, min(from+rnd.Int64N(30), last)))
			}
			rnd.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
			for part := range slices.Chunk(append(pieces, pieces[:5]...), 3) {
				w.ok(w.life.Keep(t.Context(), part))
			}
			w.pass(time.Minute)
			p := w.logOf(a)
			if len(p.Lines) != last || p.Last != last {
				t.Fatalf("round %d: %d lines, last %d, want %d", round, len(p.Lines), p.Last, last)
			}
			for i, l := range p.Lines {
				if l.No != int64(i+1) || l.Text != fmt.Sprint("line ", i+1) {
					t.Fatalf("round %d: line %d is %+v", round, i+1, l)
				}
			}
			acks, err := w.life.Acks(t.Context(), pieces)
			w.ok(err)
			if len(acks) != 1 || acks[0].UpTo != last {
				t.Fatalf("round %d: acks %+v", round, acks)
			}
		}
	})
}

// TestKeepAtOnce lets two processes store the same output in different pieces.
func TestKeepAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for range 10 {
			a := w.run(w.fire(jobA).ID)
			var both sync.WaitGroup
			for _, cut := range []int64{10, 25} {
				both.Go(func() {
					if err := w.life.Keep(t.Context(), []protocol.LogLines{shipped(a, 1, cut), shipped(a, cut+1, 40)}); err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
			w.pass(time.Minute)
			if p := w.logOf(a); len(p.Lines) != 40 {
				t.Fatalf("%d lines are there, want 40", len(p.Lines))
			}
		}
	})
}

func TestAcksWaitForWhatIsMissing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.run(w.fire(jobA).ID)
		in := []protocol.LogLines{shipped(a, 1, 5), shipped(a, 8, 9), {Worker: "w1", Attempt: 99, First: 1, Last: 1, Lines: shipped(a, 1, 1).Lines}}
		foreign := shipped(a, 6, 7)
		foreign.Worker = "w2"
		w.ok(w.life.Keep(t.Context(), append(in, foreign, protocol.LogLines{Worker: "w1", Attempt: int64(a.ID), First: 6, Last: 7, Lines: []json.RawMessage{[]byte(`"no line"`), []byte(`[1]`)}})))
		acks, err := w.life.Acks(t.Context(), in)
		w.ok(err)
		want := []protocol.LogAck{{Attempt: int64(a.ID), UpTo: 5}, {Attempt: 99, UpTo: 1}}
		if !slices.Equal(acks, want) {
			t.Errorf("acks %+v, want %+v", acks, want)
		}
		if p := w.logOf(a); len(p.Lines) != 5 {
			t.Errorf("%d lines are read past what is on its way, want 5", len(p.Lines))
		}
		w.pass(time.Minute)
		if p := w.logOf(a); len(p.Lines) != 7 {
			t.Errorf("%d lines are read when what is missing does not come, want 7", len(p.Lines))
		}
	})
}

// TestLineNumbersAreAbsolute counts what was not kept, reads from anywhere, and
// before and after.
func TestLineNumbersAreAbsolute(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.run(w.fire(jobA).ID)
		head := shipped(a, 1, 10)
		tail := protocol.LogLines{Worker: a.Target, Attempt: int64(a.ID), First: 11, Last: 13,
			Lines: []json.RawMessage{line(11, protocol.StreamGap, "1000 54321"), line(1011, protocol.StreamOut, "line 1011"), line(1012, protocol.StreamErr, "line 1012")}}
		w.ok(w.life.Keep(t.Context(), []protocol.LogLines{head, tail}))
		w.ok(w.life.Keep(t.Context(), []protocol.LogLines{tail}))
		p := w.logOf(a)
		if p.Last != 1012 || len(p.Lines) != 13 {
			t.Fatalf("%d lines, last %d", len(p.Lines), p.Last)
		}
		if lines, bytes := p.Lines[10].Lost(); lines != 1000 || bytes != 54321 || p.Lines[10].No != 11 {
			t.Errorf("what was not kept: %+v", p.Lines[10])
		}
		for _, l := range p.Lines {
			if l.No != 11 && l.Text != fmt.Sprint("line ", l.No) {
				t.Errorf("line %d says %q", l.No, l.Text)
			}
		}
		numbers := func(p instance.LogPage, err error) string {
			t.Helper()
			w.ok(err)
			var b strings.Builder
			for _, l := range p.Lines {
				fmt.Fprint(&b, l.No, " ")
			}
			return strings.TrimSpace(b.String())
		}
		r, ctx, at := w.records(), t.Context(), w.attempt(a.ID)
		for name, c := range map[string][2]string{
			"after 8":     {numbers(r.LogAfter(ctx, at, 8, 100)), "9 10 11 1011 1012"},
			"after 11":    {numbers(r.LogAfter(ctx, at, 11, 100)), "1011 1012"},
			"after 500":   {numbers(r.LogAfter(ctx, at, 500, 100)), "1011 1012"},
			"after 1012":  {numbers(r.LogAfter(ctx, at, 1012, 100)), ""},
			"after 0, 2":  {numbers(r.LogAfter(ctx, at, 0, 2)), "1 2"},
			"tail 3":      {numbers(r.LogTail(ctx, at, 3)), "11 1011 1012"},
			"before 1012": {numbers(r.LogBefore(ctx, at, 1012, 3)), "10 11 1011"},
			"before 4":    {numbers(r.LogBefore(ctx, at, 4, 100)), "1 2 3"},
			"before 1":    {numbers(r.LogBefore(ctx, at, 1, 100)), ""},
		} {
			if c[0] != c[1] {
				t.Errorf("%s: %q, want %q", name, c[0], c[1])
			}
		}
	})
}

// TestComplete knows when nothing more will come.
func TestComplete(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.run(w.fire(jobA).ID)
		w.ok(w.life.Keep(t.Context(), []protocol.LogLines{shipped(a, 1, 3)}))
		w.pass(time.Hour)
		if w.logOf(a).Complete {
			t.Fatal("complete while it runs")
		}
		r := reportOf(a, domain.OutcomeSuccess, "", w.now())
		r.LogLines = 5
		w.ok(w.life.Apply(t.Context(), []protocol.Uplink{{Worker: "w1", Reports: []protocol.Report{r}}}))
		w.pass(5 * time.Second)
		if p := w.logOf(a); p.Complete || !p.Ended {
			t.Fatalf("two lines are on their way: %+v", p)
		}
		w.ok(w.life.Keep(t.Context(), []protocol.LogLines{shipped(a, 4, 5)}))
		w.pass(time.Second)
		if !w.logOf(a).Complete {
			t.Fatal("all lines are there, and it is not complete")
		}

		silent := w.run(w.fire(jobA).ID)
		w.report(silent, domain.OutcomeSuccess, "")
		if !w.logOf(silent).Complete {
			t.Error("a task that printed nothing waits for its output")
		}
	})
}

// TestLargeOutput stores many large pieces in one go.
func TestLargeOutput(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.run(w.fire(jobA).ID)
		text := strings.Repeat("日终🚀 <img onerror=x> ", 4000)
		var pieces []protocol.LogLines
		for n := int64(1); n <= 40; n++ {
			p := shipped(a, n, n)
			p.Lines[0] = line(n, protocol.StreamOut, text)
			pieces = append(pieces, p)
		}
		w.ok(w.life.Keep(t.Context(), pieces))
		after, got := int64(0), 0
		for {
			p, err := w.records().LogAfter(t.Context(), w.attempt(a.ID), after, instance.MaxLogLines)
			w.ok(err)
			if len(p.Lines) == 0 {
				break
			}
			if len(p.Lines) > 12 {
				t.Fatalf("%d lines of %d bytes in one page", len(p.Lines), len(text))
			}
			for _, l := range p.Lines {
				if l.Text != text {
					t.Fatalf("line %d came back changed", l.No)
				}
				got, after = got+1, l.No
			}
		}
		if got != 40 {
			t.Errorf("%d lines, want 40", got)
		}
	})
}

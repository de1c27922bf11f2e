package worker

import (
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
)

// feedOf returns a feed of some lines of output, and the boot clock of its node.
func feedOf(t *testing.T, text string) (*feeds, *feed, *time.Duration) {
	t.Helper()
	spool, err := runner.OpenSpool(t.TempDir(), runner.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	now := new(time.Duration)
	s := newFeeds(&Node{cfg: Config{Boot: func() time.Duration { return *now }}})
	out := spool.Create(1)
	out.Write(runner.Out, time.Now(), []byte(text))
	out.Finish(time.Now())
	f := s.open(out)
	f.finish()
	return s, f, now
}

// batch reads what is to be shipped next and counts it as shipped.
func batch(t *testing.T, s *feeds, f *feed, limit int) runner.Batch {
	t.Helper()
	b, err := f.out.Lines(f.next, limit)
	if err != nil {
		t.Fatal(err)
	}
	s.advance(f, b, true)
	return b
}

func TestOutputIsKeptUntilItIsAckedAndTheOutcomeConfirmed(t *testing.T) {
	for _, c := range []struct {
		name string
		do   []func(*feeds)
	}{
		{"ack first", []func(*feeds){ackTo(3), confirmIt}},
		{"confirmation first", []func(*feeds){confirmIt, ackTo(3)}},
		{"acks in parts", []func(*feeds){ackTo(1), confirmIt, ackTo(2), ackTo(1), ackTo(3)}},
		{"an ack beyond the end", []func(*feeds){confirmIt, ackTo(99)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, f, _ := feedOf(t, "a\nb\nc\n")
			batch(t, s, f, 100)
			for i, do := range c.do {
				if s.all[1] == nil {
					t.Fatalf("removed before step %d", i+1)
				}
				do(s)
			}
			if s.all[1] != nil {
				t.Error("kept for ever")
			}
			if _, err := f.out.Lines(1, 1); err == nil {
				t.Error("its files are still there")
			}
		})
	}
}

func ackTo(n int64) func(*feeds) {
	return func(s *feeds) { s.acked([]protocol.LogAck{{Attempt: 1, UpTo: n}}) }
}

func confirmIt(s *feeds) { s.confirmed([]int64{1}) }

func TestUnackedLinesAreShippedAgainFromTheAck(t *testing.T) {
	s, f, now := feedOf(t, "a\nb\nc\n")
	batch(t, s, f, 100)
	ackTo(1)(s)
	*now = reshipWait - 1
	if due := s.due(*now); len(due) != 0 {
		t.Error("shipped again too early")
	}
	*now = reshipWait
	if due := s.due(*now); len(due) != 1 || f.next != 2 {
		t.Fatalf("due %d from %d, want one from 2", len(due), f.next)
	}
	if b := batch(t, s, f, 100); len(b.Lines) != 2 || b.Lines[0].Text != "b" {
		t.Errorf("shipped %+v, want b and c", b.Lines)
	}
}

func TestAFailedWriteIsTakenBackButNotWhatWasAckedAllTheSame(t *testing.T) {
	s, f, _ := feedOf(t, "a\nb\nc\n")
	batch(t, s, f, 100)
	ackTo(2)(s)
	s.retreat(f, 1)
	if f.next != 3 || f.all {
		t.Errorf("goes on from %d, want 3", f.next)
	}
}

package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/transport"
)

const (
	shipEvery = 200 * time.Millisecond
	shipLines = 2000 // of one attempt at a time; a batch of the capture is at most 256 KB
	// shipAtOnce bounds the batches of one round, so that one loud task does not hold up the others for long.
	shipAtOnce = 16
	reshipWait = 10 * time.Second // without any ack, what was shipped is shipped again
	reshipMost = 2 * time.Minute
)

// feeds ships the output of attempts to the center while they run, and keeps it on disk until the center has it.
type feeds struct {
	n *Node

	mu  sync.Mutex
	all map[int64]*feed
}

// feed is how far the output of one attempt has come. Places count lines from 1 as runner.Line.Seq does.
type feed struct {
	owner *feeds
	out   *runner.Capture

	// Guarded by owner.mu.
	next      int64 // to be shipped
	acked     int64 // held by the center, with everything before
	all       bool  // everything up to next is all there is
	ended     bool
	confirmed bool
	stalled   time.Duration // boot clock: when to ship again from the ack
	wait      time.Duration
}

func newFeeds(n *Node) *feeds { return &feeds{n: n, all: map[int64]*feed{}} }

// open begins to ship an attempt's output.
func (s *feeds) open(out *runner.Capture) *feed {
	f := &feed{owner: s, out: out, next: 1, wait: reshipWait}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[out.Attempt()] = f
	return f
}

// finish says that the output is complete.
func (f *feed) finish() {
	f.owner.mu.Lock()
	defer f.owner.mu.Unlock()
	f.ended = true
	if f.out.Stats().Bytes == 0 {
		f.all = true
	}
	f.owner.tidy(f)
}

// acked notes what the center holds.
func (s *feeds) acked(acks []protocol.LogAck) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range acks {
		if f := s.all[a.Attempt]; f != nil && a.UpTo > f.acked {
			f.acked = min(a.UpTo, f.next-1)
			f.wait = reshipWait
			f.stalled = s.n.cfg.Boot() + f.wait
			s.tidy(f)
		}
	}
}

// confirmed notes that the outcomes of attempts are in the database.
func (s *feeds) confirmed(ids []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if f := s.all[id]; f != nil {
			f.confirmed = true
			s.tidy(f)
		}
	}
}

// tidy removes output that nobody needs here any more. The lock is held.
func (s *feeds) tidy(f *feed) {
	if !f.ended || !f.all || !f.confirmed || f.acked < f.next-1 {
		return
	}
	delete(s.all, f.out.Attempt())
	if err := f.out.Remove(); err != nil {
		s.n.log.Warn("removing spooled output", "err", err)
	}
}

// shipped says that the center holds all output that there is.
func (s *feeds) shipped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.all {
		if !f.all || f.acked < f.next-1 {
			return false
		}
	}
	return true
}

// run ships what there is, a round each 200 ms.
func (s *feeds) run(ctx context.Context) {
	tick := time.NewTicker(shipEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, f := range s.due(s.n.cfg.Boot()) {
				if err := s.ship(ctx, f); err != nil {
					s.n.log.Debug("shipping output", "attempt", f.out.Attempt(), "err", err)
					pause(ctx, retryWrite)
				}
			}
		}
	}
}

// due returns the feeds that have something to ship, and takes back those whose shipped lines were never acked.
func (s *feeds) due(now time.Duration) []*feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*feed
	for _, f := range s.all {
		if f.acked < f.next-1 && now >= f.stalled {
			f.next, f.all = f.acked+1, false
			f.wait = min(2*f.wait, reshipMost)
			f.stalled = now + f.wait
		}
		if !f.all {
			out = append(out, f)
		}
	}
	return out
}

// ship writes what can be read of one attempt.
func (s *feeds) ship(ctx context.Context, f *feed) error {
	for range shipAtOnce {
		s.mu.Lock()
		from, ended := f.next, f.ended
		s.mu.Unlock()
		b, err := f.out.Lines(from, shipLines)
		if err != nil {
			return s.giveUp(f, err)
		}
		s.advance(f, b, ended)
		if len(b.Lines) > 0 {
			if err := s.write(ctx, f.out.Attempt(), b.Lines); err != nil {
				s.retreat(f, from)
				return err
			}
		}
		if len(b.Lines) == 0 || b.Done {
			return nil
		}
	}
	return nil
}

// advance counts a batch as shipped. It comes before the writing, since the ack may be here before that returns.
func (s *feeds) advance(f *feed, b runner.Batch, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.acked == f.next-1 { // the first that is out: from now on an ack is awaited
		f.stalled = s.n.cfg.Boot() + f.wait
	}
	f.next, f.all = b.Next, ended && b.Done
	s.tidy(f)
}

// retreat takes a batch back that may not have been written; what was acked all the same stays.
func (s *feeds) retreat(f *feed, from int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.next, f.all = max(from, f.acked+1), false
}

// giveUp stops shipping output that cannot be read; what was shipped stays.
func (s *feeds) giveUp(f *feed, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.ended {
		f.all = true
		s.tidy(f)
	}
	return err
}

func (s *feeds) write(ctx context.Context, attempt int64, lines []runner.Line) error {
	entry := protocol.LogLines{Worker: s.n.name, Boot: s.n.boot, Attempt: attempt,
		First: lines[0].Seq, Last: lines[len(lines)-1].Seq}
	for _, l := range lines {
		raw, err := json.Marshal(wireLine(l))
		if err != nil {
			return err
		}
		entry.Lines = append(entry.Lines, raw)
	}
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	if err := s.n.link.Write(ctx, transport.LogEntry(entry)); err != nil {
		return err
	}
	s.n.meter.lines.Add(float64(len(lines)))
	return nil
}

// wireLine is a line as protocol.LogLines says.
func wireLine(l runner.Line) []any {
	switch {
	case l.DroppedBytes > 0:
		return []any{l.N, l.At.UnixMilli(), protocol.StreamGap, fmt.Sprintf("%d %d", l.DroppedLines, l.DroppedBytes)}
	case l.Cont:
		return []any{l.N, l.At.UnixMilli(), l.Stream.String(), l.Text, true}
	default:
		return []any{l.N, l.At.UnixMilli(), l.Stream.String(), l.Text}
	}
}

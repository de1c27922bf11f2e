package broker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
)

// desk is where starts and outcomes wait for their application, in the order of
// their coming. Claims go first: while some of what was sent is not claimed yet,
// starts and outcomes wait a while and then go together, so that a peak of due fires
// is started before it is booked.
type desk struct {
	mu      sync.Mutex
	letters []Letter
	taken   []Letter // being booked
	came    bell
	room    bell // rung when letters were taken away
}

const (
	// deskMost bounds what waits: beyond it the uplink is not read on.
	deskMost = 5 * mailBatch
	// patience is how long starts and outcomes wait behind claims at most.
	patience = 250 * time.Millisecond
	deskLook = 5 * time.Millisecond
)

func newDesk() *desk { return &desk{came: make(bell, 1), room: make(bell, 1)} }

// clear forgets everything: entries that were not removed come again.
func (d *desk) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.letters, d.taken = nil, nil
}

// hears reports whether something that a life said waits or is being booked: what it
// held is not lost before that is known.
func (d *desk) hears(at domain.Boot) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	by := func(l Letter) bool { return l.Said.Worker == at.Name && l.Said.Boot == at.Boot }
	return slices.ContainsFunc(d.letters, by) || slices.ContainsFunc(d.taken, by)
}

func (d *desk) len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.letters)
}

// put adds entries and waits until there is room for more; false: ctx ended.
func (d *desk) put(ctx context.Context, letters []Letter) bool {
	if len(letters) == 0 {
		return true
	}
	d.mu.Lock()
	d.letters = append(d.letters, letters...)
	d.mu.Unlock()
	d.came.ring()
	for d.len() > deskMost {
		select {
		case <-ctx.Done():
			return false
		case <-d.room:
		}
	}
	return true
}

// take takes away the next entries.
func (d *desk) take() []Letter {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for said := 0; n < len(d.letters) && (n == 0 || said < mailBatch); n++ {
		said += len(d.letters[n].Said.Started) + len(d.letters[n].Said.Reports)
	}
	out := d.letters[:n:n]
	d.letters, d.taken = d.letters[n:], out
	d.room.ring()
	return out
}

// done says that what was taken is booked.
func (d *desk) done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken = nil
}

// book applies starts and outcomes until ctx ends.
func (b *Broker) book(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.desk.came:
		}
		for b.desk.len() > 0 {
			b.letClaimsGo(ctx)
			began := b.Mono()
			letters := b.desk.take()
			if !b.settle(ctx, letters, b.apply, &b.figures.bookLag) {
				return nil
			}
			ids := make([]string, len(letters))
			for i, l := range letters {
				ids[i] = l.ID
			}
			crash.At("report.confirmed")
			b.desk.done()
			b.remove(ctx, ids)
			if b.desk.len() < mailBatch {
				pause(ctx, min(b.Mono().Sub(began), gatherMost)) // as in readUplink
			}
		}
		b.figures.bookLag.Store(0)
	}
}

// letClaimsGo waits while claims are to come, for a while.
func (b *Broker) letClaimsGo(ctx context.Context) {
	for began := b.Mono(); b.desk.len() < mailBatch && b.mem.awaitsClaims(); {
		if b.Mono().Sub(began) >= patience || !pause(ctx, deskLook) {
			return
		}
	}
}

// apply puts the starts and outcomes of entries into the database and confirms the
// outcomes.
func (b *Broker) apply(ctx context.Context, letters []Letter) error {
	var said []protocol.Uplink
	var order []domain.Boot
	confirm := map[domain.Boot][]int64{}
	for _, l := range letters {
		u := l.Said
		if len(u.Started) == 0 && len(u.Reports) == 0 {
			continue
		}
		said = append(said, u)
		at := domain.Boot{Name: u.Worker, Boot: u.Boot}
		if confirm[at] == nil && len(u.Reports) > 0 {
			order = append(order, at)
		}
		for _, r := range u.Reports {
			confirm[at] = append(confirm[at], r.Attempt)
			if r.Outcome == protocol.OutcomeRefused {
				b.shut(at)
			}
		}
	}
	if len(said) == 0 {
		return nil
	}
	crash.At("report.received")
	if err := b.Judge.Apply(ctx, said); err != nil {
		return err
	}
	crash.At("report.applied")
	var out []Outgoing
	for _, at := range order {
		b.figures.reports.Add(int64(len(confirm[at])))
		out = append(out, Outgoing{at.Name, at.Boot, protocol.Downlink{Confirm: confirm[at]}})
	}
	b.post(ctx, out)
	if len(out) > 0 {
		b.roomAgain()
	}
	return nil
}

package broker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/wheel"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
)

// Broker is one process' candidate for the active broker. All exported fields but Pools
// and Now must be set before the first Term.
type Broker struct {
	Queue    Queue
	Judge    Judge
	Overlaps Overlaps
	Shards   Shards
	// Pools reads limits; nil = there are no pools.
	Pools  Pools
	Clock  Clock
	Rows   Rows
	Specs  Specs
	Mail   Mail
	Sender Sender
	Fleet  Fleet
	IDs    *domain.IDs
	Mono   Clockwork
	// Now is the database's clock, by which wake times and the ages of entries count; nil
	// = this machine's.
	Now Clockwork
	// AckWithin is how long a target has to acknowledge; 0 = 5 s.
	AckWithin time.Duration
	mem       *memory
	chance    *rand.Rand // under the memory's lock
	epoch     int64
	active    atomic.Bool
	ready     bell
	kills     bell
	wakes     bell
	// wheel rings wakes on time for what this process committed; the poll of the
	// rows finds the rest.
	wheel   *wheel.Wheel[domain.ID]
	figures figures
	desk    *desk
	unsure  unsure
	early   outbox
	parts   parts

	// Of the assigning loop alone.
	backlogs   map[domain.Lane]*backlog
	complained map[domain.ID]time.Time // job → when the log last said that its definition cannot be read
	// Of the sweep alone: the job up to which was looked for what is held in vain.
	blocked domain.ID
	// pooled is the instance up to which was looked for who has a place in vain.
	pooled domain.ID
}

// bell wakes one waiter; ringing it twice is ringing it once.
type bell chan struct{}

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// New gives the broker its memory; call it once, with the fields set, before it is used.
func New(b *Broker) *Broker {
	b.mem = newMemory()
	b.desk = newDesk()
	b.ready, b.kills, b.wakes, b.early.came = make(bell, 1), make(bell, 1), make(bell, 1), make(bell, 1)
	b.parts.came = make(bell, 1)
	if b.Now == nil {
		b.Now = time.Now
	}
	b.wheel = wheel.New[domain.ID](b.Now())
	b.chance = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	b.backlogs, b.complained = map[domain.Lane]*backlog{}, map[domain.ID]time.Time{}
	for _, lane := range domain.Lanes {
		b.backlogs[lane] = &backlog{kinds: map[string]*kind{}}
	}
	if b.AckWithin == 0 {
		b.AckWithin = 5 * time.Second
	}
	return b
}

// Active reports whether a term is under way here.
func (b *Broker) Active() bool { return b.active.Load() }

// Changed follows committed changes of this process; see instance.Listener.
func (b *Broker) Changed(changes []domain.Change) {
	if !b.Active() {
		return // the memory is built from the rows when a term begins
	}
	ended := false
	b.parts.hear(changes)
	for _, c := range changes {
		if b.mem.changed(c) {
			b.ready.ring()
		}
		ended = ended || c.Instance.State.Terminal()
		if at := c.Instance.WakeAt; !at.IsZero() {
			_ = b.wheel.Add(c.Instance.ID, at) // beyond the horizon: the poll finds it
		}
		if q := b.backlogs[c.Instance.Lane]; q != nil && c.Instance.Label == domain.Queued && !c.Instance.IsSplit() {
			q.hear(c.Instance)
			b.ready.ring()
		}
		if c.Instance.Label == domain.Stopping {
			b.kills.ring()
		}
	}
	if ended {
		b.roomAgain()
	}
}

// Nudge says that another process committed something; it looks at once.
func (b *Broker) Nudge(n protocol.Nudge) {
	switch n {
	case protocol.NudgeReady, protocol.NudgeEnded:
		b.lookAgain()
	case protocol.NudgeKill:
		b.kills.ring()
	}
}

// roomAgain says that there is room again, for what waits for it.
func (b *Broker) roomAgain() {
	for _, q := range b.backlogs {
		if q.waits.Load() {
			q.news.Store(true)
			b.ready.ring()
		}
	}
}

// lookAgain says that any lane may have something new.
func (b *Broker) lookAgain() {
	for _, q := range b.backlogs {
		q.news.Store(true)
	}
	b.mem.callAgain()
	b.ready.ring()
}

// Term is the time in which this broker is the active one: it builds its memory
// from the rows, works until ctx ends or the epoch is lost, and returns. ctx
// carries the fence of the epoch.
func (b *Broker) Term(ctx context.Context, epoch int64) error {
	b.epoch, b.blocked, b.pooled = epoch, 0, 0
	for _, q := range b.backlogs {
		q.clear()
	}
	b.desk.clear()
	b.early.take()
	b.unsure.clear()
	b.parts.take()
	b.active.Store(true)
	defer b.active.Store(false)
	crash.At("takeover.raised")
	if err := b.load(ctx); err != nil {
		return fmt.Errorf("take-over: %w", err)
	}
	slog.Info("broker took over", "epoch", epoch, "in_flight", b.Stats().InFlight)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.readUplink(ctx) })
	g.Go(func() error { return b.book(ctx) })
	g.Go(func() error { return b.loop(ctx, "assign", poll, b.ready, b.round) })
	g.Go(func() error { return b.sendEarly(ctx) })
	g.Go(func() error { return b.gatherParts(ctx) })
	g.Go(func() error { return b.loop(ctx, "kill", poll, b.kills, b.tellKills) })
	g.Go(func() error { return b.loop(ctx, "sweep", poll, b.wakes, b.sweep) })
	g.Go(func() error { return b.wheel.Run(ctx, b.Now, func([]domain.ID) { b.wakes.ring() }) })
	g.Go(func() error { return b.loop(ctx, "fleet", time.Second, nil, b.inspect) })
	return g.Wait()
}

// poll is how often the rows are looked at when nobody nudges.
const poll = 250 * time.Millisecond

// loop calls round when the bell rings and at least each interval, until ctx
// ends. A failing round is logged, the same error once in a while, and tried again.
func (b *Broker) loop(ctx context.Context, name string, every time.Duration, ring bell, round func(context.Context) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var said complaint
	for {
		if err := round(ctx); err != nil && ctx.Err() == nil {
			if said.due(err, time.Now()) {
				slog.Warn("broker round failed", "loop", name, "error", err)
			}
			pause(ctx, retryPause)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-ring:
			pause(ctx, gather)
		}
	}
}

// gather is how long a round waits after the bell for more of what rang it: a
// transaction costs much the same for one row as for a hundred.
const gather = 2 * time.Millisecond

// load builds the memory from committed rows. The clocks of acks and of loss
// begin anew.
func (b *Broker) load(ctx context.Context) error {
	b.mem.mu.Lock()
	b.mem.reset(b.epoch)
	b.mem.mu.Unlock()
	b.Judge.Forget()
	for _, state := range []domain.State{domain.Running, domain.Retrying} {
		if err := b.loadRows(ctx, state); err != nil {
			return err
		}
	}
	b.mem.mu.Lock()
	boots := map[domain.Boot]bool{}
	for _, f := range b.mem.flights {
		boots[domain.Boot{Name: f.target, Boot: f.boot}] = true
	}
	b.mem.mu.Unlock()
	b.Fleet.Expect(slices.Collect(maps.Keys(boots)))
	return nil
}

func (b *Broker) loadRows(ctx context.Context, state domain.State) error {
	after := domain.ID(0)
	for {
		page, err := b.Rows.Unfinished(ctx, state, after, pageSize)
		if err != nil || len(page) == 0 {
			return err
		}
		ids := make([]domain.ID, 0, len(page))
		jobs := map[domain.ID]domain.ID{}
		for _, in := range page {
			if inFlight(in) && in.AttemptID != 0 {
				ids = append(ids, in.AttemptID)
				jobs[in.AttemptID] = in.JobID
			}
			b.mem.changed(domain.Change{Instance: in})
		}
		if err := b.adopt(ctx, ids, jobs); err != nil {
			return err
		}
		crash.At("takeover.page")
		after = page[len(page)-1].ID
	}
}

// adopt takes attempts into the memory that are in force by their rows; jobs names
// the job of each.
func (b *Broker) adopt(ctx context.Context, ids []domain.ID, jobs map[domain.ID]domain.ID) error {
	if len(ids) == 0 {
		return nil
	}
	attempts, err := b.Rows.Attempts(ctx, ids)
	if err != nil {
		return err
	}
	now := b.Mono()
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	for id, a := range attempts {
		if inForce(a) {
			b.mem.launch(a, jobs[id], false, now)
		}
	}
	return nil
}

// inForce reports whether the attempt may still run or be granted.
func inForce(a domain.Attempt) bool {
	return a.State == domain.AttemptSent || a.State == domain.AttemptGranted
}

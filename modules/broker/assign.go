package broker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// The bounds of one round of a lane. What nobody can run stays ready and is read
// again each round, so a round looks at the most urgent pages first and then goes on
// where the round before it stopped: nothing hides for ever behind what does not fit.
const (
	pageSize  = 500
	topPages  = 8
	deepPages = 12
)

// lookEach is how often a lane is looked at although nobody has room: overlap is
// decided, and the backlog told, also when there is no worker at all.
const lookEach = 5 * time.Second

// place is how far the rounds of one lane have come.
type place struct {
	deep   domain.Instance // where the round before stopped; zero: it came to the end
	looked time.Time       // when all that a round may look at was looked at
	peeked time.Time       // when it was last looked at for what takes no thread alone
}

// round assigns what is ready, lane by lane, until a lane's targets are full.
func (b *Broker) round(ctx context.Context) error {
	if b.Mono().Before(b.mute) {
		return nil
	}
	for _, lane := range domain.Lanes {
		if err := b.roundOf(ctx, lane); err != nil {
			return err
		}
	}
	return nil
}

func (b *Broker) roundOf(ctx context.Context, lane domain.Lane) error {
	at := b.places[lane]
	w := walk{lane: lane, whole: b.Mono().Sub(at.looked) >= lookEach}
	top := topPages
	switch threads, light := b.mem.room(lane); {
	case w.whole || threads > 0:
	case light > 0 && b.Mono().Sub(at.peeked) >= poll:
		// Most of a backlog waits for threads: only its head is looked through.
		at.peeked, w.peek, top = b.Mono(), true, 1
	default:
		return nil
	}
	ended, last, err := b.pages(ctx, &w, domain.Instance{}, top)
	if err == nil && !ended && !w.peek {
		if at.deep.ID != 0 {
			last = at.deep
		}
		ended, last, err = b.pages(ctx, &w, last, deepPages)
	}
	if err != nil {
		return err
	}
	if !w.peek {
		at.deep = last
	}
	if ended {
		at.deep = domain.Instance{}
	}
	if w.whole {
		at.looked = b.Mono()
		b.figures.left(lane, w.seen-w.assigned, !ended)
	}
	b.places[lane] = at
	if !ended && w.assigned > 0 {
		b.ready.ring()
	}
	return nil
}

// walk is one round through a lane. A whole one goes on when nobody has room, a peek
// when no thread is free.
type walk struct {
	lane           domain.Lane
	whole, peek    bool
	seen, assigned int
}

// pages assigns page by page after the instance given; ended says that nothing is
// left or that nobody has room, last is the instance looked at last.
func (b *Broker) pages(ctx context.Context, w *walk, after domain.Instance, limit int) (ended bool, last domain.Instance, err error) {
	for range limit {
		size := pageSize
		if !w.whole {
			threads, light := b.mem.room(w.lane)
			if threads <= 0 && (!w.peek || light <= 0) {
				return true, after, nil
			}
			size = min(threads+light+pageSize/20, pageSize) // some of a page may not fit anybody
		}
		page, err := b.Queue.Ready(ctx, w.lane, after, size)
		if err != nil || len(page) == 0 {
			return true, after, err
		}
		p, err := b.decide(ctx, page)
		if err != nil {
			return false, after, err
		}
		if err := b.carryOut(ctx, p); err != nil {
			return false, after, err
		}
		w.seen += len(page)
		w.assigned += len(p.assign)
		after = page[len(page)-1]
		// What takes no thread is soon done: a page of it alone is waited for, not walked past.
		if len(page) < size || !w.whole && p.lightLeft == len(page) {
			return true, after, nil
		}
	}
	return false, after, nil
}

// plan is what one page of ready instances comes to.
type plan struct {
	assign []domain.Assignment
	light  map[domain.ID]bool // the attempts that take no thread
	// lightLeft is how many that take no thread found no room.
	lightLeft int
	hold      []domain.ID
	skip      []domain.ID
	// replace: instance → those that it replaces
	replace map[domain.ID][]domain.ID
}

// decide makes the plan for a page.
func (b *Broker) decide(ctx context.Context, page []domain.Instance) (plan, error) {
	specs, err := b.specsOf(ctx, page)
	if err != nil {
		return plan{}, err
	}
	if err := b.refresh(ctx, page, specs); err != nil {
		return plan{}, err
	}
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	d := decider{m: b.mem, ids: b.IDs, chance: b.chance, now: b.Mono(), taken: map[string]map[domain.Lane]int{}, messages: map[string]*parcel{},
		p: plan{light: map[domain.ID]bool{}, replace: map[domain.ID][]domain.ID{}}}
	for i, in := range page {
		if specs[i] != nil {
			d.one(in, *specs[i])
		}
	}
	return d.p, nil
}

// complainEach is how often the log repeats that a definition cannot be read.
const complainEach = time.Minute

// specsOf reads the definitions of a page. One that cannot be read is nil and keeps
// its own instances waiting only; a database that is away is an error.
func (b *Broker) specsOf(ctx context.Context, page []domain.Instance) ([]*domain.JobSpec, error) {
	specs := make([]*domain.JobSpec, len(page))
	for i, in := range page {
		spec, err := b.Specs.Spec(ctx, in.JobID, in.Version)
		switch {
		case err == nil:
			specs[i] = &spec
		case ctx.Err() != nil || domain.Is(err, domain.Unavailable):
			return nil, err
		case b.Mono().Sub(b.complained[in.JobID]) > complainEach:
			b.complained[in.JobID] = b.Mono()
			slog.Error("an instance cannot be assigned: its job's definition cannot be read", "instance", in.ID, "job", in.JobName, "version", in.Version, "error", err)
		}
	}
	return specs, nil
}

// decider walks one page under the memory's lock.
type decider struct {
	m        *memory
	ids      *domain.IDs
	chance   *rand.Rand
	now      time.Time
	taken    map[string]map[domain.Lane]int // given away on this page; under noLane what takes no thread
	messages map[string]*parcel             // target and lane → the message being filled
	p        plan
}

// noLane stands for the room of what takes no thread.
const noLane domain.Lane = ""

type parcel struct {
	id string
	n  int
}

// one decides for one instance: first whether it may start, then where. One that
// may start and finds no target is the next of its job: others come after it.
func (d *decider) one(in domain.Instance, spec domain.JobSpec) {
	if spec.Overlap != domain.OverlapAllow {
		if !d.mayStart(in, spec) {
			return
		}
		if !begun(in) {
			d.m.next[in.JobID] = in.ID
		}
	}
	t := d.choose(spec, in.Lane)
	if t == nil {
		if d.m.lightly(spec.Exec.Type) {
			d.p.lightLeft++
		}
		return
	}
	a := domain.Assignment{Instance: in, Attempt: d.ids.Next(), Target: t.Name, Boot: t.Boot, MessageID: d.message(t.Name, in.Lane)}
	if t.lightly(spec.Exec.Type) {
		d.p.light[a.Attempt] = true
		d.take(t, noLane)
	} else {
		d.take(t, in.Lane)
	}
	d.p.assign = append(d.p.assign, a)
}

// choose picks a target with room, by score. One that did not acknowledge or
// refused gets work only when there is no other, and then one attempt at a time
// until it claims; right after a refusal it gets none. While the registry is away
// nobody gets any.
func (d *decider) choose(spec domain.JobSpec, lane domain.Lane) *target {
	var good, doubtful []*target
	for _, t := range d.m.targets {
		switch {
		case !d.m.fresh || !t.fits(spec) || d.room(t, spec, lane) <= 0 || t.shut.After(d.now):
		case !t.suspect.After(d.now):
			good = append(good, t)
		case t.unacked == 0 && len(d.taken[t.Name]) == 0:
			doubtful = append(doubtful, t)
		}
	}
	if len(good) == 0 {
		good = doubtful
	}
	return pick(good, d.chance)
}

// room is what of a target's room is left after what this page has given away.
func (d *decider) room(t *target, spec domain.JobSpec, lane domain.Lane) int {
	if t.lightly(spec.Exec.Type) {
		return t.room(lane, true) - d.taken[t.Name][noLane]
	}
	return t.room(lane, false) - d.taken[t.Name][lane]
}

func (d *decider) take(t *target, lane domain.Lane) {
	if d.taken[t.Name] == nil {
		d.taken[t.Name] = map[domain.Lane]int{}
	}
	d.taken[t.Name][lane]++
}

// message is the id of the message that is being filled for the lane.
func (d *decider) message(target string, lane domain.Lane) string {
	key := target + ":" + string(lane)
	p := d.messages[key]
	if p == nil || p.n == protocol.MaxBatch {
		p = &parcel{id: "m" + d.ids.Next().String()}
		d.messages[key] = p
	}
	p.n++
	return p.id
}

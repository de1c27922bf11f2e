package broker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

const (
	pageSize = 500
	maxPages = 20 // of one lane in one round; what is beyond waits for the next
)

// plan is what one page of ready instances comes to.
type plan struct {
	assign []domain.Assignment
	hold   []domain.ID
	skip   []domain.ID
	// replace: instance → those begun that it replaces
	replace map[domain.ID][]domain.ID
	jobs    map[domain.ID]domain.ID // instance → job
}

// round assigns what is ready, lane by lane, until a lane's targets are full.
func (b *Broker) round(ctx context.Context) error {
	for _, lane := range domain.Lanes {
		if err := b.roundOf(ctx, lane); err != nil {
			return err
		}
	}
	return nil
}

func (b *Broker) roundOf(ctx context.Context, lane domain.Lane) error {
	var after domain.Instance
	for range maxPages {
		room := b.mem.room(lane)
		if room <= 0 {
			return nil
		}
		size := min(room+pageSize/5, pageSize) // some of a page may not fit anybody
		page, err := b.Queue.Ready(ctx, lane, after, size)
		if err != nil || len(page) == 0 {
			return err
		}
		p, err := b.decide(ctx, page)
		if err != nil {
			return err
		}
		if err := b.carryOut(ctx, p); err != nil {
			return err
		}
		if len(page) < size {
			return nil
		}
		after = page[len(page)-1]
	}
	return nil
}

// decide makes the plan for a page.
func (b *Broker) decide(ctx context.Context, page []domain.Instance) (plan, error) {
	specs := make([]domain.JobSpec, len(page))
	for i, in := range page {
		spec, err := b.Specs.Spec(ctx, in.JobID, in.Version)
		if err != nil {
			return plan{}, fmt.Errorf("reading the definition of %s: %w", in.JobName, err)
		}
		specs[i] = spec
	}
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	d := decider{m: b.mem, ids: b.IDs, now: b.Mono(), taken: map[string]map[domain.Lane]int{}, messages: map[string]*parcel{},
		p: plan{replace: map[domain.ID][]domain.ID{}, jobs: map[domain.ID]domain.ID{}}}
	if !b.mem.fresh {
		return d.p, nil
	}
	for i, in := range page {
		d.one(in, specs[i])
	}
	return d.p, nil
}

// decider walks one page under the memory's lock.
type decider struct {
	m        *memory
	ids      *domain.IDs
	now      time.Time
	taken    map[string]map[domain.Lane]int // given away on this page
	messages map[string]*parcel             // target and lane → the message being filled
	began    map[domain.ID]domain.ID        // job → instance begun on this page
	p        plan
}

type parcel struct {
	id string
	n  int
}

// one decides for one instance: first whether it may start, then where.
func (d *decider) one(in domain.Instance, spec domain.JobSpec) {
	if spec.Overlap != domain.OverlapAllow && !d.mayStart(in, spec) {
		return
	}
	t := d.choose(spec, in.Lane)
	if t == nil {
		return
	}
	d.take(t, in.Lane)
	d.p.assign = append(d.p.assign, domain.Assignment{Instance: in, Attempt: d.ids.Next(), Target: t.Name, Boot: t.Boot, MessageID: d.message(t.Name, in.Lane)})
	d.p.jobs[in.ID] = in.JobID
	if spec.Overlap != domain.OverlapAllow {
		if d.began == nil {
			d.began = map[domain.ID]domain.ID{}
		}
		d.began[in.JobID] = in.ID
	}
}

// mayStart applies the overlap policy against what has begun and is unfinished.
func (d *decider) mayStart(in domain.Instance, spec domain.JobSpec) bool {
	var inWay []domain.ID
	for id := range d.m.busy[in.JobID] {
		if id != in.ID {
			inWay = append(inWay, id)
		}
	}
	if id, ok := d.began[in.JobID]; ok {
		inWay = append(inWay, id)
	}
	if len(inWay) == 0 {
		return true
	}
	switch spec.Overlap {
	case domain.OverlapSkip:
		d.p.skip = append(d.p.skip, in.ID)
	case domain.OverlapReplace:
		d.p.replace[in.ID] = inWay
		d.p.hold = append(d.p.hold, in.ID)
	default:
		if d.oneWaits(in) {
			d.p.skip = append(d.p.skip, in.ID)
		} else {
			d.p.hold = append(d.p.hold, in.ID)
			d.m.held[in.JobID] = append(d.m.held[in.JobID], waiter{in.ID, in.BizDate, in.ReadyAt})
		}
	}
	return false
}

// oneWaits reports whether another instance of the job and the business date is
// held already; a backfill and a rerun always wait, and a catch-up is told by its
// lateness when it was made.
func (d *decider) oneWaits(in domain.Instance) bool {
	if in.Trigger == domain.TriggerBackfill || in.RunNo > 1 || in.CreatedAt.Sub(in.Expected) > catchUp {
		return false
	}
	for _, w := range d.m.held[in.JobID] {
		if w.id != in.ID && w.bizDate == in.BizDate {
			return true
		}
	}
	return false
}

// catchUp is how late an instance was made that counts as made good for a missed fire.
const catchUp = time.Minute

// choose picks a target with room, by score; one that just failed to acknowledge
// only when there is no other.
func (d *decider) choose(spec domain.JobSpec, lane domain.Lane) *target {
	var good, doubtful []*target
	for _, t := range d.m.targets {
		if !t.fits(spec) || t.room(lane)-d.taken[t.Name][lane] <= 0 {
			continue
		}
		if t.suspect.After(d.now) {
			doubtful = append(doubtful, t)
		} else {
			good = append(good, t)
		}
	}
	if len(good) == 0 {
		good = doubtful
	}
	return pick(good, random)
}

// random is the chance in pick.
var random = rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))

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

// carryOut commits the plan and sends what was committed.
func (b *Broker) carryOut(ctx context.Context, p plan) error {
	if len(p.hold) > 0 {
		if err := b.Overlaps.Hold(ctx, p.hold, "an earlier instance of the job is unfinished"); err != nil {
			return err
		}
	}
	if len(p.skip) > 0 {
		if err := b.Overlaps.Skip(ctx, p.skip, "overlap: an earlier instance of the job is unfinished, and by its policy this one does not wait"); err != nil {
			return err
		}
	}
	for by, ids := range p.replace {
		if err := b.Overlaps.Replace(ctx, ids, by); err != nil {
			return err
		}
		b.kills.ring()
	}
	if len(p.assign) == 0 {
		return nil
	}
	attempts, err := b.Queue.Dispatch(ctx, p.assign)
	if err != nil {
		return err
	}
	now := b.Mono()
	for _, a := range attempts {
		b.mem.launch(a, p.jobs[a.InstanceID], now)
	}
	b.send(ctx, attempts)
	return nil
}

// send puts each message on its queue. One that cannot be sent is not lost: its
// attempts are taken back when no ack comes.
func (b *Broker) send(ctx context.Context, attempts []domain.Attempt) {
	type address struct {
		worker string
		boot   int64
		lane   domain.Lane
	}
	messages := map[string]*protocol.Message{}
	to := map[string]address{}
	for _, a := range attempts {
		m := messages[a.MessageID]
		if m == nil {
			m = &protocol.Message{ID: a.MessageID, Epoch: b.epoch, Sent: time.Now().UnixMilli()}
			messages[a.MessageID], to[a.MessageID] = m, address{a.Target, a.Boot, a.Lane}
		}
		m.IDs = append(m.IDs, int64(a.ID))
	}
	for id, m := range messages {
		at := to[id]
		if err := b.Sender.Send(ctx, at.worker, at.boot, string(at.lane), *m); err != nil {
			slog.Warn("a message could not be sent; its attempts are taken back when no ack comes", "worker", at.worker, "lane", at.lane, "attempts", len(m.IDs), "error", err)
		}
	}
}

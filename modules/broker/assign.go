package broker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// plan is what one page of ready instances comes to.
type plan struct {
	assign   []domain.Assignment
	promises map[domain.ID]promise // the room of each attempt, until it is launched
	left     []wish
	// lightLeft is how many of those left take no thread.
	lightLeft int
	hold      []domain.ID
	skip      []domain.ID // by overlap skip
	surplus   []domain.ID // by overlap queue: another waits already
	split     []domain.Split
	// shards is into how many all of them are split.
	shards int
	// full are those whose pool has no place for them.
	full []domain.ID
	// replace: instance → those that it replaces
	replace map[domain.ID][]domain.ID
}

// promise is room at a target for an attempt that is not committed yet.
type promise struct {
	to   *target
	lane domain.Lane // noLane: that of what takes no thread
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
	pools, err := b.poolsOf(ctx, page)
	if err != nil {
		return plan{}, err
	}
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	d := b.decider()
	d.pools = pools
	for i, in := range page {
		switch spec := onlyOn(specs[i], in.Worker); {
		case spec == nil:
			d.m.stick(in)
			d.p.left = append(d.p.left, wish{i, nil}) // a patrol looks again
		case d.undecided(in, *spec):
			d.p.left = append(d.p.left, wish{i, nil})
		case !d.one(in, *spec):
			d.p.left = append(d.p.left, wish{i, spec})
		}
	}
	return d.p, nil
}

// undecided reports whether it must be known first what another transaction makes of the
// instance's job, or, for a broadcast, who is there.
func (d *decider) undecided(in domain.Instance, spec domain.JobSpec) bool {
	if in.IsShard() {
		return false
	}
	return spec.Broadcast && d.m.partial || d.m.coming[in.JobID] != 0 && spec.Overlap != domain.OverlapAllow && !begun(in)
}

// decider is one that has decided nothing yet, to be used under the memory's lock.
func (b *Broker) decider() *decider {
	return &decider{m: b.mem, ids: b.IDs, chance: b.chance, now: b.Mono(), messages: map[string]*parcel{},
		p: plan{promises: map[domain.ID]promise{}, replace: map[domain.ID][]domain.ID{}}}
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
	messages map[string]*parcel // target and lane → the message being filled
	pools    map[domain.PoolKey]domain.Pool
	p        plan
}

type parcel struct {
	id string
	n  int
}

// one decides for one instance: first whether it may start, then where; false: it is
// left for lack of a target. One that may start and finds none is the next of its
// job: others come after it.
func (d *decider) one(in domain.Instance, spec domain.JobSpec) bool {
	if spec.Overlap != domain.OverlapAllow && !in.IsShard() {
		if !d.mayStart(in, spec) {
			return true
		}
		if !begun(in) {
			l := d.m.line(in.JobID)
			l.next = in.ID
			d.m.keep(in.JobID, l)
		}
	}
	if !d.admit(in) {
		return true
	}
	if spec.Sharded() && !in.IsShard() {
		return d.split(in, spec)
	}
	if d.place(in, spec) {
		return true
	}
	d.m.stick(in)
	if d.m.lightly(spec.Exec.Type) {
		d.p.lightLeft++
	}
	return false
}

// place gives the instance a target and promises it the room; false: there is none.
func (d *decider) place(in domain.Instance, spec domain.JobSpec) bool {
	t := d.choose(spec, in.Lane)
	if t == nil {
		return false
	}
	a := domain.Assignment{Instance: in, Attempt: d.ids.Next(), Target: t.Name, Boot: t.Boot, MessageID: d.message(t.Name, in.Lane), Pool: d.seen(in)}
	d.m.promise(in)
	p := promise{t, t.placeOf(spec, in.Lane)}
	t.promised[p.lane]++
	d.p.promises[a.Attempt] = p
	d.p.assign = append(d.p.assign, a)
	return true
}

// choose picks a target with room, by score. One under suspicion gets work only when
// there is no other, and then one attempt. While the registry is away nobody gets any.
func (d *decider) choose(spec domain.JobSpec, lane domain.Lane) *target {
	var good, doubtful []*target
	for _, t := range d.m.targets {
		switch {
		case !d.m.fresh || !t.open(spec, lane, d.now):
		case !t.suspect.After(d.now):
			good = append(good, t)
		case !t.expects():
			doubtful = append(doubtful, t)
		}
	}
	if len(good) == 0 {
		good = doubtful
	}
	return pick(good, d.chance)
}

// message is the id of the message that is being filled for the lane.
func (d *decider) message(target string, lane domain.Lane) string {
	key := target + ":" + string(lane)
	p := d.messages[key]
	if p == nil || p.n == protocol.MaxBatch {
		p = &parcel{id: protocol.MessageID(int64(d.ids.Next()))}
		d.messages[key] = p
	}
	p.n++
	return p.id
}

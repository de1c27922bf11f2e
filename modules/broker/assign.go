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
	assign []domain.Assignment
	light  map[domain.ID]bool // the attempts that take no thread
	left   []wish
	// lightLeft is how many of those left take no thread.
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
		if specs[i] == nil || !d.one(in, *specs[i]) {
			d.p.left = append(d.p.left, wish{i, specs[i]})
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

// one decides for one instance: first whether it may start, then where; false: it is
// left for lack of a target. One that may start and finds none is the next of its
// job: others come after it.
func (d *decider) one(in domain.Instance, spec domain.JobSpec) bool {
	if spec.Overlap != domain.OverlapAllow {
		if !d.mayStart(in, spec) {
			return true
		}
		if !begun(in) {
			l := d.m.line(in.JobID)
			l.next = in.ID
			d.m.keep(in.JobID, l)
		}
	}
	t := d.choose(spec, in.Lane)
	if t == nil {
		if d.m.lightly(spec.Exec.Type) {
			d.p.lightLeft++
		}
		return false
	}
	a := domain.Assignment{Instance: in, Attempt: d.ids.Next(), Target: t.Name, Boot: t.Boot, MessageID: d.message(t.Name, in.Lane)}
	if t.lightly(spec.Exec.Type) {
		d.p.light[a.Attempt] = true
		d.take(t, noLane)
	} else {
		d.take(t, in.Lane)
	}
	d.p.assign = append(d.p.assign, a)
	return true
}

// choose picks a target with room, by score. One under suspicion gets work only when
// there is no other, and then one attempt. While the registry is away nobody gets any.
func (d *decider) choose(spec domain.JobSpec, lane domain.Lane) *target {
	var good, doubtful []*target
	for _, t := range d.m.targets {
		switch {
		case !d.m.fresh || !t.open(spec, lane, d.now) || d.room(t, spec, lane) <= 0:
		case !t.suspect.After(d.now):
			good = append(good, t)
		case len(d.taken[t.Name]) == 0:
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
		p = &parcel{id: protocol.MessageID(int64(d.ids.Next()))}
		d.messages[key] = p
	}
	p.n++
	return p.id
}

package broker

import (
	"context"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
)

// readUplink hears what workers say, batch by batch, in the order of its coming:
// what was handed back and claims are dealt with at once, starts and outcomes go to
// the desk in the same order, after the claims that they follow. An entry is removed
// when all of it is committed; what can't be is tried again until it is.
func (b *Broker) readUplink(ctx context.Context) error {
	var said complaint
	for ctx.Err() == nil {
		began := b.Mono()
		letters, err := b.Mail.Read(ctx, mailBatch)
		if err != nil {
			if ctx.Err() == nil {
				if said.due(err, b.Mono()) {
					slog.Warn("the uplink cannot be read", "error", err)
				}
				pause(ctx, retryPause)
			}
			continue
		}
		handling := b.Mono()
		if !b.settle(ctx, letters, b.answer, &b.figures.lag) {
			return nil
		}
		done, said := sortLetters(letters)
		b.remove(ctx, done)
		if !b.desk.put(ctx, said) {
			return nil
		}
		if len(letters) < mailBatch {
			b.heardAll(began)
		}
		if len(letters) > 0 && len(letters) < mailBatch {
			// What a batch costs hardly grows with it: under load each waits as long
			// as the one before took, so that more comes together.
			pause(ctx, min(b.Mono().Sub(handling), gatherMost))
		}
	}
	return nil
}

const (
	mailBatch  = 1000
	gatherMost = 10 * time.Millisecond
	retryPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
)

// sortLetters parts entries that are dealt with from those that say a start or an
// outcome.
func sortLetters(letters []Letter) (done []string, said []Letter) {
	for _, l := range letters {
		if len(l.Said.Started) > 0 || len(l.Said.Reports) > 0 {
			said = append(said, l)
		} else {
			done = append(done, l.ID)
		}
	}
	return done, said
}

// settle carries a batch out until it is committed; false means that ctx ended before.
func (b *Broker) settle(ctx context.Context, letters []Letter, do func(context.Context, []Letter) error, lag *atomic.Int64) bool {
	if len(letters) == 0 {
		lag.Store(0)
		return ctx.Err() == nil
	}
	for wait := retryPause; ; wait = min(wait*2, maxPause) {
		err := do(ctx, letters)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			break
		}
		slog.Warn("what workers said could not be applied, once more", "entries", len(letters), "error", err)
		if !pause(ctx, wait) {
			return false
		}
	}
	if at := letters[0].At; !at.IsZero() {
		lag.Store(int64(max(b.Now().Sub(at), 0)))
	}
	return true
}

func (b *Broker) remove(ctx context.Context, ids []string) {
	if len(ids) == 0 {
		return
	}
	if err := b.Mail.Remove(ctx, ids); err != nil {
		slog.Warn("uplink entries could not be removed; they are harmless when they come again", "error", err)
	}
}

// deafAfter is how long the uplink may stay unread before the clocks of acks begin
// anew at its return.
const deafAfter = 2 * time.Second

// heardAll notes that all that was written before the moment has been applied.
func (b *Broker) heardAll(at time.Time) {
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	if at.Sub(b.mem.heard) > deafAfter {
		b.mem.restartAcks(at)
	}
	b.mem.heard = at
}

// answer deals with what was handed back, since nothing of it may be granted any
// more, and then with claims.
func (b *Broker) answer(ctx context.Context, letters []Letter) error {
	for _, l := range letters {
		if r := l.Said.Refuse; r != nil {
			if err := b.refused(ctx, l.Said, *r); err != nil {
				return err
			}
		}
	}
	out, err := b.claims(ctx, letters)
	if err != nil {
		return err
	}
	b.post(ctx, out)
	return nil
}

func (b *Broker) post(ctx context.Context, out []Outgoing) {
	if len(out) == 0 {
		return
	}
	if err := b.Mail.Post(ctx, out); err != nil {
		slog.Warn("answers could not be posted; workers ask again", "error", err)
	}
}

// claims grants all claims of the batch in one transaction and answers each.
func (b *Broker) claims(ctx context.Context, letters []Letter) ([]Outgoing, error) {
	all, foreign := b.sortClaims(letters)
	tasks, denied, err := b.grant(ctx, all)
	if err != nil {
		return nil, err
	}
	if len(tasks) > 0 {
		crash.At("grant.committed")
	}
	var out []Outgoing
	for _, l := range letters {
		c := l.Said.Claim
		if c == nil {
			continue
		}
		a := protocol.Answer{Message: c.Message, Nonce: c.Nonce}
		complete := true
		for _, raw := range c.IDs {
			id := domain.ID(raw)
			switch why, mine := foreign[claimant{l.Said.Worker, l.Said.Boot, id}], tasks[id]; {
			case why != "":
				a.Denied = append(a.Denied, protocol.Deny{Attempt: raw, Reason: why})
			case mine != nil:
				a.Grants = append(a.Grants, *mine)
			case denied[id] != "":
				a.Denied = append(a.Denied, protocol.Deny{Attempt: raw, Reason: denied[id]})
			default:
				complete = false
			}
		}
		b.figures.granted.Add(int64(len(a.Grants)))
		b.figures.denied.Add(int64(len(a.Denied)))
		if complete || len(a.Grants)+len(a.Denied) > 0 {
			out = append(out, Outgoing{l.Said.Worker, l.Said.Boot, protocol.Downlink{Answer: &a}})
		}
	}
	b.granted(tasks)
	if len(out) > 0 {
		b.roomAgain() // for what takes no thread
	}
	return out, nil
}

// claimant is who claims which attempt.
type claimant struct {
	worker  string
	boot    int64
	attempt domain.ID
}

// sortClaims lists the claims to decide, one per attempt;
// foreign are those by anybody else, with the reason: a task goes to its target alone.
func (b *Broker) sortClaims(letters []Letter) ([]domain.Claim, map[claimant]string) {
	var all []domain.Claim
	place := map[domain.ID]int{}
	foreign := map[claimant]string{}
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	for _, l := range letters {
		c := l.Said.Claim
		if c == nil {
			continue
		}
		for _, raw := range c.IDs {
			id := domain.ID(raw)
			claim := domain.Claim{Attempt: id, Worker: l.Said.Worker, Boot: l.Said.Boot}
			f := b.mem.flights[id]
			at, known := place[id]
			switch {
			case f != nil && (f.target != claim.Worker || f.boot != claim.Boot),
				known && (all[at].Worker != claim.Worker || all[at].Boot != claim.Boot):
				foreign[claimant{claim.Worker, claim.Boot, id}] = "the attempt was sent to somebody else"
			case !known:
				place[id] = len(all)
				all = append(all, claim)
			}
		}
	}
	return all, foreign
}

// grant has the claims decided together, or one by one when that is rejected: one
// that cannot be decided stays unanswered, which is no grant, and blocks no other.
func (b *Broker) grant(ctx context.Context, all []domain.Claim) (map[domain.ID]*protocol.Task, map[domain.ID]string, error) {
	if len(all) == 0 {
		return nil, nil, nil
	}
	tasks, denied, err := b.grantHalves(ctx, all)
	if err == nil || transient(ctx, err) {
		return tasks, denied, err
	}
	slog.Warn("a batch of claims was rejected, deciding one by one", "claims", len(all), "error", err)
	tasks, denied = map[domain.ID]*protocol.Task{}, map[domain.ID]string{}
	for i, one := range all {
		t, d, err := b.Judge.Grant(ctx, all[i:i+1])
		switch {
		case err == nil && t[one.Attempt] != nil:
			tasks[one.Attempt] = t[one.Attempt]
		case err == nil:
			denied[one.Attempt] = d[one.Attempt]
		case transient(ctx, err):
			return nil, nil, err
		default:
			slog.Error("a claim could not be decided and stays unanswered", "attempt", one.Attempt, "worker", one.Worker, "error", err)
		}
	}
	return tasks, denied, nil
}

// grantHalves decides claims in one transaction, or many of them in two at a time.
func (b *Broker) grantHalves(ctx context.Context, all []domain.Claim) (map[domain.ID]*protocol.Task, map[domain.ID]string, error) {
	if len(all) < halfFrom {
		return b.Judge.Grant(ctx, all)
	}
	var tasks, rest map[domain.ID]*protocol.Task
	var denied, refused map[domain.ID]string
	var g errgroup.Group
	g.Go(func() (err error) {
		tasks, denied, err = b.Judge.Grant(ctx, all[:len(all)/2])
		return err
	})
	g.Go(func() (err error) {
		rest, refused, err = b.Judge.Grant(ctx, all[len(all)/2:])
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, nil, err // what one half was granted is granted again to the same boot
	}
	maps.Copy(tasks, rest)
	maps.Copy(denied, refused)
	return tasks, denied, nil
}

// transient reports whether the same may succeed when it is tried again.
func transient(ctx context.Context, err error) bool {
	return ctx.Err() != nil || domain.Is(err, domain.Unavailable) || domain.Is(err, domain.Conflict)
}

// granted notes grants and how long sending took.
func (b *Broker) granted(tasks map[domain.ID]*protocol.Task) {
	now := b.Mono()
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	for id := range tasks {
		trip, first := b.mem.grant(id, now)
		if !first {
			continue
		}
		f := b.mem.flights[id]
		if t := b.mem.target(f.target, f.boot); t != nil && t.rtt == 0 {
			t.rtt = trip
		} else if t != nil {
			t.rtt += (trip - t.rtt) / 8
		}
	}
}

// refused takes back what a worker handed back before its grant. What was sent to
// somebody else is not its to hand back.
func (b *Broker) refused(ctx context.Context, from protocol.Uplink, r protocol.Refuse) error {
	var ids []domain.ID
	b.mem.mu.Lock()
	for _, id := range r.IDs {
		if f := b.mem.flights[domain.ID(id)]; f != nil && f.target == from.Worker && f.boot == from.Boot {
			ids = append(ids, domain.ID(id))
		}
	}
	b.mem.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	b.shut(domain.Boot{Name: from.Worker, Boot: from.Boot})
	slog.Warn("a worker refused work", "worker", from.Worker, "boot", from.Boot, "attempts", len(ids), "reason", r.Reason)
	err := b.withdraw(ctx, ids, domain.OutcomeRefused, r.Reason)
	if err != nil && !transient(ctx, err) {
		slog.Error("what a worker refused could not be taken back; it is when no ack comes", "worker", from.Worker, "error", err)
		return nil
	}
	return err
}

// shut gives a worker that refused nothing for a while, so that the same is not sent
// to it again and again.
func (b *Broker) shut(at domain.Boot) {
	now := b.Mono()
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	if t := b.mem.target(at.Name, at.Boot); t != nil {
		t.shut = now.Add(refusalPause)
		t.doubt(now)
	}
}

// pause waits, unless ctx ends first; then it returns false.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// Timing of claims, on the boot clock.
const (
	// claimFirst is the wait until the first repetition. Answers and claims are seldom lost, but a center that has ten
	// thousand claims before it takes its time: repeating them sooner makes it grant and answer everything twice, and what
	// it answered first does not count any more.
	claimFirst = time.Second
	claimMost  = 5 * time.Second
	// answerWithin is how old a claim may be when its answer counts. The center may withdraw an attempt that stays
	// silent, and would then be running it elsewhere.
	answerWithin = 3 * time.Second
	// recentFor is how long a confirmed attempt is remembered at least: longer than an answer may be under way.
	recentFor = 15 * time.Second
)

// phase is where an attempt stands on this worker.
type phase int

const (
	claimed phase = iota // asked for, not granted: it may never run
	queued               // granted, waits for a thread
	running              // its start is in the journal, or about to be
	ended                // its outcome is decided; kept until it is confirmed
)

// attempt is one that the worker knows.
type attempt struct {
	id     int64
	phase  phase
	msg    *message // while claimed
	task   protocol.Task
	lane   string
	ctx    context.Context // from the grant on; cancelled with the reason of its end
	cancel context.CancelCauseFunc
}

// message is one whose claim has not been answered.
type message struct {
	id, lane string
	ids      []int64        // in the order of the center's ranks
	open     map[int64]bool // those still claimed
	nonce    string         // of the newest claim; empty before the first
	sent     time.Duration  // when that was sent
	next     time.Duration  // when to claim again
	wait     time.Duration
}

// book is what the worker knows of attempts, and the rules about them. It has no clock, does no I/O and is not safe for
// concurrent use: the Node guards it.
type book struct {
	attempts map[int64]*attempt
	messages map[string]*message
	// Confirmed attempts in two generations: an answer that was under way meanwhile must not start them again.
	recent, older map[int64]bool
	turned        time.Duration
	count         [ended + 1]int
}

// left returns what is still claimed, in order.
func (m *message) left() []int64 {
	return slices.DeleteFunc(slices.Clone(m.ids), func(id int64) bool { return !m.open[id] })
}

func newBook() *book {
	return &book{attempts: map[int64]*attempt{}, messages: map[string]*message{}, recent: map[int64]bool{}, older: map[int64]bool{}}
}

// receive takes a message in and says whether there is anything to claim: attempts that are known are left out, so a
// message that comes twice changes nothing.
func (b *book) receive(lane string, m protocol.Message, now time.Duration) bool {
	if b.messages[m.ID] != nil {
		return false
	}
	msg := &message{id: m.ID, lane: lane, open: map[int64]bool{}, next: now, wait: claimFirst}
	for _, id := range m.IDs {
		if b.known(id) {
			continue
		}
		msg.ids, msg.open[id] = append(msg.ids, id), true
		b.add(&attempt{id: id, phase: claimed, msg: msg, lane: lane})
	}
	if len(msg.open) == 0 {
		return false
	}
	b.messages[m.ID] = msg
	return true
}

func (b *book) known(id int64) bool { return b.attempts[id] != nil || b.recent[id] || b.older[id] }

// claims returns what is to be claimed now, each with a fresh nonce, and notes that it is sent now.
func (b *book) claims(now time.Duration, nonce func() string) []protocol.Claim {
	var out []protocol.Claim
	for _, m := range b.messages {
		if m.next > now {
			continue
		}
		m.nonce, m.sent = nonce(), now
		m.next, m.wait = now+m.wait, min(2*m.wait, claimMost)
		out = append(out, protocol.Claim{Message: m.id, Nonce: m.nonce, IDs: m.left()})
	}
	return out
}

// unsent makes claims due again at once that could not be written: their waits are for an answer, and a Redis that was
// away for long would find them at their longest.
func (b *book) unsent(cs []protocol.Claim, now time.Duration) {
	for _, c := range cs {
		if m := b.messages[c.Message]; m != nil && m.nonce == c.Nonce {
			m.next, m.wait = now, claimFirst
		}
	}
}

// answer applies the center's answer and returns the attempts that are granted by it, in its order. It returns again
// when the answer was right but came too late: the same is then claimed once more, at once.
func (b *book) answer(a protocol.Answer, now time.Duration) (granted []*attempt, again bool) {
	m := b.messages[a.Message]
	if m == nil || m.nonce == "" || a.Nonce != m.nonce {
		return nil, false
	}
	if now-m.sent >= answerWithin {
		m.next, m.wait = now, claimFirst
		return nil, true
	}
	for _, t := range a.Grants {
		if !m.open[t.Attempt] {
			continue
		}
		delete(m.open, t.Attempt)
		at := b.attempts[t.Attempt]
		at.task, at.msg = t, nil
		at.ctx, at.cancel = context.WithCancelCause(context.Background())
		b.move(at, queued)
		granted = append(granted, at)
	}
	b.close(m)
	return granted, false
}

// close ends a message: what is still claimed in it was not granted and is forgotten.
func (b *book) close(m *message) {
	for id := range m.open {
		b.drop(b.attempts[id])
	}
	delete(b.messages, m.id)
}

// begin moves a queued attempt to running; false means that it has ended meanwhile.
func (b *book) begin(a *attempt) bool {
	if a.phase != queued {
		return false
	}
	b.move(a, running)
	return true
}

// kill decides what a kill does. It returns the attempt when it ends here without a start; a running one is cancelled
// with cause, and one that is unknown or has ended is left alone.
func (b *book) kill(id int64, cause error) *attempt {
	a := b.attempts[id]
	if a == nil || a.phase == ended {
		return nil
	}
	if a.phase == running {
		a.cancel(cause)
		return nil
	}
	b.end(a)
	return a
}

// end notes that the attempt's outcome is decided. It says false when it was before.
func (b *book) end(a *attempt) bool {
	if a.phase == ended {
		return false
	}
	if a.msg != nil {
		delete(a.msg.open, a.id)
		if len(a.msg.open) == 0 {
			delete(b.messages, a.msg.id)
		}
		a.msg = nil
	}
	b.move(a, ended)
	return true
}

// restore adds an attempt of an earlier life whose outcome is not confirmed.
func (b *book) restore(id int64) { b.add(&attempt{id: id, phase: ended}) }

// confirm forgets ended attempts whose outcome the center has, and returns those that were kept.
func (b *book) confirm(ids []int64, now time.Duration) []int64 {
	if now-b.turned >= recentFor {
		b.older, b.recent, b.turned = b.recent, map[int64]bool{}, now
	}
	var out []int64
	for _, id := range ids {
		if a := b.attempts[id]; a != nil && a.phase == ended {
			b.drop(a)
			b.recent[id] = true
			out = append(out, id)
		}
	}
	return out
}

// handBack closes every message and returns the attempts in them: they go back to the center ungranted.
func (b *book) handBack() []int64 {
	var ids []int64
	for _, m := range b.messages {
		ids = append(ids, m.left()...)
		b.close(m)
	}
	return ids
}

// in returns the attempts in a phase.
func (b *book) in(p phase) []*attempt {
	var out []*attempt
	for _, a := range b.attempts {
		if a.phase == p {
			out = append(out, a)
		}
	}
	return out
}

// held names every attempt that the worker knows.
func (b *book) held() []int64 {
	out := make([]int64, 0, len(b.attempts))
	for id := range b.attempts {
		out = append(out, id)
	}
	return out
}

func (b *book) add(a *attempt) {
	b.attempts[a.id] = a
	b.count[a.phase]++
}

func (b *book) drop(a *attempt) {
	delete(b.attempts, a.id)
	b.count[a.phase]--
}

func (b *book) move(a *attempt, to phase) {
	b.count[a.phase]--
	a.phase = to
	b.count[to]++
}

// early says why a granted task must not start yet, or nothing.
func early(t protocol.Task, now time.Time) string {
	ahead := t.Expected - now.UnixMilli()
	if t.Early || t.Expected == 0 || ahead <= protocol.MaxSkewMs {
		return ""
	}
	return fmt.Sprintf("asked to start %.1f s before its planned time by this worker's clock", float64(ahead)/1000)
}

// unfit says why new work is not taken, or nothing. disk is what the disk says to the journal.
func unfit(disk string, skew time.Duration, draining bool) string {
	switch {
	case draining:
		return "the worker is draining"
	case disk != "":
		return unwritable + disk
	case skew.Abs() > protocol.MaxSkewMs*time.Millisecond:
		return fmt.Sprintf("the worker's clock is %.1f s %s the center's", skew.Abs().Seconds(), aheadOrBehind(skew))
	default:
		return ""
	}
}

func aheadOrBehind(skew time.Duration) string {
	if skew > 0 {
		return "ahead of"
	}
	return "behind"
}

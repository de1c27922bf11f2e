package transport

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/protocol"
)

var (
	probeScript  = redis.NewScript(protocol.LuaProbe)
	strikeScript = redis.NewScript(protocol.LuaStrike)
)

// Probe asks a Redis whether it keeps what is written: a Redis that refuses writes answers every read, and all
// heartbeats in it stand still while their workers live. It is for one goroutine.
type Probe struct {
	c      redis.UniversalClient
	holder string
	last   string        // the word written last; "" = none since the start
	ahead  time.Duration // as found when an answer came soon
}

// NewProbe probes c for the broker with that holder id.
func NewProbe(c redis.UniversalClient, holder string) *Probe { return &Probe{c: c, holder: holder} }

// Probed is what a probe found.
type Probed struct {
	// Ahead is how far Redis' clock is before the database's; off by no more than half of what the asking took. After an
	// answer that took longer than clockTrip it is that of the answer before.
	Ahead time.Duration
	// Emptied says that what was written at the probe before is gone or older: Redis lost its data, or the last of it.
	Emptied bool
}

// ProbeError is why a Redis failed a probe.
type ProbeError struct {
	// Answers says that it answered, and takes no writes or does not keep them.
	Answers bool
	Err     error
}

// Error says it with what it is about.
func (e *ProbeError) Error() string {
	if e.Answers {
		return "it answers and takes no writes: " + e.Err.Error()
	}
	return "it does not answer: " + e.Err.Error()
}

// Unwrap is the cause.
func (e *ProbeError) Unwrap() error { return e.Err }

// Said is what Redis or the connection to it said, without the place in AX' own script.
func (e *ProbeError) Said() string {
	text, _, _ := strings.Cut(e.Err.Error(), " script: ")
	return strings.TrimSuffix(text, ".")
}

// Words are Redis' own, without what was being done; those of the connection where Redis said nothing.
func (e *ProbeError) Words() string {
	var said redis.Error
	if errors.As(e.Err, &said) {
		return (&ProbeError{e.Answers, said}).Said()
	}
	return e.Said()
}

// Fault judges what a call of Redis failed with; err must not be nil.
func Fault(err error) *ProbeError {
	var said redis.Error
	return &ProbeError{Answers: errors.As(err, &said) || errors.Is(err, ErrForeign), Err: err}
}

// clockTrip is the longest round trip whose middle still says something about clocks.
const clockTrip = time.Second

// Ask writes and reads back. database is the database's clock now, against which Redis' clock is compared and which the
// workers' clocks are then compared with. An error, a *ProbeError, means that nothing can be relied on now, whatever
// else may be readable. What stood in the place of AX' own keys and was no such thing is removed, which the error says; the next
// call finds it mended.
//
// Workers are told of the clocks only when the answer came soon. A Redis that stood still carries out what was asked of
// it before, although nobody waits for that any more; each worker's clock would be off by as much as the stall was long.
func (p *Probe) Ask(ctx context.Context, database time.Time) (Probed, error) {
	word, key, began := rand.Text(), protocol.KeyProbe(p.holder), time.Now()
	res, err := probeScript.Run(ctx, p.c, []string{key}, word).Slice()
	trip := time.Since(began)
	if err != nil {
		return Probed{}, Fault(foreign(ctx, p.c, err, key))
	}
	if len(res) != 2 {
		return Probed{}, &ProbeError{true, fmt.Errorf("its answer %v to a write is not understood", res)}
	}
	stamp, _ := res[0].(int64)
	if trip <= clockTrip {
		p.ahead = time.UnixMilli(stamp).Sub(database.Add(trip / 2))
		if err := p.c.HSet(ctx, protocol.KeyClock, "stamp", stamp, "ahead", p.ahead.Milliseconds()).Err(); err != nil {
			return Probed{}, Fault(foreign(ctx, p.c, err, protocol.KeyClock))
		}
	}
	back, err := p.c.Get(ctx, key).Result()
	if err != nil {
		return Probed{}, Fault(fmt.Errorf("what was written cannot be read back: %w", err))
	}
	if back != word {
		return Probed{}, &ProbeError{true, errors.New("what was written is not there a moment later")}
	}
	out := Probed{Ahead: p.ahead, Emptied: p.last != "" && res[1] != p.last}
	p.last = word
	return out, nil
}

// Strike removes the heartbeat of one boot of a worker that is gone for good, unless another has its name by now.
func Strike(ctx context.Context, c redis.UniversalClient, worker string, boot int64) error {
	if err := strikeScript.Run(ctx, c, []string{protocol.KeyHolders, protocol.KeyWorkers}, worker, boot).Err(); err != nil {
		return fmt.Errorf("strike worker %s off the registry: %w", worker, err)
	}
	return nil
}

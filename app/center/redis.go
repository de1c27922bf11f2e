package center

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/modules/broker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// mail is the broker's streams.
type mail struct {
	c      redis.UniversalClient
	group  *transport.Group
	clock  *clock
	poison *poison
	adopt  bool // entries of a broker before are taken over first
}

func newMail(c redis.UniversalClient, member string, clock *clock, poison *poison) *mail {
	return &mail{c: c, group: transport.NewUplinkGroup(c, member), clock: clock, poison: poison, adopt: true}
}

// poison counts what was found in Redis and could not be read, and was removed.
type poison struct{ uplink, logs, nudges atomic.Int64 }

// foreign counts, where err says so, a key that held what is not AX's.
func foreign(err error, in *atomic.Int64) error {
	if errors.Is(err, transport.ErrForeign) {
		in.Add(1)
	}
	return err
}

const uplinkWait = 200 * time.Millisecond

// Read returns entries, those that an earlier broker left unfinished first.
func (m *mail) Read(ctx context.Context, limit int) ([]broker.Letter, error) {
	var raws []transport.Raw
	var err error
	if m.adopt {
		if raws, err = m.group.Adopt(ctx, 0, int64(limit)); err != nil {
			return nil, foreign(err, &m.poison.uplink)
		}
		m.adopt = len(raws) > 0
	}
	if len(raws) == 0 {
		if raws, err = m.group.Read(ctx, int64(limit), uplinkWait); err != nil {
			return nil, foreign(err, &m.poison.uplink)
		}
	}
	var out []broker.Letter
	var damaged []string
	for _, r := range raws {
		var u protocol.Uplink
		if json.Unmarshal(r.Body, &u) != nil || u.Worker == "" {
			damaged = append(damaged, r.ID)
			continue
		}
		out = append(out, broker.Letter{ID: r.ID, At: m.written(r.ID), Said: u})
	}
	if len(damaged) > 0 {
		m.poison.uplink.Add(int64(len(damaged)))
		slog.Warn("damaged uplink entries were dropped", "entries", len(damaged))
		if err := m.group.Remove(ctx, damaged...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// written is when a stream entry was written: its id has that by Redis' clock. Zero if
// that tells nothing.
func (m *mail) written(id string) time.Time {
	ms, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n).Add(-time.Duration(m.clock.ahead.Load()))
}

// Remove says that entries were dealt with.
func (m *mail) Remove(ctx context.Context, ids []string) error { return m.group.Remove(ctx, ids...) }

// Post puts entries into inboxes.
func (m *mail) Post(ctx context.Context, out []broker.Outgoing) error {
	entries := make([]transport.Entry, len(out))
	for i, o := range out {
		entries[i] = transport.InboxEntry(o.Worker, o.Boot, o.Down)
	}
	return transport.Write(ctx, m.c, entries...)
}

// registry is the fleet's view of Redis.
type registry struct {
	registry, transport redis.UniversalClient
	probes              []namedProbe
	clock               *clock
	standings           *standings
}

// namedProbe says which of the two a fault is about.
type namedProbe struct {
	*transport.Probe
	name  string
	redis string // as the standings name it
}

// newRegistry probes both where they differ: with either away nothing is sent and
// nobody can be judged. Different URLs may still lead to one Redis, so each has a place
// of its own to write.
func newRegistry(o Options, holder string, clock *clock, standings *standings) *registry {
	r := &registry{registry: o.Registry, transport: o.Transport, clock: clock, standings: standings}
	if o.Config.RegistryRedisURL == o.Config.RedisURL {
		r.probes = []namedProbe{{transport.NewProbe(o.Registry, holder+"-registry"), "the registry", redisBoth}}
		return r
	}
	r.probes = []namedProbe{{transport.NewProbe(o.Registry, holder+"-registry"), "the registry", redisRegistry},
		{transport.NewProbe(o.Transport, holder+"-transport"), "the transport", redisTransport}}
	return r
}

const registryPatience = 2 * time.Second

// Beats reads all heartbeats, once a write of this broker's own was read back:
// heartbeats that nobody can write stand still, and no worker is lost for that.
func (r *registry) Beats(ctx context.Context) (beats []protocol.Heartbeat, emptied bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	if emptied, err = r.ask(ctx); err != nil {
		return nil, false, err
	}
	beats, _, err = transport.Workers(ctx, r.registry)
	return beats, emptied, err
}

// Catalog reads what a worker told of its types.
func (r *registry) Catalog(ctx context.Context, worker string) (protocol.Catalog, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	return transport.Catalog(ctx, r.registry, worker)
}

// ask probes all at a time, so that what is said of one does not depend on the other,
// and notes how each stands.
func (r *registry) ask(ctx context.Context) (emptied bool, err error) {
	began := time.Now()
	got, errs := make([]transport.Probed, len(r.probes)), make([]error, len(r.probes))
	var asked sync.WaitGroup
	for i, p := range r.probes {
		asked.Go(func() { got[i], errs[i] = p.Ask(ctx, r.clock.now()) })
	}
	asked.Wait()
	if errors.Is(ctx.Err(), context.Canceled) {
		return false, ctx.Err() // the term is over, which says nothing of Redis
	}
	for i, p := range r.probes {
		r.standings.note(p.redis, errs[i], began)
		if errs[i] != nil {
			errs[i] = fmt.Errorf("%s: %w", p.name, errs[i])
		}
		emptied = emptied || got[i].Emptied
	}
	if err = inOneLine(errs...); err == nil {
		r.clock.ahead.Store(int64(got[len(got)-1].Ahead)) // of the transport, whose streams carry its time
	}
	return emptied, err
}

// Forget removes what is left of a life.
func (r *registry) Forget(ctx context.Context, worker string, boot int64) error {
	ctx, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	return errors.Join(transport.Forget(ctx, r.transport, worker, boot), transport.Strike(ctx, r.registry, worker, boot))
}

// sender bounds each sending.
type sender struct{ s *transport.Sender }

// Send puts a message on a lane's queue.
func (s sender) Send(ctx context.Context, worker string, boot int64, lane string, m protocol.Message) error {
	ctx, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	return s.s.Send(ctx, worker, boot, lane, m)
}

// nudger publishes hints without ever waiting for Redis: a hint that finds its
// place taken is the same hint, and one that is lost is made good by a poll.
type nudger struct {
	bells map[protocol.Nudge]chan struct{}
}

var nudges = []protocol.Nudge{protocol.NudgeReady, protocol.NudgeKill, protocol.NudgeTrigger, protocol.NudgeEnded}

func newNudger() *nudger {
	n := &nudger{bells: map[protocol.Nudge]chan struct{}{}}
	for _, k := range nudges {
		n.bells[k] = make(chan struct{}, 1)
	}
	return n
}

// Nudge asks for a hint to be published.
func (n *nudger) Nudge(k protocol.Nudge) {
	select {
	case n.bells[k] <- struct{}{}:
	default:
	}
}

// run publishes until ctx ends.
func (n *nudger) run(ctx context.Context, c redis.UniversalClient) error {
	for {
		var k protocol.Nudge
		select {
		case <-ctx.Done():
			return nil
		case <-n.bells[protocol.NudgeReady]:
			k = protocol.NudgeReady
		case <-n.bells[protocol.NudgeKill]:
			k = protocol.NudgeKill
		case <-n.bells[protocol.NudgeTrigger]:
			k = protocol.NudgeTrigger
		case <-n.bells[protocol.NudgeEnded]:
			k = protocol.NudgeEnded
		}
		hint, cancel := context.WithTimeout(ctx, time.Second)
		if err := transport.Hint(hint, c, k); err != nil && ctx.Err() == nil {
			slog.Debug("a nudge was not published", "nudge", k, "error", err)
		}
		cancel()
	}
}

package center

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/modules/broker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// mail is the broker's streams.
type mail struct {
	c     redis.UniversalClient
	group *transport.Group
	adopt bool // entries of a broker before are taken over first
}

func newMail(c redis.UniversalClient, member string) *mail {
	return &mail{c: c, group: transport.NewUplinkGroup(c, member), adopt: true}
}

const uplinkWait = 200 * time.Millisecond

// Read returns entries, those that an earlier broker left unfinished first.
func (m *mail) Read(ctx context.Context, limit int) ([]broker.Letter, error) {
	var raws []transport.Raw
	var err error
	if m.adopt {
		if raws, err = m.group.Adopt(ctx, 0, int64(limit)); err != nil {
			return nil, err
		}
		m.adopt = len(raws) > 0
	}
	if len(raws) == 0 {
		if raws, err = m.group.Read(ctx, int64(limit), uplinkWait); err != nil {
			return nil, err
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
		out = append(out, broker.Letter{ID: r.ID, At: written(r.ID), Said: u})
	}
	if len(damaged) > 0 {
		slog.Warn("damaged uplink entries were dropped", "entries", len(damaged))
		if err := m.group.Remove(ctx, damaged...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// written is when a stream entry was written, by its id; zero if that tells nothing.
func written(id string) time.Time {
	ms, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n)
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
}

const registryPatience = 2 * time.Second

// Beats reads all heartbeats.
func (r registry) Beats(ctx context.Context) ([]protocol.Heartbeat, error) {
	ctx, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	beats, _, err := transport.Workers(ctx, r.registry)
	return beats, err
}

// Forget removes what is left of a life.
func (r registry) Forget(ctx context.Context, worker string, boot int64) error {
	ctx, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	return transport.Forget(ctx, r.transport, worker, boot)
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

func newNudger() *nudger {
	n := &nudger{bells: map[protocol.Nudge]chan struct{}{}}
	for _, k := range []protocol.Nudge{protocol.NudgeReady, protocol.NudgeKill, protocol.NudgeTrigger, protocol.NudgeEnded} {
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

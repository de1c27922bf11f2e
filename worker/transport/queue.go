package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/protocol"
)

// Receiver takes messages out of the queues of one boot of a worker, with one asynq server for each lane: a server
// fetches in one serial loop, so lanes must not share one. It hears of a message at once (see waking).
type Receiver struct {
	Client redis.UniversalClient
	Worker string
	Boot   int64
	Lanes  []string
	// Embedded says that Redis is inside this process, where each look costs more.
	Embedded bool
	// Handle is called for each message, by several goroutines at once. It must not block for long.
	Handle func(lane string, m protocol.Message)
	Log    *slog.Logger

	poison, leftover atomic.Int64
}

// The pauses between looks into an empty queue where a Redis does not let itself be waited for (a proxy, or an access
// list without BLMOVE). On a real Redis such an idle worker takes a tenth of a core.
const (
	pollFast = 8 * time.Millisecond
	pollSlow = 50 * time.Millisecond
)

// Poison is how many messages could not be read and were dropped, and how often a queue was none.
func (r *Receiver) Poison() int64 { return r.poison.Load() }

// Leftover is how many messages of AX asynq still kept after they had been taken and were removed.
func (r *Receiver) Leftover() int64 { return r.leftover.Load() }

// Run receives until ctx ends. A Redis that is down is waited for.
func (r *Receiver) Run(ctx context.Context) error {
	servers := make([]*asynq.Server, 0, len(r.Lanes))
	defer func() {
		for _, s := range servers {
			s.Shutdown()
		}
	}()
	var said seldom
	for _, lane := range r.Lanes {
		q := queueOf(r.Worker, r.Boot, lane)
		c := &waking{UniversalClient: r.Client, queue: q, until: ctx, mended: func(err error) { r.drop(1, "lane", lane, "error", err) }}
		s := asynq.NewServerFromRedisClient(c, r.config(lane, &said))
		mux := asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
			r.take(lane, t)
			return nil // whatever it was: asynq must never keep, repeat or archive it
		})
		if err := s.Start(mux); err != nil {
			return fmt.Errorf("receive lane %s: %w", lane, err)
		}
		servers = append(servers, s)
	}
	r.sweep(ctx)
	return nil
}

// drop counts and tells what was removed.
func (r *Receiver) drop(n int, about ...any) {
	r.poison.Add(int64(n))
	r.log().Warn("removed from a queue what is none of AX's", append(about, "count", n)...)
}

// config switches off what asynq does beside carrying: nothing is scheduled, retried or kept in these queues.
func (r *Receiver) config(lane string, said *seldom) asynq.Config {
	poll := pollFast
	if r.Embedded || lane == protocol.LaneLow {
		poll = pollSlow
	}
	return asynq.Config{
		Concurrency:              4,
		Queues:                   map[string]int{protocol.Queue(r.Worker, r.Boot, lane): 1},
		TaskCheckInterval:        poll,
		DelayedTaskCheckInterval: time.Hour,
		JanitorInterval:          time.Hour,
		HealthCheckInterval:      time.Hour,
		ShutdownTimeout:          2 * time.Second,
		Logger:                   quietLog{r.log().With("lane", lane), said},
		LogLevel:                 asynq.WarnLevel,
	}
}

func (r *Receiver) log() *slog.Logger {
	if r.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.Log
}

func (r *Receiver) take(lane string, t *asynq.Task) {
	var m protocol.Message
	if t.Type() != protocol.TaskType || json.Unmarshal(t.Payload(), &m) != nil || m.ID == "" || len(m.IDs) == 0 {
		r.drop(1, "lane", lane, "type", t.Type(), "bytes", len(t.Payload()))
		return
	}
	r.Handle(lane, m)
}

// quietLog passes what asynq complains about on, the same seldom: its servers say it at each try.
type quietLog struct {
	log  *slog.Logger
	said *seldom
}

func (q quietLog) Debug(args ...any) { q.log.Debug("asynq: " + fmt.Sprint(args...)) }
func (q quietLog) Info(args ...any)  { q.log.Debug("asynq: " + fmt.Sprint(args...)) }
func (q quietLog) Warn(args ...any)  { q.warn(fmt.Sprint(args...)) }
func (q quietLog) Error(args ...any) { q.warn(fmt.Sprint(args...)) }

func (q quietLog) warn(text string) {
	if q.said.due(text, time.Now()) {
		q.log.Warn("asynq: " + text)
	}
}

// Fatal is what asynq calls when it cannot go on; it must not end the process of others.
func (q quietLog) Fatal(args ...any) { q.log.Error("asynq: " + fmt.Sprint(args...)) }

// Sender puts messages into the queues of workers. It may be used by any number of goroutines.
type Sender struct {
	c      redis.UniversalClient
	client *asynq.Client
}

// NewSender sends over c, which stays the caller's to close.
func NewSender(c redis.UniversalClient) *Sender {
	return &Sender{c: c, client: asynq.NewClientFromRedisClient(c)}
}

// sendRetries is asynq's own count, which only matters when a server dies between fetching and handing over.
const sendRetries = 3

// Send puts m into the queue of one lane of one boot of a worker. A message that is there already, by its id, is no
// error. ctx should carry a deadline: without Redis it waits for that.
func (s *Sender) Send(ctx context.Context, worker string, boot int64, lane string, m protocol.Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = s.client.EnqueueContext(ctx, asynq.NewTask(protocol.TaskType, body),
		asynq.TaskID(m.ID), asynq.Queue(protocol.Queue(worker, boot, lane)), asynq.MaxRetry(sendRetries))
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return fmt.Errorf("send message %s to %s boot %d lane %s: %w", m.ID, worker, boot, lane, err)
	}
	return nil
}

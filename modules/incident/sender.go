package incident

import (
	"context"
	"log/slog"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

// Hook takes a notice, at a time. An error says that it did not.
type Hook interface {
	Send(ctx context.Context, at time.Time, id domain.ID, body string) error
}

const (
	hookLimit = 10 * time.Second // for one try
	// claimFor is for how long a try has a notice for itself; it is longer than any try,
	// so that a sender which died in it is followed and one which works is not.
	claimFor   = hookLimit + 5*time.Second
	sendEach   = time.Second // between two looks for notices
	backOffTop = 5 * time.Minute
)

// ChannelWebhook is the name of the road by the web-hook.
const ChannelWebhook = "webhook"

// Sender brings notices to the hook, one at a time, the longest due first. Each is
// claimed before it is sent and counts as told when the hook has taken it; one whose
// sender died in between is sent again with the same id. A hook that takes nothing is
// left alone for longer and longer. What is over is told only once its opening was taken.
// How the road fares is in the rows, for the page. It is for one goroutine.
type Sender struct {
	Store *store.Store
	Hook  Hook

	failures int       // in a row
	rests    time.Time // monotonic; until then nothing is sent
}

// Run sends until ctx ends, and then returns nil.
func (s *Sender) Run(ctx context.Context) error {
	known := false
	for {
		if !known {
			known = s.Store.KeepChannel(ctx, ChannelWebhook) == nil
		}
		if err := s.round(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("notices could not be read or written; trying again", "error", err)
		}
		if !pause(ctx, sendEach) {
			return nil
		}
	}
}

// round sends what is due until nothing is, or the hook fails.
func (s *Sender) round(ctx context.Context) error {
	for ctx.Err() == nil && !time.Now().Before(s.rests) {
		more, err := s.sendOne(ctx)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (s *Sender) sendOne(ctx context.Context) (more bool, err error) {
	now, err := s.Store.Now(ctx)
	if err != nil {
		return false, err
	}
	n, due, err := s.Store.Due(ctx, now)
	if err != nil || !due {
		return false, err
	}
	mine, err := s.Store.Claim(ctx, n, now.Add(claimFor))
	if err != nil || !mine {
		return err == nil, err
	}
	if refused := s.send(ctx, now, n); refused != nil {
		return false, s.failed(ctx, n, now, refused)
	}
	s.failures = 0
	return true, s.Store.Sent(ctx, ChannelWebhook, n.ID, now)
}

func (s *Sender) send(ctx context.Context, now time.Time, n store.Notice) error {
	ctx, cancel := context.WithTimeout(ctx, hookLimit)
	defer cancel()
	return s.Hook.Send(ctx, now, n.ID, n.Body)
}

// failed puts the notice off by its own tries, so that one which is refused for ever
// lets the others pass, and rests by the failures in a row.
func (s *Sender) failed(ctx context.Context, n store.Notice, now time.Time, why error) error {
	if ctx.Err() != nil {
		return nil // the term is over; the claim runs out by itself
	}
	s.failures++
	s.rests = time.Now().Add(backOff(s.failures))
	if s.failures == 1 {
		slog.Warn("a notice was not taken by the web-hook; trying again, less and less often", "notice", n.ID.String(), "error", why)
	}
	return s.Store.Failed(ctx, ChannelWebhook, store.Failure{Notice: n.ID, At: now, Fault: cut(why.Error()), Next: now.Add(backOff(n.Tries + 1)), Rests: now.Add(backOff(s.failures))})
}

// backOff is 1, 2, 4, 8 … s and 5 min at most, for the first, second … failure.
func backOff(failures int) time.Duration {
	d := time.Second
	for range failures - 1 {
		if d *= 2; d >= backOffTop {
			return backOffTop
		}
	}
	return d
}

package httpx

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
)

// writePatience is how long one write to a stream may take before the reader
// counts as gone.
const writePatience = 30 * time.Second

// Event is one event of a stream. ID comes back as Last-Event-ID when the reader
// connects again; Name "" is an unnamed event. Data may have several lines.
type Event struct {
	ID   string
	Name string
	Data string
}

// Events is an open stream. Safe for concurrent use.
type Events struct {
	mu sync.Mutex
	w  http.ResponseWriter
	rc *http.ResponseController
}

// LastEventID is the id of the last event that a reader got before it connects
// again; "" on the first time.
func LastEventID(c echo.Context) string { return c.Request().Header.Get("Last-Event-ID") }

// Stream opens an event stream, runs the sender and ends with it. The sender's
// context ends when the reader leaves, the server stops, or the caller's rights
// are gone, which is looked at with each comment line. Check and open what can
// fail before: an error of run can no longer be answered and is only logged.
func Stream(c echo.Context, run func(ctx context.Context, s *Events) error) error {
	sc := scopeOf(c.Request().Context())
	h := c.Response().Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	s := &Events{w: c.Response(), rc: http.NewResponseController(c.Response())}
	c.Response().WriteHeader(http.StatusOK)
	if err := s.write(": open\n\n"); err != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(c.Request().Context())
	var beat sync.WaitGroup
	beat.Go(func() {
		defer cancel()
		sc.router.keepOpen(ctx, sc, s)
	})
	err := run(ctx, s)
	ended := ctx.Err() != nil
	cancel()
	beat.Wait()
	if err != nil && !ended {
		sc.router.logFault(c, err)
	}
	return nil
}

// EndStreams ends the open event streams, and those opened from now on: their readers connect
// again, to whoever answers then. Other requests go on. It may be called more than once.
func (r *Router) EndStreams() { r.endStreams.Do(func() { close(r.closing) }) }

// keepOpen writes comments until the stream ends or must end.
func (r *Router) keepOpen(ctx context.Context, sc *scope, s *Events) {
	tick := time.NewTicker(r.o.KeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.closing:
			return
		case <-tick.C:
			if !r.stillAllowed(ctx, sc) || s.write(": \n\n") != nil {
				return
			}
		}
	}
}

// stillAllowed asks again for what let the stream open. A store that is away does
// not end it.
func (r *Router) stillAllowed(ctx context.Context, sc *scope) bool {
	if sc.route.Action == Public {
		return true
	}
	var err error
	if sc.caller.Kind == domain.PrincipalToken {
		_, err = r.o.Identity.Bearer(ctx, sc.bearer)
	} else {
		var found bool
		if _, found, err = r.o.Sessions.FindCtx(ctx, sc.session); err == nil && !found {
			return false
		}
		if err == nil {
			_, err = r.o.Identity.Account(ctx, sc.caller.ID)
		}
	}
	if domain.Is(err, domain.Unauthentic) {
		return false
	}
	return err != nil || sc.route.Action == AnyAccount || !r.o.Policy.Visible(ctx, sc.caller.ID, sc.route.Action).Empty()
}

// Send writes one event and flushes it. An error means that the reader has gone.
func (s *Events) Send(e Event) error {
	var b strings.Builder
	if e.ID != "" {
		fmt.Fprintf(&b, "id: %s\n", oneLine(e.ID))
	}
	if e.Name != "" {
		fmt.Fprintf(&b, "event: %s\n", oneLine(e.Name))
	}
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(e.Data), "\n") {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	b.WriteByte('\n')
	return s.write(b.String())
}

func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }

func (s *Events) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.rc.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.rc.Flush()
}

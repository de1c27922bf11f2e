package httpx_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

const patience = 10 * time.Second

// ended is told why the sender of a stream stopped.
func streaming(action domain.Action, send func(ctx context.Context, s *httpx.Events) error) (httpx.Route, chan error) {
	ended := make(chan error, 1)
	return httpx.Route{Method: "GET", Path: "/api/stream", Action: action, Stream: true, Handler: func(c echo.Context) error {
		return httpx.Stream(c, func(ctx context.Context, s *httpx.Events) error {
			err := send(ctx, s)
			ended <- err
			return err
		})
	}}, ended
}

func untilGone(ctx context.Context, s *httpx.Events) error {
	if err := s.Send(httpx.Event{ID: "1\n2", Name: "log", Data: "a\nb\r\nc"}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func open(t *testing.T, url string, headers ...string) (*http.Response, *bufio.Reader) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res, bufio.NewReader(res.Body)
}

func readUntil(t *testing.T, r *bufio.Reader, what string) string {
	t.Helper()
	var all strings.Builder
	for {
		line, err := r.ReadString('\n')
		all.WriteString(line)
		if err != nil {
			t.Fatalf("the stream ended before %q: %v; it said %q", what, err, all.String())
		}
		if line == what {
			return all.String()
		}
	}
}

func wait(t *testing.T, ended chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		t.Fatal("the sender does not end")
		return nil
	}
}

func TestAStreamSendsEventsAndCommentsAndEndsWithItsReader(t *testing.T) {
	route, ended := streaming(domain.ActJobRead, untilGone)
	e := newEdge(t, route)
	res, r := open(t, e.url+"/api/stream", bearer...)
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") || res.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	got := readUntil(t, r, "data: c\n")
	if want := "id: 1 2\nevent: log\ndata: a\ndata: b\ndata: c\n"; !strings.HasSuffix(got, want) {
		t.Errorf("%q", got)
	}
	readUntil(t, r, ": \n") // comments come while nothing happens
	_ = res.Body.Close()
	if err := wait(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the sender ended with %v", err)
	}
}

func TestAStreamEndsWhenTheRightsAreGone(t *testing.T) {
	route, ended := streaming(domain.ActJobRead, untilGone)
	e := newEdge(t, route)
	_, r := open(t, e.url+"/api/stream", bearer...)
	readUntil(t, r, "data: c\n")
	e.ports.set(false, domain.Fail(domain.Unavailable, "away"))
	readUntil(t, r, ": \n") // a store that is away does not end it
	readUntil(t, r, ": \n")
	e.ports.set(true, nil)
	wait(t, ended)
}

func TestAStreamIsRefusedLikeAnyRoute(t *testing.T) {
	route, _ := streaming(domain.ActJobWrite, untilGone)
	e := newEdge(t, route)
	if a := e.do(t, "GET", "/api/stream", ""); a.status != 401 {
		t.Errorf("a stranger: %d", a.status)
	}
	if a := e.do(t, "GET", "/api/stream", "", bearer...); a.status != 403 {
		t.Errorf("somebody who may not: %d", a.status)
	}
}

func TestStreamsAreEndedAndRequestsGoOn(t *testing.T) {
	route, ended := streaming(httpx.Public, untilGone)
	entered, release := make(chan struct{}), make(chan struct{})
	slow := httpx.Route{Method: "GET", Path: "/slow", Action: httpx.Public, Handler: func(c echo.Context) error {
		close(entered)
		<-release
		return c.String(200, "done")
	}}
	e := newEdge(t, route, slow)
	_, r := open(t, e.url+"/api/stream")
	readUntil(t, r, "data: c\n")
	got := make(chan answer, 1)
	go func() { got <- e.do(t, "GET", "/slow", "") }()
	<-entered
	e.router.EndStreams()
	e.router.EndStreams()
	wait(t, ended)
	close(release)
	if a := <-got; a.body != "done" {
		t.Errorf("a request under way got %d %q", a.status, a.body)
	}
}

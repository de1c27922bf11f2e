package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// mute is an address at which connections come about and nothing is ever said; n counts them.
func mute(t *testing.T) (url string, n *atomic.Int64) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	n = &atomic.Int64{}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	return "http://" + ln.Addr().String(), n
}

// tales are what a client told. Safe for concurrent use.
type tales struct {
	mu  sync.Mutex
	all []string
}

func (s *tales) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// telling collects what a client tells.
func telling(c *Client) *tales {
	var s tales
	c.Tell = func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, text)
	}
	return &s
}

// The limits stand in docs/cli.md; whoever changes one changes both.
func TestTheUsualLimits(t *testing.T) {
	l := usual()
	want := limits{connect: 2 * time.Second, look: patience{5 * time.Second, 8 * time.Second}, change: patience{10 * time.Second, 15 * time.Second},
		large: patience{time.Minute, 75 * time.Second}, again: 3 * time.Second, pause: 100 * time.Millisecond, mention: 2 * time.Second, hush: 10 * time.Second}
	if l != want {
		t.Errorf("%+v", l)
	}
}

// A frozen AX is waited for in each try and in all of them together only so long, and the caller is told meanwhile.
func TestASilentAXIsGivenUp(t *testing.T) {
	url, connections := mute(t)
	for name, c := range map[string]struct {
		method string
		large  bool
		all    time.Duration
	}{"look": {"GET", false, 8 * time.Second / 50}, "change": {"POST", false, 15 * time.Second / 50}, "large": {"POST", true, 75 * time.Second / 50}} {
		t.Run(name, func(t *testing.T) {
			before := connections.Load()
			client := short(t, url)
			if c.large {
				client = client.Large()
			}
			said := telling(client)
			began := time.Now()
			_, err := client.call(t.Context(), c.method, "/x", "", nil)
			const slack = 600 * time.Millisecond // of a busy machine; a second try of a large change without a bound would take longer
			if took := time.Since(began); took > c.all+slack || took < c.all*6/10 {
				t.Errorf("given up after %s, want at most %s", took, c.all)
			}
			if err == nil || !strings.Contains(err.Error(), "nothing was heard") || !Passing(err) {
				t.Errorf("%v", err)
			}
			if n := connections.Load() - before; n != 2 {
				t.Errorf("%d tries, want the first and one more", n)
			}
			if told := said.told(); len(told) == 0 || !strings.Contains(told[0], "has not answered for") {
				t.Errorf("told: %q", told)
			}
		})
	}
}

// What is refused at once is repeated for some seconds and told once.
func TestNobodyListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + ln.Addr().String()
	_ = ln.Close()
	c := short(t, url)
	c.limits.hush = time.Minute
	said := telling(c)
	began := time.Now()
	_, err = c.Get(t.Context(), "/x", nil)
	if took := time.Since(began); took < c.limits.again || took > c.limits.again+time.Second {
		t.Errorf("given up after %s, want %s", took, c.limits.again)
	}
	told := said.told()
	if err == nil || !strings.Contains(err.Error(), "nothing listens") || len(told) != 1 || !strings.Contains(told[0], "trying again for") {
		t.Errorf("%v, told %q", err, told)
	}
}

// AX says that a store is away, late each time: that is what is told in the end, not that the last try was cut off.
func TestWhatAXSaidIsToldBeforeItsSilence(t *testing.T) {
	var n atomic.Int64
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) > 1 {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"kind":"unavailable","message":"the database is away"}}`)
	})
	_, err := c.Get(t.Context(), "/x", nil)
	var e *Error
	if !errors.As(err, &e) || e.Status != http.StatusServiceUnavailable || n.Load() < 2 || !strings.HasPrefix(err.Error(), "the database is away; tried ") {
		t.Errorf("%v after %d tries", err, n.Load())
	}
}

// A long answer that goes on coming is not cut off.
func TestAnAnswerThatComesIsWaitedFor(t *testing.T) {
	const limit, pieces = 800 * time.Millisecond, 10
	c := served(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"a":"`)
		for range pieces {
			_, _ = io.WriteString(w, "piece")
			w.(http.Flusher).Flush()
			time.Sleep(limit / 8) // the time between two pieces is what is tested
		}
		_, _ = io.WriteString(w, `"}`)
	})
	c.limits.look = patience{limit, limit}
	began := time.Now()
	doc, err := c.Get(t.Context(), "/x", nil)
	if err != nil || len(doc) < 5*pieces || time.Since(began) < limit {
		t.Errorf("%s, %v after %s", doc, err, time.Since(began))
	}
}

// A change is repeated with its key, and the caller who leaves is not kept.
func TestACallerWhoLeavesIsNotKept(t *testing.T) {
	url, _ := mute(t)
	c := short(t, url)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := c.Large().Send(ctx, http.MethodPost, "/x", nil); err == nil || time.Since(began) > 300*time.Millisecond {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

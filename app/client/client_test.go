package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// served is a client of a handler that waits fifty times shorter than usual.
func served(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return short(t, server.URL+"/")
}

func short(t *testing.T, base string) *Client {
	t.Helper()
	c, err := New(base, "secret", "test")
	if err != nil {
		t.Fatal(err)
	}
	l := &c.limits
	for _, d := range []*time.Duration{&l.connect, &l.look.try, &l.look.all, &l.change.try, &l.change.all, &l.large.try, &l.large.all, &l.again, &l.pause, &l.mention, &l.hush} {
		*d /= 50
	}
	return c
}

func TestOnlyWhatMayPassIsTriedAgain(t *testing.T) {
	for status, again := range map[int]bool{200: false, 201: false, 302: false, 400: false, 401: false, 404: false, 409: false, 500: false, 429: true, 502: true, 503: true, 504: true} {
		n := 0
		c := served(t, func(w http.ResponseWriter, _ *http.Request) {
			n++
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"kind":"k","message":"m"}}`)
		})
		_, err := c.Send(t.Context(), http.MethodPost, "/x", struct{}{})
		if (n > 2) != again || !again && n != 1 || (err == nil) != (status < 300) {
			t.Errorf("%d: %d tries, error %v", status, n, err)
		}
	}
}

func TestCancellingEndsTheTries(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	c := served(t, func(w http.ResponseWriter, _ *http.Request) {
		n++
		cancel()
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if _, err := c.Get(ctx, "/x", nil); err == nil || n != 1 {
		t.Errorf("%d tries, error %v", n, err)
	}
}

func TestTheTokenGoesNowhereElse(t *testing.T) {
	leaked := false
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked = true }))
	defer other.Close()
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if _, err := c.Get(t.Context(), "/x", nil); err == nil || leaked {
		t.Errorf("a redirect was followed: error %v", err)
	}
}

func TestErrorsKeepWhatTheServerSaid(t *testing.T) {
	body := `{"error":{"kind":"invalid","message":"no such zone","field":"tz","hint":"use UTC","requestId":"r1","problems":[{"file":"a","line":2}]}}`
	c := served(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, body)
	})
	_, err := c.Get(t.Context(), "/x", nil)
	var e *Error
	if !errors.As(err, &e) || e.Error() != "tz: no such zone (use UTC)" || string(e.Document) != body || len(e.Problems) != 1 || e.Problems[0].Line != 2 {
		t.Errorf("got %v, %+v", err, e)
	}
	c = served(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusNotFound) })
	if _, err = c.Get(t.Context(), "/x", nil); err == nil || !strings.Contains(err.Error(), "is AX_URL the address of an AX?") {
		t.Errorf("another server's answer: %v", err)
	}
}

func TestEventsAreReadAsTheyAreWritten(t *testing.T) {
	text := ": open\n\nid: 1\ndata: one\ndata: more\n\n: \n\nevent: end\ndata:\n\nid: 3\ndata: not finished"
	var got []Event
	if err := readEvents(strings.NewReader(text), func() {}, func(e Event) bool { got = append(got, e); return true }); err != nil {
		t.Fatal(err)
	}
	if want := []Event{{ID: "1", Data: "one\nmore"}, {Name: "end"}}; !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestAddressesAndTokensAreJudged(t *testing.T) {
	for _, base := range []string{"", "localhost:8080", "ftp://a", "http://", "://"} {
		if _, err := New(base, "t", "v"); err == nil {
			t.Errorf("%q is taken", base)
		}
	}
	if _, err := New("http://a", "line\nbreak", "v"); err == nil {
		t.Error("a token with a line break is taken")
	}
}

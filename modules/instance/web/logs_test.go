package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// ship stores lines first to last of an attempt's output.
func (w *world) ship(a domain.Attempt, first, last int64) {
	w.t.Helper()
	p := protocol.LogLines{Worker: a.Target, Attempt: int64(a.ID), First: first, Last: last}
	for n := first; n <= last; n++ {
		b, err := json.Marshal([]any{n, now().UnixMilli(), protocol.StreamOut, fmt.Sprintf("<img onerror=x> %d 日终", n)})
		w.ok(err)
		p.Lines = append(p.Lines, b)
	}
	w.ok(w.life.Keep(w.t.Context(), []protocol.LogLines{p}))
}

// sse is an open stream; its events come through a channel that closes at its end.
type sse struct {
	events chan event
	stop   context.CancelFunc
}

type event struct{ id, name, data string }

func (w *world) open(path string, headers ...string) sse {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), 20*time.Second)
	req, err := http.NewRequestWithContext(ctx, "GET", w.server.URL+path, nil)
	w.ok(err)
	req.Header.Set("Authorization", "Bearer "+viewer)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	w.ok(err)
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		w.t.Fatalf("%s: %d %s", path, res.StatusCode, res.Header.Get("Content-Type"))
	}
	s := sse{make(chan event, 1000), stop}
	go func() {
		defer close(s.events)
		defer func() { _ = res.Body.Close() }()
		var e event
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			field, value, _ := strings.Cut(in.Text(), ": ")
			switch field {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data += value
			case "":
				if e != (event{}) {
					s.events <- e
				}
				e = event{}
			}
		}
	}()
	w.t.Cleanup(stop)
	return s
}

// lines reads events until there are n lines, and returns their numbers and the id
// of the last event.
func (s sse) lines(t *testing.T, n int) (numbers []int64, id string) {
	t.Helper()
	for len(numbers) < n {
		e, ok := <-s.events
		if !ok || e.name != "" {
			t.Fatalf("after lines %v: event %q, stream open: %t", numbers, e.name, ok)
		}
		var rows [][4]any
		if err := json.Unmarshal([]byte(e.data), &rows); err != nil {
			t.Fatalf("%v in %q", err, e.data)
		}
		for _, r := range rows {
			if r[2] != "stdout" || !strings.HasPrefix(r[3].(string), "<img onerror=x>") {
				t.Fatalf("line %v", r)
			}
			numbers = append(numbers, int64(r[0].(float64)))
		}
		if id = e.id; id != fmt.Sprint(numbers[len(numbers)-1]) {
			t.Fatalf("the event that ends with line %v has the id %q", numbers, id)
		}
	}
	return numbers, id
}

func (s sse) ends(t *testing.T) {
	t.Helper()
	e, ok := <-s.events
	if !ok || e.name != "end" {
		t.Fatalf("wanted the event end, got %+v, stream open: %t", e, ok)
	}
	if e, ok := <-s.events; ok {
		t.Fatalf("after the end: %+v", e)
	}
}

// TestStream follows a run through a retry, breaks off and goes on without a gap
// or a repeat.
func TestStream(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		spec := &w.jobs[0].Spec
		spec.Retry = domain.Retry{Times: 1, BackoffSec: []int{0}}
		in := w.fire(11, "2026-02-03")
		path := "/api/v1/instances/" + in.ID.String() + "/logs/stream"
		s := w.open(path) // before there is an attempt
		first := w.run(in)
		w.ship(first, 1, 3)
		s.lines(t, 3)
		w.ship(first, 4, 5)
		_, id := s.lines(t, 2)
		s.stop()

		w.ship(first, 6, 8)
		s = w.open(path, "Last-Event-ID", id)
		if got, _ := s.lines(t, 3); got[0] != 6 || got[2] != 8 {
			t.Fatalf("went on with %v", got)
		}
		w.end(first, domain.OutcomeError, 1, 8)
		if _, err := w.life.Wake(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		second := w.run(in)
		w.ship(second, 1, 2)
		if got, _ := s.lines(t, 2); got[0] != 1 {
			t.Fatalf("the second attempt begins with %v", got)
		}
		w.end(second, domain.OutcomeSuccess, 0, 4)
		select { // longer than the stream pauses between two looks: it waits for the lines that are missing
		case e, open := <-s.events:
			t.Fatalf("before all lines are there: %+v, open: %t", e, open)
		case <-time.After(1500 * time.Millisecond):
		}
		w.ship(second, 3, 4)
		s.lines(t, 2)
		s.ends(t)

		s = w.open(path + "?attempt=" + first.ID.String() + "&after=5")
		if got, _ := s.lines(t, 3); got[0] != 6 {
			t.Fatalf("the first attempt after line 5: %v", got)
		}
		s.ends(t)
		s = w.open(path, "Last-Event-ID", "7") // of the first attempt, which was longer
		if got, _ := s.lines(t, 4); got[0] != 1 {
			t.Fatalf("a reader of the first attempt got of the second: %v", got)
		}
		s.ends(t)
		if a := w.api(viewer, "GET", path, "", "Last-Event-ID", "x"); a.status != http.StatusBadRequest {
			t.Errorf("a wrong Last-Event-ID: %d", a.status)
		}
		if a := w.api(viewer, "GET", path+"?attempt=99", ""); a.status != http.StatusNotFound {
			t.Errorf("an attempt of another: %d", a.status)
		}
	})
}

func TestStreamOfNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(11, "2026-02-03")
		s := w.open("/api/v1/instances/" + in.ID.String() + "/logs/stream")
		_, err := w.life.Kill(t.Context(), in.ID, "x", "")
		w.ok(err)
		s.ends(t)
	})
}

func TestAPILogs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(11, "2026-02-03")
		path := "/api/v1/instances/" + in.ID.String() + "/logs"
		var p struct {
			Lines []struct {
				N            int64
				Time         string
				Stream, Text string
			}
			Last     int64
			Complete bool
		}
		get := func(query string) {
			t.Helper()
			a := w.api(viewer, "GET", path+query, "")
			if a.status != http.StatusOK {
				t.Fatalf("%s: %d %s", query, a.status, a.body)
			}
			p.Lines = nil
			a.into(t, &p)
		}
		get("")
		if len(p.Lines) != 0 || p.Last != 0 || p.Complete {
			t.Errorf("before it ran: %+v", p)
		}
		a := w.run(in)
		w.ship(a, 1, 10)
		get("?after=3&limit=4")
		if len(p.Lines) != 4 || p.Lines[0].N != 4 || p.Lines[3].N != 7 || p.Last != 10 || p.Lines[0].Stream != "stdout" || p.Complete {
			t.Errorf("lines 4 to 7: %+v", p)
		}
		gap, err := json.Marshal([]any{11, 0, protocol.StreamGap, "90 1234"})
		w.ok(err)
		w.ok(w.life.Keep(t.Context(), []protocol.LogLines{{Worker: "w1", Attempt: int64(a.ID), First: 11, Last: 14, Lines: []json.RawMessage{gap,
			[]byte(`[101, 1770091506000, "err", "half"]`), []byte(`[101, 1770091506000, "err", " and half", true]`), []byte(`[102, 1770091506000, "ax", "said by AX"]`)}}}))
		w.end(a, domain.OutcomeSuccess, 0, 102)
		get("?after=10&attempt=" + a.ID.String())
		if len(p.Lines) != 4 || p.Lines[0].Stream != "ax" || !strings.Contains(p.Lines[0].Text, "90 lines (1,234 bytes)") || p.Lines[1].N != 101 || p.Lines[1].Stream != "stderr" || p.Lines[3].Stream != "ax" {
			t.Errorf("the end: %+v", p)
		}
		raw := w.api(viewer, "GET", path+"/raw", "")
		lines := strings.Split(raw.body, "\n")
		if raw.status != http.StatusOK || raw.header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(raw.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("raw: %d %v", raw.status, raw.header)
		}
		if len(lines) != 14 || lines[0] != "<img onerror=x> 1 日终" || lines[11] != "half and half" || lines[12] != "said by AX" || lines[13] != "" {
			t.Errorf("raw: %q", lines)
		}
		for _, query := range []string{"?after=-1", "?after=x", "?limit=5001"} {
			if a := w.api(viewer, "GET", path+query, ""); a.status != http.StatusBadRequest {
				t.Errorf("%s: %d", query, a.status)
			}
		}
	})
}

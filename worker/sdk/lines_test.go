package sdk

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

func TestLinesArriveInOrderWhateverTheCenterAnswers(t *testing.T) {
	c := newCenter(t)
	c.hooks[protocol.CallLog] = func(w http.ResponseWriter, n int, body []byte) bool {
		switch {
		case n%5 == 1:
			w.WriteHeader(503)
		case n%5 == 2: // stored, and the answer is lost
			c.store(body)
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	}
	const all = 5000
	e, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": func(_ context.Context, task *Task) (any, error) {
		for i := range all {
			task.Logf("line %d %s", i, strings.Repeat("x", i%300))
		}
		return nil, nil
	}})
	send(t, url, c.task(1))
	until(t, "all lines", func() bool { return len(c.log()) == all })
	for i, line := range c.log() {
		if want := fmt.Sprintf("line %d %s", i, strings.Repeat("x", i%300)); line != want {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	must(t, e.Drain(t.Context()))
}

func TestLinesOfAnyForm(t *testing.T) {
	c := newCenter(t)
	long := strings.Repeat("长", 30000)
	_, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": func(_ context.Context, task *Task) (any, error) {
		out := task.Stdout()
		for _, part := range []string{"a", "b\n", "\n", "c\nd", "\xff\x00\n", strings.Repeat("\x01", 150_000), "\n"} {
			if _, err := out.Write([]byte(part)); err != nil {
				return nil, err
			}
		}
		task.Logf("%s", long)
		return nil, nil
	}})
	send(t, url, c.task(1))
	c.report()
	lines := c.log()
	if got := strings.Join(lines[:4], "|"); got != "ab||c|d\uFFFD␀" {
		t.Errorf("%q", got)
	}
	rest := strings.Join(lines[4:], "")
	if rest != strings.Repeat("\x01", 150_000)+long {
		t.Errorf("%d bytes of long lines arrived, in %d pieces", len(rest), len(lines)-4)
	}
}

func TestLinesThatNobodyTakesAreCounted(t *testing.T) {
	l := newLines(time.Now)
	for range 300 {
		l.add(protocol.StreamOut, strings.Repeat("x", 20_000))
	}
	_, batch := l.batch()
	kept := len(l.unsent)
	if l.bytes > maxUnsent+maxLine || l.dropped != 300-kept || len(batch) == 0 {
		t.Fatalf("%d bytes, %d dropped, %d kept", l.bytes, l.dropped, kept)
	}
	l.stored(int64(kept))
	l.add(protocol.StreamOut, "on again")
	first, batch := l.batch()
	if first != int64(kept)+1 || len(batch) != 2 || !strings.HasPrefix(batch[0].Text, fmt.Sprintf("%d lines were not kept", 300-kept)) || batch[1].Text != "on again" {
		t.Errorf("from %d: %+v", first, batch)
	}
	l.stored(0) // the center lost what it had
	if first, batch := l.batch(); first != 1 || len(batch) != 2 {
		t.Errorf("from %d: %d lines", first, len(batch))
	}
}

// A report does not wait long for lines that nobody takes.
func TestAReportGoesBeforeLinesThatAreStuck(t *testing.T) {
	c := newCenter(t)
	c.hooks[protocol.CallLog] = func(w http.ResponseWriter, _ int, _ []byte) bool { w.WriteHeader(503); return true }
	e, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": func(_ context.Context, task *Task) (any, error) { task.Logf("x"); return nil, nil }})
	send(t, url, c.task(1))
	if r := c.report(); !r.Success {
		t.Errorf("reported %+v", r)
	}
	must(t, e.Drain(t.Context())) // the lines are given up in the end
}

package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

const (
	maxLine   = 32 << 10  // bytes; a longer one goes on in the next
	maxUnsent = 4 << 20   // bytes of lines that the center has not taken yet
	maxBatch  = 200 << 10 // bytes of one call, encoded
)

// lines is what a task said and the center has not stored yet.
type lines struct {
	now func() time.Time

	mu      sync.Mutex
	first   int64 // the place of unsent[0], from 1
	unsent  []protocol.ExternalLine
	bytes   int
	dropped int // lines that there was no room for
	partial map[string]*lineWriter
	wake    chan struct{}
	empty   chan struct{} // made for who waits, closed when nothing is unsent
	last    chan struct{} // closed when the task has ended: nothing more is collected
}

func newLines(now func() time.Time) *lines {
	return &lines{now: now, first: 1, partial: map[string]*lineWriter{}, wake: make(chan struct{}, 1), last: make(chan struct{})}
}

// add keeps a text, a line for each of its lines.
func (l *lines) add(stream, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.now().UnixMilli()
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		line = cleanText(line, len(line)*3+3)
		for len(line) > maxLine {
			head := strings.ToValidUTF8(line[:maxLine], "") // a character that was cut goes to the next
			l.keep(protocol.ExternalLine{At: at, Stream: stream, Text: head})
			line = line[len(head):]
		}
		l.keep(protocol.ExternalLine{At: at, Stream: stream, Text: line})
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// keep holds a line, or counts it where the center has been away for too much of them.
func (l *lines) keep(line protocol.ExternalLine) {
	if l.bytes > maxUnsent {
		l.dropped++
		return
	}
	if l.dropped > 0 {
		note := fmt.Sprintf("%d lines were not kept: the center took none for a while", l.dropped)
		l.dropped = 0
		l.keep(protocol.ExternalLine{At: line.At, Stream: protocol.StreamErr, Text: note})
	}
	l.unsent = append(l.unsent, line)
	l.bytes += len(line.Text) + 64
}

// batch is the next call's lines, and the place of the first.
func (l *lines) batch() (int64, []protocol.ExternalLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, n := 0, 0
	for ; n < len(l.unsent) && n < protocol.MaxLogLines; n++ {
		one, err := json.Marshal(l.unsent[n])
		if size += len(one) + 1; err != nil || n > 0 && size > maxBatch {
			break
		}
	}
	return l.first, l.unsent[:n:n]
}

// stored drops what the center has. A place before what is left means that it lost some: numbers go on from there.
func (l *lines) stored(upTo int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(max(upTo-l.first+1, 0), int64(len(l.unsent)))
	for _, line := range l.unsent[:n] {
		l.bytes -= len(line.Text) + 64
	}
	l.unsent, l.first = l.unsent[n:], upTo+1
	if len(l.unsent) == 0 && l.empty != nil {
		close(l.empty)
		l.empty = nil
	}
}

// wait lets the lines go first, for a time.
func (l *lines) wait(ctx context.Context, most time.Duration) {
	l.mu.Lock()
	if len(l.unsent) == 0 {
		l.mu.Unlock()
		return
	}
	if l.empty == nil {
		l.empty = make(chan struct{})
	}
	empty := l.empty
	l.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-empty:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (l *lines) some() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.unsent) > 0
}

// writer is the one of a stream.
func (l *lines) writer(stream string) io.Writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.partial[stream] == nil {
		l.partial[stream] = &lineWriter{lines: l, stream: stream}
	}
	return l.partial[stream]
}

// end adds what the writers hold without a line feed, once the task has ended.
func (l *lines) end() {
	defer close(l.last)
	for _, stream := range []string{protocol.StreamOut, protocol.StreamErr} {
		l.mu.Lock()
		w := l.partial[stream]
		l.mu.Unlock()
		if w != nil {
			w.flush()
		}
	}
}

// lineWriter cuts what is written into lines.
type lineWriter struct {
	lines  *lines
	stream string
	mu     sync.Mutex
	held   []byte
}

// Write keeps whole lines, and holds what has no end yet.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, p...)
	if i := bytes.LastIndexByte(w.held, '\n'); i >= 0 {
		w.lines.add(w.stream, string(w.held[:i+1]))
		w.held = append(w.held[:0], w.held[i+1:]...)
	} else if len(w.held) > maxLine {
		w.lines.add(w.stream, string(w.held))
		w.held = w.held[:0]
	}
	return len(p), nil
}

func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) > 0 {
		w.lines.add(w.stream, string(w.held))
		w.held = nil
	}
}

// collect waits for more lines, not when there will be none.
func (l *lines) collect(ctx context.Context, span time.Duration) {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-l.last:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// ship sends an attempt's lines until it is settled and they are stored, or for a while after that.
func (e *Executor) ship(a *attempt) {
	defer e.work.Done()
	ctx, stop := context.WithCancel(e.life)
	defer stop()
	go func() {
		select {
		case <-ctx.Done():
		case <-a.over:
			pause(ctx, e.pace.linger)
			stop()
		}
	}()
	wait := backoff{least: e.pace.first, most: e.pace.claim}
	for ctx.Err() == nil {
		switch {
		case a.lines.some():
			if e.shipOnce(ctx, a) {
				wait.last = 0
				a.lines.collect(ctx, e.pace.logs)
			} else {
				pause(ctx, wait.next(0))
			}
		case a.isOver():
			return
		default:
			select {
			case <-a.lines.wake:
				a.lines.collect(ctx, e.pace.logs)
			case <-a.over:
			case <-ctx.Done():
			}
		}
	}
}

func (a *attempt) isOver() bool {
	select {
	case <-a.over:
		return true
	default:
		return false
	}
}

// shipOnce sends a batch and reports whether something became of it.
func (e *Executor) shipOnce(ctx context.Context, a *attempt) bool {
	first, batch := a.lines.batch()
	var said protocol.LogAnswer
	err := e.call(ctx, a, protocol.CallLog, protocol.ExternalLog{TraceID: a.entry.task.TraceID, Attempt: a.entry.task.Attempt, First: first, Lines: batch}, &said)
	var no *refusal
	switch {
	case err == nil:
		a.lines.stored(said.UpTo)
		return said.UpTo >= first
	case errors.As(err, &no) && (no.status == http.StatusBadRequest || no.status == http.StatusNotFound || no.status == http.StatusRequestEntityTooLarge):
		e.config.Logger.Warn("executor log lines were refused and are dropped", "attempt", a.key, "lines", len(batch), "error", err)
		a.lines.stored(first + int64(len(batch)) - 1)
		return true
	}
	e.config.Logger.Debug("executor log", "attempt", a.key, "error", err)
	return false
}

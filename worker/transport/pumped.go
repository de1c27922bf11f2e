package transport

import (
	"bytes"
	"net"
	"os"
	"sync"
	"time"
)

// pumped is the client's end of a pipe to a server in the same process, whose answers are taken off the pipe as they
// come. A pipe has no buffer: without this, a client in the middle of writing a long pipeline and a server in the middle
// of answering its first commands wait for each other for ever, where a socket would hold both.
type pumped struct {
	net.Conn // writes go straight through
	changed  chan struct{}

	mu       sync.Mutex
	answers  bytes.Buffer
	err      error // of the pipe; told once the answers are read
	deadline time.Time
}

func newPumped(c net.Conn) *pumped {
	p := &pumped{Conn: c, changed: make(chan struct{}, 1)}
	go p.pump()
	return p
}

// pump takes answers until the pipe is closed. What is held is bounded by what the client has asked for.
func (p *pumped) pump() {
	buf := make([]byte, 32<<10)
	for {
		n, err := p.Conn.Read(buf)
		p.mu.Lock()
		p.answers.Write(buf[:n])
		p.err = err
		p.mu.Unlock()
		p.signal()
		if err != nil {
			return
		}
	}
}

func (p *pumped) signal() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Read waits for an answer, at most until the read deadline.
func (p *pumped) Read(b []byte) (int, error) {
	for {
		p.mu.Lock()
		if p.answers.Len() > 0 {
			defer p.mu.Unlock()
			return p.answers.Read(b)
		}
		err, deadline := p.err, p.deadline
		p.mu.Unlock()
		if err != nil {
			return 0, err
		}
		if err := p.wait(deadline); err != nil {
			return 0, err
		}
	}
}

// wait returns when something has changed; the zero deadline is none.
func (p *pumped) wait(deadline time.Time) error {
	if deadline.IsZero() {
		<-p.changed
		return nil
	}
	left := time.Until(deadline)
	if left <= 0 {
		return os.ErrDeadlineExceeded
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-p.changed:
		return nil
	case <-t.C:
		return os.ErrDeadlineExceeded
	}
}

// SetReadDeadline holds for a Read under way too.
func (p *pumped) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	p.deadline = t
	p.mu.Unlock()
	p.signal()
	return nil
}

// SetDeadline is of both directions.
func (p *pumped) SetDeadline(t time.Time) error {
	if err := p.SetReadDeadline(t); err != nil {
		return err
	}
	return p.SetWriteDeadline(t)
}

// Package wire stands between a process of AX and a store, and breaks what passes: a network for tests.
//
// It owns one listening port each and the connections through it. It can be cut (connections are refused), be mute
// (they stand and nothing passes), lose the answer of a statement, or hold one. It knows of MySQL's protocol only
// how a statement begins, and nothing of Redis'. It refuses to change what it passes on. The scenarios drive it.
package wire

import (
	"io"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/axsched/ax/e2e/setup/port"
)

// T is what a wire needs of a test.
type T interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Deed is what becomes of a statement.
type Deed int

// The deeds.
const (
	Pass       Deed = iota
	Hold            // it does not reach the server until Release, nor does the connection's end: as where a network swallows
	LoseAnswer      // the server carries it out, and the connection breaks instead of the answer
)

// Wire is one relay. Safe for concurrent use.
type Wire struct {
	to   string
	addr string

	mu      sync.Mutex
	ln      net.Listener // nil: cut
	flowing chan struct{}
	held    chan struct{} // closed by Release
	judge   func(sql string) Deed
	conns   map[*relay]bool
	over    bool
}

// Through puts a wire before the store of the URL, until the test ends, and returns the URL that leads through it.
func Through(t T, store string) (*Wire, string) {
	t.Helper()
	u, err := url.Parse(store)
	if err != nil {
		t.Fatalf("wire: %v", err)
	}
	w := &Wire{to: u.Host, flowing: make(chan struct{}), held: make(chan struct{}), conns: map[*relay]bool{}}
	close(w.flowing)
	ln, err := port.Listen()
	if err != nil {
		t.Fatalf("wire: %v", err)
	}
	w.ln, w.addr = ln, ln.Addr().String()
	go w.accept(ln)
	t.Cleanup(w.end)
	u.Host = w.addr
	return w, u.String()
}

func (w *Wire) end() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.Cut()
}

// Cut refuses new connections and breaks all that stand.
func (w *Wire) Cut() {
	w.mu.Lock()
	ln := w.ln
	w.ln = nil
	w.mu.Unlock()
	if ln != nil {
		_ = ln.Close()
	}
	w.Break()
}

// Break breaks all connections that stand; new ones are taken as before.
func (w *Wire) Break() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.conns {
		r.close()
	}
}

// Mute lets nothing pass in either direction. Connections stand, and new ones are taken.
func (w *Wire) Mute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.flowing:
		w.flowing = make(chan struct{})
	default:
	}
}

// Heal makes a cut or mute wire whole. What was under way on a mute one passes late.
func (w *Wire) Heal() {
	w.mu.Lock()
	select {
	case <-w.flowing:
	default:
		close(w.flowing)
	}
	cut := w.ln == nil && !w.over
	w.mu.Unlock()
	for cut {
		ln, err := net.Listen("tcp", w.addr)
		if err != nil {
			time.Sleep(5 * time.Millisecond) // a test that looks for a port has it for a moment
			continue
		}
		w.mu.Lock()
		w.ln = ln
		w.mu.Unlock()
		go w.accept(ln)
		return
	}
}

// Judge has each statement to a MySQL server judged from now on; nil passes all.
func (w *Wire) Judge(judge func(sql string) Deed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judge = judge
}

// Release lets pass what is held.
func (w *Wire) Release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.held)
	w.held = make(chan struct{})
}

func (w *Wire) accept(ln net.Listener) {
	for {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		go w.serve(client)
	}
}

func (w *Wire) serve(client net.Conn) {
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		_ = client.Close()
		return
	}
	r := &relay{w: w, client: client, server: server, gone: make(chan struct{})}
	w.mu.Lock()
	w.conns[r] = true
	cut := w.ln == nil
	w.mu.Unlock()
	if cut {
		r.close()
	}
	var both sync.WaitGroup
	both.Go(r.up)
	both.Go(r.down)
	both.Wait()
	w.mu.Lock()
	delete(w.conns, r)
	w.mu.Unlock()
}

// relay is one connection through the wire.
type relay struct {
	w              *Wire
	client, server net.Conn
	once           sync.Once
	gone           chan struct{}

	mu   sync.Mutex
	lose bool // the next that the server says is lost, and the connection with it
}

func (r *relay) close() {
	r.once.Do(func() {
		close(r.gone)
		_ = r.client.Close()
		_ = r.server.Close()
	})
}

// up passes what the client says, packet by packet where statements are judged.
func (r *relay) up() {
	defer r.close()
	buf := make([]byte, 64<<10)
	var p packets
	for {
		n, err := r.client.Read(buf)
		if n > 0 {
			if sql := p.statement(buf[:n]); sql != "" && !r.deal(sql) {
				return
			}
			if !r.pass(r.server, buf[:n]) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// deal does to a statement what the wire's judge says; false: the connection is gone.
func (r *relay) deal(sql string) bool {
	r.w.mu.Lock()
	judge, held := r.w.judge, r.w.held
	r.w.mu.Unlock()
	if judge == nil {
		return true
	}
	switch judge(sql) {
	case Hold:
		select {
		case <-held:
		case <-r.gone:
			return false
		}
	case LoseAnswer:
		r.mu.Lock()
		r.lose = true
		r.mu.Unlock()
	}
	return true
}

func (r *relay) down() {
	defer r.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := r.server.Read(buf)
		r.mu.Lock()
		lose := r.lose
		r.mu.Unlock()
		if lose || n > 0 && !r.pass(r.client, buf[:n]) || err != nil {
			return
		}
	}
}

// pass writes when the wire flows; false: the connection is gone.
func (r *relay) pass(to io.Writer, b []byte) bool {
	r.w.mu.Lock()
	flowing := r.w.flowing
	r.w.mu.Unlock()
	select {
	case <-flowing:
	case <-r.gone:
		return false
	}
	_, err := to.Write(b)
	return err == nil
}

// packets finds statements in what a MySQL client says. A client asks one thing at a time and waits for the answer,
// so that one reading holds at most one statement, from its beginning.
type packets struct{ rest int }

const (
	header  = 4    // three bytes length, one of sequence
	comText = 0x03 // a statement as text
)

// statement is the statement that begins with b, as far as b has it; "" if b is the rest of one, or something else.
func (p *packets) statement(b []byte) string {
	began := p.rest == 0 && len(b) > header && b[3] == 0 && b[header] == comText
	sql := ""
	if began {
		sql = string(b[header+1:])
	}
	for len(b) > 0 {
		if p.rest == 0 {
			if len(b) < header {
				return sql
			}
			p.rest = header + int(b[0]) + int(b[1])<<8 + int(b[2])<<16
		}
		n := min(p.rest, len(b))
		p.rest -= n
		b = b[n:]
	}
	return sql
}

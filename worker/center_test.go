package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// center is a fake center: it grants what it knows and confirms what it hears, and fails on purpose where told.
type center struct {
	t      testing.TB
	link   *transport.Link
	sender *transport.Sender

	// onClaim, when set, answers instead; it may write anything or nothing.
	onClaim func(c protocol.Claim, nth int) []protocol.Downlink
	mute    bool // confirm and ack nothing

	mu      sync.Mutex
	tasks   map[int64]protocol.Task
	claims  map[string][]protocol.Claim
	started map[int64]int
	reports map[int64][]protocol.Report
	refused map[int64]string
	lines   map[int64]map[int64]string // by place
	total   int                        // distinct attempts reported
}

func newCenter(t testing.TB, l *transport.Link) *center {
	return &center{t: t, link: l, sender: transport.NewSender(l.Transport), tasks: map[int64]protocol.Task{},
		claims: map[string][]protocol.Claim{}, started: map[int64]int{}, reports: map[int64][]protocol.Report{},
		refused: map[int64]string{}, lines: map[int64]map[int64]string{}}
}

// run reads both streams until the test ends.
func (c *center) run() *center {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	follow := func(g *transport.Group, hear func(transport.Raw) []transport.Entry) {
		for ctx.Err() == nil {
			raws, err := g.Read(ctx, 1000, 50*time.Millisecond)
			if err != nil {
				time.Sleep(20 * time.Millisecond) // Redis is away: a test took it
				continue
			}
			var out []transport.Entry
			var ids []string
			for _, r := range raws {
				out, ids = append(out, hear(r)...), append(ids, r.ID)
			}
			_ = c.link.Write(ctx, out...)
			_ = g.Remove(ctx, ids...)
		}
	}
	wg.Go(func() { follow(transport.NewUplinkGroup(c.link.Transport, "c"), c.hear) })
	wg.Go(func() { follow(transport.NewLogsGroup(c.link.Transport, "c"), c.hearLog) })
	c.t.Cleanup(func() { cancel(); wg.Wait() })
	return c
}

func (c *center) hear(r transport.Raw) []transport.Entry {
	var u protocol.Uplink
	if err := json.Unmarshal(r.Body, &u); err != nil {
		c.t.Errorf("uplink entry %q: %v", r.Body, err)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var down []protocol.Downlink
	for _, s := range u.Started {
		c.started[s.Attempt]++
	}
	if u.Refuse != nil {
		for _, id := range u.Refuse.IDs {
			c.refused[id] = u.Refuse.Reason
		}
	}
	if u.Claim != nil {
		down = append(down, c.claim(*u.Claim)...)
	}
	var confirm []int64
	for _, rep := range u.Reports {
		if len(c.reports[rep.Attempt]) == 0 {
			c.total++
		}
		c.reports[rep.Attempt] = append(c.reports[rep.Attempt], rep)
		confirm = append(confirm, rep.Attempt)
	}
	if len(confirm) > 0 && !c.mute {
		down = append(down, protocol.Downlink{Confirm: confirm})
	}
	var out []transport.Entry
	for _, d := range down {
		out = append(out, transport.InboxEntry(u.Worker, u.Boot, d))
	}
	return out
}

func (c *center) claim(cl protocol.Claim) []protocol.Downlink {
	c.claims[cl.Message] = append(c.claims[cl.Message], cl)
	if c.onClaim != nil {
		return c.onClaim(cl, len(c.claims[cl.Message]))
	}
	return []protocol.Downlink{{Answer: c.grantAll(cl)}}
}

// grantAll is the honest answer. The lock is held.
func (c *center) grantAll(cl protocol.Claim) *protocol.Answer {
	a := &protocol.Answer{Message: cl.Message, Nonce: cl.Nonce}
	for _, id := range cl.IDs {
		if t, ok := c.tasks[id]; ok {
			a.Grants = append(a.Grants, t)
		} else {
			a.Denied = append(a.Denied, protocol.Deny{Attempt: id, Reason: "unknown"})
		}
	}
	return a
}

func (c *center) hearLog(r transport.Raw) []transport.Entry {
	var l protocol.LogLines
	if err := json.Unmarshal(r.Body, &l); err != nil {
		c.t.Errorf("log entry %q: %v", r.Body, err)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.lines[l.Attempt]
	if at == nil {
		at = map[int64]string{}
		c.lines[l.Attempt] = at
	}
	if int(l.Last-l.First+1) != len(l.Lines) {
		c.t.Errorf("entry says lines %d to %d and carries %d", l.First, l.Last, len(l.Lines))
	}
	for i, raw := range l.Lines {
		at[l.First+int64(i)] = string(raw)
	}
	if c.mute {
		return nil
	}
	ack := protocol.Downlink{LogAcks: []protocol.LogAck{{Attempt: l.Attempt, UpTo: l.Last}}}
	return []transport.Entry{transport.InboxEntry(l.Worker, l.Boot, ack)}
}

// send commits tasks and sends them as one message.
func (c *center) send(n boot, message, lane string, tasks ...protocol.Task) {
	c.t.Helper()
	m := protocol.Message{ID: message}
	c.mu.Lock()
	for _, task := range tasks {
		task.Lane = lane
		c.tasks[task.Attempt] = task
		m.IDs = append(m.IDs, task.Attempt)
	}
	c.mu.Unlock()
	if err := c.sender.Send(c.t.Context(), n.name, n.number, lane, m); err != nil {
		c.t.Fatal(err)
	}
}

// tell writes into the inbox.
func (c *center) tell(n boot, ds ...protocol.Downlink) {
	c.t.Helper()
	for _, d := range ds {
		if err := c.link.Write(c.t.Context(), transport.InboxEntry(n.name, n.number, d)); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *center) report(id int64) *protocol.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rs := c.reports[id]; len(rs) > 0 {
		return &rs[len(rs)-1]
	}
	return nil
}

// await waits for an attempt's outcome.
func (c *center) await(id int64, outcome string) protocol.Report {
	c.t.Helper()
	within(c.t, 30*time.Second, fmt.Sprintf("attempt %d is reported", id), func() bool { return c.report(id) != nil })
	r := *c.report(id)
	if r.Outcome != outcome {
		c.t.Errorf("attempt %d: outcome %q (%s), want %q", id, r.Outcome, r.Message, outcome)
	}
	return r
}

func (c *center) isStarted(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started[id] > 0
}

func (c *center) claimed(message string) []protocol.Claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.claims[message])
}

func (c *center) refusal(id int64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused[id]
}

func (c *center) log(id int64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for place := int64(1); c.lines[id][place] != ""; place++ {
		out = append(out, c.lines[id][place])
	}
	return strings.Join(out, "\n")
}

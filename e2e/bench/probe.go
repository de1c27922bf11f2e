package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// probe is a worker that does nothing but claim and report, and notes how long the answers take. It is measured
// from the writing of an entry until the answer is read.
type probe struct {
	link *transport.Link
	name string
	uid  string
	boot int64

	mu        sync.Mutex
	claimed   map[string]time.Time // by nonce
	reported  map[int64]time.Time  // by attempt
	grants    []float64            // ms
	confirms  []float64            // ms
	confirmed chan struct{}        // one for each confirmation
}

func newProbe(link *transport.Link) *probe {
	return &probe{link: link, name: "bench-probe", uid: rand.Text(), boot: 1, claimed: map[string]time.Time{}, reported: map[int64]time.Time{},
		confirmed: make(chan struct{}, 16)}
}

// run is the worker's life until ctx ends.
func (w *probe) run(ctx context.Context, g *errgroup.Group) {
	receiver := w.link.Receiver(w.name, w.boot, []string{protocol.LaneDefault}, func(_ string, m protocol.Message) { w.claim(ctx, m) })
	g.Go(func() error { return receiver.Run(ctx) })
	g.Go(func() error { return w.beat(ctx) })
	g.Go(func() error { return w.listen(ctx) })
}

// beat sends a heartbeat each second.
func (w *probe) beat(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for seq := int64(1); ; seq++ {
		hb := protocol.Heartbeat{Name: w.name, UID: w.uid, Boot: w.boot, Seq: seq, State: protocol.WorkerAvailable, Host: "bench", IP: "127.0.0.1", Version: "bench",
			Types: []string{"noop"}, Tags: []string{}, Lanes: map[string]int{protocol.LaneDefault: 8}, Cores: 2, Started: time.Now().UnixMilli()}
		if _, err := w.link.Beat(ctx, hb, 10*time.Second); err != nil {
			return ended(ctx, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// claim asks for the attempts of a message. A claim that cannot be written shows as a run that never ends.
func (w *probe) claim(ctx context.Context, m protocol.Message) {
	nonce := rand.Text()
	w.mu.Lock()
	w.claimed[nonce] = time.Now()
	w.mu.Unlock()
	_ = w.link.Write(ctx, transport.UplinkEntry(protocol.Uplink{Worker: w.name, Boot: w.boot, Claim: &protocol.Claim{Message: m.ID, Nonce: nonce, IDs: m.IDs}}))
}

// listen reads the inbox: it reports what is granted at once, and notes what is confirmed.
func (w *probe) listen(ctx context.Context) error {
	inbox := w.link.Inbox(w.name, w.boot)
	for ctx.Err() == nil {
		got, _, err := inbox.Read(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		for _, d := range got {
			if d.Answer != nil {
				if err := w.report(ctx, *d.Answer); err != nil {
					return ended(ctx, err)
				}
			}
			w.note(d.Confirm)
		}
	}
	return nil
}

func (w *probe) report(ctx context.Context, a protocol.Answer) error {
	now := time.Now()
	var reports []protocol.Report
	w.mu.Lock()
	if asked, ok := w.claimed[a.Nonce]; ok {
		w.grants = append(w.grants, float64(now.Sub(asked).Microseconds())/1000)
		delete(w.claimed, a.Nonce)
	}
	for _, t := range a.Grants {
		reports = append(reports, protocol.Report{Attempt: t.Attempt, Outcome: protocol.OutcomeSuccess, Started: now.UnixMilli(), Finished: now.UnixMilli()})
		w.reported[t.Attempt] = now
	}
	w.mu.Unlock()
	if len(reports) == 0 {
		return nil
	}
	return w.link.Write(ctx, transport.UplinkEntry(protocol.Uplink{Worker: w.name, Boot: w.boot, Reports: reports}))
}

func (w *probe) note(confirmed []int64) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range confirmed {
		if asked, ok := w.reported[id]; ok {
			w.confirms = append(w.confirms, float64(now.Sub(asked).Microseconds())/1000)
			delete(w.reported, id)
			w.confirmed <- struct{}{}
		}
	}
}

// roundTrips runs a job by hand on the probe, one run after the other.
func (s *stage) roundTrips(p *Part) {
	redis, err := transport.Open(s.ctx, s.site.Redis)
	s.must(err, "opening Redis")
	defer func() { _ = redis.Close() }()
	w := newProbe(&transport.Link{Transport: redis, Registry: redis})
	ctx, stop := context.WithCancel(s.ctx)
	g, running := errgroup.WithContext(ctx)
	w.run(running, g)
	s.c.Apply(jobs{prefix: "trip", kind: "noop", n: 1}.yaml(0, 1))
	for i := range pick(s.options, 200, 50) {
		s.trigger("trip_00000", "{}", fmt.Sprintf("trip-%d", i))
		select {
		case <-w.confirmed:
		case <-time.After(15 * time.Second):
			s.Fatalf("run %d by hand was not confirmed within 15 s\n%s", i, s.center.Tail(20))
		case <-s.ctx.Done():
			s.interrupted()
		}
	}
	s.must(w.link.Leave(s.ctx, w.name, w.uid, w.boot), "taking the probe off the registry")
	stop()
	if err := g.Wait(); err != nil && s.ctx.Err() == nil {
		s.must(err, "the probe")
	}
	t := p.table("round_trips", "round trip, idle", Column{"p50", "p50 ms", 2}, Column{"p99", "p99 ms", 2}, Column{"max", "max ms", 2}, Column{"n", "runs", 0})
	for _, r := range []struct {
		key, name string
		took      []float64
	}{{"grant", "claim → grant", w.grants}, {"confirm", "report → confirmed", w.confirms}} {
		sp := spreadOf(r.took)
		t.row(r.key, r.name).put("p50", sp.p50).put("p99", sp.p99).put("max", sp.max).put("n", float64(sp.n))
	}
	s.say("%d round trips", len(w.confirms))
}

// trigger starts a run by hand over the API and returns the instance.
func (s *stage) trigger(job, body, key string) string {
	a, err := s.c.Call(http.MethodPost, "/api/v1/jobs/"+job+"/trigger", body, "Idempotency-Key", key)
	s.must(err, "triggering "+job)
	if a.Status != http.StatusCreated {
		s.Fatalf("triggering %s: %d %s", job, a.Status, a.Body)
	}
	var made struct{ ID string }
	s.must(json.Unmarshal([]byte(a.Body), &made), "triggering "+job)
	return made.ID
}

// fanOut ends one upstream for which 1,000 instances wait, a few times, each with jobs of its own.
func (s *stage) fanOut(p *Part) {
	const width = 1000
	rounds := pick(s.options, 3, 1)
	s.worker = s.site.Worker(s, setup.Opts{})
	since := s.newest()
	for i := range rounds {
		s.c.Apply(jobs{prefix: fmt.Sprintf("up%d", i), kind: "noop", n: 1}.yaml(0, 1))
	}
	first := time.Now().Add(time.Duration(rounds)*3*time.Second + 3*time.Second).Truncate(time.Second)
	down := make([]jobs, rounds)
	for i := range down {
		down[i] = jobs{prefix: fmt.Sprintf("down%d", i), kind: "noop", n: width, schedule: fmt.Sprintf("cron: \"%d * * * * *\"\ndialect: seconds", first.Second()),
			more: fmt.Sprintf("deps:\n  - {name: up%d_00000}\n", i)}
		s.apply(down[i])
	}
	if !s.until(2*time.Minute, 200*time.Millisecond, func() bool {
		return s.number("SELECT COUNT(*) FROM instance WHERE id > ? AND state = 'running' AND label = 'waiting_deps'", since) >= int64(rounds*width)
	}) {
		s.Fatalf("%d instances should wait for their upstreams\n%s", rounds*width, s.center.Tail(20))
	}
	for _, j := range down {
		s.until(time.Minute, 200*time.Millisecond, func() bool { return s.disarm(j, time.Now()) })
	}
	day := time.UnixMilli(s.number("SELECT MIN(expected_at) FROM instance WHERE id > ? AND label = 'waiting_deps'", since)).UTC().Format(time.DateOnly)
	var ready, half, last []float64
	for i, j := range down {
		r, h, l := s.release(fmt.Sprintf("up%d_00000", i), j, since, day)
		ready, half, last = append(ready, r), append(half, h), append(last, l)
	}
	t := p.table("fan_out", "DAG release", Column{"ready", "last ready ms", 0}, Column{"half", "half started ms", 0}, Column{"last", "last started ms", 0}, Column{"rounds", "rounds", 0})
	t.row("fan_out_1000", "one upstream → 1,000").put("ready", median(ready)).put("half", median(half)).put("last", median(last)).put("rounds", float64(rounds))
}

// release runs the upstream and returns, in ms after its end, when the last downstream was ready, when half and when
// all had started.
func (s *stage) release(up string, down jobs, since int64, day string) (ready, half, last float64) {
	id := s.trigger(up, `{"bizDate":"`+day+`"}`, up)
	left := func() int64 {
		return s.number("SELECT COUNT(*) FROM instance WHERE id > ? AND job_name LIKE ? ESCAPE '!' AND state <> 'success'", since, down.like())
	}
	if !s.until(time.Minute, 200*time.Millisecond, func() bool { return left() == 0 }) {
		s.Fatalf("%d instances behind %s have not ended\n%s", left(), up, s.center.Tail(20))
	}
	end := s.number("SELECT finished_at FROM instance WHERE id = ?", id)
	var started []float64
	s.each(func(scan func(...any)) {
		var r, st int64
		scan(&r, &st)
		ready = max(ready, float64(r-end))
		started = append(started, float64(st-end))
	}, "SELECT ready_at, started_at FROM instance WHERE id > ? AND job_name LIKE ? ESCAPE '!'", since, down.like())
	sp := spreadOf(started)
	s.say("%s: the last of %d started %.0f ms after its end", up, sp.n, sp.max)
	return ready, sp.p50, sp.max
}

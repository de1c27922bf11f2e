package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/axsched/ax/worker/transport"
)

// Status is what a worker says of itself at one moment.
type Status struct {
	Name        string         `json:"name"`
	Boot        int64          `json:"boot"`
	Draining    bool           `json:"draining"`
	Claimed     int            `json:"claimed"`
	Queued      int            `json:"queued"`
	Running     int            `json:"running"`
	Lanes       map[string]int `json:"lanes"` // threads
	Unconfirmed int            `json:"unconfirmed"`
	Journal     int64          `json:"journalBytes"`
	Disk        string         `json:"disk,omitempty"` // why the journal cannot be written; empty when it can
	// BeatAge is how long ago the last answered heartbeat was sent, in milliseconds; -1 before the first.
	BeatAge int64  `json:"beatAgeMs"`
	SkewMs  int64  `json:"skewMs"`
	Error   string `json:"error,omitempty"` // why it is not ready; empty when it is
}

// Status may be called at any time.
func (n *Node) Status() Status {
	n.mu.Lock()
	c := n.book.count
	n.mu.Unlock()
	skew := time.Duration(n.skew.Load())
	s := Status{Name: n.name, Boot: n.boot, Draining: n.draining(), Claimed: c[claimed], Queued: c[queued],
		Running: c[running], Lanes: n.cfg.Lanes, Unconfirmed: n.out.len(), BeatAge: -1, SkewMs: skew.Milliseconds(), Disk: n.disk()}
	s.Journal, _ = n.wal.Size() // the journal's own error is in Disk
	if n.answered.Load() != 0 {
		s.BeatAge = n.silence().Milliseconds()
	}
	s.Error = n.unready(s, skew)
	return s
}

// unready says why the worker takes no work now, or nothing.
func (n *Node) unready(s Status, skew time.Duration) string {
	if s.Disk != "" {
		return unfit(s.Disk, skew, false)
	}
	return cmp.Or(n.unheard(s), unfit("", skew, s.Draining))
}

// unheard says why the center does not know of the worker, or nothing.
func (n *Node) unheard(s Status) string {
	switch {
	case s.BeatAge < 0:
		return "no heartbeat was answered yet"
	case s.BeatAge > n.cfg.LostAfter.Milliseconds():
		why := "Redis is out of reach"
		if fault := n.beatFault.Load(); fault != nil && fault.Answers {
			why = "Redis answers and takes no writes: " + fault.Words()
		}
		return fmt.Sprintf("no heartbeat was answered for %.0f s: %s", float64(s.BeatAge)/1000, why)
	}
	return ""
}

// Part is how one thing stands that a worker cannot do without.
type Part struct {
	OK   bool   `json:"ok"`
	Note string `json:"note,omitempty"`
}

// Readiness is what /readyz answers. A worker needs Redis, for its work and to be known, and its journal; no database.
type Readiness struct {
	Status
	Ready bool            `json:"ready"` // every part is well but plugins, without which it does its other work
	Parts map[string]Part `json:"parts"` // redis, registry, journal, clock, worker, and plugins where it has any
}

// askLimit is how long readiness waits for Redis.
const askLimit = 2 * time.Second

func (n *Node) readiness(ctx context.Context) Readiness {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	transport, registry := n.pings(ctx)
	s := n.Status()
	drains := ""
	if s.Draining {
		drains = unfit("", 0, true)
	}
	r := Readiness{Status: s, Ready: true, Parts: map[string]Part{
		"redis": partOf(said(transport)), "registry": partOf(cmp.Or(n.unheard(s), said(registry))), "journal": partOf(s.Disk),
		"clock": partOf(unfit("", time.Duration(s.SkewMs)*time.Millisecond, false)), "worker": partOf(drains),
	}}
	for _, name := range sortedKeys(r.Parts) {
		p := r.Parts[name]
		r.Ready = r.Ready && p.OK
		if !p.OK && r.Error == "" {
			r.Error = name + ": " + p.Note
		}
	}
	if len(n.plugins()) > 0 {
		r.Parts["plugins"] = partOf(n.pluginFaults())
	}
	return r
}

// pings asks both Redis at the same time, or the one that is both.
func (n *Node) pings(ctx context.Context) (transport, registry error) {
	if n.link.Registry == n.link.Transport {
		err := n.link.Transport.Ping(ctx).Err()
		return err, err
	}
	var asked sync.WaitGroup
	asked.Go(func() { transport = n.link.Transport.Ping(ctx).Err() })
	asked.Go(func() { registry = n.link.Registry.Ping(ctx).Err() })
	asked.Wait()
	return transport, registry
}

func partOf(fault string) Part { return Part{OK: fault == "", Note: fault} }

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Handler serves /healthz (200 while the process can answer), /readyz (200 when it takes work, else 503, with the state of
// each thing that it needs) and /metrics.
func (n *Node) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, n.Status()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, req *http.Request) {
		r := n.readiness(req.Context())
		code := http.StatusOK
		if !r.Ready {
			code = http.StatusServiceUnavailable
		}
		answer(w, code, r)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(n.meter.registry, promhttp.HandlerOpts{}))
	return mux
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone; there is nobody else to tell
}

// meter counts what the node does.
type meter struct {
	registry *prometheus.Registry
	receiver *transport.Receiver
	beats    atomic.Int64

	messages, claims, late, grants, starts, resent, lines prometheus.Counter
	writeErrors, beatErrors, damaged                      prometheus.Counter
	outcomes                                              *prometheus.CounterVec
	busy                                                  *prometheus.GaugeVec
}

func newMeter(n *Node) *meter {
	m := &meter{registry: prometheus.NewRegistry()}
	m.receiver = n.link.Receiver(n.name, n.boot, n.cfg.laneNames(), n.receive)
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "ax_worker_" + name + "_total", Help: help})
		m.registry.MustRegister(c)
		return c
	}
	m.messages = counter("messages", "Messages taken from the queues.")
	m.claims = counter("claims", "Claims sent, repetitions included.")
	m.late = counter("late_answers", "Answers that came too late and were claimed again.")
	m.grants = counter("grants", "Attempts granted.")
	m.starts = counter("starts", "Attempts started.")
	m.resent = counter("reports_resent", "Reports sent again because no confirmation came.")
	m.lines = counter("log_lines", "Lines of output shipped.")
	m.writeErrors = counter("write_errors", "Writes to the uplink that failed.")
	m.beatErrors = counter("heartbeat_errors", "Heartbeats that were not answered.")
	m.damaged = counter("damaged_entries", "Inbox entries that could not be read.")
	m.outcomes = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ax_worker_outcomes_total", Help: "Outcomes, by kind."}, []string{"outcome"})
	m.busy = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ax_worker_busy_threads", Help: "Threads that run a task, by lane."}, []string{"lane"})
	m.registry.MustRegister(m.outcomes, m.busy, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.gauges(n)
	return m
}

func (m *meter) gauges(n *Node) {
	gauge := func(name, help string, of func(Status) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ax_worker_" + name, Help: help},
			func() float64 { return of(n.Status()) }))
	}
	gauge("claimed", "Attempts claimed and not answered.", func(s Status) float64 { return float64(s.Claimed) })
	gauge("queued", "Attempts granted that wait for a thread.", func(s Status) float64 { return float64(s.Queued) })
	gauge("running", "Attempts that run.", func(s Status) float64 { return float64(s.Running) })
	gauge("unconfirmed", "Outcomes that the center has not confirmed.", func(s Status) float64 { return float64(s.Unconfirmed) })
	gauge("journal_bytes", "Size of the journal's file.", func(s Status) float64 { return float64(s.Journal) })
	gauge("disk_refuses", "1 while the journal cannot be written, as on a full disk, and no work is taken.", func(s Status) float64 { return float64(min(len(s.Disk), 1)) })
	gauge("heartbeat_age_seconds", "Time since the last answered heartbeat was sent; -0.001 before the first.", func(s Status) float64 { return float64(s.BeatAge) / 1000 })
	gauge("clock_skew_seconds", "This machine's clock minus the database's.", func(s Status) float64 { return float64(s.SkewMs) / 1000 })
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "ax_worker_poison_messages_total",
		Help: "Messages that could not be read and were dropped."}, func() float64 { return float64(m.receiver.Poison()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "ax_worker_leftover_messages_total",
			Help: "Messages of AX that were in a queue as taken long after that, as they are after a fault of Redis, and were removed."},
			func() float64 { return float64(m.receiver.Leftover()) }))
}

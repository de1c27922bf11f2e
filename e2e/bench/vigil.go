package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/axsched/ax/worker/transport"
)

// vigil watches whether a system under load still lives: how old heartbeats, leases and the workers' rows become, who
// is the active broker, and how much memory the processes take. What it cannot read once it reads the next time; the
// ages go on meanwhile.
type vigil struct {
	s     *stage
	close func() error
	beats func(ctx context.Context) (map[string]int64, int64, error) // stamps by worker, and now, both by Redis
	quit  chan struct{}
	wg    sync.WaitGroup
	began int64 // epoch

	beat, lease, row worst
	memory           map[string]float64 // MB at most, by process
	before           map[string]float64 // MB at the beginning
	journal          float64            // MB at most
	epoch            int64              // the last one seen
	bad              []string
}

// lookEach is how often the vigil looks.
const lookEach = 100 * time.Millisecond

// watch begins a vigil, until done is called.
func (s *stage) watch() *vigil {
	redis, err := transport.Open(s.ctx, s.site.Redis)
	s.must(err, "opening Redis")
	v := &vigil{s: s, close: redis.Close, quit: make(chan struct{}), memory: map[string]float64{}, began: s.number("SELECT epoch FROM epoch WHERE name = 'broker'")}
	v.beats = func(ctx context.Context) (map[string]int64, int64, error) {
		all, now, err := transport.Workers(ctx, redis)
		out := map[string]int64{}
		for _, hb := range all {
			out[hb.Name] = hb.Stamp
		}
		return out, now.UnixMilli(), err
	}
	v.epoch = v.began
	v.weigh()
	v.before = maps.Clone(v.memory)
	v.wg.Go(func() {
		tick := time.NewTicker(lookEach)
		defer tick.Stop()
		for {
			select {
			case <-v.quit:
				return
			case <-tick.C:
				v.look()
			}
		}
	})
	return v
}

func (v *vigil) look() {
	ctx, cancel := context.WithTimeout(v.s.ctx, 5*time.Second)
	defer cancel()
	stamps, now, err := v.beats(ctx)
	v.note(err)
	if err == nil {
		v.beat.see(stamps, now)
	}
	v.note(v.rows(ctx))
	v.weigh()
}

// rows reads the leases, the workers' rows and the epoch, and the database's clock with them.
func (v *vigil) rows(ctx context.Context) error {
	rows, err := v.s.db.QueryContext(ctx, "SELECT 'lease', CAST(node AS CHAR), renewed_at, "+v.s.clock+" FROM lease "+
		"UNION ALL SELECT 'worker', name, seen_at, "+v.s.clock+" FROM worker WHERE lost_at = 0 UNION ALL SELECT 'epoch', name, epoch, 0 FROM epoch WHERE name = 'broker'")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	leases, workers, clock := map[string]int64{}, map[string]int64{}, int64(0)
	for rows.Next() {
		var kind, name string
		var at, now int64
		if err := rows.Scan(&kind, &name, &at, &now); err != nil {
			return err
		}
		switch kind {
		case "lease":
			leases[name] = at
		case "worker":
			workers[name] = at
		case "epoch":
			v.epoch = at
		}
		clock = max(clock, now)
	}
	v.lease.see(leases, clock)
	v.row.see(workers, clock)
	return rows.Err()
}

// weigh notes the memory of the processes and the size of the worker's journal.
func (v *vigil) weigh() {
	for name, pid := range v.s.processes() {
		v.memory[name] = max(v.memory[name], memoryOf(pid))
	}
	if info, err := os.Stat(filepath.Join(v.s.worker.Data, "worker", "journal.log")); err == nil {
		v.journal = max(v.journal, float64(info.Size())/(1<<20))
	}
}

func (v *vigil) note(err error) {
	if err != nil && v.s.ctx.Err() == nil {
		v.bad = append(v.bad, err.Error())
	}
}

// done ends the vigil.
func (v *vigil) done() {
	close(v.quit)
	v.wg.Wait()
	_ = v.close()
}

// worst is the longest that any of some moments has stood still, in ms.
type worst struct {
	last map[string]int64
	gap  int64
}

// see takes over the moments as they stand now: how old each is counts, and how long it took from the one before.
func (w *worst) see(moments map[string]int64, now int64) {
	for name, at := range moments {
		w.gap = max(w.gap, now-at)
		if was, known := w.last[name]; known {
			w.gap = max(w.gap, at-was)
		}
	}
	for name, was := range w.last {
		if _, there := moments[name]; !there {
			w.gap = max(w.gap, now-was)
			moments[name] = was
		}
	}
	w.last = moments
}

func livenessColumns() []Column {
	return []Column{{"beat", "heartbeat gap, ms", 0}, {"row", "worker's row, ms", 0}, {"lease", "lease gap, ms", 0}, {"epochs", "epoch changes", 0},
		{"high_noop_p50", "high noop p50 ms", 0}, {"high_noop_p99", "p99 ms", 0}, {"high_shell_p50", "high shell p50 ms", 0}, {"high_shell_p99", "p99 ms", 0}}
}

func memoryColumns() []Column {
	var out []Column
	for _, name := range []string{"center", "worker", "redis"} {
		out = append(out, Column{name + "_before", name + " before, MB", 0}, Column{name, "at most", 0})
	}
	return append(out, Column{"journal", "journal at most, MB", 1})
}

// put writes the figures.
func (v *vigil) put(p *Part, alive, memory *Row) {
	alive.aim("beat", float64(v.beat.gap), atMost(5000)).put("row", float64(v.row.gap))
	alive.aim("lease", float64(v.lease.gap), atMost(3000)).aim("epochs", float64(v.epoch-v.began), atMost(0))
	// What waits stands in the database: a few hundred MB of 200,000 instances elsewhere would be growth without bound.
	bounds := map[string]*Aim{"center": atMost(400), "worker": atMost(200), "redis": atMost(100)}
	for _, name := range []string{"center", "worker", "redis"} {
		memory.put(name+"_before", v.before[name]).aim(name, v.memory[name], bounds[name])
	}
	memory.put("journal", v.journal)
	if len(v.bad) > 0 {
		p.note("%s: %s looks failed, the first: %s", alive.Name, strconv.Itoa(len(v.bad)), v.bad[0])
	}
	v.s.say("%s: heartbeat gap %d ms, lease gap %d ms, %s", alive.Name, v.beat.gap, v.lease.gap, fmt.Sprintf("center %.0f MB, worker %.0f MB", v.memory["center"], v.memory["worker"]))
}

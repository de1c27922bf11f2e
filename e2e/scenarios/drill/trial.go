package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

const (
	// goneFor is how long an instance may read "executing" after its task is gone: ten seconds of silence make a worker
	// lost, the rest is the way.
	goneFor = 15 * time.Second
	// goneForWait is the same where the job waits until a lost worker's watchdog has certainly killed the task.
	goneForWait = 50 * time.Second
	// settleLimit is how long after the end everything may take until it has ended. A longer fault piles up work for its
	// own length, which may be worked off as long.
	settleLimit = 2 * time.Minute
	// sayEach is how often progress is told.
	sayEach = 10 * time.Second
)

// trial is a load on a stage, watched from outside.
type trial struct {
	*stage
	load  *load
	watch *watch

	weights map[string][]float64 // MB of each process as the run went on

	quit chan struct{}
	wg   sync.WaitGroup

	mu     sync.Mutex
	broken bool      // a fault is in force
	mended time.Time // when the last fault was healed
	gone   map[lifeKey]staleness
}

// begin puts a load into force whose first judged fire comes soon, and returns it watched. long is how long the longest
// tasks take.
func begin(s *stage, lasts, long time.Duration) *trial {
	t := &trial{stage: s, load: newLoad(long), watch: newWatch(s.diary.Path()), weights: map[string][]float64{}, quit: make(chan struct{}), gone: map[lifeKey]staleness{}}
	began := time.Now()
	s.client().Apply(t.load.yaml(s.diary, true))
	// The pairs fire once, so they must be in force before the window begins: as long as those took, with much to spare.
	perJob := time.Since(began) / time.Duration(len(t.load.jobs))
	pairs := 2 * (1 + int(lasts/pairEach))
	from := time.Now().Add(time.Duration(3*pairs)*perJob + 6*time.Second).Truncate(time.Second)
	t.load.window(from, from.Add(lasts))
	s.client().Apply(t.load.pairs(s.diary))
	if time.Until(from) < time.Second {
		s.Fatalf("putting %d jobs into force took too long: the first fire that counts was due at %s", len(t.load.jobs), from.Format(clockForm))
	}
	t.wg.Go(func() { t.each(lookEach, func() { _ = t.watch.look(time.Now()) }) })
	t.wg.Go(func() { t.each(time.Second, t.sample) })
	s.Cleanup(t.stop)
	s.Say("%d jobs are in force, %d fires are planned until %s", len(t.load.jobs), t.load.planned(), t.load.to.Format(time.TimeOnly))
	return t
}

func (t *trial) each(pause time.Duration, do func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-t.quit:
			return
		case <-tick.C:
			do()
		}
	}
}

// stop ends the watching; safe to call twice.
func (t *trial) stop() {
	select {
	case <-t.quit:
	default:
		close(t.quit)
	}
	t.wg.Wait()
}

// sample compares what reads "executing" with what is alive.
func (t *trial) sample() {
	asked := time.Now()
	type row struct {
		job, trace string
		attempt    int
	}
	var rows []row
	err := t.stage.each(func(scan func(...any) error) error {
		var r row
		err := scan(&r.job, &r.trace, &r.attempt)
		rows = append(rows, r)
		return err
	}, "SELECT i.job_name, i.trace_id, a.ordinal FROM instance i JOIN attempt a ON a.id = i.attempt_id WHERE i.state = 'running' AND i.label = 'executing'")
	if err != nil {
		return // a broken database has no say
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range rows {
		j, l := t.load.byName[r.job], t.watch.of(r.trace, r.attempt)
		if j == nil || j.noop || l == nil || l.over().IsZero() {
			continue
		}
		limit := goneFor
		if j.wait {
			limit = goneForWait
		}
		gone := asked.Sub(l.over())
		if t.broken || gone < limit || asked.Sub(t.mended) < limit {
			continue
		}
		key := lifeKey{r.trace, r.attempt}
		if gone > t.gone[key].gone {
			t.gone[key] = staleness{r.job, r.trace, r.attempt, gone}
		}
	}
}

// force breaks the system, waits and heals it.
func (t *trial) force(f fault) (begun, healed time.Time, victims []string) {
	tr := &trouble{stage: t.stage}
	t.setBroken(true)
	begun = time.Now()
	t.Say("FAULT: %s", f.name)
	f.begin(tr)
	if tr.turn != nil {
		t.pass(begun.Add(f.lasts / 2))
		tr.turn()
	}
	if f.heal != nil {
		t.pass(begun.Add(f.lasts))
		t.Say("the end of: %s", f.name)
		f.heal(tr)
	}
	healed = time.Now()
	if f.lasts == 0 {
		healed = begun
	}
	t.setBroken(false)
	return begun, healed, tr.victims
}

func (t *trial) setBroken(broken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken, t.mended = broken, time.Now()
}

// pass waits until the moment and tells of progress meanwhile.
func (t *trial) pass(until time.Time) {
	for next := time.Now().Add(sayEach); next.Before(until); next = time.Now().Add(sayEach) {
		t.Wait(next)
		t.weigh()
		t.progress()
	}
	t.Wait(until)
}

// progress tells how the load stands.
func (t *trial) progress() {
	all, err1 := t.number("SELECT COUNT(*) FROM instance")
	open, err2 := t.number("SELECT COUNT(*) FROM instance WHERE state IN ('running', 'retrying')")
	if err1 != nil || err2 != nil {
		t.Say("the database does not answer; %d tasks are alive", t.watch.alive())
		return
	}
	t.Say("%d instances, %d have not ended; %d tasks are alive", all, open, t.watch.alive())
}

// settle waits until every planned fire is on paper, takes the jobs out of force, waits until everything has ended,
// at most for limit after the end, and returns what is to be judged.
func (t *trial) settle(limit time.Duration) *facts {
	t.pass(t.load.to)
	deadline := t.load.to.Add(limit)
	if !t.Until(deadline, time.Second, t.taken) {
		t.Say("not every planned fire is on paper %s after the end", limit)
	}
	t.client().Apply(t.load.yaml(t.diary, false))
	next := time.Now().Add(sayEach)
	t.Until(deadline, 250*time.Millisecond, func() bool {
		if time.Now().After(next) {
			next = time.Now().Add(sayEach)
			t.progress()
		}
		open, err := t.number("SELECT COUNT(*) FROM instance WHERE state IN ('running', 'retrying')")
		return err == nil && open == 0
	})
	t.Pause(2 * lookEach)
	t.stop()
	t.Must(t.watch.look(time.Now()), "reading the diary")
	f := &facts{load: t.load, lives: t.watch.all(), torn: t.watch.torn}
	var err error
	f.instances, f.gaps, err = t.rows(t.load)
	t.Must(err, "reading the tables")
	for _, s := range t.gone {
		f.stale = append(f.stale, s)
	}
	f.books = t.books()
	return f
}

// taken reports whether every planned fire has an instance or a reason.
func (t *trial) taken() bool {
	n, err := t.number("SELECT COUNT(*) FROM instance WHERE expected_at >= ? AND expected_at < ?", t.load.from.UnixMilli(), t.load.to.UnixMilli())
	if err != nil {
		return false
	}
	gaps, err := t.gaps(t.load)
	for _, g := range gaps {
		n += int64(g.fires)
	}
	return err == nil && n >= int64(t.load.planned())
}

// books are AX's own ledger of the judged fires.
func (t *trial) books() []books {
	var doc struct{ Jobs []books }
	form := func(at time.Time) string { return at.UTC().Format(time.RFC3339) }
	said := t.client().Run("--json", "ledger", "--from", form(t.load.from), "--to", form(t.load.to))
	t.Must(json.Unmarshal([]byte(said.Out), &doc), "reading the ledger: "+said.Err)
	return doc.Jobs
}

// hold holds one drill on servers of its own.
func hold(p *setup.Program, o options, f fault) (*Result, error) {
	var out *Result
	err := p.Do(func() {
		p.Say("drill %s: %s", f.key, f.name)
		warm, after := o.pace()
		t := begin(raise(p, f.clocks), warm+f.lasts+after, o.longest())
		t.pass(t.load.from.Add(warm))
		begun, healed, victims := t.force(f)
		facts := t.settle(max(settleLimit, f.lasts))
		facts.begun, facts.healed, facts.victims = begun, healed, victims
		v := judge(facts)
		out = newResult(f, facts, v)
		out.Incidents = t.incidents(f.calls)
		t.keep(o, f.key, out.Lost+out.Doubled+out.Wrong > 0)
	})
	return out, err
}

// keep copies the processes' logs and the diary to the folder that -keep names when something was found.
func (t *trial) keep(o options, key string, found bool) {
	if o.keep == "" || !found {
		return
	}
	dir := fmt.Sprintf("%s/%s-%s", o.keep, key, time.Now().UTC().Format("150405"))
	t.Must(os.MkdirAll(dir, 0o700), "keeping the logs")
	for _, p := range slices.Concat(t.centers, t.workers) {
		t.Must(os.WriteFile(dir+"/"+p.Name+".log", []byte(p.Tail(1<<20)), 0o600), "keeping the logs")
	}
	text, err := os.ReadFile(t.diary.Path())
	t.Must(err, "keeping the diary")
	t.Must(os.WriteFile(dir+"/diary", text, 0o600), "keeping the diary")
	t.Must(os.WriteFile(dir+"/rows", []byte(setup.Dump(t, t.site.Database, "job", "job_version", "counter", "schedule_span", "audit", "log_chunk")), 0o600), "keeping the rows")
	t.Say("logs, diary and rows are in %s", dir)
}

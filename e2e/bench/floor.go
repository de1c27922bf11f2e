package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// The floor is what the stores and the queue take for an instance if nobody decides anything: its row and that of its
// attempt inserted, one hop over asynq, both rows updated under a guard. It runs in this process on the servers of
// the stage, whose center and worker have ended.
const (
	floorBatch   = 250
	floorWriters = 8
)

// floorRun is one measure of it.
type floorRun struct {
	s       *stage
	perHop  int // tasks a message
	sender  *transport.Sender
	nextID  atomic.Int64
	done    atomic.Int64 // instances whose updates are committed
	pending sync.Map     // message id → its batch's *sync.WaitGroup
}

// floor measures it with ten tasks a message and with one, and puts the ratio of what AX reached beside it.
func (s *stage) floor(p *Part, reached float64) {
	t := p.table("floor", "bare floor", Column{"rate", "instances/s", 0}, Column{"ratio", "AX ÷ floor", 2},
		Column{"cpu_mariadb", "mariadb µs", 0}, Column{"cpu_redis", "redis µs", 0}, Column{"cpu_bench", "bench µs", 0}, Column{"cpu_all", "all µs", 0})
	for _, table := range []string{"instance", "attempt"} {
		s.exec("CREATE TABLE floor_" + table + " LIKE " + table)
	}
	for _, perHop := range []int{10, 1} {
		f := &floorRun{s: s, perHop: perHop}
		rate, c := f.measure(pick(s.options, 6*time.Second, 4*time.Second))
		name := "one task a message"
		if perHop > 1 {
			name = fmt.Sprintf("%d tasks a message", perHop)
		}
		row := t.row(fmt.Sprintf("per_message_%d", perHop), name).put("rate", rate)
		c.put(row)
		if reached > 0 {
			row.put("ratio", reached/rate)
		}
		s.say("floor with %s: %.0f/s", name, rate)
		for _, table := range []string{"instance", "attempt"} {
			s.exec("TRUNCATE TABLE floor_" + table)
		}
	}
}

// measure runs the floor for a second and then for as long as given, which counts.
func (f *floorRun) measure(d time.Duration) (rate float64, c cost) {
	redis, err := transport.Open(f.s.ctx, f.s.site.Redis)
	f.s.must(err, "opening Redis")
	defer func() { _ = redis.Close() }()
	f.sender = transport.NewSender(redis)
	ctx, stop := context.WithCancel(f.s.ctx)
	defer stop()
	g, running := errgroup.WithContext(ctx)
	receiver := transport.Receiver{Client: redis, Worker: "floor", Boot: int64(f.perHop), Lanes: []string{protocol.LaneDefault}, Handle: f.handle}
	g.Go(func() error { return receiver.Run(running) })
	for range floorWriters {
		g.Go(func() error { return f.write(running) })
	}
	f.s.pause(time.Second)
	from, before := f.read(), f.done.Load()
	f.s.pause(d)
	to, after := f.read(), f.done.Load()
	stop()
	if err := g.Wait(); err != nil && f.s.ctx.Err() == nil {
		f.s.must(err, "the floor")
	}
	n := int(after - before)
	return float64(n) / to.at.Sub(from.at).Seconds(), bill(from, to, n, nil)
}

// read takes the meters of the servers and of this process.
func (f *floorRun) read() meter {
	m := f.s.read()
	var own syscall.Rusage
	f.s.must(syscall.Getrusage(syscall.RUSAGE_SELF, &own), "reading the own processor time")
	m.cpu["bench"] = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	return m
}

// handle is the other end of the hop.
func (f *floorRun) handle(_ string, m protocol.Message) {
	if wg, ok := f.pending.LoadAndDelete(m.ID); ok {
		wg.(*sync.WaitGroup).Done()
	}
}

// write carries one batch after the other through until ctx ends.
func (f *floorRun) write(ctx context.Context) error {
	for ctx.Err() == nil {
		first := f.nextID.Add(floorBatch) - floorBatch + 1
		if err := f.insert(ctx, first); err != nil {
			return ended(ctx, err)
		}
		if err := f.hop(ctx, first); err != nil {
			return ended(ctx, err)
		}
		if err := f.update(ctx, first); err != nil {
			return ended(ctx, err)
		}
		f.done.Add(floorBatch)
	}
	return nil
}

// ended is nil for an error that comes of the end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// insert writes the rows of a batch in one transaction.
func (f *floorRun) insert(ctx context.Context, first int64) error {
	now := time.Now()
	ms, day := now.UnixMilli(), now.UTC().Format(time.DateOnly)
	const instanceRow = "(?,1,?,?,?,'every',?,?,'running','dispatched',1,?,1,'00000000-0000-4000-8000-000000000000',1,'{}',1,'default',0,?,?,0,?,'')"
	const attemptRow = "(?,1,?,?,1,'sent','worker-1',1,'default','floor-message',?,60000,'','','')"
	var ins, att []any
	for id := first; id < first+floorBatch; id++ {
		job := id % 5000
		ins = append(ins, id, job, fmt.Sprintf("floor_%05d", job), fmt.Sprintf("s:%d", ms*1000+id), day, ms, id, ms, ms, ms)
		att = append(att, id, id, id, ms)
	}
	return f.inTx(ctx,
		"INSERT INTO floor_instance (id, project_id, job_id, job_name, fire_key, trigger_kind, biz_date, expected_at, state, label, ver, run_id, run_no, trace_id, "+
			"version, params, attempts, lane, queue_rank, met_at, ready_at, wake_at, created_at, message) VALUES "+repeat(instanceRow), ins,
		"INSERT INTO floor_attempt (id, project_id, instance_id, run_id, ordinal, state, target, boot, lane, message_id, dispatched_at, timeout_ms, message, result, late) VALUES "+
			repeat(attemptRow), att)
}

// hop sends the batch over asynq and waits until all of it has come.
func (f *floorRun) hop(ctx context.Context, first int64) error {
	var wg sync.WaitGroup
	for id := first; id < first+floorBatch; id += int64(f.perHop) {
		m := protocol.Message{ID: fmt.Sprintf("floor-%d-%d", f.perHop, id), Sent: time.Now().UnixMilli()}
		for i := range f.perHop {
			m.IDs = append(m.IDs, id+int64(i))
		}
		wg.Add(1)
		f.pending.Store(m.ID, &wg)
		if err := f.sender.Send(ctx, "floor", int64(f.perHop), protocol.LaneDefault, m); err != nil {
			return err
		}
	}
	come := make(chan struct{})
	go func() {
		wg.Wait()
		close(come)
	}()
	select {
	case <-come:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// update ends the rows of a batch in one transaction, each only as it was left.
func (f *floorRun) update(ctx context.Context, first int64) error {
	ms := time.Now().UnixMilli()
	args := []any{ms, ms}
	for id := first; id < first+floorBatch; id++ {
		args = append(args, id)
	}
	in := "id IN (?" + strings.Repeat(",?", floorBatch-1) + ")"
	return f.inTx(ctx,
		"UPDATE floor_attempt SET state = 'ended', outcome = 'success', exit_code = 0, started_at = ?, finished_at = ? WHERE "+in+" AND state = 'sent'", args,
		"UPDATE floor_instance SET state = 'success', label = '', ver = ver + 1, attempt_id = id, started_at = ?, finished_at = ? WHERE "+in+" AND ver = 1", args)
}

// inTx runs two statements that each change every row of a batch.
func (f *floorRun) inTx(ctx context.Context, first string, firstArgs []any, second string, secondArgs []any) error {
	tx, err := f.s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	for _, q := range []struct {
		text string
		args []any
	}{{first, firstArgs}, {second, secondArgs}} {
		res, err := tx.ExecContext(ctx, q.text, q.args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != floorBatch {
			return fmt.Errorf("%.30s… changed %d rows of %d (%w)", q.text, n, floorBatch, err)
		}
	}
	return tx.Commit()
}

// repeat is the row once for each of a batch.
func repeat(row string) string { return row + strings.Repeat(","+row, floorBatch-1) }

package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/worker/journal"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
	"github.com/axsched/ax/worker/protocol/mask"
	"github.com/axsched/ax/worker/protocol/netguard"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// unrenewedLimit is how long a task with on_worker_lost: wait may run without an answered heartbeat.
const unrenewedLimit = 30 * time.Second

// grant starts the attempts that the center granted, or reports why not.
func (n *Node) grant(as []*attempt) {
	now := n.cfg.Now()
	n.meter.grants.Add(float64(len(as)))
	var instant []*attempt
	for _, a := range as {
		e := n.types[a.task.ExecType]
		if why := n.unable(a, e, now); why != "" {
			n.mu.Lock()
			ours := n.book.end(a)
			n.mu.Unlock()
			if ours {
				n.hand(func() { n.finish(a, unstarted(a, protocol.OutcomeRefused, why, now)) })
			}
			continue
		}
		n.hands.Add(1) // until a thread has dealt with it
		if e.Describe().Threadless {
			instant = append(instant, a)
			continue
		}
		n.lanes[a.lane].push(a)
	}
	if len(instant) > 0 {
		n.instant.push(instant...)
	}
}

// hand runs fn beside the caller, as something that the node's end waits for.
func (n *Node) hand(fn func()) {
	n.hands.Add(1)
	go func() {
		defer n.hands.Add(-1)
		fn()
	}()
}

// unable says why a granted attempt cannot be run here, or nothing.
func (n *Node) unable(a *attempt, e types.Executor, now time.Time) string {
	if e == nil {
		return fmt.Sprintf("this worker has no executor of type %q", a.task.ExecType)
	}
	if fault := faultOf(e); fault != "" {
		return "not started: " + fault
	}
	if n.stopping.Load() {
		return "not started: " + runner.ErrShutdown.Error()
	}
	if disk := n.disk(); disk != "" {
		return "not started: " + unfit(disk, 0, false)
	}
	if n.lanes[a.lane] == nil {
		return fmt.Sprintf("this worker does not serve lane %q", a.lane)
	}
	return early(a.task, now)
}

// thread runs the attempts of one lane, one after the other, until the lane is shut.
func (n *Node) thread(name string, l *lane) {
	busy := n.meter.busy.WithLabelValues(name)
	for a := l.pop(); a != nil; a = l.pop() {
		busy.Inc()
		n.execute(a, n.types[a.task.ExecType])
		busy.Dec()
		n.hands.Add(-1)
	}
}

// instantThread runs the attempts of threadless types, all that are there at a time.
func (n *Node) instantThread() {
	for as := n.instant.popAll(instantMost); len(as) > 0; as = n.instant.popAll(instantMost) {
		k := int64(len(as))
		n.executeAll(as)
		n.hands.Add(-k)
	}
}

const (
	// instantThreads is two, so that the starts of some and the outcomes of others share a fsync.
	instantThreads = 2
	// instantMost bounds how long the first of many waits for the last.
	instantMost = 512
)

// execute takes an attempt from its grant to its outcome: journal, start, journal, report.
func (n *Node) execute(a *attempt, e types.Executor) {
	n.mu.Lock()
	ok := n.book.begin(a)
	n.mu.Unlock()
	if !ok {
		return // killed or handed back while it waited
	}
	if n.cutOff(a) {
		a.cancel(n.unanswered(n.silence()))
	}
	crash.At("worker.answered")
	if err := n.wal.Started(journal.Start{Attempt: a.id, At: n.cfg.Now(), Body: n.place}); err != nil {
		n.note(err)
		n.finish(a, n.unjournalled(a, err))
		a.cancel(nil)
		return
	}
	crash.At("worker.started")
	if n.cutOff(a) { // this process may have stood still since
		a.cancel(n.unanswered(n.silence()))
	}
	n.meter.starts.Inc()
	start, since := n.cfg.Now(), n.cfg.Boot() // after the journal's fsync, which is no part of the run
	n.up.start(protocol.Started{Attempt: a.id, At: start.UnixMilli()})
	hidden := mask.New(a.task.Secrets)
	out := n.spool.Create(a.id)
	out.Mask(hidden)
	feed := n.logs.open(out)
	res := n.run(a, e, out)
	ran := n.cfg.Boot() - since - res.Run.Late
	out.Finish(n.cfg.Now())
	feed.finish()
	n.finish(a, masked(hidden, report(a, span{start, ran}, res, out.Stats())))
	a.cancel(nil)
}

// masked keeps secrets out of what is journalled and told of a run.
func masked(m *mask.Masker, r protocol.Report) protocol.Report {
	if head, cut := strings.CutSuffix(r.Message, "…"); cut {
		r.Message = m.Cut(head) + "…"
	}
	r.Message, r.Result = m.String(r.Message), m.JSON(r.Result)
	return r
}

// executeAll is execute for attempts of threadless types, which return at once and say nothing: they share the fsync of
// their starts and that of their outcomes. Their starts are told by their reports.
func (n *Node) executeAll(as []*attempt) {
	n.mu.Lock()
	as = slices.DeleteFunc(as, func(a *attempt) bool { return !n.book.begin(a) })
	n.mu.Unlock()
	now := n.cfg.Now()
	starts, reports := make([]journal.Start, len(as)), make([]protocol.Report, len(as))
	for i, a := range as {
		if n.cutOff(a) {
			a.cancel(n.unanswered(n.silence()))
		}
		starts[i] = journal.Start{Attempt: a.id, At: now, Body: n.place}
	}
	crash.At("worker.answered")
	if err := n.wal.Started(starts...); err != nil {
		n.note(err)
		for i, a := range as {
			reports[i] = n.unjournalled(a, err)
			a.cancel(nil)
		}
		n.finishAll(as, reports)
		return
	}
	crash.At("worker.started")
	n.meter.starts.Add(float64(len(as)))
	start, since := n.cfg.Now(), n.cfg.Boot() // as in execute
	for i, a := range as {
		res := n.run(a, n.types[a.task.ExecType], nil)
		reports[i] = masked(mask.New(a.task.Secrets), report(a, span{start, n.cfg.Boot() - since}, res, runner.Stats{}))
		a.cancel(nil)
	}
	n.finishAll(as, reports)
}

// run calls the executor. A panic in it is the task's failure, not the worker's end.
func (n *Node) run(a *attempt, e types.Executor, out *runner.Capture) (o types.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			n.log.Error("executor panicked", "type", e.Type(), "attempt", a.id, "panic", p, "stack", string(debug.Stack()))
			o = types.Failure(n.cfg.Now(), fmt.Sprintf("the executor of type %q panicked: %v", e.Type(), p))
		}
	}()
	t := taskOf(a.task)
	if e.Describe().Threadless {
		return e.Run(a.ctx, t, out)
	}
	file := filepath.Join(n.results, strconv.FormatInt(a.id, 10)+".json")
	t.Env = withResultFile(t.Env, file)
	return handedOver(e.Run(a.ctx, t, out), file)
}

// withResultFile tells a program of the task where it may leave a result.
func withResultFile(env map[string]string, file string) map[string]string {
	out := make(map[string]string, len(env)+1)
	maps.Copy(out, env)
	out[types.ResultVariable] = file
	return out
}

// handedOver adds the result that a program left. One that is none fails a task which has succeeded otherwise: whoever
// waits for it would miss it later.
func handedOver(o types.Outcome, file string) types.Outcome {
	result, err := types.TakeResult(file)
	switch {
	case err != nil && o.Run.Outcome == runner.Success:
		o.Run.Outcome = runner.Failed
		o.Run.Message = runner.CleanMessage(strings.TrimPrefix(o.Run.Message+"; "+err.Error(), "; "))
	case result != nil:
		o.Result = result
	}
	return o
}

func taskOf(t protocol.Task) types.Task {
	out := types.Task{Attempt: t.Attempt, Ordinal: t.Ordinal, Type: t.ExecType, TaskID: t.TaskID, TraceID: t.TraceID, Project: t.Project, JobName: t.TaskName,
		BizDate: t.BizDate, Exec: t.Exec, Env: t.Env, Params: t.Params, Shard: t.Shard, Net: policyOf(t.Net)}
	if t.Expected != 0 {
		out.ExpectedAt = time.UnixMilli(t.Expected)
	}
	if t.Timeout > 0 {
		out.Deadline = time.Now().Add(time.Duration(t.Timeout) * time.Millisecond) // a span, whatever the wall clock says
	}
	if t.OnLost == protocol.OnLostWait {
		out.Unrenewed = unrenewedLimit
	}
	return out
}

// policyOf is where a task may connect to. What cannot be read of it, from a center of another version, allows nothing.
func policyOf(n *protocol.Net) (p netguard.Policy) {
	if n == nil {
		return p
	}
	for _, entry := range n.Allow {
		prefixes, err := netguard.ParseAllow([]string{entry})
		if err == nil {
			p.Allow = append(p.Allow, prefixes...)
		}
	}
	for _, text := range n.Stores {
		if at, err := netip.ParseAddrPort(text); err == nil {
			p.Stores = append(p.Stores, at)
		}
	}
	return p
}

// cutOff says that the attempt must not run because the center may have given it up: no heartbeat was answered in time.
func (n *Node) cutOff(a *attempt) bool {
	return a.task.OnLost == protocol.OnLostWait && n.silence() > unrenewedLimit
}

// overdue ends what must not outlive a silence that ends with the heartbeat sent now: the center may have given it to
// somebody else meanwhile. A machine that slept, or a worker that was frozen, never sees its own silence.
func (n *Node) overdue(sent time.Duration) {
	last := time.Duration(n.answered.Load())
	if last == 0 || sent-last <= unrenewedLimit {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range append(n.book.in(queued), n.book.in(running)...) {
		if a.task.OnLost == protocol.OnLostWait {
			a.cancel(n.unanswered(sent - last))
		}
	}
}

// silence is how long ago the last answered heartbeat was sent.
func (n *Node) silence() time.Duration { return n.cfg.Boot() - time.Duration(n.answered.Load()) }

// finish journals an outcome and hands it to the outbox. The attempt's phase is ended from here on, if it was not.
func (n *Node) finish(a *attempt, r protocol.Report) {
	n.finishAll([]*attempt{a}, []protocol.Report{r})
}

// finishAll is finish for several at once; each attempt has its report at its own place.
func (n *Node) finishAll(as []*attempt, rs []protocol.Report) {
	at := n.cfg.Now()
	outcomes := make([]journal.Outcome, len(rs))
	for i, r := range rs {
		outcomes[i] = journal.Outcome{Attempt: r.Attempt, At: at, Body: encode(r)}
	}
	crash.At("worker.ran")
	n.note(n.wal.Ended(outcomes...)) // it is told without the journal too: a next life that misses it calls it lost, which comes too late then
	crash.At("worker.ended")
	n.mu.Lock()
	for i, r := range rs {
		n.book.end(as[i])
		if r.Started != 0 {
			n.mean.add(at, time.Duration(r.Finished-r.Started)*time.Millisecond)
		}
	}
	n.mu.Unlock()
	for _, r := range rs {
		n.meter.outcomes.WithLabelValues(r.Outcome).Inc()
	}
	n.out.add(rs...)
}

// outcomeOf is what is reported for an attempt that was ended for this reason before it started.
func outcomeOf(cause error) string {
	switch {
	case errors.Is(cause, runner.ErrShutdown):
		return protocol.OutcomeRefused
	case errors.Is(cause, runner.ErrLost):
		return protocol.OutcomeWorkerLost
	default:
		return protocol.OutcomeKilled
	}
}

// unstarted is the report of an attempt that never ran.
func unstarted(a *attempt, outcome, message string, now time.Time) protocol.Report {
	return protocol.Report{Attempt: a.id, Outcome: outcome, Message: runner.CleanMessage(message), Finished: now.UnixMilli()}
}

// span is when a run began on the wall clock and how long it took on the boot-time one,
// which nobody sets and which runs on while the machine sleeps.
type span struct {
	start time.Time
	ran   time.Duration
}

// report is what the center is told about a run. Its two moments are as far apart as the
// run took, also where the wall clock was set meanwhile.
func report(a *attempt, s span, o types.Outcome, kept runner.Stats) protocol.Report {
	r := protocol.Report{Attempt: a.id, Message: o.Run.Message, Result: o.Result, LogLines: kept.Lines,
		Started: s.start.UnixMilli(), Finished: s.start.Add(max(s.ran, 0)).UnixMilli()}
	if o.Run.StartedAt.IsZero() && o.Run.Outcome != runner.Failed {
		r.Started = 0 // ended between the grant and the start
	}
	if len(r.Result) > protocol.MaxResult || r.Result != nil && !json.Valid(r.Result) {
		r.Result, r.Message = nil, runner.CleanMessage(strings.TrimPrefix(r.Message+"; its result was dropped: it must be JSON of at most 64 KB", "; "))
	}
	if o.Run.ExitCode >= 0 {
		code := o.Run.ExitCode
		r.ExitCode = &code
	}
	if o.Refused {
		r.Outcome = protocol.OutcomeRefused
		return r
	}
	switch o.Run.Outcome {
	case runner.Success:
		r.Outcome = protocol.OutcomeSuccess
	case runner.Timeout:
		r.Outcome = protocol.OutcomeTimeout
	case runner.Killed:
		r.Outcome = protocol.OutcomeKilled
	case runner.Lost:
		r.Outcome = protocol.OutcomeWorkerLost
	case runner.Shutdown:
		r.Outcome, r.Message = protocol.OutcomeRefused, runner.CleanMessage("worker stopped; "+o.Run.Message)
	default:
		r.Outcome = protocol.OutcomeError
	}
	return r
}

// killCause is the reason that a killed task's message shows.
func killCause(reason string) error {
	if reason == "" {
		return runner.ErrKilled
	}
	return fmt.Errorf("%w: %s", runner.ErrKilled, reason)
}

package board

import (
	"context"
	"maps"
	"time"

	"github.com/axsched/ax/modules/board/store"
	"github.com/axsched/ax/modules/domain"
)

// Bucket is the width of one counter.
const Bucket = 15 * time.Minute

// The metrics. Those of one job are kept only where a page ranks jobs.
const (
	MetricInstances = "instances" // made
	MetricFailed    = "failed"    // stand as failed; also per job
	MetricStarts    = "starts"    // starts of first tries, the number behind the mean delay
	MetricDelay     = "delay"     // milliseconds, summed: start − max(expected, dependencies met)
	MetricRuns      = "runs"      // ended while they ran; peak is the longest in milliseconds
	MetricDuration  = "duration"  // milliseconds, summed

	// Those that have not ended stand in one of these.
	MetricWaiting   = "waiting"
	MetricQueued    = "queued"
	MetricExecuting = "executing"
	MetricRetrying  = "retrying"
)

// Tally records changes as they are committed. Safe for concurrent use.
type Tally struct {
	Store *store.Store
}

// Record writes what the changes add to the figures, in the transaction of ctx.
func (t Tally) Record(ctx context.Context, changes []domain.Change) error {
	sum := map[store.Key]store.Figure{}
	for _, c := range changes {
		count(sum, c)
	}
	maps.DeleteFunc(sum, func(_ store.Key, f store.Figure) bool { return f.Total == 0 && f.Peak == 0 })
	return t.Store.Add(ctx, sum)
}

// count adds one change to the sums.
func count(sum map[store.Key]store.Figure, c domain.Change) {
	in := c.Instance
	at := in.CreatedAt.Truncate(Bucket)
	add := func(metric string, job domain.ID, n, peak int64) {
		k := store.Key{Project: in.ProjectID, Bucket: at, Metric: metric, Job: job}
		f := sum[k]
		f.Total += n
		if peak > f.Peak {
			f.Peak, f.PeakInstance = peak, in.ID
		}
		sum[k] = f
	}
	if c.Move == "" {
		add(MetricInstances, 0, 1, 0)
	}
	if was, is := standing(c.From), standing(in.Status); was != is {
		if was != "" {
			add(was, 0, -1, 0)
		}
		if is != "" {
			add(is, 0, 1, 0)
		}
	}
	if delta := failures(c); delta != 0 {
		add(MetricFailed, 0, delta, 0)
		add(MetricFailed, in.JobID, delta, 0)
	}
	if started(c) {
		add(MetricStarts, 0, 1, 0)
		add(MetricDelay, 0, Delay(in).Milliseconds(), 0)
	}
	if ran(c) {
		took := max(in.FinishedAt.Sub(in.StartedAt), 0).Milliseconds()
		add(MetricRuns, 0, 1, max(took, 1))
		add(MetricDuration, 0, took, 0)
	}
}

// standing is the metric in which an instance of this status is counted; "" when it
// has ended or was never there.
func standing(s domain.Status) string {
	switch s.State {
	case domain.Running:
		return s.Phase()
	case domain.Retrying:
		return MetricRetrying
	}
	return ""
}

// failures is +1 when an instance comes to stand as failed, −1 when it leaves.
func failures(c domain.Change) int64 {
	was, is := c.From.State == domain.Failed, c.Instance.State == domain.Failed
	switch {
	case is && !was:
		return 1
	case was && !is:
		return -1
	}
	return 0
}

// started reports the start of the first try of what was due by its time: noted as such, or, when the start and
// the end came in one batch, seen at its end. What was taken back before its start
// does not make it a later try.
func started(c domain.Change) bool {
	in := c.Instance
	tries := in.RetriesUsed
	if c.Move == domain.MoveRetry {
		tries-- // the one that this move asks for
	}
	if in.RunNo != 1 || in.Trigger == domain.TriggerBackfill || tries > 0 || in.LostCount > 0 || in.StartedAt.IsZero() {
		return false
	}
	return c.Move == domain.MoveStart || !in.IsSplit() && c.From.Label == domain.Dispatched && (in.State.Terminal() || in.State == domain.Retrying)
}

// ran reports the end of a run that was under way, so that waiting for a retry or
// for a person is no duration.
func ran(c domain.Change) bool {
	if !c.Instance.State.Terminal() || c.Instance.StartedAt.IsZero() {
		return false
	}
	switch c.From.Label {
	case domain.Dispatched, domain.Executing, domain.Stopping:
		return true
	}
	return c.Move == domain.MoveSucceed
}

// Delay is start − max(expected time, dependencies met), never below 0.
func Delay(in domain.Instance) time.Duration {
	due := in.Expected
	if in.MetAt.After(due) {
		due = in.MetAt
	}
	return max(in.StartedAt.Sub(due), 0)
}

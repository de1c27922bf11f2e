package board

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/axsched/ax/modules/board/store"
	"github.com/axsched/ax/modules/domain"
)

// Reader reads figures and the graph back. Safe for concurrent use.
type Reader struct {
	Store     *store.Store
	Instances Instances
	Jobs      Jobs
	Deps      Deps           // nil: what ran waited for nothing
	Plans     Plans          // nil: nothing is known of what did not run
	Zone      *time.Location // in which a day is counted
}

// Day is the figures of one day, as of a moment in it. An instance belongs to the day
// on which it was made. A nil figure could not be read.
type Day struct {
	Date     domain.BizDate
	Zone     *time.Location
	From, To time.Time // the day, [From, To)
	Ever     bool      // anything was ever made

	Instances *Made
	Failures  *Failures
	Delay     *DelayOf
	Longest   []Long // longest first, at most four; nil: unread
	Top       []Failing
}

// Made counts instances; those that have not ended stand apart.
type Made struct {
	Total                                int64
	Waiting, Queued, Executing, Retrying int64
	// Before is how many there were yesterday at this time; meaningful with HasBefore.
	Before    int64
	HasBefore bool
	Hours     []Hour
}

// Ended is how many of them have ended.
func (m Made) Ended() int64 {
	return max(m.Total-m.Waiting-m.Queued-m.Executing-m.Retrying, 0)
}

// Hour is one hour of the day; a day has 23 to 25 of them.
type Hour struct {
	At           time.Time
	Made, Failed int64
}

// Failures counts instances that stand as failed.
type Failures struct {
	Total int64
	Rate  float64 // of those that ended
}

// DelayOf is the mean delay of first starts.
type DelayOf struct {
	Mean   time.Duration // 0 without starts
	Starts int64
	Points []Delayed // one a bucket, from the first of the day to now
}

// Delayed is the mean delay of one bucket; without starts it says nothing.
type Delayed struct {
	At     time.Time
	Mean   time.Duration
	Starts int64
}

// Long is one of the longest runs.
type Long struct {
	Instance domain.Instance
	Job      domain.JobName
	Took     time.Duration
}

// Failing is one of the jobs that failed most.
type Failing struct {
	Job    domain.JobName
	Failed int64
	Blocks int             // jobs that depend on it
	Days   []domain.JobDay // newest first
}

// The sizes of the lists.
const (
	topFailing = 5
	topLongest = 4
	stripDays  = 14
)

// Read gives the figures of the day that now is in, over the projects. What could not
// be read is nil, and why is in the error; the rest stands all the same.
func (r *Reader) Read(ctx context.Context, now time.Time, seen domain.ProjectSet) (Day, error) {
	d := r.dayOf(now)
	if seen.Empty() {
		seen = domain.ProjectSet{IDs: []domain.ID{-1}} // none, and figures of zero
	}
	var projects []domain.ID
	if !seen.All {
		projects = seen.IDs
	}
	var err error
	if d.Ever, err = r.Store.Any(ctx); err != nil {
		d.Ever = true
		return d, err
	}
	yesterday := d.Date.AddDays(-1).Start(r.Zone)
	all, err := r.Store.Whole(ctx, projects, yesterday, d.To)
	if err != nil {
		return d, err
	}
	d.count(all, now)
	var longest, top error
	d.Longest, longest = r.longest(ctx, all, d.From)
	d.Top, top = r.top(ctx, projects, d)
	return d, errors.Join(longest, top)
}

func (r *Reader) dayOf(now time.Time) Day {
	date := domain.BizDateOf(now, r.Zone)
	return Day{Date: date, Zone: r.Zone, From: date.Start(r.Zone), To: date.AddDays(1).Start(r.Zone)}
}

// count fills in the figures that counters alone give.
func (d *Day) count(all []store.Counter, now time.Time) {
	made, failures, delay := &Made{}, &Failures{}, &DelayOf{}
	for at := d.From; at.Before(d.To); at = at.Add(time.Hour) {
		made.Hours = append(made.Hours, Hour{At: at})
	}
	for at := d.From; !at.After(now); at = at.Add(Bucket) {
		delay.Points = append(delay.Points, Delayed{At: at})
	}
	var waited int64
	for _, c := range all {
		if c.Bucket.Before(d.From) {
			if c.Metric == MetricInstances && !c.Bucket.After(now.Add(-24*time.Hour)) {
				made.Before, made.HasBefore = made.Before+c.Total, true
			}
			continue
		}
		hour := &made.Hours[min(int(c.Bucket.Sub(d.From)/time.Hour), len(made.Hours)-1)]
		point := &Delayed{}
		if i := int(c.Bucket.Sub(d.From) / Bucket); i < len(delay.Points) {
			point = &delay.Points[i]
		}
		switch c.Metric {
		case MetricInstances:
			made.Total, hour.Made = made.Total+c.Total, hour.Made+c.Total
		case MetricFailed:
			failures.Total, hour.Failed = failures.Total+c.Total, hour.Failed+c.Total
		case MetricWaiting:
			made.Waiting += c.Total
		case MetricQueued:
			made.Queued += c.Total
		case MetricExecuting:
			made.Executing += c.Total
		case MetricRetrying:
			made.Retrying += c.Total
		case MetricStarts:
			delay.Starts, point.Starts = delay.Starts+c.Total, point.Starts+c.Total
		case MetricDelay:
			waited, point.Mean = waited+c.Total, point.Mean+time.Duration(c.Total)*time.Millisecond
		}
	}
	delay.settle(waited)
	if ended := made.Ended(); ended > 0 {
		failures.Rate = float64(failures.Total) / float64(ended)
	}
	d.Instances, d.Failures, d.Delay = made, failures, delay
}

// settle turns sums into means.
func (f *DelayOf) settle(waitedMs int64) {
	if f.Starts > 0 {
		f.Mean = time.Duration(waitedMs) * time.Millisecond / time.Duration(f.Starts)
	}
	for i, p := range f.Points {
		if p.Starts > 0 {
			f.Points[i].Mean = p.Mean / time.Duration(p.Starts)
		}
	}
}

// longest ranks the longest run of each bucket.
func (r *Reader) longest(ctx context.Context, all []store.Counter, from time.Time) ([]Long, error) {
	peaks := slices.DeleteFunc(slices.Clone(all), func(c store.Counter) bool {
		return c.Metric != MetricRuns || c.Bucket.Before(from) || c.PeakInstance == 0
	})
	slices.SortFunc(peaks, func(a, b store.Counter) int {
		return cmp.Or(cmp.Compare(b.Peak, a.Peak), cmp.Compare(a.PeakInstance, b.PeakInstance))
	})
	peaks = peaks[:min(len(peaks), topLongest)]
	out := []Long{}
	if len(peaks) == 0 {
		return out, nil
	}
	ids := make([]domain.ID, len(peaks))
	for i, c := range peaks {
		ids[i] = c.PeakInstance
	}
	found, err := r.Instances.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	jobs := make([]domain.ID, 0, len(found))
	for _, in := range found {
		jobs = append(jobs, in.JobID)
	}
	names, err := r.Jobs.NamesOf(ctx, jobs)
	if err != nil {
		return nil, err
	}
	for _, c := range peaks {
		if in, ok := found[c.PeakInstance]; ok {
			out = append(out, Long{in, names[in.JobID], time.Duration(c.Peak) * time.Millisecond})
		}
	}
	return out, nil
}

// top ranks the jobs that failed most.
func (r *Reader) top(ctx context.Context, projects []domain.ID, d Day) ([]Failing, error) {
	most, err := r.Store.Most(ctx, projects, MetricFailed, d.From, d.To, topFailing)
	if err != nil {
		return nil, err
	}
	out := []Failing{}
	if len(most) == 0 {
		return out, nil
	}
	jobs := make([]domain.ID, len(most))
	for i, m := range most {
		jobs[i] = m.Job
	}
	names, err := r.Jobs.NamesOf(ctx, jobs)
	if err != nil {
		return nil, err
	}
	days, err := r.Instances.LatestDays(ctx, jobs, stripDays)
	if err != nil {
		return nil, err
	}
	blocks, err := r.Jobs.Dependents(ctx, jobs)
	if err != nil {
		return nil, err
	}
	for _, m := range most {
		out = append(out, Failing{Job: names[m.Job], Failed: m.Total, Blocks: blocks[m.Job], Days: days[m.Job]})
	}
	return out, nil
}

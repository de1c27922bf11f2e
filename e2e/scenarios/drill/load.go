package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// beat is from one fire of a job to its next, unless its kind says otherwise. A minute is a multiple of it.
const beat = 6 * time.Second

// pairEach is from one pair of jobs, of which the second needs the first, to the next pair.
const pairEach = 3 * time.Second

// kind is a sort of jobs: what they do, and what their owner said about trouble.
type kind struct {
	name    string
	n       int           // jobs
	noop    bool          // takes no process, so it writes no diary
	work    string        // the shell command; empty: nothing but the diary
	every   time.Duration // from one fire to the next; a minute is a multiple of it. 0: beat
	wait    bool          // on_worker_lost: wait, so two of its attempts must never be alive at once
	overlap string        // allow unless given; else two fires of a job must never be alive at once
	flaky   bool          // the first attempt fails
	spare   []string      // ends beside success that the job's own policies explain, as state/label
}

// kinds fire 1,000 times a minute: 95 jobs each six seconds, ten each minute, and twenty pairs a minute. long is how
// long the longest tasks take, which are to outlive a fault.
func kinds(long time.Duration) []*kind {
	nap := fmt.Sprintf("sleep %.0f", long.Seconds())
	return []*kind{
		{name: "noop", n: 49, noop: true},
		{name: "quick", n: 20},
		{name: "work", n: 8, work: "sleep 3"},
		{name: "careful", n: 8, work: "sleep 2", wait: true},
		{name: "long", n: 5, work: nap, every: time.Minute},
		{name: "long_careful", n: 5, work: nap, every: time.Minute, wait: true},
		{name: "flaky", n: 4, work: "test {{attempt}} -gt 1", flaky: true},
		{name: "queue", n: 2, work: "sleep 4", wait: true, overlap: "queue", spare: []string{"cancelled/skipped"}},
		{name: "skip", n: 2, work: "sleep 7", wait: true, overlap: "skip", spare: []string{"cancelled/skipped"}},
		{name: "replace", n: 1, work: "sleep 4", wait: true, overlap: "replace", spare: []string{"cancelled/killed"}},
		{name: "chased", n: 1, work: "sleep 7", wait: true, overlap: "replace", spare: []string{"cancelled/killed"}},
		{name: firstOfPair, work: "sleep 0.2"},
		{name: secondOfPair},
	}
}

// The kinds of the jobs that fire once, in pairs.
const (
	firstOfPair  = "first"
	secondOfPair = "second"
)

// free reports whether nothing but the scheduler and the queue decides when a fire starts, so that its lateness
// counts.
func (k *kind) free() bool { return k.overlap == "" && k.name != secondOfPair }

// job is one job with all its planned fires, computed here and nowhere else.
type job struct {
	*kind
	name  string
	needs string // the job that it depends on
	phase int    // fires at seconds that leave this remainder by its kind's every
	once  time.Time
}

// load is everything that is put into force.
type load struct {
	jobs     []*job
	byName   map[string]*job
	kinds    map[string]*kind
	from, to time.Time // the fires of [from, to) are judged
}

// newLoad has the jobs that fire again and again; window adds the pairs.
func newLoad(long time.Duration) *load {
	l := &load{byName: map[string]*job{}, kinds: map[string]*kind{}}
	for _, k := range kinds(long) {
		l.kinds[k.name] = k
		if k.every == 0 {
			k.every = beat
		}
		for i := range k.n {
			phase := len(l.jobs) * int(k.every/beat) % int(k.every.Seconds())
			l.add(&job{kind: k, name: fmt.Sprintf("%s_%02d", k.name, i), phase: phase})
		}
	}
	return l
}

// window has the fires of [from, to), whole seconds, judged, and adds the pairs that fire in it.
func (l *load) window(from, to time.Time) {
	l.from, l.to = from, to
	for i, at := 0, from; at.Before(to); i, at = i+1, at.Add(pairEach) {
		up := &job{kind: l.kinds[firstOfPair], name: fmt.Sprintf("first_%04d", i), once: at}
		l.add(up)
		l.add(&job{kind: l.kinds[secondOfPair], name: fmt.Sprintf("second_%04d", i), once: at, needs: up.name})
	}
}

func (l *load) add(j *job) {
	l.jobs = append(l.jobs, j)
	l.byName[j.name] = j
}

// fires are the planned fires of the job in [from, to), Unix milliseconds.
func (j *job) fires(from, to time.Time) []int64 {
	if !j.once.IsZero() {
		if j.once.Before(from) || !j.once.Before(to) {
			return nil
		}
		return []int64{j.once.UnixMilli()}
	}
	var out []int64
	step := int64(j.every.Seconds())
	for sec := from.Unix(); sec < to.Unix(); sec++ {
		if sec%step == int64(j.phase) {
			out = append(out, sec*1000)
		}
	}
	return out
}

// planned is how many fires are judged.
func (l *load) planned() (n int) {
	for _, j := range l.jobs {
		n += len(j.fires(l.from, l.to))
	}
	return n
}

// yaml is the file of the jobs that fire again and again.
func (l *load) yaml(d *setup.Diary, enabled bool) string { return l.file(d, enabled, false) }

// pairs is the file of those that fire once.
func (l *load) pairs(d *setup.Diary) string { return l.file(d, true, true) }

func (l *load) file(d *setup.Diary, enabled, once bool) string {
	var docs []string
	for _, j := range l.jobs {
		if j.once.IsZero() != once {
			docs = append(docs, j.yaml(d, enabled))
		}
	}
	return strings.Join(docs, "---\n")
}

func (j *job) yaml(d *setup.Diary, enabled bool) string {
	var b strings.Builder
	overlap := j.overlap
	if overlap == "" {
		overlap = "allow"
	}
	fmt.Fprintf(&b, "version: v1\njob:\n  name: %s\n  timezone: UTC\n  overlap: %s\n  misfire: fire_all\n  timeout: 120\n  retry: {times: 3, interval: 2}\n  enabled: %v\n", j.name, overlap, enabled)
	switch {
	case !j.once.IsZero():
		fmt.Fprintf(&b, "  at: %q\n", j.once.UTC().Format(time.RFC3339))
	case j.every == time.Minute:
		fmt.Fprintf(&b, "  cron: \"%d * * * * *\"\n  dialect: seconds\n", j.phase)
	default:
		fmt.Fprintf(&b, "  cron: \"%d-59/%d * * * * *\"\n  dialect: seconds\n", j.phase, int(j.every.Seconds()))
	}
	if j.wait {
		b.WriteString("  on_worker_lost: wait\n")
	}
	if j.needs != "" {
		fmt.Fprintf(&b, "  deps:\n    - name: %s\n      biz_date: current\n      check: success\n", j.needs)
	}
	if j.noop {
		b.WriteString("  exec: {type: noop}\n")
	} else {
		fmt.Fprintf(&b, "  exec:\n    type: shell\n    command: |\n      %s\n", d.Command(j.name, j.work))
	}
	return b.String()
}

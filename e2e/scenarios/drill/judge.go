package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// finding is one thing that must not be.
type finding struct {
	Kind string `json:"kind"` // lost, doubled or wrong
	Text string `json:"text"`
}

// The kinds of findings.
const (
	isLost    = "lost"
	isDoubled = "doubled"
	isWrong   = "wrong"
)

// verdict is what is to be said of a drill.
type verdict struct {
	findings []finding
	counts   map[string]int // of findings, by kind

	planned, fired, skipped int
	repeated                int // runs that began again because a worker was lost, as on_worker_lost says
	late                    []lateness
	max                     time.Duration
	calm                    time.Duration // from the beginning of the fault until p99 of lateness is below the limit for good
	elsewhere               []time.Duration
	elsewhereWait           []time.Duration // of jobs that say wait
}

// lateness is by how much a fire started after its expected time.
type lateness struct {
	at   int64 // expected, Unix milliseconds
	late time.Duration
}

// lateLimit is the lateness below which the system counts as recovered.
const lateLimit = 2 * time.Second

// judge compares what AX says with what the world outside says.
func judge(f *facts) *verdict {
	v := &verdict{counts: map[string]int{}, planned: f.load.planned()}
	lives := make(map[lifeKey]*life, len(f.lives))
	for _, l := range f.lives {
		lives[lifeKey{l.Trace, l.Attempt}] = l
	}
	v.fires(f)
	for _, in := range f.instances {
		j := f.load.byName[in.job]
		if j == nil {
			v.find(isWrong, "%s at %s is of no job of this drill", in.job, moment(in.expected))
			continue
		}
		v.instance(j, in, lives)
	}
	v.diary(f, lives)
	v.order(f, lives)
	v.ledger(f)
	for _, s := range f.stale {
		v.find(isWrong, "%s, run %s, read \"executing\" although attempt %d had been gone for %s", s.job, s.trace, s.attempt, s.gone.Round(100*time.Millisecond))
	}
	v.recovery(f.begun)
	v.elsewheres(f, lives)
	return v
}

func (v *verdict) find(kind, format string, args ...any) {
	v.counts[kind]++
	v.findings = append(v.findings, finding{kind, fmt.Sprintf(format, args...)})
}

// fires looks for each planned fire: there must be one instance, or a reason on paper.
func (v *verdict) fires(f *facts) {
	type fire struct {
		job string
		at  int64
	}
	there := map[fire]int{}
	for _, in := range f.instances {
		there[fire{in.job, in.expected}]++
	}
	for at, n := range there {
		if n > 1 {
			v.find(isDoubled, "%s at %s has %d instances", at.job, moment(at.at), n)
		}
	}
	v.fired = len(there)
	for _, j := range f.load.jobs {
		for _, at := range j.fires(f.load.from, f.load.to) {
			key := fire{j.name, at}
			if there[key] > 0 {
				delete(there, key)
				continue
			}
			v.absent(f, j, at)
		}
	}
	for at := range there {
		v.find(isWrong, "%s at %s was not planned", at.job, moment(at.at))
	}
}

// absent looks for the reason of a planned fire that has no instance.
func (v *verdict) absent(f *facts, j *job, at int64) {
	i := slices.IndexFunc(f.gaps, func(g gap) bool { return g.job == j.name && g.from <= at && at <= g.to })
	switch {
	case i < 0:
		v.find(isLost, "%s at %s: no instance and no reason", j.name, moment(at))
	case f.gaps[i].kind == "skipped" && j.overlap != "":
		v.skipped++
	default:
		v.find(isLost, "%s at %s: %s: %s", j.name, moment(at), f.gaps[i].kind, f.gaps[i].reason)
	}
}

// instance judges one by its rows and by the diary.
func (v *verdict) instance(j *job, in *instance, lives map[lifeKey]*life) {
	name := fmt.Sprintf("%s at %s (run %s)", in.job, moment(in.expected), in.trace)
	switch {
	case !in.ended():
		v.find(isWrong, "%s is still %s", name, in.status())
	case in.status() == "cancelled/skipped" && slices.Contains(j.spare, in.status()):
		v.skipped++
	case in.state != "success" && !slices.Contains(j.spare, in.status()):
		v.find(isLost, "%s ended %s: %s", name, in.status(), in.message)
	}
	if in.made < in.expected {
		v.find(isWrong, "%s was made at %s, before it was due", name, moment(in.made))
	}
	var wins, errors, ends int
	var before *attempt
	for _, a := range in.attempts {
		l := lives[lifeKey{in.trace, a.ordinal}]
		if l != nil && !l.End.IsZero() {
			ends++
		}
		switch {
		case a.outcome == "success":
			wins++
		case a.outcome == "error" || a.outcome == "timeout":
			errors++
			if !j.flaky || a.ordinal > 1 {
				v.find(isWrong, "%s: attempt %d counts as %s: %s", name, a.ordinal, a.outcome, a.message)
			}
		}
		if a.granted > 0 {
			v.grant(name, before, a)
			before = a
		}
	}
	v.repeated += max(0, beganOf(in, lives)-1-in.retries)
	if wins > 1 {
		v.find(isDoubled, "%s succeeded %d times", name, wins)
	}
	if in.retries > errors {
		v.find(isWrong, "%s: %d retries spent, %d attempts failed", name, in.retries, errors)
	}
	if in.state == "success" && !j.noop && ends == 0 {
		v.find(isWrong, "%s reads success, and no attempt noted its end in the diary", name)
	}
	if first := firstStart(in, lives); first > 0 && j.free() {
		v.late = append(v.late, lateness{in.expected, time.Duration(first-in.expected) * time.Millisecond})
	}
}

// grant judges a grant by the one before it.
func (v *verdict) grant(name string, before, a *attempt) {
	switch {
	case before == nil:
	case before.outcome == "success":
		v.find(isDoubled, "%s: attempt %d had succeeded and attempt %d was granted", name, before.ordinal, a.ordinal)
	case before.over == 0 || a.granted < before.over:
		v.find(isDoubled, "%s: attempt %d was granted at %s, while attempt %d was in force (until %s)", name, a.ordinal, moment(a.granted), before.ordinal, moment(before.over))
	}
}

// beganOf is how many attempts of the instance began to run.
func beganOf(in *instance, lives map[lifeKey]*life) (n int) {
	for _, a := range in.attempts {
		if lives[lifeKey{in.trace, a.ordinal}] != nil || a.began > 0 {
			n++
		}
	}
	return n
}

// diary judges what really ran: each start was granted, none twice, and never two at once where that was forbidden.
func (v *verdict) diary(f *facts, lives map[lifeKey]*life) {
	for _, line := range f.torn {
		v.find(isWrong, "a torn line in the diary: %s", line)
	}
	granted := map[lifeKey]bool{}
	for _, in := range f.instances {
		for _, a := range in.attempts {
			granted[lifeKey{in.trace, a.ordinal}] = a.granted > 0
		}
	}
	last := map[string]*life{} // by what must not be alive twice
	for _, l := range f.lives {
		if l.Expected < f.load.from.UnixMilli() || l.Expected >= f.load.to.UnixMilli() {
			continue
		}
		name := fmt.Sprintf("%s at %s (run %s), attempt %d", l.Job, moment(l.Expected), l.Trace, l.Attempt)
		if !granted[lifeKey{l.Trace, l.Attempt}] {
			v.find(isWrong, "%s began without a grant", name)
		}
		if l.Start.UnixMilli() < l.Expected {
			v.find(isWrong, "%s began at %s, before it was due", name, l.Start.UTC().Format(clockForm))
		}
		if l.Again > 0 {
			v.find(isDoubled, "%s began %d times", name, l.Again+1)
		}
		key := l.Trace
		j := f.load.byName[l.Job]
		switch {
		case j == nil || !j.wait:
			continue
		case j.overlap != "":
			key = l.Job
		}
		if was := last[key]; was != nil && l.Start.Before(was.until()) {
			v.find(isDoubled, "%s began while attempt %d of %s (run %s) was alive, by %s", name, was.Attempt, moment(was.Expected), was.Trace, was.until().Sub(l.Start))
		}
		if was := last[key]; was == nil || was.until().Before(l.until()) {
			last[key] = l
		}
	}
}

// order judges that nothing began before what it needs had succeeded.
func (v *verdict) order(f *facts, lives map[lifeKey]*life) {
	ends := map[string]time.Time{} // the first end that was noted, by job
	for _, l := range f.lives {
		if was, ok := ends[l.Job]; !l.End.IsZero() && (!ok || l.End.Before(was)) {
			ends[l.Job] = l.End
		}
	}
	for _, l := range f.lives {
		j := f.load.byName[l.Job]
		if j == nil || j.needs == "" {
			continue
		}
		if end, ok := ends[j.needs]; !ok || l.Start.Before(end) {
			v.find(isWrong, "%s began at %s, before %s had ended", l.Job, l.Start.Format(clockForm), j.needs)
		}
	}
}

// ledger holds AX's own books against the plan.
func (v *verdict) ledger(f *facts) {
	if f.books == nil {
		return
	}
	of := map[string]books{}
	for _, b := range f.books {
		of[b.Job] = b
	}
	for _, j := range f.load.jobs {
		n := len(j.fires(f.load.from, f.load.to))
		if n == 0 {
			continue
		}
		if b := of[j.name]; !b.Balanced || b.Planned != n || b.Fired+b.Skipped+b.Missed != n {
			v.find(isWrong, "the ledger of %s has planned %d, fired %d, skipped %d, missed %d, pending %d; %d were planned", j.name, b.Planned, b.Fired, b.Skipped, b.Missed, b.Pending, n)
		}
	}
}

// recovery finds the first moment from the beginning of the fault on from which p99 of lateness stays below the limit.
func (v *verdict) recovery(begun time.Time) {
	slices.SortFunc(v.late, func(a, b lateness) int { return cmp.Compare(a.at, b.at) })
	for _, l := range v.late {
		v.max = max(v.max, l.late)
	}
	if begun.IsZero() {
		return
	}
	// From the end backwards: over counts the late ones among the fires from i on.
	calmFrom, over := begun.UnixMilli(), 0
	for i := len(v.late) - 1; i >= 0 && v.late[i].at >= begun.UnixMilli(); i-- {
		if v.late[i].late >= lateLimit {
			over++
		}
		if share := float64(over) / float64(len(v.late)-i); share > 0.01 && v.late[i].late >= lateLimit {
			calmFrom = max(calmFrom, v.late[i].at+1000) // fires come by the second
			break
		}
	}
	v.calm = time.Duration(calmFrom-begun.UnixMilli()) * time.Millisecond
}

// elsewheres measures from the loss of a worker until what it ran began anew.
func (v *verdict) elsewheres(f *facts, lives map[lifeKey]*life) {
	if f.begun.IsZero() {
		return
	}
	for _, in := range f.instances {
		for i, a := range in.attempts {
			l := lives[lifeKey{in.trace, a.ordinal}]
			if l == nil || a.outcome != "worker_lost" || !slices.Contains(f.victims, a.target) || l.Start.After(f.begun) || l.until().Before(f.begun.Add(-2*lookEach)) {
				continue
			}
			for _, next := range in.attempts[i+1:] {
				again := lives[lifeKey{in.trace, next.ordinal}]
				if again == nil {
					continue
				}
				took := again.Start.Sub(f.begun)
				if f.load.byName[in.job].wait {
					v.elsewhereWait = append(v.elsewhereWait, took)
				} else {
					v.elsewhere = append(v.elsewhere, took)
				}
				break
			}
		}
	}
}

// p99 is that of the lateness of all fires.
func (v *verdict) p99() time.Duration {
	if len(v.late) == 0 {
		return 0
	}
	all := slices.Clone(v.late)
	slices.SortFunc(all, func(a, b lateness) int { return cmp.Compare(a.late, b.late) })
	return all[int(math.Ceil(0.99*float64(len(all))))-1].late
}

// clockForm is how moments are told.
const clockForm = "15:04:05.000"

func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format(clockForm) }

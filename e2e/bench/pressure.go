package main

import (
	"fmt"
	"time"
)

// pressurePart measures what becomes of everything else while very many instances are ready at once.
func (b *bench) pressurePart() *Part {
	s := b.real()
	p := &Part{Title: "Very many ready at once",
		Measured: fmt.Sprintf("“At once”: instances of jobs with %d past fires each are written into the tables in one transaction, with counters and latest of the day, as a scheduler would have written them. “Caught up”: such fires are overdue, as after ten minutes without a scheduler, and the scheduler takes them. Meanwhile two jobs of lane high are due each second, and pages are asked for, %d a second. Gaps are the longest that a moment stood still: the worker's heartbeat in Redis (each second), its row (each three seconds), the leases (each half second; peers take one away after 3 s). high: start − expected of lane high. Memory: the most that a process had resident.",
			perJob, pageRate)}
	noop := pick(b.options, 2000, 200)
	for _, w := range []wave{
		{"noop", []overdue{newOverdue(jobs{prefix: "ready", kind: "noop", n: noop})}, true},
		{"lanes", []overdue{newOverdue(jobs{prefix: "low", kind: "noop", lane: "low", n: noop}), newOverdue(jobs{prefix: "nap", kind: "nap", n: noop / 100})}, true},
		{"overdue", []overdue{newOverdue(jobs{prefix: "overdue", kind: "noop", n: noop / 4})}, false},
	} {
		s.press(p, w)
	}
	return p
}

// wave is what becomes ready at once.
type wave struct {
	key      string
	sets     []overdue
	inserted bool // by the bench, in one transaction; else taken by the scheduler
}

func (w wave) size() (n int) {
	for _, o := range w.sets {
		n += o.fires()
	}
	return n
}

func (w wave) title() string {
	text := ""
	for i, o := range w.sets {
		if i > 0 {
			text += " + "
		}
		text += number(float64(o.fires()), 0) + " " + o.name()
	}
	if w.inserted {
		return text + ", at once"
	}
	return text + ", caught up"
}

// highJobs are due each second in lane high.
func highJobs(w wave) []jobs {
	return []jobs{
		{prefix: "high_" + w.key + "_noop", kind: "noop", lane: "high", schedule: "every: 1s", n: 1},
		{prefix: "high_" + w.key + "_shell", kind: "shell", lane: "high", schedule: "every: 1s", n: 1},
	}
}

// press lets one wave come, waits until all of it has ended, and writes the rows.
func (s *stage) press(p *Part, w wave) {
	if len(p.Tables) == 0 {
		p.table("work", "ready at once", Column{"seconds", "all ended after, s", 1}, Column{"ended_rate", "ended/s", 0}, Column{"backlog", "not ended at most", 0},
			Column{"lost", "lost", 0}, Column{"doubled", "doubled", 0}, Column{"again", "sent again", 0})
		p.table("liveness", "meanwhile", livenessColumns()...)
		p.table("memory", "memory", memoryColumns()...)
	}
	for _, o := range w.sets {
		s.put(o.jobs)
	}
	high := highJobs(w)
	for _, j := range high {
		s.put(j)
	}
	s.pause(3 * time.Second) // a scheduler knows all of them, and the high ones have fired
	v, pages := s.watch(), s.readPages()
	since := s.newest()
	began := s.come(w)
	s.say("%s: all are due", w.title())
	limit := 4 * time.Minute
	if !s.until(limit, 500*time.Millisecond, func() bool { return s.pressed(w, since) }) {
		p.note("%s: not all had ended after %s; what had not is not counted.", w.title(), limit)
	}
	ended := time.Now()
	v.done()
	pages.done(p, "pages_"+w.key, "pages, "+w.title())
	s.judge(p, w, since, began)
	alive := p.Tables[1].row(w.key, w.title())
	s.highs(p, alive, high, since, began, ended)
	v.put(p, alive, p.Tables[2].row(w.key, w.title()))
}

// come makes the wave due and returns when it was.
func (s *stage) come(w wave) time.Time {
	if w.inserted {
		return s.insert(w.sets...)
	}
	for _, o := range w.sets {
		s.setBack(o)
	}
	return time.Time{}
}

// pressed reports whether the whole wave is there and has ended.
func (s *stage) pressed(w wave, since int64) bool {
	return s.number("SELECT COUNT(*) FROM instance WHERE id > ? AND lane <> 'high'", since) >= int64(w.size()) &&
		s.number("SELECT EXISTS (SELECT 1 FROM instance WHERE state IN ('running', 'retrying') AND id > ? AND lane <> 'high')", since) == 0
}

// judge writes what became of the wave, which began when the first was ready.
func (s *stage) judge(p *Part, w wave, since int64, began time.Time) {
	row := p.Tables[0].row(w.key, w.title())
	var lost, doubled, again, unended int
	for _, o := range w.sets {
		got := s.tally(o.jobs, since, o.first, o.last(), dueApart)
		lost, doubled, again, unended = lost+got.lost, doubled+got.doubled, again+got.again, unended+got.unended
	}
	first := began.UnixMilli()
	if began.IsZero() {
		first = s.number("SELECT MIN(ready_at) FROM instance WHERE id > ? AND lane <> 'high'", since)
	}
	last := s.number("SELECT MAX(finished_at) FROM instance WHERE id > ? AND lane <> 'high'", since)
	taken := s.number("SELECT MAX(created_at) FROM instance WHERE id > ? AND lane <> 'high'", since)
	done := s.number("SELECT COUNT(*) FROM instance WHERE id > ? AND lane <> 'high' AND finished_at BETWEEN 1 AND ?", since, taken)
	seconds := float64(last-first) / 1000
	row.put("seconds", seconds).put("ended_rate", float64(w.size()-unended)/seconds).put("backlog", float64(int64(w.size())-done))
	row.put("lost", float64(lost)).put("doubled", float64(doubled)).put("again", float64(again))
	p.Lost, p.Doubled = p.Lost+lost, p.Doubled+doubled
	s.say("%s: ended after %.1f s; %d lost, %d doubled, %d sent again, %d not ended", w.title(), seconds, lost, doubled, again, unended)
}

// highs stops the jobs of lane high and writes how late they were meanwhile.
func (s *stage) highs(p *Part, row *Row, high []jobs, since int64, began, ended time.Time) {
	for _, j := range high {
		s.until(30*time.Second, 200*time.Millisecond, func() bool { return s.disarm(j, ended) })
	}
	s.until(30*time.Second, 200*time.Millisecond, func() bool { return s.unended(since) == 0 })
	from := began
	if from.IsZero() {
		from = time.UnixMilli(s.number("SELECT MIN(ready_at) FROM instance WHERE id > ? AND lane <> 'high'", since))
	}
	from = from.Truncate(time.Second).Add(time.Second)
	to := ended.Truncate(time.Second)
	if to.Before(from) {
		p.note("%s: over before a whole second had passed, so nothing is said of lane high.", row.Name)
		return
	}
	for _, j := range high {
		anchor := s.number("SELECT MIN(expected_at) FROM instance WHERE id > ? AND job_name LIKE ? ESCAPE '!' AND expected_at >= ?", since, j.like(), from.UnixMilli())
		got := s.tally(j, since, time.UnixMilli(anchor), to, time.Second)
		p.Lost, p.Doubled = p.Lost+got.lost, p.Doubled+got.doubled
		var late []float64
		for _, ms := range got.late {
			late = append(late, ms...)
		}
		sp := spreadOf(late)
		row.put("high_"+j.kind+"_p50", sp.p50).put("high_"+j.kind+"_p99", sp.p99)
		if got.lost+got.doubled+got.unended > 0 {
			p.note("%s: of lane high %s, %d were lost, %d doubled and %d had not ended.", row.Name, j.kind, got.lost, got.doubled, got.unended)
		}
	}
}

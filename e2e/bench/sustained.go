package main

import (
	"fmt"
	"time"
)

// flood is a rate of instances that is held for a while.
type flood struct {
	rate   int
	warm   time.Duration
	window time.Duration
	aim    *Aim // of ended/s
}

func (b *bench) sustainedPart() *Part {
	s := b.real()
	s.idle()
	p := &Part{Title: "Sustained instances a second",
		Measured: fmt.Sprintf("%s noop jobs with `every: 1s`, spread over the second, after a warm-up; ended means success in the database, with full history. Meanwhile pages are asked for, %d a second. Then the floor on the same servers: the rows of an instance and an attempt inserted in batches, the same asynq hop, guarded updates of the same rows, nothing else.",
			number(float64(b.rate), 0), pageRate)}
	f := flood{rate: b.rate, warm: pick(b.options, 8*time.Second, 5*time.Second), window: pick(b.options, 60*time.Second, 20*time.Second), aim: atLeast(4000)}
	ended := s.flood(p, f)
	s.worker.Kill() // with a backlog it would take a while to end of itself
	s.center.Kill()
	s.floor(p, ended)
	return p
}

// flood holds the rate, measures the window and returns what ended in a second.
func (s *stage) flood(p *Part, f flood) float64 {
	j := jobs{prefix: "flood", kind: "noop", n: f.rate, schedule: "every: 1s"}
	since := s.newest()
	s.put(j)
	start := time.Now().Add(f.warm)
	s.wait(start)
	s.say("warm")
	pages := s.readPages()
	from, before := s.read(), s.standing(since)
	end := start.Add(f.window)
	s.wait(end)
	to, after, untaken := s.read(), s.standing(since), s.untaken(end)
	t := p.table("sustained", "sustained", sustainedColumns()...)
	row := t.row(fmt.Sprintf("noop_%d", f.rate), fmt.Sprintf("noop, %s/s due", number(float64(f.rate), 0)))
	pages.done(p, "pages", "pages meanwhile")
	s.say("the window is over; %d instances have not ended", after.unended)

	seconds := after.at.Sub(before.at).Seconds()
	n := after.ended - before.ended
	rate := float64(n) / seconds
	taken := float64(after.all-before.all) / seconds
	row.put("due_rate", float64(f.rate)).put("taken_rate", taken).aim("ended_rate", rate, f.aim)
	row.put("untaken", float64(untaken)).put("unended", float64(after.unended))
	bill(from, to, n, s.rest).put(row)
	s.settle(p, row, j, since, start, end)
	return rate
}

func sustainedColumns() []Column {
	return append([]Column{{"due_rate", "due/s", 0}, {"taken_rate", "taken/s", 0}, {"ended_rate", "ended/s", 0}, {"p50", "late p50 ms", 0}, {"p99", "p99 ms", 0},
		{"untaken", "due, not taken", 0}, {"unended", "taken, not ended", 0}, {"lost", "lost", 0}, {"doubled", "doubled", 0}}, costColumns()...)
}

// standing is how many instances there are, in one view of the tables.
type standing struct {
	at                  time.Time
	all, ended, unended int
}

func (s *stage) standing(since int64) standing {
	out := standing{at: time.Now()}
	s.each(func(scan func(...any)) {
		var state string
		var n int
		scan(&state, &n)
		out.all += n
		if state == "running" || state == "retrying" {
			out.unended += n
		} else {
			out.ended += n
		}
	}, "SELECT state, COUNT(*) FROM instance WHERE id > ? GROUP BY state", since)
	return out
}

// untaken counts the fires of jobs with every: 1s that are due at the moment and not taken.
func (s *stage) untaken(at time.Time) (n int64) {
	s.each(func(scan func(...any)) {
		var next int64
		scan(&next)
		n += 1 + (at.UnixMilli()-next)/1000
	}, "SELECT next_fire_at FROM `trigger` WHERE next_fire_at > 0 AND next_fire_at <= ?", at.UnixMilli())
	return n
}

// settle stops the jobs once all fires of the window are taken, waits until nothing is under way, and judges the
// window's fires: how late they were, and whether each is there once.
func (s *stage) settle(p *Part, row *Row, j jobs, since int64, start, end time.Time) {
	limit := pick(s.options, time.Minute, 30*time.Second)
	s.until(limit, 200*time.Millisecond, func() bool { return s.disarm(j, end) })
	s.until(limit, 500*time.Millisecond, func() bool { return s.unended(since) == 0 })
	got := s.tally(j, since, start, end.Add(-time.Millisecond), time.Second)
	var late []float64
	for _, ms := range got.late {
		late = append(late, ms...)
	}
	if sp := spreadOf(late); got.unended == 0 {
		row.put("p50", sp.p50).put("p99", sp.p99)
	} else {
		p.note("%d instances of the window had not ended %s after it, so lateness has no figures and nothing is said of these.", got.unended, limit)
	}
	row.put("lost", float64(got.lost)).put("doubled", float64(got.doubled))
	p.Lost, p.Doubled = p.Lost+got.lost, p.Doubled+got.doubled
	if got.again > 0 {
		p.note("%d instances were sent more than once.", got.again)
	}
}

package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// salvo is a number of jobs due in the same second, fired a few times.
type salvo struct {
	kind   string
	n      int
	rounds int
	pause  time.Duration // from one firing to the next; a minute is a multiple of it
	aim    *Aim          // of p99, in ms
}

// key is what the row and the flag call it.
func (v salvo) key() string { return fmt.Sprintf("%s_%d", v.kind, v.n) }

func (v salvo) name() string { return fmt.Sprintf("%s × %s", number(float64(v.n), 0), v.kind) }

// chosenSalvos are those of part a that the flag names.
func (o options) chosenSalvos() []salvo {
	if o.salvos == "" {
		return o.allSalvos()
	}
	keys := strings.Split(o.salvos, ",")
	return slices.DeleteFunc(o.allSalvos(), func(v salvo) bool { return !slices.Contains(keys, v.key()) })
}

// checkSalvos refuses names that are none.
func (o options) checkSalvos() error {
	if o.salvos == "" {
		return nil
	}
	all := o.allSalvos()
	for key := range strings.SplitSeq(o.salvos, ",") {
		if !slices.ContainsFunc(all, func(v salvo) bool { return v.key() == key }) {
			return fmt.Errorf("-salvos: there is no %q", key)
		}
	}
	return nil
}

// allSalvos are those of part a. Ten thousand shell tasks take half a minute, so they fire once.
func (o options) allSalvos() []salvo {
	s := func(seconds int) time.Duration { return time.Duration(seconds) * time.Second }
	all := []salvo{
		{"noop", 100, 3, s(3), atMost(50)},
		{"noop", 1000, 3, s(4), atMost(150)},
		{"noop", 10_000, 3, s(6), atMost(1500)},
		{"shell", 100, 3, s(3), nil},
		{"shell", 1000, 3, s(5), nil},
	}
	if !o.quick {
		all = append(all, salvo{"shell", 10_000, 1, s(10), nil})
	}
	return all
}

func (b *bench) latenessPart() *Part {
	s := b.real()
	s.idle()
	p := &Part{Title: "Lateness of jobs due in the same second",
		Measured: "Start − expected of N jobs with one cron second on MariaDB and Redis, over all firings but the first where that one differs (its p99 stands apart), and on the way there, of all firings, instance made (taken), attempt committed (sent) and granted; every planned fire is looked for in the tables."}
	t := p.table("lateness", "due in the same second", latenessColumns()...)
	for _, v := range b.chosenSalvos() {
		s.fire(p, t, v)
	}
	return p
}

func latenessColumns() []Column {
	return append([]Column{{"p50", "p50 ms", 0}, {"p99", "p99 ms", 0}, {"max", "max ms", 0}, {"first_p99", "first p99 ms", 0}, {"taken", "taken p99", 0}, {"sent", "sent p99", 0},
		{"granted", "granted p99", 0}, {"firings", "firings", 0}, {"lost", "lost", 0}, {"doubled", "doubled", 0}}, costColumns()...)
}

// fire lets the jobs fire and writes the row.
func (s *stage) fire(p *Part, t *Table, v salvo) {
	row := t.row(v.key(), v.name())
	got, cost := s.volley(p, v)
	got.put(row, v.aim)
	cost.put(row)
}

// volley puts the jobs into force, lets them fire, and returns what the tables say and what it took. Jobs of an earlier
// salvo of the same kind and size are the same jobs.
func (s *stage) volley(p *Part, v salvo) (tallied, cost) {
	j := jobs{prefix: v.key(), kind: v.kind, n: v.n}
	since := s.newest()
	first := s.schedule(&j, v)
	s.wait(first.Add(-500 * time.Millisecond))
	from := s.read()
	last := first
	for range v.rounds - 1 {
		last = last.Add(v.pause)
		s.wait(last)
	}
	s.until(2*time.Minute, 200*time.Millisecond, func() bool { return s.disarm(j, last) })
	s.until(2*time.Minute, 200*time.Millisecond, func() bool { return s.unended(since) == 0 })
	to := s.read()
	got := s.tally(j, since, first, last, v.pause)
	if got.unended > 0 {
		p.note("%s: %d instances had not ended two minutes after the last firing; the figures are without them.", v.name(), got.unended)
	}
	if got.again > 0 {
		p.note("%s: %d instances were sent more than once.", v.name(), got.again)
	}
	p.Lost, p.Doubled = p.Lost+got.lost, p.Doubled+got.doubled
	sp, _ := got.spread()
	s.say("%s: p99 %.0f ms in %d firings, %d lost, %d doubled", v.name(), sp.p99, len(got.late), got.lost, got.doubled)
	return got, bill(from, to, got.n, s.rest)
}

// schedule applies the jobs with a cron that first fires soon after, and returns that moment.
func (s *stage) schedule(j *jobs, v salvo) time.Time {
	const loaded = 6 * time.Second // until a scheduler has certainly read what was put into force
	need := 2 * time.Second        // files are followed by a nudge
	if v.n > mostApplied {
		need = loaded
	}
	first := time.Now().Add(need + time.Duration(min(v.n, mostApplied))*applyCost + time.Second).Truncate(time.Second)
	seconds := make([]string, 0, 60)
	every := int(v.pause.Seconds())
	for sec := first.Second() % every; sec < 60; sec += every {
		seconds = append(seconds, strconv.Itoa(sec))
	}
	j.schedule = "cron: \"" + strings.Join(seconds, ",") + " * * * * *\"\ndialect: seconds"
	s.put(*j)
	for time.Until(first) < need {
		first = first.Add(v.pause)
	}
	return first
}

// applyCost is roughly what applying one job takes.
const applyCost = 3 * time.Millisecond

// tallied is what the tables say about the firings of some jobs.
type tallied struct {
	late map[int64][]float64 // ms, by expected time
	// ms from the expected time until the instance stood in the database, its attempt was committed, and was granted
	taken, sent, granted []float64
	n                    int // instances
	unended              int
	lost                 int
	doubled              int
	again                int // ended well, and sent more than once
}

// tally reads the firings from first to last. A fire that has no instance, or one that ended without success, is lost;
// one with two instances or with two grants is doubled; one that is still under way is neither.
func (s *stage) tally(j jobs, since int64, first, last time.Time, pause time.Duration) tallied {
	out := tallied{late: map[int64][]float64{}}
	fires := map[string]int{} // instances by fire
	where := "i.id > ? AND i.job_name LIKE ? ESCAPE '!' AND i.expected_at BETWEEN ? AND ?"
	args := []any{since, j.like(), first.UnixMilli(), last.UnixMilli()}
	s.each(func(scan func(...any)) {
		var job, key, state string
		var expected, created, sent, granted, started, attempts int64
		scan(&job, &key, &state, &expected, &created, &sent, &granted, &started, &attempts)
		out.n++
		fires[job+"/"+key]++
		switch {
		case state == "running" || state == "retrying":
			out.unended++
			return
		case state != "success":
			out.lost++
			return
		case attempts != 1:
			out.again++
		}
		out.late[expected] = append(out.late[expected], float64(started-expected))
		out.taken = append(out.taken, float64(created-expected))
		out.sent = append(out.sent, float64(sent-expected))
		out.granted = append(out.granted, float64(granted-expected))
	}, "SELECT i.job_id, i.fire_key, i.state, i.expected_at, i.created_at, COALESCE(a.dispatched_at, 0), COALESCE(a.granted_at, 0), i.started_at, i.attempts "+
		"FROM instance i LEFT JOIN attempt a ON a.id = i.attempt_id WHERE "+where, args...)
	for _, n := range fires {
		out.doubled += n - 1
	}
	planned := j.n * (int(last.Sub(first)/pause) + 1)
	out.lost += max(planned-len(fires), 0)
	out.doubled += int(s.number("SELECT COUNT(*) FROM (SELECT i.id FROM instance i JOIN attempt a ON a.instance_id = i.id WHERE "+where+
		" AND a.granted_at > 0 GROUP BY i.id HAVING COUNT(*) > 1) twice", args...))
	return out
}

// differs is by how much the first firing's p99 must exceed that of the others to stand apart.
const differs = 1.3

// spread is that of all firings; of all but the first, whose p99 is returned, where that one differs.
func (t tallied) spread() (sp spread, first float64) {
	moments := slices.Sorted(maps.Keys(t.late))
	var all, rest []float64
	for i, at := range moments {
		all = append(all, t.late[at]...)
		if i > 0 {
			rest = append(rest, t.late[at]...)
		}
	}
	if len(rest) > 0 {
		if cold := spreadOf(t.late[moments[0]]); cold.p99 > differs*spreadOf(rest).p99 {
			return spreadOf(rest), cold.p99
		}
	}
	return spreadOf(all), math.NaN()
}

// put writes the figures.
func (t tallied) put(row *Row, aim *Aim) {
	sp, first := t.spread()
	row.put("p50", sp.p50).aim("p99", sp.p99, aim).put("max", sp.max).put("first_p99", first)
	row.put("taken", spreadOf(t.taken).p99).put("sent", spreadOf(t.sent).p99).put("granted", spreadOf(t.granted).p99)
	row.put("firings", float64(len(t.late))).put("lost", float64(t.lost)).put("doubled", float64(t.doubled))
}

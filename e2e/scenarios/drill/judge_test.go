package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// world is facts in which all is well, and ways to spoil them.
type world struct {
	*facts
	of map[string]*instance // by job: its first
}

// begunAt is when the judged fires of the tests begin.
var begunAt = time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)

func good() *world {
	w := &world{facts: &facts{load: newLoad(45 * time.Second)}, of: map[string]*instance{}}
	w.load.window(begunAt, begunAt.Add(time.Minute))
	id := int64(0)
	for _, j := range w.load.jobs {
		n := 0
		for _, at := range j.fires(w.load.from, w.load.to) {
			id++
			n++
			in := &instance{id: id, job: j.name, expected: at, made: at + 5, state: "success", trace: fmt.Sprintf("trace-%d", id)}
			w.facts.instances = append(w.facts.instances, in)
			start := at + 100
			if j.needs != "" {
				start += 300
			}
			if j.flaky {
				in.retries = 1
				w.attempt(in, "error", start, 0)
				start += 2000
			}
			w.attempt(in, "success", start, start+50)
			if w.of[j.name] == nil {
				w.of[j.name] = in
			}
		}
		w.facts.books = append(w.facts.books, books{Job: j.name, Planned: n, Fired: n, Balanced: true})
	}
	return w
}

// attempt adds one that was granted and, unless the job is a noop, a life in the diary. end 0: it noted none.
func (w *world) attempt(in *instance, outcome string, start, end int64) *attempt {
	a := &attempt{ordinal: len(in.attempts) + 1, state: "ended", outcome: outcome, target: "w1", sent: start - 50, granted: start - 20, began: start, over: max(end, start+10)}
	in.attempts = append(in.attempts, a)
	if j := w.load.byName[in.job]; !j.noop {
		l := &life{Job: in.job, Trace: in.trace, Attempt: a.ordinal, Expected: in.expected, Start: time.UnixMilli(start), Seen: time.UnixMilli(start + 5), Gone: end == 0}
		if end > 0 {
			l.End = time.UnixMilli(end)
		}
		w.lives = append(w.lives, l)
	}
	return a
}

// life is the latest of an instance.
func (w *world) life(in *instance) *life {
	i := slices.IndexFunc(w.lives, func(l *life) bool { return l.Trace == in.trace && l.Attempt == len(in.attempts) })
	return w.lives[i]
}

func TestJudgeFindsNothingWhereAllIsWell(t *testing.T) {
	v := judge(good().facts)
	if len(v.findings) > 0 || v.planned != v.fired || v.planned != 1000 || v.repeated != 0 {
		t.Errorf("%+v, planned %d, fired %d, repeated %d", v.findings, v.planned, v.fired, v.repeated)
	}
	if v.max != 100*time.Millisecond {
		t.Errorf("the latest was %s late", v.max)
	}
}

// Each is one thing that must not be, and what the judge must say of it.
func TestJudgeFinds(t *testing.T) {
	ms := func(in *instance, more int64) time.Time { return time.UnixMilli(in.expected + more) }
	for name, c := range map[string]struct {
		spoil func(w *world)
		kind  string
		says  string
		n     int // findings; 0 = 1
	}{
		"a fire without a trace": {spoil: func(w *world) { w.facts.instances = w.facts.instances[1:] }, kind: isLost, says: "no instance and no reason"},
		"a fire that was missed": {spoil: func(w *world) {
			in := w.facts.instances[0]
			w.facts.instances = w.facts.instances[1:]
			w.gaps = []gap{{job: in.job, kind: "missed", reason: "asleep", from: in.expected, to: in.expected, fires: 1}}
		}, kind: isLost, says: "asleep"},
		"a failure":  {spoil: func(w *world) { w.of["noop_00"].state, w.of["noop_00"].label = "failed", "worker_lost" }, kind: isLost, says: "failed/worker_lost"},
		"an end":     {spoil: func(w *world) { w.of["work_00"].state, w.of["work_00"].label = "cancelled", "killed" }, kind: isLost, says: "cancelled/killed"},
		"two of one": {spoil: func(w *world) { w.facts.instances[1] = w.facts.instances[0] }, kind: "", n: 2},
		"no end":     {spoil: func(w *world) { w.of["noop_00"].state, w.of["noop_00"].label = "running", "queued" }, kind: isWrong, says: "still running/queued"},
		"two successes": {spoil: func(w *world) {
			w.attempt(w.of["noop_00"], "success", w.of["noop_00"].expected+900, w.of["noop_00"].expected+950)
		}, kind: isDoubled, n: 2},
		"two grants at once": {spoil: func(w *world) {
			in := w.of["noop_00"]
			in.attempts[0].outcome, in.attempts[0].over = "worker_lost", in.expected+5000
			w.attempt(in, "success", in.expected+3000, in.expected+3100)
		}, kind: isDoubled, says: "while attempt 1 was in force"},
		"two starts of one attempt": {spoil: func(w *world) { w.life(w.of["quick_00"]).Again = 1 }, kind: isDoubled, says: "began 2 times"},
		"two alive where it said wait": {spoil: func(w *world) {
			in := w.of["careful_00"]
			in.attempts[0].outcome, in.attempts[0].over = "worker_lost", in.expected+900
			w.life(in).Seen, w.life(in).End = ms(in, 1500), time.Time{}
			w.attempt(in, "success", in.expected+1000, in.expected+2500)
		}, kind: isDoubled, says: "was alive"},
		"two fires of a job that may run once": {spoil: func(w *world) { w.life(w.of["queue_00"]).End = ms(w.of["queue_00"], 7000) }, kind: isDoubled, says: "was alive"},
		"a success that nobody saw":            {spoil: func(w *world) { w.life(w.of["quick_00"]).End = time.Time{} }, kind: isWrong, says: "no attempt noted its end"},
		"a start without a grant":              {spoil: func(w *world) { w.of["quick_00"].attempts[0].granted = 0 }, kind: isWrong, says: "without a grant"},
		"a retry that was spent":               {spoil: func(w *world) { w.of["quick_00"].retries = 1 }, kind: isWrong, says: "1 retries spent, 0 attempts failed"},
		"an error that was none": {spoil: func(w *world) {
			in := w.of["quick_00"]
			in.retries, in.attempts[0].outcome = 1, "error"
			w.attempt(in, "success", in.expected+2500, in.expected+2600)
		}, kind: isWrong, says: "counts as error"},
		"a second before its first": {spoil: func(w *world) { w.life(w.of["second_0000"]).Start = ms(w.of["second_0000"], 120) }, kind: isWrong, says: "before first_0000 had ended"},
		"a ledger that is off":      {spoil: func(w *world) { w.books[0].Fired-- }, kind: isWrong, says: "the ledger of noop_00"},
		"a state that lies":         {spoil: func(w *world) { w.stale = []staleness{{job: "work_00", trace: "t", attempt: 1, gone: time.Minute}} }, kind: isWrong, says: "had been gone for 1m"},
		"a row before its time":     {spoil: func(w *world) { w.of["noop_00"].made = w.of["noop_00"].expected - 1 }, kind: isWrong, says: "before it was due"},
		"a start before its time":   {spoil: func(w *world) { w.life(w.of["quick_00"]).Start = ms(w.of["quick_00"], -1) }, kind: isWrong, says: "before it was due"},
		"a torn line":               {spoil: func(w *world) { w.torn = []string{"sta"} }, kind: isWrong, says: "torn"},
		"a fire that was not planned": {spoil: func(w *world) {
			w.facts.instances = append(w.facts.instances, &instance{job: "noop_00", expected: w.of["noop_00"].expected + 1000, made: w.of["noop_00"].expected + 1000, state: "success"})
		}, kind: isWrong, says: "not planned"},
	} {
		t.Run(name, func(t *testing.T) {
			w := good()
			c.spoil(w)
			v := judge(w.facts)
			if len(v.findings) != max(c.n, 1) {
				t.Fatalf("%d findings: %+v", len(v.findings), v.findings)
			}
			for _, f := range v.findings {
				if c.kind != "" && f.Kind != c.kind || !strings.Contains(f.Text, c.says) {
					t.Errorf("found %+v, want %s with %q", f, c.kind, c.says)
				}
			}
		})
	}
}

// What the jobs' own policies explain is no fault.
func TestJudgeTakesPoliciesForReasons(t *testing.T) {
	w := good()
	skipped := w.of["queue_00"]
	skipped.state, skipped.label, skipped.attempts = "cancelled", "skipped", nil
	w.lives = slices.DeleteFunc(w.lives, func(l *life) bool { return l.Trace == skipped.trace })
	gone := w.of["skip_00"]
	w.facts.instances = slices.DeleteFunc(w.facts.instances, func(in *instance) bool { return in == gone })
	w.lives = slices.DeleteFunc(w.lives, func(l *life) bool { return l.Trace == gone.trace })
	w.gaps = []gap{{job: gone.job, kind: "skipped", reason: "overlap: skip", from: gone.expected, to: gone.expected, fires: 1}}
	w.of["replace_00"].state, w.of["replace_00"].label = "cancelled", "killed"
	if v := judge(w.facts); len(v.findings) > 0 || v.skipped != 2 {
		t.Errorf("%d skipped, %+v", v.skipped, v.findings)
	}
}

func TestRecoveryIsTheMomentFromWhichLatenessStaysLow(t *testing.T) {
	begun := begunAt.Add(10 * time.Second)
	v := &verdict{}
	for sec := range int64(100) {
		for range 20 {
			late := 100 * time.Millisecond
			if sec >= 10 && sec < 25 {
				late = 5 * time.Second
			}
			v.late = append(v.late, lateness{begunAt.Unix()*1000 + sec*1000, late})
		}
	}
	v.late[len(v.late)-400].late = 3 * time.Second // one late fire of 400 is below the hundredth
	v.recovery(begun)
	if v.calm != 15*time.Second || v.max != 5*time.Second {
		t.Errorf("calm %s after the beginning of the fault, the latest %s late", v.calm, v.max)
	}
}

func TestElsewhereIsWhenTheLostWorkersTasksBeginAnew(t *testing.T) {
	w := good()
	w.begun, w.victims = time.UnixMilli(w.of["work_00"].expected+500), []string{"w1"}
	for _, job := range []string{"work_00", "careful_00"} {
		in := w.of[job]
		w.begun = time.UnixMilli(in.expected + 500)
		in.attempts[0].outcome, in.attempts[0].over = "worker_lost", in.expected+11_000
		l := w.life(in)
		l.End, l.Seen, l.Gone = time.Time{}, w.begun, true
		w.attempt(in, "success", in.expected+12_000, in.expected+13_000).target = "w2"
	}
	a := judge(w.facts)
	if len(a.elsewhereWait) != 1 || a.elsewhereWait[0] != 11_500*time.Millisecond || a.repeated != 2 {
		t.Errorf("elsewhere after %v, with wait after %v, %d repeated", a.elsewhere, a.elsewhereWait, a.repeated)
	}
}

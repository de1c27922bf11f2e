package dag

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

func biz(s string) domain.BizDate {
	d, err := domain.ParseBizDate(s)
	if err != nil {
		panic(err)
	}
	return d
}

// scene is a job over some dates, written in words: "2026-05-01T02 success" is a planned fire and
// its instance, "- … failed" a planned fire without one that … , "m 2026-05-01 success" one made by
// hand, "u 2026-05-01 running" one that an upstream started, "… listed" one that a backfill will
// make and "… again failed" one that it will run again.
func scene(from, to string, lines ...string) facts {
	f := facts{from: biz(from), to: biz(to)}
	for i, line := range lines {
		words := strings.Fields(line)
		o := domain.DepOutcome{ID: domain.ID(100 + i), RunID: domain.ID(100 + i), JobID: 7, JobName: "up", Status: status(words[len(words)-1])}
		switch words[0] {
		case "m":
			o.FireKey, o.BizDate = domain.ManualFireKey(o.ID), biz(words[1])
		case "u":
			o.FireKey, o.BizDate = domain.UpstreamFireKey(biz(words[1])), biz(words[1])
		default:
			at, err := time.Parse("2006-01-02T15", words[0])
			if err != nil {
				panic(err)
			}
			if words[1] == "listed" {
				f.listed = append(f.listed, domain.ListedFire{FireKey: domain.ScheduleFireKey(at), BizDate: domain.BizDateOf(at, time.UTC), At: at})
				continue
			}
			o.Again = words[1] == "again"
			f.plan.Fires = append(f.plan.Fires, domain.PlannedFire{At: at, BizDate: domain.BizDateOf(at, time.UTC)})
			switch words[1] {
			case "missing":
				continue
			case "missed", "passed":
				f.gaps = append(f.gaps, domain.FireGap{From: at, To: at, Skipped: words[1] == "passed"})
				continue
			}
			o.FireKey, o.BizDate = domain.ScheduleFireKey(at), domain.BizDateOf(at, time.UTC)
		}
		f.outcomes = append(f.outcomes, o)
	}
	return f
}

func status(word string) domain.Status {
	return map[string]domain.Status{
		"success": {State: domain.Success}, "failed": {State: domain.Failed, Label: domain.ErrorLabel}, "killed": {State: domain.Cancelled, Label: domain.Killed},
		"skipped": {State: domain.Cancelled, Label: domain.Skipped}, "running": {State: domain.Running, Label: domain.Executing},
		"retrying": {State: domain.Retrying, Label: domain.Backoff},
	}[word]
}

func TestDecide(t *testing.T) {
	const all, anyOne, latest = domain.RequireAll, domain.RequireAny, domain.RequireLatest
	const success, done, failed = domain.CheckSuccess, domain.CheckDone, domain.CheckFailed
	day := "2026-05-01"
	hours := func(ends ...string) []string {
		var out []string
		for i, e := range ends {
			out = append(out, fmt.Sprintf("2026-05-01T%02d %s", i, e))
		}
		return out
	}
	for _, c := range []struct {
		name           string
		scene          facts
		require, check string
		want           domain.DepState
		counts         string // done of planned
	}{
		{"all hours", scene(day, day, hours("success", "success")...), all, success, domain.DepMet, "2 of 2"},
		{"the first of 24 is not the day", scene(day, day, hours("success", "running", "missing")...), all, success, domain.DepWaiting, "1 of 3"},
		{"one failed", scene(day, day, hours("success", "failed", "missing")...), all, success, domain.DepFailed, "1 of 3"},
		{"one was killed (G-D4)", scene(day, day, hours("success", "killed")...), all, success, domain.DepFailed, "1 of 2"},
		{"one waits to retry", scene(day, day, hours("success", "retrying")...), all, success, domain.DepWaiting, "1 of 2"},
		{"skipped ones are not planned", scene(day, day, hours("success", "skipped", "passed")...), all, success, domain.DepMet, "1 of 1"},
		{"missed ones block", scene(day, day, hours("success", "missed")...), all, success, domain.DepWaiting, "1 of 2"},
		{"a success by hand stands in for what was missed", scene(day, day, "2026-05-01T00 success", "2026-05-01T01 missed", "m 2026-05-01 success"), all, success, domain.DepMet, "2 of 2"},
		{"a failure by hand does not block", scene(day, day, "2026-05-01T00 success", "m 2026-05-01 failed"), all, success, domain.DepMet, "1 of 1"},
		{"a success by hand does not mend a failure", scene(day, day, "2026-05-01T00 failed", "m 2026-05-01 success"), all, success, domain.DepFailed, "0 of 1"},
		{"no schedule: by hand", scene(day, day, "m 2026-05-01 failed", "m 2026-05-01 success", "m 2026-05-01 failed"), all, success, domain.DepMet, "1 of 1"},
		{"no schedule: the newest by hand failed", scene(day, day, "m 2026-05-01 failed"), all, success, domain.DepFailed, "0 of 1"},
		{"no schedule: an older one by hand is at it", scene(day, day, "m 2026-05-01 running", "m 2026-05-01 failed"), all, success, domain.DepWaiting, "0 of 1"},
		{"nothing at all (G-D2)", scene(day, day), all, success, domain.DepWaiting, "0 of 0"},
		{"started by upstream", scene(day, day, "u 2026-05-01 success"), all, success, domain.DepMet, "1 of 1"},

		{"listed: the first of a backfill is not the day", scene(day, day, hours("success", "listed", "listed")...), all, success, domain.DepWaiting, "1 of 3"},
		{"listed: nothing else is planned", scene(day, day, hours("listed")...), all, success, domain.DepWaiting, "0 of 1"},
		{"listed: what was missed will be made", scene(day, day, "2026-05-01T00 missed", "2026-05-01T00 listed", "2026-05-01T01 failed"), anyOne, success, domain.DepWaiting, "0 of 2"},
		{"listed: what policy skipped will be made", scene(day, day, "2026-05-01T00 success", "2026-05-01T01 passed", "2026-05-01T01 listed"), all, success, domain.DepWaiting, "1 of 2"},
		{"listed: what failed runs again", scene(day, day, hours("success", "again failed")...), all, success, domain.DepWaiting, "1 of 2"},
		{"listed: what succeeded runs again", scene(day, day, hours("success", "again success")...), all, success, domain.DepWaiting, "1 of 2"},
		{"listed: what was skipped runs again", scene(day, day, hours("success", "again skipped")...), all, success, domain.DepWaiting, "1 of 2"},
		{"listed: the latest is still to come", scene(day, day, hours("success", "listed")...), latest, success, domain.DepWaiting, "1 of 2"},
		{"listed: any has one already", scene(day, day, hours("success", "listed")...), anyOne, success, domain.DepMet, "1 of 2"},

		{"any: the first success is enough", scene(day, day, hours("failed", "success", "missing")...), anyOne, success, domain.DepMet, "1 of 3"},
		{"any: one may still come", scene(day, day, hours("failed", "running")...), anyOne, success, domain.DepWaiting, "0 of 2"},
		{"any: all ended without", scene(day, day, hours("failed", "killed")...), anyOne, success, domain.DepFailed, "0 of 2"},
		{"any: by hand", scene(day, day, "2026-05-01T00 failed", "m 2026-05-01 success"), anyOne, success, domain.DepMet, "0 of 1"},
		{"any: one by hand is at it", scene(day, day, "2026-05-01T00 failed", "m 2026-05-01 running"), anyOne, success, domain.DepWaiting, "0 of 1"},
		{"any: a missed one can be made good", scene(day, day, hours("failed", "missed")...), anyOne, success, domain.DepWaiting, "0 of 2"},

		{"latest: the last decides", scene(day, day, hours("failed", "success")...), latest, success, domain.DepMet, "1 of 2"},
		{"latest: the last failed", scene(day, day, hours("success", "failed")...), latest, success, domain.DepFailed, "1 of 2"},
		{"latest: the last is not there", scene(day, day, hours("success", "missing")...), latest, success, domain.DepWaiting, "1 of 2"},
		{"latest: the last was skipped", scene(day, day, hours("success", "skipped")...), latest, success, domain.DepMet, "1 of 1"},

		{"done: however", scene(day, day, hours("success", "failed", "killed")...), all, done, domain.DepMet, "3 of 3"},
		{"done: not yet", scene(day, day, hours("failed", "running")...), all, done, domain.DepWaiting, "1 of 2"},
		{"failed: it did", scene(day, day, hours("failed")...), all, failed, domain.DepMet, "1 of 1"},
		{"failed: it succeeded", scene(day, day, hours("success")...), all, failed, domain.DepFailed, "0 of 1"},
		{"failed, any: one of two", scene(day, day, hours("success", "failed")...), anyOne, failed, domain.DepMet, "1 of 2"},
		{"failed, any: none did", scene(day, day, hours("success", "success")...), anyOne, failed, domain.DepFailed, "0 of 2"},

		{"a set: each date", scene(day, "2026-05-03", "2026-05-01T02 success", "2026-05-02T02 success", "2026-05-03T02 missing"), all, success, domain.DepWaiting, "2 of 3"},
		{"a set: dates without a fire plan nothing", scene(day, "2026-05-03", "2026-05-01T02 success", "2026-05-03T02 success"), all, success, domain.DepMet, "2 of 2"},
		{"a set: by hand stands in on its date alone", scene(day, "2026-05-02", "2026-05-01T02 missed", "2026-05-02T02 success", "m 2026-05-02 success"), all, success, domain.DepWaiting, "1 of 2"},
		{"a set by hand: half of it is not enough", scene(day, "2026-05-03", "m 2026-05-01 success", "m 2026-05-03 success"), all, success, domain.DepWaiting, "2 of 3"},
		{"a set by hand: whole", scene(day, "2026-05-02", "m 2026-05-01 success", "m 2026-05-02 success"), all, success, domain.DepMet, "2 of 2"},
		{"a set, latest", scene(day, "2026-05-02", "2026-05-01T02 failed", "2026-05-02T02 success"), latest, success, domain.DepMet, "1 of 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := decide(c.scene, want{c.require, c.check})
			if got := fmt.Sprintf("%d of %d", v.Done, v.Planned); v.State != c.want || got != c.counts {
				t.Errorf("%s, %s; want %s, %s: %+v", v.State, got, c.want, c.counts, v)
			}
			if (v.State == domain.DepWaiting) != (len(v.Proof) == 0) {
				t.Errorf("%s rests on %v", v.State, v.Proof)
			}
			if v.Nothing != (v.Planned == 0) {
				t.Errorf("nothing %t of %d", v.Nothing, v.Planned)
			}
		})
	}
}

func TestWhatBecomesOfARow(t *testing.T) {
	failed := func(open int) verdict {
		return verdict{DepStanding: domain.DepStanding{State: domain.DepFailed, Planned: 1 + open, Open: open}}
	}
	for _, c := range []struct {
		v       verdict
		require string
		policy  domain.FailurePolicy
		want    domain.DepState
	}{
		{verdict{DepStanding: domain.DepStanding{State: domain.DepMet}}, domain.RequireAll, domain.FailureHold, domain.DepMet},
		{verdict{DepStanding: domain.DepStanding{State: domain.DepWaiting}}, domain.RequireAll, domain.FailureRun, domain.DepWaiting},
		{failed(0), domain.RequireAll, domain.FailureCancel, domain.DepFailed},
		{failed(1), domain.RequireAll, domain.FailureCancel, domain.DepFailed},
		{failed(0), domain.RequireAll, domain.FailureHold, domain.DepWaiting},
		{failed(0), domain.RequireAll, domain.FailureRun, domain.DepPassed},
		{failed(1), domain.RequireAll, domain.FailureRun, domain.DepWaiting},
		{failed(1), domain.RequireLatest, domain.FailureRun, domain.DepPassed},
	} {
		if got := act(c.v, want{c.require, domain.CheckSuccess}, c.policy); got != c.want {
			t.Errorf("%s with %s and %d open is %s, want %s", c.v.State, c.policy, c.v.Open, got, c.want)
		}
	}
}

// Whatever order instances come in, the verdict is one; it is what a plain reading of the
// rules says; and once it is final and all have ended, only a new instance changes it.
func TestAVerdictIsThatOfAPlainReading(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ends := rapid.SliceOfN(rapid.SampledFrom([]string{"success", "failed", "killed", "running", "retrying", "skipped", "missing", "missed", "passed"}), 1, 6).Draw(rt, "ends")
		var lines []string
		for i, e := range ends {
			lines = append(lines, fmt.Sprintf("2026-05-%02dT%02d %s", 1+i%2, i, e))
		}
		f := scene("2026-05-01", "2026-05-02", lines...)
		w := want{rapid.SampledFrom([]string{domain.RequireAll, domain.RequireAny, domain.RequireLatest}).Draw(rt, "require"),
			rapid.SampledFrom([]string{domain.CheckSuccess, domain.CheckDone, domain.CheckFailed}).Draw(rt, "check")}
		slices.SortFunc(f.plan.Fires, func(a, b domain.PlannedFire) int { return a.At.Compare(b.At) })
		first := decide(f, w)
		f.outcomes = rapid.Permutation(f.outcomes).Draw(rt, "order")
		again := decide(f, w)
		if first.State != again.State || first.By != again.By || first.Planned != again.Planned {
			rt.Fatalf("another order: %+v and %+v", first, again)
		}
		if got, want := first.State, plainly(lines, w); got != want {
			rt.Fatalf("%s, plainly %s: %v %v", got, want, lines, w)
		}
	})
}

// plainly reads the rules one after the other.
func plainly(lines []string, w want) domain.DepState {
	slices.Sort(lines) // by date, then hour
	good, bad, open := 0, 0, 0
	last := ""
	for _, line := range lines {
		end := strings.Fields(line)[1]
		switch end {
		case "skipped", "passed":
			continue
		case "running", "retrying", "missing", "missed":
			open, last = open+1, "open"
			continue
		}
		ok := end == "success"
		if w.check == domain.CheckDone || w.check == domain.CheckFailed && !ok || w.check == domain.CheckSuccess && ok {
			good, last = good+1, "good"
		} else {
			bad, last = bad+1, "bad"
		}
	}
	switch {
	case good+bad+open == 0:
		return domain.DepWaiting
	case w.require == domain.RequireAll && bad > 0:
		return domain.DepFailed
	case w.require == domain.RequireAll && open == 0, w.require == domain.RequireAny && good > 0, w.require == domain.RequireLatest && last == "good":
		return domain.DepMet
	case w.require == domain.RequireAny && open == 0, w.require == domain.RequireLatest && last == "bad":
		return domain.DepFailed
	}
	return domain.DepWaiting
}

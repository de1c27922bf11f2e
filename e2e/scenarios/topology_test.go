package scenarios

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// long asks for the proof at the size that the product promises: 500 jobs each minute for five minutes, twice.
var long = flag.Bool("ax.long", os.Getenv("AX_TEST_LONG") == "1", "run the long form of the topology proof (also AX_TEST_LONG=1)")

// load is what a topology is put under.
type load struct {
	jobs   int
	cron   string // seconds dialect
	period time.Duration
	lasts  time.Duration // from the first to the last fire that counts
}

func (l load) String() string {
	return fmt.Sprintf("%d jobs each %s for %s", l.jobs, l.period, l.lasts)
}

// theLoad is the load of the run: long, or short enough for every run of the tests.
func theLoad(short load) load {
	if *long {
		return load{jobs: 500, cron: "0 * * * * *", period: time.Minute, lasts: 5 * time.Minute}
	}
	return short
}

// The roles run alone, each as a process, and meet only in committed rows.
func TestFourProcessesLoseNothing(t *testing.T) {
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		web := s.Web(t, setup.Opts{})
		s.Scheduler(t, setup.Opts{})
		s.Broker(t, setup.Opts{})
		s.Worker(t, setup.Opts{Name: "w"})
		prove(t, s, s.Client(t, web), theLoad(load{jobs: 50, cron: "*/5 * * * * *", period: 5 * time.Second, lasts: 15 * time.Second}), nil)
	})
}

// Two centers and two workers share the work. One center is killed in the middle and comes back.
func TestTwoCentersLoseNothingWhenOneIsKilled(t *testing.T) {
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		first := s.Center(t, setup.Opts{Name: "center-a"}) // the active broker, since it was alone
		second := s.Center(t, setup.Opts{Name: "center-b"})
		s.Worker(t, setup.Opts{Name: "wa"})
		s.Worker(t, setup.Opts{Name: "wb"})
		l := theLoad(load{jobs: 100, cron: "*/5 * * * * *", period: 5 * time.Second, lasts: 30 * time.Second})
		prove(t, s, s.Client(t, second), l, func() {
			first.Kill()
			t.Logf("center-a was killed %s into the run", time.Now().UTC().Format("15:04:05.000"))
			time.Sleep(min(l.period, 10*time.Second) + time.Second) // one fire without it; the pace of the proof, not a wait for luck
			first.Restart()
			t.Logf("center-a is back at %s", time.Now().UTC().Format("15:04:05.000"))
		})
	})
}

// prove runs the load, breaks something in its middle, and balances the books: AX's own ledger, its instances, and
// what the tasks wrote to a file outside AX, which it returns.
func prove(t *testing.T, s *setup.Site, c *setup.Client, l load, breakIt func()) *setup.Diary {
	d := s.Diary(t)
	file := func(enabled bool) string {
		jobs := make([]string, l.jobs)
		for i := range jobs {
			name := fmt.Sprintf("load_%03d", i)
			jobs[i] = shellJob(name, d.Command(name, ""), fmt.Sprintf("cron: %q\ndialect: seconds\noverlap: allow\nenabled: %v", l.cron, enabled))
		}
		return files(jobs...)
	}
	c.Apply(file(true))
	from := time.Now().Add(l.period).Truncate(l.period)
	to := from.Add(l.lasts)
	fires := int(l.lasts/l.period) * l.jobs
	if breakIt != nil {
		until(from.Add(l.lasts / 2).Add(-l.period / 10)) // shortly before a fire, so that it is in the middle of taking and sending
		breakIt()
	}
	until(to.Add(-l.period / 4)) // after the last fire that counts, before the next
	settle(t, d, from, to, fires)
	c.Apply(file(false))

	books := ledgerOf(c, from, to)
	var planned, fired, skipped, missed, pending int
	for _, j := range books.Jobs {
		planned, fired, skipped, missed, pending = planned+j.Planned, fired+j.Fired, skipped+j.Skipped, missed+j.Missed, pending+j.Pending
	}
	if !books.Balanced || planned != fires || fired != fires {
		t.Errorf("the ledger: balanced %v, planned %d, fired %d, skipped %d, missed %d, pending %d; want %d planned and fired",
			books.Balanced, planned, fired, skipped, missed, pending, fires)
	}
	var open []setup.Instance // those of fires after the last that counts take a moment still
	setup.Until(t, awaited, "every instance succeeds", func() bool {
		open = slices.DeleteFunc(c.Instances(), func(in setup.Instance) bool { return in.State == "success" })
		return len(open) == 0 || slices.ContainsFunc(open, setup.Instance.Ended)
	}, func() string { return fmt.Sprintf("%d are not, the first: %s", len(open), open[0]) })
	if len(open) > 0 {
		t.Errorf("%d instances have not succeeded, one of them ended: %v", len(open), open)
	}
	report(t, l, d, from, to, fires)
	return d
}

func until(at time.Time) { time.Sleep(time.Until(at)) }

// settle waits until the tasks have written as many ends as were planned.
func settle(t *testing.T, d *setup.Diary, from, to time.Time, fires int) {
	t.Helper()
	var ends int
	setup.Until(t, 90*time.Second, "every planned fire ended", func() bool {
		time.Sleep(200 * time.Millisecond) // the diary is long
		ends = len(within(d.Of("end", ""), from, to))
		return ends >= fires
	}, func() string { return fmt.Sprintf("%d of %d ended", ends, fires) })
}

// within are the entries of fires of [from, to).
func within(all []setup.Entry, from, to time.Time) []setup.Entry {
	return slices.DeleteFunc(all, func(e setup.Entry) bool {
		at, err := time.Parse(time.RFC3339, e.Expect)
		return err != nil || at.Before(from) || !at.Before(to)
	})
}

// report compares the diary with the plan and prints the figures.
func report(t *testing.T, l load, d *setup.Diary, from, to time.Time, fires int) {
	t.Helper()
	starts, ends := map[string]int{}, map[string]int{}
	var late []time.Duration
	for _, e := range within(d.Entries(), from, to) {
		key := e.Job + " at " + e.Expect
		if e.Kind == "end" {
			ends[key]++
			continue
		}
		starts[key]++
		at, _ := time.Parse(time.RFC3339, e.Expect)
		late = append(late, e.At.Sub(at))
	}
	var doubles []string
	for _, counted := range []map[string]int{starts, ends} {
		for _, key := range slices.Sorted(maps.Keys(counted)) {
			if counted[key] > 1 {
				doubles = append(doubles, fmt.Sprintf("%s: %d times", key, counted[key]))
			}
		}
	}
	if len(starts) != fires || len(ends) != fires || len(doubles) > 0 {
		t.Errorf("the tasks' own file has %d starts and %d ends of %d planned fires; ran twice: %s", len(starts), len(ends), fires, strings.Join(doubles, ", "))
	}
	slices.Sort(late)
	at := func(share float64) time.Duration {
		return late[min(int(share*float64(len(late))), len(late)-1)].Round(time.Millisecond)
	}
	t.Logf("%s: %d planned, %d started, %d ended, %d double, %d missing; task began after its expected time p50 %s, p99 %s, max %s",
		l, fires, len(starts), len(ends), len(doubles), fires-len(ends), at(0.5), at(0.99), late[len(late)-1].Round(time.Millisecond))
}

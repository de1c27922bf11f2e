package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
)

// A Redis that answers and takes no writes slows the tick no more than one that is away, and nobody floods the log.
func TestTheTickGoesOnWhereRedisTakesNoWrites(t *testing.T) {
	t.Parallel()
	for name, order := range refusals() {
		t.Run(name, func(t *testing.T) {
			privately(t, func(t *testing.T, s *setup.Site, redis *stores.Server) {
				center := s.Center(t, setup.Opts{})
				c, worker := s.Client(t, center), s.Worker(t, setup.Opts{})
				c.Apply(files(shellJob("tick", "true", "every: 200ms", "overlap: allow"), shellJob("tock", "true", eachSecond)))
				c.AwaitOf("tick", "success")
				said := map[*setup.Process]int{center: lines(center), worker: lines(worker)}
				tell(t, redis, order.off)
				from := time.Now()
				time.Sleep(20 * time.Second) // what is asked is how the tick goes in it
				till := time.Now()
				for p, before := range said {
					if n := lines(p) - before; n > 40 {
						t.Errorf("a process wrote %d lines to its log in 20 s, the last:\n%s", n, p.Tail(20))
					}
				}
				tell(t, redis, order.on)
				for job, least := range map[string]int{"tick": 95, "tock": 18} {
					made := madeLate(t, c, job, from, till.Add(-time.Second))
					t.Logf("%s: %d made, the latest %s late", job, len(made), slices.Max(made).Round(time.Millisecond))
					if worst := slices.Max(made); len(made) < least || worst > 2*time.Second {
						t.Errorf("%s: %d of %d fires, the latest %s late", job, len(made), least, worst)
					}
				}
			})
		})
	}
}

// lines is how many a process has written to its log.
func lines(p *setup.Process) int { return strings.Count(p.Tail(1_000_000), "\n") }

// refusal is what makes a Redis answer and take no writes, and what ends that.
type refusal struct{ off, on string }

func refusals() map[string]refusal {
	return map[string]refusal{
		"full":            {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
		"replica":         {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
		"without replica": {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
	}
}

// madeLate is how late after its expected time each instance that fell due in a span was made.
func madeLate(t *testing.T, c *setup.Client, job string, from, till time.Time) []time.Duration {
	t.Helper()
	var out []time.Duration
	cursor := ""
	for {
		var page struct {
			Instances []struct{ ExpectedTime, CreatedAt string }
			Cursor    string
		}
		if err := c.Get(fmt.Sprintf("/api/v1/instances?job=%s&limit=200&cursor=%s", job, cursor), &page); err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Instances {
			if at := instant(t, i.ExpectedTime); at.After(from) && at.Before(till) {
				out = append(out, instant(t, i.CreatedAt).Sub(at))
			}
		}
		if cursor = page.Cursor; cursor == "" {
			return out
		}
	}
}

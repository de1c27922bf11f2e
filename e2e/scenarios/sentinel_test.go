package scenarios

import (
	"net/url"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/redistest"
)

// The master behind a Sentinel dies, and its successor lacks the last second: everything runs once.
func TestAFailOverBySentinelThatLosesTheLastSecond(t *testing.T) {
	t.Parallel()
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		t.Run("redis", func(t *testing.T) {
			master, replica := redistest.Private(t), redistest.Private(t)
			at := func(s *stores.Server) *url.URL {
				u, err := url.Parse(s.URL)
				if err != nil {
					t.Fatal(err)
				}
				return u
			}
			tell(t, replica, "REPLICAOF "+at(master).Hostname()+" "+at(master).Port())
			sentinel, err := stores.Sentinel("", at(master).Host)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(sentinel.Stop)
			s := setup.NewSite(t, dbtest.Empty(t), sentinel.URL)
			center := s.Center(t, setup.Opts{})
			c, d := s.Client(t, center), s.Diary(t)
			s.Worker(t, setup.Opts{Name: "one"})
			s.Worker(t, setup.Opts{Name: "two"})
			gate := c.Path("go")
			c.Apply(files(shellJob("tick", d.Command("tick", ""), "every: 500ms", "overlap: allow"), gated(d, "long", gate)))
			var ids []string
			for range 4 {
				ids = append(ids, c.Trigger("long").ID)
			}
			for _, id := range ids {
				c.Await(id, "running/executing")
			}
			knows(t, sentinel)
			if err := replica.Freeze(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // what is written now reaches the master alone
			if err := master.Kill(); err != nil {
				t.Fatal(err)
			}
			killed := time.Now()
			if err := replica.Thaw(); err != nil {
				t.Fatal(err)
			}
			if err := touch(gate); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if done := c.Await(id, "success"); len(done.Attempts) != 1 {
					t.Errorf("one attempt expected: %v", done)
				}
			}
			t.Logf("outcomes of the time without a master were in the database %s after its death", time.Since(killed).Round(100*time.Millisecond))
			c.Must("pause", "tick")
			allEnded(t, c, "tick")
			onceEach(t, d, len(ids)+len(c.Instances("--job", "tick")))
			if n := figure(t, center, "ax_broker_losses_total"); n != 0 {
				t.Errorf("%v attempts were settled as lost", n)
			}
		})
	})
}

// knows waits until the Sentinel has found the replica.
func knows(t *testing.T, sentinel *stores.Server) {
	t.Helper()
	u, err := url.Parse(sentinel.URL)
	if err != nil {
		t.Fatal(err)
	}
	setup.Until(t, awaited, "the Sentinel knows the replica", func() bool {
		said, err := stores.Ask(u.Host, "SENTINEL REPLICAS main")
		return err == nil && said[0] == "*1"
	}, func() string { return "" })
}

package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/e2e/setup/wire"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/redistest"
)

// takeOverWithin is how long nobody may be the active broker, from the end of the one before.
const takeOverWithin = 5 * time.Second

// office is who has held the broker's office, as the tables say.
type office struct{ inside }

func (o office) epoch() int64 { return o.number("SELECT epoch FROM epoch WHERE name = 'broker'") }

// changes waits until the office has changed hands, and holds that against the moment of the end before.
func (o office) changes(t *testing.T, since int64, ended time.Time) {
	t.Helper()
	setup.Until(t, 30*time.Second, "another broker takes over", func() bool {
		return o.number("SELECT COUNT(*) FROM epoch WHERE name = 'broker' AND holder <> '' AND epoch > "+fmt.Sprint(since)) == 1
	}, func() string { return "" })
	took := time.Since(ended)
	t.Logf("another broker took over within %s", took.Round(10*time.Millisecond))
	if took > takeOverWithin {
		t.Errorf("nobody was the active broker for %s", took)
	}
}

// unspent expects that each instance needed one attempt.
func (o office) unspent(t *testing.T) {
	t.Helper()
	if n := o.number("SELECT COUNT(*) FROM instance WHERE attempts <> 1 OR retries_used > 0 OR lost_count > 0"); n != 0 {
		t.Errorf("%d instances needed more than one attempt", n)
	}
}

// steady is a load that a take-over falls into.
func steady(lasts time.Duration) load {
	return load{jobs: 20, cron: "*/2 * * * * *", period: 2 * time.Second, lasts: lasts}
}

// The active broker ends in each of its ways, and the other center takes over in time.
func TestAnotherBrokerTakesOverInTime(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *setup.Process){
		"killed":  func(p *setup.Process) { p.Kill() },
		"stopped": func(p *setup.Process) { p.Stop() },
		"frozen":  func(p *setup.Process) { p.Freeze() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setup.Real(t, func(t *testing.T, s *setup.Site) {
				first := s.Center(t, setup.Opts{Name: "center-a"}) // alone, so it is the active broker
				second := s.Center(t, setup.Opts{Name: "center-b"})
				s.Worker(t, setup.Opts{})
				o := office{tables(t, s.Database)}
				prove(t, s, s.Client(t, second), steady(12*time.Second), func() {
					before, at := o.epoch(), time.Now()
					end(first)
					o.changes(t, before, at)
				})
			})
		})
	}
}

// A center freezes within a transaction, with locks on rows that the others need: a taking, an assigning. Its peers end
// its connections after 3 s, go on, and it does nothing twice when it is back. (G-B11)
func TestACenterFrozenWithinATransactionHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{"taking": "UPDATE `trigger`", "assigning": "INSERT INTO `attempt`"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("mariadb", func(t *testing.T) {
				t.Run("redis", func(t *testing.T) {
					url := dbtest.Empty(t)
					w, wired := wire.Through(t, url)
					s := setup.NewSite(t, url, redistest.Redis(t))
					first := s.Center(t, setup.Opts{Name: "center-a", Env: []string{"AX_DATABASE_URL=" + wired}})
					second := s.Center(t, setup.Opts{Name: "center-b"})
					s.Worker(t, setup.Opts{})
					o := office{tables(t, url)}
					prove(t, s, s.Client(t, second), steady(20*time.Second), func() {
						frozen := make(chan time.Time, 1)
						w.Judge(func(sql string) wire.Deed {
							if !strings.HasPrefix(sql, statement) || len(frozen) > 0 {
								return wire.Pass
							}
							first.Freeze()
							frozen <- time.Now()
							return wire.Hold
						})
						setup.Until(t, 20*time.Second, "it freezes within a transaction", func() bool { return len(frozen) == 1 }, func() string { return "" })
						at := <-frozen
						frozen <- at
						before := o.epoch()
						o.changes(t, before, at)
						until(at.Add(8 * time.Second))
						w.Judge(nil)
						first.Thaw()
						w.Release()
					})
					first.Ready()
					if n := o.number("SELECT COUNT(*) FROM lease WHERE holder <> ''"); n != 2 {
						t.Errorf("%d processes hold a lease, want 2", n)
					}
				})
			})
		})
	}
}

// Three centers are replaced one after the other under load, as an update does it. (J-C12)
func TestARollingRestartOfThreeCostsNothing(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		var centers []*setup.Process
		for i := range 3 {
			centers = append(centers, s.Center(t, setup.Opts{Name: fmt.Sprintf("center-%c", 'a'+i)}))
		}
		front := s.Web(t, setup.Opts{}) // people's way in, which is not restarted
		s.Worker(t, setup.Opts{})
		prove(t, s, s.Client(t, front), steady(24*time.Second), func() {
			for _, p := range centers {
				p.Stop()
				p.Restart()
			}
		})
		office{tables(t, s.Database)}.unspent(t)
	})
}

// Somebody empties the tables that say which process is alive and which is the active broker, and all of Redis with them,
// under three schedulers. No fire is lost and none comes twice, and nobody has to mend anything. (J-B5)
func TestEmptiedTablesOfTheActiveOnesCostNothing(t *testing.T) {
	t.Parallel()
	privately(t, func(t *testing.T, s *setup.Site, redis *stores.Server) {
		var centers []*setup.Process
		for i := range 3 {
			centers = append(centers, s.Center(t, setup.Opts{Name: fmt.Sprintf("center-%c", 'a'+i)}))
		}
		s.Worker(t, setup.Opts{})
		o := office{tables(t, s.Database)}
		prove(t, s, s.Client(t, centers[2]), steady(20*time.Second), func() {
			before := o.epoch()
			for _, statement := range []string{"DELETE FROM epoch", "DELETE FROM lease"} {
				if _, err := o.db.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			tell(t, redis, "FLUSHALL")
			o.changes(t, before, time.Now())
		})
		for _, p := range centers {
			p.Ready()
		}
		if n := o.number("SELECT COUNT(*) FROM lease WHERE holder <> ''"); n != 3 {
			t.Errorf("%d processes hold a lease, want 3", n)
		}
	})
}

// The successor dies while it takes over. The third goes on from wherever it was. (J-C12)
func TestASuccessorThatDiesInItsTakeOverIsSucceeded(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		first := s.Center(t, setup.Opts{Name: "center-a"})
		second := s.Broker(t, setup.Opts{Name: "broker-b", Env: []string{"AX_CRASH=takeover.raised"}})
		front := s.Web(t, setup.Opts{})
		s.Scheduler(t, setup.Opts{})
		s.Worker(t, setup.Opts{})
		o := office{tables(t, s.Database)}
		prove(t, s, s.Client(t, front), steady(24*time.Second), func() {
			before := o.epoch()
			first.Stop() // so that the second, which is alone, is the one that takes over
			setup.Until(t, 20*time.Second, "the successor dies", func() bool { return !second.Alive() }, func() string { return second.Tail(20) })
			s.Broker(t, setup.Opts{Name: "broker-c"})
			o.changes(t, before+1, time.Now())
		})
	})
}

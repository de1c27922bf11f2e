package scenarios

import (
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/modules/kit/dbtest"
)

// brief is a load for faults that last a few seconds.
func brief() load {
	return load{jobs: 20, cron: "*/2 * * * * *", period: 2 * time.Second, lasts: 16 * time.Second}
}

// A center that is frozen longer than its lease holds its locks and wakes up convinced that it is still the broker. (G-B11)
func TestFrozenCenterHoldsNobodyUpAndDoesNothingTwice(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		first := s.Center(t, setup.Opts{Name: "center-a"})
		second := s.Center(t, setup.Opts{Name: "center-b"})
		s.Worker(t, setup.Opts{Name: "w"})
		prove(t, s, s.Client(t, second), brief(), func() {
			first.Freeze()
			until(time.Now().Add(6 * time.Second)) // twice what its peers wait
			first.Thaw()
		})
		first.Ready()
	})
}

// All of Redis is frozen for some seconds and then lost, and comes back empty.
func TestFrozenRedisCostsLatencyOnly(t *testing.T) {
	t.Parallel()
	t.Run("mariadb", func(t *testing.T) {
		t.Run("redis", func(t *testing.T) {
			if !stores.HasRedis() {
				t.Skip("Redis is not installed; e2e/setup/install.sh brings it")
			}
			redis, err := stores.Redis("")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(redis.Stop)
			s := setup.NewSite(t, dbtest.Empty(t), redis.URL)
			c := s.Client(t, s.Center(t, setup.Opts{}))
			s.Worker(t, setup.Opts{Name: "w"})
			prove(t, s, c, brief(), func() {
				if err := redis.Freeze(); err != nil {
					t.Fatal(err)
				}
				until(time.Now().Add(5 * time.Second))
				if err := redis.Thaw(); err != nil {
					t.Fatal(err)
				}
				if _, err := stores.Ask(redis.URL[len("redis://"):], "FLUSHALL"); err != nil {
					t.Fatal(err)
				}
			})
		})
	})
}

// Each role says that it is ready although no other is there, and a worker needs no database.
func TestEachRoleStandsAlone(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		for _, start := range []func(setup.T, setup.Opts) *setup.Process{s.Broker, s.Worker, s.Scheduler, s.Web} {
			p := start(t, setup.Opts{})
			p.Stop()
		}
	})
}

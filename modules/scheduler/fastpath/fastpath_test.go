package fastpath_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/modules/kit/redistest"
	"github.com/axsched/ax/modules/scheduler/fastpath"
)

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestOneOfManyWins(t *testing.T) {
	redistest.Each(t, func(t *testing.T, url string) {
		c := client(t, url)
		a, b := fastpath.New(c, time.Second), fastpath.New(client(t, url), time.Hour)
		ctx := t.Context()
		must := func(won []bool, err error, want ...bool) {
			t.Helper()
			if err != nil || !slices.Equal(won, want) {
				t.Fatalf("won %v, %v; want %v", won, err, want)
			}
		}
		won, err := a.Win(ctx, []string{"ax:fire:1:10", "ax:fire:2:10"})
		must(won, err, true, true)
		won, err = b.Win(ctx, []string{"ax:fire:2:10", "ax:fire:3:10"})
		must(won, err, false, true)
		a.GiveBack(ctx, []string{"ax:fire:2:10"})
		won, err = b.Win(ctx, []string{"ax:fire:1:10", "ax:fire:2:10"})
		must(won, err, false, true)
		for key, most := range map[string]time.Duration{"ax:fire:1:10": time.Second, "ax:fire:3:10": fastpath.MaxTTL} {
			if ttl, err := c.PTTL(ctx, key).Result(); err != nil || ttl <= 0 || ttl > most {
				t.Errorf("%s stands for %s, %v; at most %s", key, ttl, err, most)
			}
		}
	})
}

func TestAwayIsAnError(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialTimeout: 50 * time.Millisecond})
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if won, err := fastpath.New(c, time.Second).Win(ctx, []string{"ax:fire:1:10"}); err == nil {
		t.Errorf("won %v of nobody", won)
	}
}

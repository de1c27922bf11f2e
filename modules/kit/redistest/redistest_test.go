package redistest_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/modules/kit/redistest"
)

func TestEachGivesAnEmptyRedisOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for range 3 {
		redistest.Each(t, func(t *testing.T, url string) {
			if seen[url] {
				t.Fatalf("%s was given before", url)
			}
			seen[url] = true
			c := connect(t, url)
			if n := c.DBSize(t.Context()).Val(); n != 0 {
				t.Fatalf("%d keys at the start", n)
			}
			if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestKeysExpire(t *testing.T) {
	redistest.Each(t, func(t *testing.T, url string) {
		c := connect(t, url)
		if err := c.Set(t.Context(), "k", "v", 500*time.Millisecond).Err(); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(10 * time.Second)
		for c.Exists(t.Context(), "k").Val() != 0 {
			if time.Now().After(deadline) {
				t.Fatal("a key of 500 ms is there after 10 s")
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

func TestPrivateServerCanBeFrozenAndThawed(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		s := redistest.Private(t)
		c := connect(t, s.URL)
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := s.Freeze(); err != nil {
			t.Fatal(err)
		}
		if err := c.Ping(t.Context()).Err(); err == nil {
			t.Fatal("a frozen server answered")
		}
		if err := s.Thaw(); err != nil {
			t.Fatal(err)
		}
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	})
}

func connect(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.ReadTimeout, o.MaxRetries = 500*time.Millisecond, -1
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

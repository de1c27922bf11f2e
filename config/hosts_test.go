package config

import (
	"slices"
	"testing"
)

func TestHostsOfStores(t *testing.T) {
	for text, want := range map[StoreURL][]string{
		"":                                  nil,
		"mysql://ax:p%40ss@db.internal/ax":  {"db.internal:3306"},
		"mysql://ax:p@10.0.0.5:3307/ax":     {"10.0.0.5:3307"},
		"redis://:pw@[fd00::1]:6380/0":      {"[fd00::1]:6380"},
		"rediss://redis.internal":           {"redis.internal:6379"},
		"unix:///run/redis.sock?db=0":       nil,
		"redis-sentinel://u:p%40@a:1,b:2/m": {"a:1", "b:2"},
	} {
		if got := text.Hosts(); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", string(text), got, want)
		}
	}
	c := Config{DatabaseURL: "mysql://u:p@db/ax", RedisURL: "redis://r", RegistryRedisURL: "redis://s:1"}
	if got := c.Stores(); !slices.Equal(got, []string{"db:3306", "r:6379", "s:1"}) {
		t.Errorf("all: %v", got)
	}
}

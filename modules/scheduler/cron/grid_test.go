package cron

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Long distances overflow nothing, and the longest is stated. (J-A24)
func TestGridNext(t *testing.T) {
	anchor := time.Date(2026, 2, 3, 4, 5, 6, 7e6, time.UTC)
	cases := []struct {
		every, from, want time.Duration // from and want after the anchor
	}{
		{time.Minute, 0, time.Minute},
		{time.Minute, -1, 0},
		{time.Minute, -time.Hour, 0},
		{time.Minute, time.Minute - 1, time.Minute},
		{time.Minute, time.Minute + 1, 2 * time.Minute},
		{100 * time.Millisecond, 250 * time.Millisecond, 300 * time.Millisecond},
		{2_592_000 * time.Second, 2_592_000 * time.Second, 2 * 2_592_000 * time.Second},
		{1 << 31 * time.Second, 0, 1 << 31 * time.Second},
		{1 << 31 * time.Second, 1 << 31 * time.Second, 1 << 32 * time.Second},
		{MaxEvery, 1, MaxEvery},
	}
	for _, c := range cases {
		got, ok := Grid{anchor, c.every}.Next(anchor.Add(c.from))
		if want := anchor.Add(c.want); !ok || !got.Equal(want) {
			t.Errorf("every %s from +%s: got %s %v, want %s", c.every, c.from, got, ok, want)
		}
	}
}

func TestGridRefuses(t *testing.T) {
	for _, every := range []time.Duration{0, -time.Hour, 99 * time.Millisecond, MaxEvery + time.Millisecond, time.Second + 1, 1<<63 - 1} {
		g := Grid{time.Unix(0, 0), every}
		if g.Validate() == nil {
			t.Errorf("every %s is taken", every)
		}
		if got, ok := g.Next(time.Unix(5, 0)); ok {
			t.Errorf("every %s fires at %s", every, got)
		}
	}
	for _, from := range []time.Time{time.Unix(1<<61, 0), time.Date(9998, 12, 31, 0, 0, 0, 0, time.UTC)} {
		if got, ok := (Grid{time.Unix(0, 0), MaxEvery}).Next(from); ok {
			t.Errorf("from %s: %s", from, got)
		}
	}
}

// TestGridProperties: later, on the grid, no point between.
func TestGridProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 10_000 {
		every := MinEvery + time.Duration(rng.Int64N(int64(MaxEvery-MinEvery)>>rng.IntN(50)+1)).Truncate(time.Millisecond)
		anchor := time.UnixMilli(rng.Int64N(4e12) - 2e12)
		from := anchor.Add(time.Duration(rng.Int64N(1 << 60)))
		got, ok := Grid{anchor, every}.Next(from)
		if !ok || !got.After(from) || got.Add(-every).After(from) || (got.UnixMilli()-anchor.UnixMilli())%every.Milliseconds() != 0 {
			t.Fatalf("anchor %s every %s from %s: %s %v", anchor, every, from, got, ok)
		}
	}
}

func TestBetweenTilesTime(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	whole := start.Add(24 * time.Hour)
	s, g := mustParse(t, "*/20 * * * *", Auto), Grid{start, 20 * time.Minute}
	var cron, grid []time.Time
	for from := start; from.Before(whole); from = from.Add(time.Hour) {
		cron = append(cron, s.Between(from, from.Add(time.Hour), nil, 100)...)
		grid = append(grid, g.Between(from, from.Add(time.Hour), 100)...)
	}
	if len(cron) != 72 || len(grid) != 72 {
		t.Fatalf("%d and %d firings in tiles, want 72", len(cron), len(grid))
	}
	for i, want := range s.Between(start, whole, nil, 100) {
		if !cron[i].Equal(want) || !grid[i].Equal(want) {
			t.Errorf("firing %d: %s, %s, want %s", i, cron[i], grid[i], want)
		}
	}
	if got := s.Between(start, whole, nil, 3); len(got) != 3 {
		t.Errorf("limit 3 gives %d", len(got))
	}
	if got := mustParse(t, "@every 8h", Auto).Between(start, whole, nil, 9); len(got) != 2 || !got[0].Equal(start.Add(8*time.Hour)) {
		t.Errorf("@every 8h: %v", got)
	}
}

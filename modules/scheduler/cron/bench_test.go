package cron

import (
	"testing"
	"time"
)

var benchmarks = []struct{ name, expr, zone, from string }{
	{"daily", "0 2 * * *", "Asia/Shanghai", "2026-02-03T00:00:00Z"},
	{"daily, zone with changes", "0 2 * * *", "America/New_York", "2026-02-03T00:00:00Z"},
	{"each minute", "* * * * *", "Europe/Berlin", "2026-02-03T00:00:30Z"},
	{"last weekday", "0 0 12 LW * ?", "Europe/Berlin", "2026-02-03T00:00:00Z"},
	{"at a gap", "30 2 * * *", "America/New_York", "2026-03-08T05:00:00Z"},
	{"29 February", "0 0 29 2 *", "America/New_York", "2096-03-01T00:00:00Z"},
	{"never", "0 0 31 2 *", "America/New_York", "2026-02-03T00:00:00Z"},
}

func BenchmarkNext(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			s, loc := mustParse(b, c.expr, Auto), mustZone(b, c.zone)
			from, _ := time.Parse(time.RFC3339, c.from)
			b.ReportAllocs()
			for b.Loop() {
				s.Next(from, loc)
			}
		})
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	for _, c := range benchmarks {
		s, loc := mustParse(t, c.expr, Auto), mustZone(t, c.zone)
		from, _ := time.Parse(time.RFC3339, c.from)
		if n := testing.AllocsPerRun(100, func() { s.Next(from, loc) }); n > 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("0 0/15 2-4 ? * MON-FRI", Auto); err != nil {
			b.Fatal(err)
		}
	}
}

package cron

import (
	"slices"
	"testing"
	"time"
)

// typical are what most jobs look like, each in a zone without and with clock changes.
var typical = []struct{ name, expr, from string }{
	{"every minute", "* * * * *", "2026-02-03T00:00:30Z"},
	{"every 5 minutes in office hours", "*/5 9-18 * * 1-5", "2026-02-06T18:56:00Z"},
	{"hourly", "0 * * * *", "2026-02-03T00:00:00Z"},
	{"daily 02:30", "30 2 * * *", "2026-02-03T00:00:00Z"},
	{"weekdays 07:30", "30 7 * * 1-5", "2026-02-06T12:00:00Z"},
	{"first of the month", "0 3 1 * *", "2026-02-03T00:00:00Z"},
	{"month end", "0 0 23 L * ?", "2026-02-03T00:00:00Z"},
	{"last workday", "0 0 12 LW * ?", "2026-02-03T00:00:00Z"},
	{"every 10 seconds", "*/10 * * * * *", "2026-02-03T00:00:30Z"},
	{"yearly", "0 4 1 7 *", "2026-02-03T00:00:00Z"},
	{"at a clock change", "30 2 * * *", "2026-03-28T12:00:00Z"},
	{"at the other clock change", "*/15 1 * * *", "2026-10-25T00:10:00Z"},
}

// rare may be slower: they are computed once in years, or once when they are refused.
var rare = []struct{ name, expr, from string }{
	{"29 February", "0 0 29 2 *", "2026-02-03T00:00:00Z"},
	{"29 February after 2096", "0 0 29 2 *", "2096-03-01T00:00:00Z"},
	{"never", "0 0 31 2 *", "2026-02-03T00:00:00Z"},
}

var benchZones = []string{"UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York"}

func BenchmarkNext(b *testing.B) {
	for _, c := range slices.Concat(typical, rare) {
		for _, zone := range benchZones {
			b.Run(c.name+"/"+zone, func(b *testing.B) {
				s, loc := mustParse(b, c.expr, Auto), mustZone(b, zone)
				from, _ := time.Parse(time.RFC3339, c.from)
				b.ReportAllocs()
				for b.Loop() {
					s.Next(from, loc)
				}
			})
		}
	}
}

// A walk along the firings, as the ledger and the counting of planned fires do it.
func BenchmarkNextAlong(b *testing.B) {
	for _, expr := range []string{"* * * * *", "30 2 * * *", "30 7 * * 1-5"} {
		for _, zone := range benchZones {
			b.Run(expr+"/"+zone, func(b *testing.B) {
				s, loc := mustParse(b, expr, Auto), mustZone(b, zone)
				start := time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)
				end := start.AddDate(10, 0, 0)
				b.ReportAllocs()
				at := start
				for b.Loop() {
					if at, _ = s.Next(at, loc); at.After(end) {
						at = start
					}
				}
			})
		}
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	for _, c := range slices.Concat(typical, rare) {
		for _, zone := range benchZones {
			s, loc := mustParse(t, c.expr, Auto), mustZone(t, zone)
			from, _ := time.Parse(time.RFC3339, c.from)
			if n := testing.AllocsPerRun(100, func() { s.Next(from, loc) }); n > 0 {
				t.Errorf("%s in %s: %v allocations", c.name, zone, n)
			}
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

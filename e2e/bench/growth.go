package main

import (
	"fmt"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// growthPart measures the same firing and the same pages with more and more history.
func (b *bench) growthPart() *Part {
	s := b.stores(historyOptions()...)
	s.startCenter()
	s.worker = s.site.Worker(b, setup.Opts{})
	s.sleepers(0, 1000)
	sizes := []int64{0, someHistory, 1_000_000, 5_000_000}
	if b.quick {
		sizes = []int64{0, someHistory, 200_000, 1_000_000}
	}
	p := &Part{Title: "Growth with history",
		Measured: fmt.Sprintf("1,000 noop jobs due in the same second, and %d requests for each page one after the other, on MariaDB with no history and with instances that ended before, one each %s back from now, of the same 2,000 jobs, each with its attempt, counters and latest of the day; × is the ratio of lateness to no history, and that of a page to %s instances of it: with fewer it would have little to show.",
			pageRequests, apart, number(someHistory, 0))}
	t := p.table("growth", "with instances of history", growthColumns(sizes)...)
	var past *history
	for _, size := range sizes {
		if size > 0 {
			if past == nil {
				past = s.newHistory() // of all jobs: the first firing has made its own
			}
			s.center.Stop()
			past.grow(size)
			s.center.Restart()
			s.pause(3 * time.Second)
		}
		if size != someHistory {
			s.late(p, t, size)
		}
		if size > 0 {
			s.pages(t, size)
		}
	}
	for _, r := range t.Rows {
		base, late := r.Figures[at(0)]
		if !late {
			base = r.Figures[at(someHistory)]
		}
		for _, size := range sizes[2:] {
			r.aim(times(size), r.Figures[at(size)].Value/base.Value, atMost(1.3))
		}
	}
	return p
}

// someHistory fills each page: the fourteen latest days of each job, which /jobs draws.
const someHistory = 200_000

// historyOptions are the server's for making the indexes of the history.
func historyOptions() []string { return []string{"--innodb-sort-buffer-size=64M"} }

func at(size int64) string    { return fmt.Sprintf("at_%d", size) }
func times(size int64) string { return fmt.Sprintf("times_%d", size) }

func growthColumns(sizes []int64) []Column {
	var out []Column
	for _, size := range sizes {
		out = append(out, Column{at(size), number(float64(size), 0) + ", ms", 1})
	}
	for _, size := range sizes[2:] {
		out = append(out, Column{times(size), "× at " + number(float64(size), 0), 2})
	}
	return out
}

// late measures a firing with so much history.
func (s *stage) late(p *Part, t *Table, size int64) {
	got, _ := s.volley(p, salvo{kind: "noop", n: 1000, rounds: 3, pause: 3 * time.Second})
	sp, _ := got.spread()
	grown(t, "late_p50", "lateness p50", size, sp.p50)
	grown(t, "late_p99", "lateness p99", size, sp.p99)
	s.say("%d instances of history: p99 %.0f ms", size, sp.p99)
}

// pages measures them with so much history.
func (s *stage) pages(t *Table, size int64) {
	all, pages := s.pagesInTurn()
	for _, path := range pagePaths() {
		name := pageName(path)
		grown(t, name, "page "+name+" p50", size, pages[path].p50)
	}
	grown(t, "pages_p95", "all pages p95", size, all.p95)
	s.say("%d instances of history: pages p95 %.0f ms", size, all.p95)
}

// grown writes one figure of one size.
func grown(t *Table, key, name string, size int64, value float64) {
	for _, r := range t.Rows {
		if r.Key == key {
			r.put(at(size), value)
			return
		}
	}
	t.row(key, name).put(at(size), value)
}

// pageRequests is how often each page is asked for.
const pageRequests = 40

// pagesInTurn asks for each page pageRequests times, one request after the other, after a first one that does not
// count.
func (s *stage) pagesInTurn() (spread, map[string]spread) {
	r := s.newReader()
	var all []float64
	pages := map[string]spread{}
	for _, path := range pagePaths() {
		var took []float64
		for i := range pageRequests + 1 {
			began := time.Now()
			s.must(r.get(path), "asking for a page")
			if i > 0 {
				took = append(took, float64(time.Since(began).Microseconds())/1000)
			}
			s.pause(5 * time.Millisecond)
		}
		all = append(all, took...)
		pages[path] = spreadOf(took)
	}
	return spreadOf(all), pages
}

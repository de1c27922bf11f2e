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
	sizes := []int64{0, 1_000_000, 5_000_000}
	if b.quick {
		sizes = []int64{0, 200_000, 1_000_000}
	}
	p := &Part{Title: "Growth with history",
		Measured: fmt.Sprintf("1,000 noop jobs due in the same second, and %d requests for each page one after the other, on MariaDB with no history and with instances that ended before, one each %s back from now, of the same 2,000 jobs, each with its attempt, counters and latest of the day; × is the ratio to no history, where pages have no past to show either.", pageRequests, apart)}
	t := p.table("growth", "with instances of history", growthColumns(sizes)...)
	var history *history
	for _, size := range sizes {
		if size > 0 {
			if history == nil {
				history = s.newHistory()
			}
			s.center.Stop()
			history.grow(size)
			s.center.Restart()
			s.pause(3 * time.Second)
		}
		s.grown(p, t, size)
	}
	for _, r := range t.Rows {
		for _, size := range sizes[1:] {
			r.aim(times(size), r.Figures[at(size)].Value/r.Figures[at(0)].Value, atMost(1.3))
		}
	}
	return p
}

// historyOptions are the server's for making the indexes of the history.
func historyOptions() []string { return []string{"--innodb-sort-buffer-size=64M"} }

func at(size int64) string    { return fmt.Sprintf("at_%d", size) }
func times(size int64) string { return fmt.Sprintf("times_%d", size) }

func growthColumns(sizes []int64) []Column {
	var out []Column
	for _, size := range sizes {
		out = append(out, Column{at(size), number(float64(size), 0) + ", ms", 1})
	}
	for _, size := range sizes[1:] {
		out = append(out, Column{times(size), "× at " + number(float64(size), 0), 2})
	}
	return out
}

// grown measures one size.
func (s *stage) grown(p *Part, t *Table, size int64) {
	put := func(key, name string, value float64) {
		for _, r := range t.Rows {
			if r.Key == key {
				r.put(at(size), value)
				return
			}
		}
		t.row(key, name).put(at(size), value)
	}
	got, _ := s.volley(p, salvo{kind: "noop", n: 1000, rounds: 3, pause: 3 * time.Second})
	sp, _ := got.spread()
	put("late_p50", "lateness p50", sp.p50)
	put("late_p99", "lateness p99", sp.p99)
	all, pages := s.pagesInTurn()
	for _, path := range pagePaths() {
		name := pageName(path)
		put(name, "page "+name+" p50", pages[path].p50)
	}
	put("pages_p95", "all pages p95", all.p95)
	s.say("%d instances of history: p99 %.0f ms, pages p95 %.0f ms", size, sp.p99, all.p95)
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

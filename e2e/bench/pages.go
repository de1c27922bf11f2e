package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// pagePaths are the pages that are asked for; %s is an instance. /jobs counts the jobs in each of its tabs.
func pagePaths() []string {
	return []string{"/", "/jobs", "/instances", "/instances?state=failed", "/instances/%s", "/workers"}
}

// reader asks for pages as an open loop: each request has its moment whatever became of the one before, and is
// measured from that moment.
type reader struct {
	s        *stage
	instance string
	client   *http.Client
	quit     chan struct{}
	wg       sync.WaitGroup

	mu   sync.Mutex
	took map[string][]float64 // ms, by page
	bad  []string
}

// Pages asked for in a second, in all.
const pageRate = 5

// pageName is a page's path for people.
func pageName(path string) string { return strings.ReplaceAll(path, "%s", "ID") }

// newReader is a reader that knows an instance to look at.
func (s *stage) newReader() *reader {
	return &reader{s: s, quit: make(chan struct{}), took: map[string][]float64{}, client: &http.Client{Timeout: 30 * time.Second},
		instance: fmt.Sprint(s.number("SELECT MAX(id) FROM instance WHERE state = 'success'"))}
}

// readPages begins to ask for pages, one after the other, until done is called.
func (s *stage) readPages() *reader {
	r := s.newReader()
	r.wg.Go(func() {
		tick := time.NewTicker(time.Second / pageRate)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-r.quit:
				return
			case at := <-tick.C:
				page := pagePaths()[i%len(pagePaths())]
				r.wg.Go(func() { r.ask(page, at) })
			}
		}
	})
	return r
}

func (r *reader) ask(page string, at time.Time) {
	err := r.get(page)
	took := time.Since(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took[page] = append(r.took[page], float64(took.Microseconds())/1000)
	if err != nil {
		r.bad = append(r.bad, err.Error())
	}
}

// get reads one page whole, with the admin's token.
func (r *reader) get(page string) error {
	path := strings.ReplaceAll(page, "%s", r.instance)
	req, err := http.NewRequest(http.MethodGet, r.s.center.URL+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.s.site.Token)
	req.Header.Set("Accept", "text/html")
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return nil
}

// done ends the asking, waits for what is under way, and writes the table.
func (r *reader) done(p *Part, key, title string) spread {
	close(r.quit)
	r.wg.Wait()
	t := p.table(key, title, Column{"p50", "p50 ms", 1}, Column{"p95", "p95 ms", 1}, Column{"max", "max ms", 1}, Column{"n", "requests", 0})
	var all []float64
	for _, page := range pagePaths() {
		name := pageName(page)
		sp := spreadOf(r.took[page])
		all = append(all, r.took[page]...)
		t.row(name, name).put("p50", sp.p50).put("p95", sp.p95).put("max", sp.max).put("n", float64(sp.n))
	}
	sp := spreadOf(all)
	t.row("all", "all pages").put("p50", sp.p50).aim("p95", sp.p95, atMost(100)).put("max", sp.max).put("n", float64(sp.n))
	if len(r.bad) > 0 {
		p.note("%d of %d requests for pages failed, the first: %s", len(r.bad), sp.n, r.bad[0])
	}
	return sp
}

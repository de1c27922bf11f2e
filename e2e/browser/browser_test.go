// Package browser drives a real Chromium: over the storybook, which has every page in
// all its states, in both languages and themes at three widths; and over a real AX, as
// people do. Without Chromium its tests are skipped.
package browser

import (
	"context"
	"flag"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/views/storybook"
)

// tab is one browser tab that remembers what its console complained about.
type tab struct {
	ctx context.Context
	url string

	mu         sync.Mutex
	complaints []string
}

// TestMain lets two browsers run at a time unless -parallel says otherwise: unlike the
// stories that wait most of the time, they need the processor.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "2"); err != nil {
		panic(err)
	}
	os.Exit(setup.Main(m))
}

// open starts a fresh Chromium and a server of the storybook; both end with the test.
func open(t *testing.T) *tab {
	t.Helper()
	server := httptest.NewServer(storybook.Handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return launch(t, server.URL)
}

// launch starts a fresh Chromium, which ends with the test.
func launch(t *testing.T, url string) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium on this machine")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true),
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	b := &tab{ctx: ctx, url: url}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	return b
}

func (b *tab) hear(event any) {
	complaint := ""
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			complaint = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventExceptionThrown:
		complaint = e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			complaint += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			complaint = "console.error"
			for _, a := range e.Args {
				complaint += " " + string(a.Value) + a.Description
			}
		}
	}
	if complaint != "" {
		b.mu.Lock()
		b.complaints = append(b.complaints, complaint)
		b.mu.Unlock()
	}
}

// complained returns and forgets what the console said.
func (b *tab) complained() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.complaints
	b.complaints = nil
	return all
}

func (b *tab) show(t *testing.T, story, lang, theme string, width int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	err := chromedp.Do(ctx,
		chromedp.EmulateViewport(width, 900),
		chromedp.Navigate(b.url+"/story/"+story+"?lang="+lang+"&theme="+theme),
	)
	if err != nil {
		t.Fatalf("show %s: %v", story, err)
	}
}

// ask evaluates an expression in the page.
func ask[T any](t *testing.T, b *tab, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("evaluate %.60s: %v", expression, err)
	}
	return v
}

// until waits for an expression to hold.
func until(t *testing.T, b *tab, expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[chromedp.Void](expression)); err != nil {
		t.Fatalf("wait for %s: %v", expression, err)
	}
}

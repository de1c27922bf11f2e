package conform

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say whom to test and how. URL and Secret must be set.
type Options struct {
	URL      string // where the executor takes tasks; {type} in it is replaced
	Executor string // the name it goes by, project/name
	Secret   string
	Type     string // that echoes its parameters
	Listen   string // where the executor's calls are awaited
	Callback string // how the executor reaches that, when it is not by Listen's own address
	PID      int    // of the executor, to see it drain at SIGTERM; 0 leaves that out
	Only     []string
	Parallel int // cases at a time
	Tell     func(Row)
}

// The verdicts.
const (
	Passed        = "passed"
	Failed        = "failed"
	NotApplicable = "not applicable"
)

// Row is the outcome of one case.
type Row struct {
	Case    string        `json:"case"`
	About   string        `json:"about"`
	Verdict string        `json:"verdict"`
	Reason  string        `json:"reason,omitempty"` // empty when it passed
	Took    time.Duration `json:"-"`
}

// verdict is what a case returns: nil is passed.
type verdict struct{ kind, reason string }

func failed(format string, args ...any) *verdict {
	return &verdict{Failed, fmt.Sprintf(format, args...)}
}

func notApplicable(reason string) *verdict { return &verdict{NotApplicable, reason} }

// one is a case. It has its own attempts, so that cases run side by side; alone ones run after the others.
type one struct {
	name, about string
	alone       bool
	run         func(context.Context, *kit) *verdict
}

// Names lists the cases in their order.
func Names() []string {
	var names []string
	for _, c := range cases() {
		names = append(names, c.name)
	}
	return names
}

// Run plays the cases and returns a row for each, in their order. The error is about the set-up; a failed case is a row.
func Run(ctx context.Context, o Options) ([]Row, error) {
	k, err := open(o)
	if err != nil {
		return nil, err
	}
	defer k.close()
	if err := k.learn(ctx); err != nil {
		return nil, err
	}
	chosen := cases()
	if len(o.Only) > 0 {
		chosen = slices.DeleteFunc(chosen, func(c one) bool { return !slices.Contains(o.Only, c.name) })
	}
	rows := make([]Row, len(chosen))
	var all sync.WaitGroup
	slots := make(chan struct{}, max(o.Parallel, 1))
	for _, alone := range []bool{false, true} {
		for i, c := range chosen {
			if c.alone != alone {
				continue
			}
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				rows[i] = k.play(ctx, c)
			})
		}
		all.Wait()
	}
	return rows, ctx.Err()
}

func (k *kit) play(ctx context.Context, c one) Row {
	start := time.Now()
	row := Row{Case: c.name, About: c.about, Verdict: Passed}
	if v := c.run(ctx, k); v != nil {
		row.Verdict, row.Reason = v.kind, v.reason
	}
	row.Took = time.Since(start)
	if k.options.Tell != nil {
		k.telling.Lock()
		defer k.telling.Unlock()
		k.options.Tell(row)
	}
	return row
}

// kit is a center in play.
type kit struct {
	options  Options
	callback string // base URL
	server   *http.Server
	client   *http.Client
	canary   string // a folder in which a value that was evaluated leaves a file
	telling  sync.Mutex

	mu       sync.Mutex
	attempts map[string]*attempt
	nonces   map[string]bool
	last     int64

	// What learn saw the executor do.
	sync, claims, beats, logs, sleeps bool
}

// open judges the options and listens.
func open(o Options) (*kit, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no http or https URL: write where the executor takes tasks, such as http://127.0.0.1:9000/run", o.URL)
	}
	if o.Secret == "" {
		return nil, errors.New("there is no secret: give the one that the executor has")
	}
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("there is no case %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for the executor's calls: %w", err)
	}
	canary, err := os.MkdirTemp("", "ax-conform-")
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	k := &kit{options: o, callback: o.Callback, canary: canary, attempts: map[string]*attempt{}, nonces: map[string]bool{}, last: time.Now().UnixMilli() << 20}
	if k.callback == "" {
		k.callback = "http://" + listener.Addr().String()
	}
	k.callback = strings.TrimSuffix(k.callback, "/") + "/executor/v1/report"
	k.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	k.server = &http.Server{Handler: k, ReadHeaderTimeout: time.Minute}
	go func() { _ = k.server.Serve(listener) }() // ends with close
	return k, nil
}

func (k *kit) close() {
	_ = k.server.Close()
	_ = os.RemoveAll(k.canary)
}

// learn sends two tasks and sees how this executor works; one that does not even echo is not tested further.
func (k *kit) learn(ctx context.Context) error {
	a := k.attempt(map[string]string{"hello": "world"})
	outcome, v := k.done(ctx, a)
	if v != nil {
		return fmt.Errorf("a plain task of type %q did not come through, so nothing else is tested: %s", k.options.Type, v.reason)
	}
	if !outcome.Success {
		return fmt.Errorf("a plain task of type %q failed, so nothing else is tested: %s", k.options.Type, outcome.Message)
	}
	k.sync = a.answered
	k.claims = a.count(claims) > 0
	a = k.attempt(map[string]string{"sleep": "2"})
	if outcome, v = k.done(ctx, a); v != nil || !outcome.Success {
		return nil // it does not sleep
	}
	k.sleeps = a.took() >= 1500*time.Millisecond
	k.beats = a.count(beats) > 0
	k.logs = a.count(logs) > 0
	return nil
}

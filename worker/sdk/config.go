package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Handler does one task. It ends early when ctx does: at the deadline, when the center cancels the attempt, or when
// the process stops; context.Cause says which. The result is handed to the jobs downstream: nil, or what encoding/json makes an
// object of at most 64 KB of. An error, or a panic, makes the attempt failed, and its text is shown as the reason.
//
// It returns after the business has committed, not before: what it returned is reported.
type Handler func(ctx context.Context, task *Task) (result any, err error)

// Config is what an executor is told. Executor, Secrets and Journal must be set.
type Config struct {
	// Executor is the name in AX's directory, project/name.
	Executor string
	// Secrets are those of that entry. The first signs; each verifies, so that during a rotation the old one may
	// stand behind the new one.
	Secrets []string
	// Journal is a file of this executor alone. Its folder must exist. It holds parameters and results of what is
	// not settled yet, so it is made readable for its owner only.
	Journal string
	// Listen is where Serve listens, such as ":9000". New does not need it.
	Listen string
	// Concurrency is how many tasks run at a time; 0 means 16. Beyond it the center is told "busy" and goes elsewhere.
	Concurrency int
	// DrainFor is how long Serve waits for running tasks when its context ends; 0 means 30 s.
	DrainFor time.Duration
	// Interrupted settles a task that was started and not ended when the process died: it finds out in the business'
	// own data what became of it, and its return is reported as the task's. nil reports it as failed,
	// "the executor was restarted", and the job's retries decide.
	Interrupted Handler
	// Client makes the calls to the center; nil means one with a limit of 10 s that follows no redirects.
	Client *http.Client
	// Logger hears what the author can't see otherwise; nil means slog.Default.
	Logger *slog.Logger
}

const (
	defaultConcurrency = 16
	defaultDrain       = 30 * time.Second
	callTimeout        = 10 * time.Second
)

// complete checks c and fills in what was left to the package.
func (c Config) complete(handlers map[string]Handler) (Config, error) {
	project, name, ok := strings.Cut(c.Executor, "/")
	switch {
	case !ok || project == "" || name == "":
		return c, fmt.Errorf("sdk: Config.Executor is %q; write project/name as `ax executors` shows it", c.Executor)
	case len(c.Secrets) == 0 || strings.Join(c.Secrets, "") == "":
		return c, errors.New("sdk: Config.Secrets is empty; the secret was shown when the executor was added, `ax executors rotate` makes a new one")
	case c.Journal == "":
		return c, errors.New("sdk: Config.Journal is empty; name a file that only this executor uses")
	case len(handlers) == 0:
		return c, errors.New("sdk: there is no handler; give one for each type of task")
	case c.Concurrency < 0:
		return c, fmt.Errorf("sdk: Config.Concurrency is %d; it counts tasks", c.Concurrency)
	}
	for kind, h := range handlers {
		if kind == "" || h == nil {
			return c, fmt.Errorf("sdk: the handler of type %q has no name or no function", kind)
		}
	}
	if c.Concurrency == 0 {
		c.Concurrency = defaultConcurrency
	}
	if c.DrainFor == 0 {
		c.DrainFor = defaultDrain
	}
	if c.Client == nil {
		c.Client = &http.Client{Timeout: callTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

// pace is how fast the loops go; tests go faster.
type pace struct {
	beat     time.Duration // between heartbeats
	progress time.Duration // between two that carry news
	logs     time.Duration // for which lines are collected
	first    time.Duration // before something is tried again
	claim    time.Duration // at most, before a claim is
	report   time.Duration // at most, before a report is
	linger   time.Duration // for which a settled attempt's lines are still tried
	giveUp   time.Duration // after which a report that nobody takes is set aside
	forget   time.Duration // for which a settled attempt is known
}

func usualPace() pace {
	return pace{beat: 10 * time.Second, progress: time.Second, logs: 300 * time.Millisecond, first: 300 * time.Millisecond, claim: 5 * time.Second,
		report: 30 * time.Second, linger: 30 * time.Second, giveUp: 7 * 24 * time.Hour, forget: time.Hour}
}

// Package all is everything in one process: web, scheduler, broker and one
// worker, which still talk through the queue. Without URLs the stores are
// embedded: SQLite in the data directory, and a Redis in the process whose loss
// at the end costs nothing.
package all

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/app/center"
	"github.com/axsched/ax/app/demo"
	"github.com/axsched/ax/app/listen"
	"github.com/axsched/ax/app/node"
	"github.com/axsched/ax/config"
	"github.com/axsched/ax/worker/protocol/crash"
	"github.com/axsched/ax/worker/transport"
)

// Options of Run.
type Options struct {
	Config  config.Config
	Version string
	// Demo installs the demo project.
	Demo bool
	// Now is this machine's wall clock; nil = time.Now.
	Now func() time.Time
}

// Run carries all roles until ctx ends: the worker stops first, so that what it
// finishes is still confirmed.
func Run(ctx context.Context, o Options) error {
	c := o.Config
	if err := crash.Arm(os.Getenv(crash.Variable)); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	link, closeRedis, err := open(ctx, c)
	if err != nil {
		return err
	}
	defer closeRedis()
	ln, err := listen.TCP(ctx, c.Listen)
	if err != nil {
		return err
	}
	worker, err := node.Open(c, o.Version, link, o.Now)
	if err != nil {
		_ = ln.Close()
		return err
	}
	centerCtx, stopCenter := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCenter()
	workerCtx, stopWorker := context.WithCancel(ctx)
	defer stopWorker()
	worked, served := make(chan error, 1), make(chan error, 1)
	go func() {
		served <- center.Run(centerCtx, center.Options{Config: c, Version: o.Version, Transport: link.Transport, Registry: link.Registry, Listener: ln, Now: o.Now,
			Worker: func() string { return worker.Status().Error },
			Ready:  func(_ context.Context, w center.Welcome) { greet(ctx, c, ln, w, o.Demo) }})
		stopWorker()
	}()
	go func() { worked <- worker.Run(workerCtx) }()
	if err = <-worked; err != nil {
		err = fmt.Errorf("the worker in this process: %w", err)
	}
	stopCenter()
	return errors.Join(err, <-served)
}

// open makes the worker's link, which the center shares.
func open(ctx context.Context, c config.Config) (*transport.Link, func(), error) {
	if c.RedisURL == "" {
		embedded := transport.NewEmbedded()
		client := embedded.Client()
		running, stop := context.WithCancel(context.WithoutCancel(ctx))
		go func() {
			if err := embedded.Run(running); err != nil {
				slog.Error("the embedded Redis ended", "error", err)
			}
		}()
		return &transport.Link{Transport: client, Registry: client, Embedded: true, Log: slog.Default()}, func() {
			_ = client.Close()
			stop()
			embedded.Close()
		}, nil
	}
	main, registry, err := center.OpenRedis(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	var reg redis.UniversalClient = registry
	if c.RegistryRedisURL == c.RedisURL {
		reg = main
	}
	return &transport.Link{Transport: main, Registry: reg, Log: slog.Default()}, func() { _ = errors.Join(main.Close(), registry.Close()) }, nil
}

// greet prints how to get in and installs the demo.
func greet(ctx context.Context, c config.Config, ln net.Listener, w center.Welcome, withDemo bool) {
	if !withDemo {
		center.Greet(ln, w)
		return
	}
	url := "http://" + ln.Addr().String()
	token, err := w.Token(ctx)
	if err == nil {
		err = demo.Install(ctx, url, token, c.Data)
	}
	if err != nil {
		slog.Error("the demo project could not be installed", "error", err)
	}
	link, err := w.LoginPath(ctx, "/dag")
	if err != nil {
		slog.Error("no login link could be made", "error", err)
		return
	}
	fmt.Fprintf(os.Stdout, `
AX is ready: %s/
Log in (link good once, for 15 minutes):
  %s%s
For the command line (token good for a day):
  export AX_URL=%s AX_TOKEN=%s
`, url, url, link, url, token)
}

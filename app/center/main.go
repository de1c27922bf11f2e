package center

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/app/listen"
	"github.com/axsched/ax/config"
	"github.com/axsched/ax/worker/protocol/crash"
	"github.com/axsched/ax/worker/transport"
)

// Main carries the center's roles of the mode on real stores until ctx ends; now is
// this machine's wall clock.
func Main(ctx context.Context, c config.Config, version string, now func() time.Time) error {
	if err := crash.Arm(os.Getenv(crash.Variable)); err != nil {
		return err
	}
	main, registry, err := OpenRedis(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(main.Close(), registry.Close()) }()
	ln, err := listen.TCP(ctx, c.Listen)
	if err != nil {
		return err
	}
	return Run(ctx, Options{Config: c, Version: version, Transport: main, Registry: registry, Listener: ln, Now: now, Ready: func(ctx context.Context, w Welcome) {
		Greet(ln, w)
	}})
}

// OpenRedis makes the clients of transport and registry. A Redis that is away is
// no reason not to start; one that answers and is unfit is.
func OpenRedis(ctx context.Context, c config.Config) (main, registry *redis.Client, err error) {
	for _, one := range []struct {
		key string
		url config.StoreURL
		to  **redis.Client
	}{{"redis_url", c.RedisURL, &main}, {"registry_redis_url", c.RegistryRedisURL, &registry}} {
		if *one.to, err = transport.Dial(string(one.url)); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", one.key, err)
		}
		ask, cancel := context.WithTimeout(ctx, c.Timeouts.Connect)
		err = transport.Check(ask, *one.to)
		cancel()
		if errors.Is(err, transport.ErrUnfit) {
			return nil, nil, fmt.Errorf("%s: %w", one.key, err)
		}
		if err != nil {
			slog.Warn("Redis is of no use yet; going on without it until it is", "key", one.key, "url", one.url.String(), "error", err)
		}
	}
	return main, registry, nil
}

// Greet prints where the pages are and, on a first start, the one-time link by
// which the first account is made.
func Greet(ln net.Listener, w Welcome) {
	fmt.Fprintf(os.Stdout, "AX is ready: http://%s/\n", ln.Addr())
	if w.SetupPath != "" {
		fmt.Fprintf(os.Stdout, "Make the first account (link good once): http://%s%s\n", ln.Addr(), w.SetupPath)
	}
}

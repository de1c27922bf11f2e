// Package node is the composition root of a worker replica: it opens Redis, builds the Node with its executor types and
// serves health and metrics. It reaches no database, no module and no page; a worker that cannot touch the center's
// store cannot harm it. main and app/all drive it.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/app/listen"
	"github.com/axsched/ax/app/profile"
	"github.com/axsched/ax/config"
	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
	"github.com/axsched/ax/worker/protocol/netguard"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/transport"
	"github.com/axsched/ax/worker/types"
	typehttp "github.com/axsched/ax/worker/types/http"
	"github.com/axsched/ax/worker/types/noop"
	"github.com/axsched/ax/worker/types/plugin"
	"github.com/axsched/ax/worker/types/program"
	"github.com/axsched/ax/worker/types/python"
	"github.com/axsched/ax/worker/types/shell"
	typesql "github.com/axsched/ax/worker/types/sql"
)

// WatchdogCommand is the word with which a worker starts this program as its watchdog.
const WatchdogCommand = "watchdog"

// Watchdog is the whole watchdog process; it returns the exit code.
func Watchdog(args []string) int {
	return runner.WatchdogMain(os.Stdin, os.Stdout, os.Stderr, args)
}

// Open builds the worker of a set-up over link, which stays the caller's to close. Its journal, name and log spool are
// in the folder worker below the data directory. What an earlier life left is killed and settled by now; nothing is
// received before Run. now is this machine's wall clock; nil = time.Now.
func Open(c config.Config, version string, link *transport.Link, now func() time.Time) (*worker.Node, error) {
	databases, err := typesql.New(sources(c))
	if err != nil {
		return nil, fmt.Errorf("worker.sources: %w", err)
	}
	data := filepath.Join(c.Data, "worker")
	var plugins *plugin.Set
	return worker.Open(worker.Config{
		Name:    c.Worker.Name,
		Data:    data,
		Tags:    offers(c),
		Version: version,
		Lanes: map[string]int{
			protocol.LaneHigh: c.Worker.Lanes.High, protocol.LaneDefault: c.Worker.Lanes.Default, protocol.LaneLow: c.Worker.Lanes.Low,
		},
		LostAfter: c.Worker.LostAfter,
		Grace:     grace(c.Timeouts.Shutdown),
		Log:       slog.Default(),
		Now:       now,
		Plugins:   func() []protocol.PluginState { return plugins.States() },
		End:       func() { _ = plugins.Close() },
	}, link, func(r *runner.Runner) []types.Executor {
		own := []types.Executor{shell.New(r, "", program.NewUsers(c.Worker.Users)), python.New(r, filepath.Join(data, "python")),
			typehttp.New(version, netguard.NewBook(c.Stores()...)), databases, noop.Executor{}}
		plugins = openPlugins(c, r, own)
		return append(own, plugins.Executors()...)
	})
}

// sources are the databases that sql tasks may name, name → URL.
func sources(c config.Config) map[string]string {
	out := map[string]string{}
	for _, s := range c.Worker.Sources {
		out[s.Name()] = string(s.URL())
	}
	return out
}

// offers are what a job may demand of the worker: its tags, its data sources, and the accounts that tasks may run as.
func offers(c config.Config) []string {
	out := slices.Clone(c.Worker.Tags)
	for _, s := range c.Worker.Sources {
		out = append(out, protocol.SourceTag+s.Name())
	}
	for _, name := range c.Worker.Users {
		out = append(out, protocol.UserTag+name)
	}
	return out
}

// openPlugins begins to load the plug-ins of a set-up; no type of theirs may be one of own.
func openPlugins(c config.Config, r *runner.Runner, own []types.Executor) *plugin.Set {
	folder := c.Worker.Plugins
	if folder == "" {
		folder = filepath.Join(c.Data, "plugins")
	}
	var taken []string
	for _, e := range own {
		taken = append(taken, e.Type())
	}
	return plugin.Open(plugin.Options{Folder: folder, Home: filepath.Join(c.Data, "worker", "plugins"), Runner: r, Env: program.BaseEnv(),
		Log: slog.Default(), Taken: taken})
}

// afterGrace is what killing, dumping, reporting and leaving may take of the time from the signal to the end.
const afterGrace = 5 * time.Second

func grace(shutdown time.Duration) time.Duration { return max(shutdown-afterGrace, time.Second) }

// Main is the role worker as a process of its own, until ctx ends; now is this machine's wall clock.
func Main(ctx context.Context, c config.Config, version string, now func() time.Time) error {
	ln, err := listen.TCP(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer func() { _ = ln.Close() }()
	if err := crash.Arm(os.Getenv(crash.Variable)); err != nil {
		return err
	}
	link, closeLink, err := dial(c)
	if err != nil {
		return err
	}
	defer closeLink()
	if err := fit(ctx, link, c.Timeouts.Connect); err != nil {
		return err
	}
	n, err := Open(c, version, link, now)
	if err != nil {
		return err
	}
	stop := serve(ln, profile.Behind(string(c.PprofToken), n.Handler()))
	defer stop()
	slog.Info("worker starts; it takes work once Redis has given it its name", "name", n.Name(), "boot", n.Boot(), "health", "http://"+ln.Addr().String()+"/readyz")
	return n.Run(ctx)
}

// dial makes the clients of transport and registry, which are one where the URLs are the same.
func dial(c config.Config) (*transport.Link, func(), error) {
	main, err := transport.Dial(string(c.RedisURL))
	if err != nil {
		return nil, nil, fmt.Errorf("redis_url: %w", err)
	}
	registry := main
	if c.RegistryRedisURL != "" && c.RegistryRedisURL != c.RedisURL {
		if registry, err = transport.Dial(string(c.RegistryRedisURL)); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("registry_redis_url: %w", err), main.Close())
		}
	}
	link := &transport.Link{Transport: main, Registry: registry, Log: slog.Default()}
	return link, func() { closeAll(main, registry) }, nil
}

func closeAll(clients ...*redis.Client) {
	for _, c := range clients {
		_ = c.Close() // closing twice is no harm, and nothing is buffered
	}
}

// fit refuses a Redis that answers and must not be used. One that is away is no reason not to start: what an earlier
// life left behind is settled meanwhile.
func fit(ctx context.Context, link *transport.Link, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := link.Ready(ctx)
	if errors.Is(err, transport.ErrUnfit) {
		return err // it says which
	}
	if err != nil {
		slog.Warn("Redis is of no use yet; the worker takes work as soon as it is", "error", err)
	}
	return nil
}

// serve answers on ln until the returned function is called.
func serve(ln net.Listener, h http.Handler) (stop func()) {
	const headerLimit = 5 * time.Second
	s := &http.Server{Handler: h, ReadHeaderTimeout: headerLimit}
	go func() {
		if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("health pages ended", "error", err)
		}
	}()
	return func() { _ = s.Close() }
}

package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// The oldest Redis whose streams and scripts do what is asked of them here.
const (
	minMajor = 6
	minMinor = 2
)

// Time limits of one connection. They are short: whoever waits for Redis has something better to do.
const (
	dialTimeout = time.Second
	ioTimeout   = 3 * time.Second
	dialTries   = 2
	dialPause   = 200 * time.Millisecond
	poolSize    = 32
	// blockFor is how long a read may wait for the next entry; it stays under ioTimeout.
	blockFor = time.Second
)

// ErrUnfit is wrapped by the error about a server that answers and must not be used as it is.
var ErrUnfit = errors.New("this Redis cannot be used")

// Open connects to the Redis at rawURL and checks that it can be relied on. The error says what is wrong and how to
// mend it, and never shows the password. The caller closes the client.
func Open(ctx context.Context, rawURL string) (*redis.Client, error) {
	c, err := Dial(rawURL)
	if err != nil {
		return nil, err
	}
	if err := Check(ctx, c); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("redis at %s: %w", redactURL(rawURL), err)
	}
	return c, nil
}

// Dial makes a client for rawURL (redis://, rediss://, unix://, redis-sentinel://, rediss-sentinel://) and asks nothing
// yet: a Redis that is down is found out by the first call.
func Dial(rawURL string) (*redis.Client, error) {
	quiet()
	if isSentinel(rawURL) {
		return dialSentinel(rawURL)
	}
	opt, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("redis URL %s: %w", redactURL(rawURL), hideURL(err, rawURL))
	}
	if opt.TLSConfig != nil {
		opt.TLSConfig.MinVersion = tls.VersionTLS12
	}
	tune(opt)
	return redis.NewClient(opt), nil
}

// quiet sends what the library says of itself where the process' own log goes, as detail: it says the same at each try
// to reach a Redis that is away, and who tried says that it is. The library has one logger per process.
var quiet = sync.OnceFunc(func() { redis.SetLogger(&detail{}) })

type detail struct{ said seldom }

// Printf is the library's.
func (d *detail) Printf(ctx context.Context, format string, v ...any) {
	if text := fmt.Sprintf(format, v...); d.said.due(text, time.Now()) {
		slog.DebugContext(ctx, "redis: "+text)
	}
}

// tune sets what every connection of AX has in common.
func tune(opt *redis.Options) {
	opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	opt.DialerRetries, opt.DialerRetryTimeout = dialTries, dialPause
	opt.ContextTimeoutEnabled = true
	opt.PoolSize = poolSize
	opt.DisableIdentity = true
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// Check asks the server for its version and for what it does when its memory is full. The error wraps ErrUnfit when
// it answered and is not fit; any other error means that it could not be asked.
func Check(ctx context.Context, c redis.UniversalClient) error {
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	version := infoField(info, "redis_version")
	if !atLeast(version, minMajor, minMinor) {
		return fmt.Errorf("%w: it is version %q; AX needs Redis %d.%d or later", ErrUnfit, version, minMajor, minMinor)
	}
	if err := checkMemory(ctx, c); err != nil {
		return err
	}
	return checkRole(ctx, c)
}

// checkMemory refuses a server that throws keys away under pressure: queues and registry are not a cache. INFO is
// asked, since CONFIG is often forbidden.
func checkMemory(ctx context.Context, c redis.UniversalClient) error {
	info, err := c.Info(ctx, "memory").Result()
	if err != nil {
		return fmt.Errorf("INFO memory: %w", err)
	}
	limit, policy := infoField(info, "maxmemory"), infoField(info, "maxmemory_policy")
	if limit == "" || limit == "0" || policy == "noeviction" {
		return nil
	}
	return &Evicting{limit, policy}
}

// Evicting is the error, of those that wrap ErrUnfit, about a server that throws keys away when its memory is full.
type Evicting struct{ Limit, Policy string } // maxmemory and maxmemory-policy, as the server gives them

// Error says how to mend it.
func (e *Evicting) Error() string {
	return fmt.Sprintf("%s: it has maxmemory %s with maxmemory-policy %s, which would throw queued work away when its memory is full; "+
		"run `redis-cli config set maxmemory-policy noeviction` and set it in redis.conf too, or give AX a Redis of its own", ErrUnfit, e.Limit, e.Policy)
}

// Unwrap is ErrUnfit.
func (e *Evicting) Unwrap() error { return ErrUnfit }

func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return v
		}
	}
	return ""
}

func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, err1 := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (a > major || a == major && b >= minor)
}

// redactURL shows a URL without its password.
func redactURL(raw string) string {
	if isSentinel(raw) {
		raw, _, _ = strings.Cut(raw, "?") // it may hold another
		scheme, rest, _ := strings.Cut(raw, "://")
		if i := strings.LastIndex(rest, "@"); i >= 0 {
			user, _, _ := strings.Cut(rest[:i], ":")
			rest = user + ":xxxxx" + rest[i:]
		}
		return scheme + "://" + rest
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "(unreadable)"
	}
	return u.Redacted()
}

// hideURL keeps an error from repeating the URL, and its password, in its text.
func hideURL(err error, raw string) error {
	if strings.Contains(err.Error(), raw) {
		return errors.New("it is not a URL; write redis://[user:password@]host:port/number, rediss://, unix://path or " + sentinelForm)
	}
	return err
}

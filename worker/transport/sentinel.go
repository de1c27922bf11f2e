package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// sentinelForm is how a Redis behind Sentinels is written.
const sentinelForm = "redis-sentinel://[user:password@]host:port,host:port/MASTER[/number][?sentinel_user=…&sentinel_password=…], or rediss-sentinel://… for TLS"

// isSentinel reports whether a URL names Sentinels.
func isSentinel(rawURL string) bool {
	return strings.HasPrefix(rawURL, "redis-sentinel://") || strings.HasPrefix(rawURL, "rediss-sentinel://")
}

// parseSentinel reads such a URL. It has several hosts, which net/url does not know; its parts are taken apart here.
func parseSentinel(rawURL string) (*redis.FailoverOptions, error) {
	scheme, rest, _ := strings.Cut(rawURL, "://")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	opt := &redis.FailoverOptions{}
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		user, err := url.Parse("redis://" + authority[:i] + "@host")
		if err != nil {
			return nil, errors.New("its user or password is not percent-encoded; write " + sentinelForm)
		}
		opt.Username = user.User.Username()
		opt.Password, _ = user.User.Password()
		authority = authority[i+1:]
	}
	for addr := range strings.SplitSeq(authority, ",") {
		host, port, err := net.SplitHostPort(addr)
		if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || host == "" {
			return nil, fmt.Errorf("%q is no host:port of a Sentinel; write %s", addr, sentinelForm)
		}
		opt.SentinelAddrs = append(opt.SentinelAddrs, addr)
	}
	master, number, _ := strings.Cut(strings.Trim(path, "/"), "/")
	if opt.MasterName = master; master == "" {
		return nil, errors.New("the name of the master is missing; write " + sentinelForm)
	}
	if number != "" {
		db, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%q is no number of a database; write %s", number, sentinelForm)
		}
		opt.DB = int(db)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("what follows the ? cannot be read; write " + sentinelForm)
	}
	for name := range values {
		switch name {
		case "sentinel_user":
			opt.SentinelUsername = values.Get(name)
		case "sentinel_password":
			opt.SentinelPassword = values.Get(name)
		default:
			return nil, fmt.Errorf("%q is no option; write %s", name, sentinelForm)
		}
	}
	if scheme == "rediss-sentinel" {
		opt.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return opt, nil
}

// dialSentinel makes a client that asks the Sentinels who the master is and follows them when that changes.
func dialSentinel(rawURL string) (*redis.Client, error) {
	opt, err := parseSentinel(rawURL)
	if err != nil {
		return nil, fmt.Errorf("redis URL %s: %w", redactURL(rawURL), err)
	}
	opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	opt.ContextTimeoutEnabled = true
	opt.PoolSize = poolSize
	opt.DisableIdentity = true
	opt.DialerRetries, opt.DialerRetryTimeout = dialTries, dialPause
	return redis.NewFailoverClient(opt), nil
}

// checkRole finds a server that is a replica: it takes no writes, and what is read there is old. That may be so for the
// moment of a fail-over only, and is no reason not to start.
func checkRole(ctx context.Context, c redis.UniversalClient) error {
	info, err := c.Info(ctx, "replication").Result()
	if err != nil {
		return fmt.Errorf("INFO replication: %w", err)
	}
	if infoField(info, "role") != "slave" {
		return nil
	}
	return fmt.Errorf("it is a replica of %s:%s and takes no writes; give the URL of the master, or let Sentinels tell it: %s",
		infoField(info, "master_host"), infoField(info, "master_port"), sentinelForm)
}

package config

import (
	"net"
	"net/url"
	"strings"
)

// Hosts are the hosts, each HOST:PORT, at which a store listens: one, several for Sentinels (the Redis that they name is
// not among them), none for a socket or an embedded store.
func (u StoreURL) Hosts() []string {
	text := string(u)
	if isSentinel(text) {
		_, rest, _ := strings.Cut(text, "://")
		authority, _, _ := strings.Cut(rest, "/")
		return strings.Split(authority[strings.LastIndex(authority, "@")+1:], ",")
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Hostname() == "" {
		return nil
	}
	port := parsed.Port()
	if port == "" {
		port = map[string]string{"mysql": "3306", "redis": "6379", "rediss": "6379"}[parsed.Scheme]
	}
	return []string{net.JoinHostPort(parsed.Hostname(), port)}
}

// Stores are the hosts of all stores that are set up, which no task may connect to.
func (c Config) Stores() []string {
	var out []string
	for _, u := range []StoreURL{c.DatabaseURL, c.RedisURL, c.RegistryRedisURL} {
		out = append(out, u.Hosts()...)
	}
	return out
}

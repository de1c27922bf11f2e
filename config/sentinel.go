package config

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// isSentinel reports whether a URL names the Sentinels of a Redis instead of the Redis.
func isSentinel(text string) bool {
	return strings.HasPrefix(text, "redis-sentinel://") || strings.HasPrefix(text, "rediss-sentinel://")
}

// wrongSentinelURL judges one. It has several hosts, which net/url does not know; so each is judged by itself.
func wrongSentinelURL(text string) string {
	const wants = "wants redis-sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/NUMBER, rediss-sentinel://… for TLS, where all but hosts and MASTER may be left out"
	_, rest, _ := strings.Cut(text, "://")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		if _, err := url.Parse("redis://" + authority[:i] + "@host"); err != nil {
			return wants + "; special characters in the password must be percent-encoded"
		}
		authority = authority[i+1:]
	}
	for addr := range strings.SplitSeq(authority, ",") {
		host, port, err := net.SplitHostPort(addr)
		if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || host == "" {
			return wants + "; a Sentinel's host or port is missing"
		}
	}
	master, number, _ := strings.Cut(strings.Trim(path, "/"), "/")
	if master == "" {
		return wants + "; the name of the master is missing"
	}
	if _, err := strconv.ParseUint(number, 10, 16); number != "" && err != nil {
		return wants + "; what follows the master's name is no number"
	}
	values, err := url.ParseQuery(query)
	for name := range values {
		if err == nil && name != "sentinel_user" && name != "sentinel_password" {
			return wants + "; behind the ? stand sentinel_user and sentinel_password only"
		}
	}
	return ""
}

// redactSentinel shows one with stars for what is secret in it.
func redactSentinel(text string) string {
	text, query, _ := strings.Cut(text, "?")
	scheme, rest, _ := strings.Cut(text, "://")
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		user, _, _ := strings.Cut(rest[:i], ":")
		rest = user + ":" + stars + rest[i:]
	}
	if query != "" {
		rest += "?" + stars
	}
	return scheme + "://" + rest
}

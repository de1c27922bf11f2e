// Package redistest gives tests real transports: a Redis of their own, embedded and as a server.
//
// It owns what it hands out: an in-process Redis per test, or one numbered database of a server, empty at the
// start. It refuses to be imported by anything but tests. The server is that of AX_TEST_REDIS_URL, which the test
// runner sets; without it the package's first test starts a private one that ends with the test process. Where
// Redis is not installed its subtest is skipped, in CI it fails.
//
// Published messages do not know numbered databases: subscribers may hear those of other tests.
package redistest

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/axsched/ax/e2e/setup/stores"
)

// Each runs fn as a subtest per kind of Redis, "miniredis" and "redis", each with the URL of an empty one.
func Each(t *testing.T, fn func(t *testing.T, url string)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) { fn(t, Mini(t)) })
	t.Run("redis", func(t *testing.T) { fn(t, Redis(t)) })
}

// Mini returns the URL of an in-process Redis whose keys expire in real time, to the second. Name the test or
// subtest so that it has "miniredis" as a part, by which tests are counted.
func Mini(t *testing.T) string {
	t.Helper()
	m := miniredis.RunT(t)
	done := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() { expire(m, done) })
	t.Cleanup(func() {
		close(done)
		ticking.Wait()
	})
	return "redis://" + m.Addr() + "/0"
}

// expire lets the time of m pass as it does outside; of itself it stands still.
func expire(m *miniredis.Miniredis, done <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-done:
			return
		case now := <-tick.C:
			m.FastForward(now.Sub(last))
			last = now
		}
	}
}

// Redis returns the URL of an empty numbered database of a real server. Name the test or subtest so that it has
// "redis" as a part, by which tests are counted.
func Redis(t *testing.T) string {
	t.Helper()
	server := serverURL(t)
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("AX_TEST_REDIS_URL: %v", err)
	}
	n, err := takeDatabase(u.Host)
	if err != nil {
		t.Fatalf("redistest: taking a database of %s: %v", server, err)
	}
	return fmt.Sprintf("redis://%s/%d", u.Host, n)
}

// takeDatabase counts in database 0, which all test processes share, and empties the number it got.
func takeDatabase(addr string) (int, error) {
	answers, err := stores.Ask(addr, "SELECT 0", "INCR ax:test:database")
	if err != nil {
		return 0, err
	}
	count, err := strconv.Atoi(strings.TrimPrefix(answers[1], ":"))
	if err != nil {
		return 0, err
	}
	n := 1 + count%(stores.RedisDatabases-1)
	_, err = stores.Ask(addr, fmt.Sprintf("SELECT %d", n), "FLUSHDB")
	return n, err
}

// serverURL is the server that tests share. It skips the test where there is none, and fails it in CI.
func serverURL(t *testing.T) string {
	t.Helper()
	if server := os.Getenv("AX_TEST_REDIS_URL"); server != "" {
		return server
	}
	if !stores.HasRedis() {
		if os.Getenv("CI") == "true" {
			t.Fatal("Redis is not installed, which is a failure in CI")
		}
		t.Skip("Redis is not installed: nothing was tested on it; e2e/setup/install.sh brings it")
	}
	s, err := ownServer()
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return s.URL
}

// ownServer is one server per test process; it ends when the process does (see stores), so nobody need stop it.
var ownServer = sync.OnceValues(func() (*stores.Server, error) { return stores.Redis("") })

// Private returns a server that this test alone uses and may freeze, thaw or stop. It ends with the test.
func Private(t *testing.T) *stores.Server {
	t.Helper()
	serverURL(t) // skips or fails where none can be had
	s, err := stores.Redis("")
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(s.Stop)
	return s
}

// PrivateWith is Private with further options of the server, --name value.
func PrivateWith(t *testing.T, options ...string) *stores.Server {
	t.Helper()
	serverURL(t)
	s, err := stores.RedisWith("", options...)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(s.Stop)
	return s
}

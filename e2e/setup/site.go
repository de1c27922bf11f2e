package setup

import (
	"crypto/rand"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/redistest"
)

// AdminPassword is the admin's on every site.
const AdminPassword = "correct horse battery"

// Site is one installation of AX: its stores, and what its processes have in common.
type Site struct {
	// Database and Redis are the stores' URLs; empty = embedded, and then only mode all makes sense.
	Database, Redis string
	// Token is the API token of an admin.
	Token string

	dir     string // data folders and logs
	started int
}

// Embedded is a site on the embedded stores.
func Embedded(t T) *Site { return NewSite(t, "", "") }

// NewSite is a site on the stores at the URLs. The database must be empty.
func NewSite(t T, database, redis string) *Site {
	t.Helper()
	dir, err := os.MkdirTemp("", "ax-site-")
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Site{Database: database, Redis: redis, Token: "axt_" + rand.Text(), dir: dir}
	t.Cleanup(func() { s.nothingLeft(t) })
	return s
}

// nothingLeft expects that no process of the site, a watchdog say, outlives the processes that were started: all
// have the site's token in their environment. What is left is ended.
func (s *Site) nothingLeft(t T) {
	left := Survivors(s.Token)
	for deadline := time.Now().Add(15 * time.Second); len(left) > 0 && time.Now().Before(deadline); left = Survivors(s.Token) {
		time.Sleep(50 * time.Millisecond)
	}
	for _, line := range left {
		t.Errorf("left behind by the site: %s", line)
		pid, _, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// Each runs fn as a subtest per set of stores: sqlite/miniredis, where everything is embedded, and mariadb/redis.
func Each(t *testing.T, fn func(t *testing.T, s *Site)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		t.Run("miniredis", func(t *testing.T) { fn(t, Embedded(t)) })
	})
	Real(t, fn)
}

// Real runs fn as the subtest mariadb/redis, for what needs several processes.
func Real(t *testing.T, fn func(t *testing.T, s *Site)) {
	t.Helper()
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		t.Run("redis", func(t *testing.T) { fn(t, NewSite(t, dbtest.Empty(t), redistest.Redis(t))) })
	})
}

// IsEmbedded reports whether the site has embedded stores.
func (s *Site) IsEmbedded() bool { return s.Database == "" }

// Dir is a folder of the site, removed with it, for files that tasks write outside AX.
func (s *Site) Dir() string { return s.dir }

// All starts everything in one process.
func (s *Site) All(t T, o Opts) *Process { t.Helper(); return s.process(t, "all", o) }

// Center starts web, scheduler and broker in one process.
func (s *Site) Center(t T, o Opts) *Process { t.Helper(); return s.process(t, "center", o) }

// Web starts the role web alone.
func (s *Site) Web(t T, o Opts) *Process { t.Helper(); return s.process(t, "web", o) }

// Scheduler starts the role scheduler alone.
func (s *Site) Scheduler(t T, o Opts) *Process { t.Helper(); return s.process(t, "scheduler", o) }

// Broker starts the role broker alone.
func (s *Site) Broker(t T, o Opts) *Process { t.Helper(); return s.process(t, "broker", o) }

// Worker starts a worker.
func (s *Site) Worker(t T, o Opts) *Process { t.Helper(); return s.process(t, "worker", o) }

// Up starts the smallest whole AX of the site, one process on embedded stores, else a center and a worker, and
// returns a client of it.
func (s *Site) Up(t T, o Opts) *Client {
	t.Helper()
	if s.IsEmbedded() {
		return s.Client(t, s.All(t, o))
	}
	c := s.Center(t, Opts{Env: o.Env})
	s.Worker(t, o)
	return s.Client(t, c)
}

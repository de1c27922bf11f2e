package worker

import (
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
)

// Config is the set-up of a Node. Only Data is required.
type Config struct {
	// Name is how the center knows the worker. Empty means the name kept in Data, at first the host's name with a part
	// of the directory's uid.
	Name string
	// Data is the directory of journal, identity and log spool; it belongs to one worker.
	Data string
	// Tags are what this worker offers; a job may demand some.
	Tags []string
	// Lanes are the threads of each lane; a lane that is absent or 0 is not served. Nil means DefaultLanes.
	Lanes map[string]int
	// Version is that of the program.
	Version string
	// LostAfter is how long a silent holder keeps the name. Zero means 10 s; it must be the center's value.
	LostAfter time.Duration
	// Grace is how long running tasks may go on after the worker was asked to stop. Zero means 25 s, which leaves room
	// for dump, kill and report in the 30 s that most process managers give.
	Grace time.Duration
	// Watchdog is the command line of the watchdog; see runner.Config.
	Watchdog []string
	// Plugins tells how the plug-ins stand whose types Open's build gave; nil: there are none. It is asked with each heartbeat.
	Plugins func() []protocol.PluginState
	// End is called once when the last task has ended, before the watchdog is: what was started beside them ends there. Nil:
	// nothing was.
	End func()
	// Log gets one line for what a person should know. Nil discards.
	Log *slog.Logger
	// Now and Boot are the clocks; nil means the machine's (wall clock and CLOCK_BOOTTIME).
	Now  func() time.Time
	Boot func() time.Duration
}

// DefaultLanes are few threads: they bound processes, not goroutines, and a task may take a core and a gigabyte. The
// ordinary lane has most; high has its own so that it never waits for ordinary work; low has two so that one long
// clean-up does not stop the next.
func DefaultLanes() map[string]int {
	return map[string]int{protocol.LaneHigh: 4, protocol.LaneDefault: 8, protocol.LaneLow: 2}
}

const (
	defaultLostAfter = 10 * time.Second
	defaultGrace     = 25 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	if c.Data == "" {
		return c, fmt.Errorf("worker: no data directory given")
	}
	if c.Lanes == nil {
		c.Lanes = DefaultLanes()
	}
	lanes := map[string]int{}
	for lane, threads := range c.Lanes {
		if !slices.Contains(protocol.Lanes[:], lane) || threads < 0 {
			return c, fmt.Errorf("worker: lane %q with %d threads: the lanes are %s", lane, threads, strings.Join(protocol.Lanes[:], ", "))
		}
		if threads > 0 {
			lanes[lane] = threads
		}
	}
	if c.Lanes = lanes; len(lanes) == 0 {
		return c, fmt.Errorf("worker: every lane has 0 threads, so it could run nothing")
	}
	if c.LostAfter <= 0 {
		c.LostAfter = defaultLostAfter
	}
	if c.Grace <= 0 {
		c.Grace = defaultGrace
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Boot == nil {
		c.Boot = runner.BootClock
	}
	return c, nil
}

// laneNames lists the lanes that are served, most urgent first.
func (c Config) laneNames() []string {
	return slices.DeleteFunc(slices.Clone(protocol.Lanes[:]), func(l string) bool { return c.Lanes[l] == 0 })
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// settleName returns the worker's name and keeps it in the data directory.
func settleName(given, dir, uid string) (string, error) {
	path := filepath.Join(dir, "name")
	kept, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("read the worker's name: %w", err)
	}
	name := given
	if name == "" {
		name = strings.TrimSpace(string(kept))
	}
	if name == "" {
		name = hostName() + "-" + uid[:6]
	}
	if !nameForm.MatchString(name) {
		return "", fmt.Errorf("worker name %q: use letters, digits, dot, dash and underscore, 100 at most", name)
	}
	if strings.TrimSpace(string(kept)) == name {
		return name, nil
	}
	if err := os.WriteFile(path, []byte(name+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the worker's name: %w", err)
	}
	return name, nil
}

// hostName is the machine's name, as far as it can stand in a worker's.
func hostName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "worker"
	}
	host = regexp.MustCompile(`[^A-Za-z0-9._-]`).ReplaceAllString(host, "-")
	host = strings.TrimLeft(host, "._-")
	if host == "" {
		return "worker"
	}
	return host[:min(len(host), 60)]
}

// ownIP is the first address that others could reach this machine at, or loopback.
func ownIP() string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "127.0.0.1"
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	return "127.0.0.1"
}

// sortedKeys is for what is shown.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

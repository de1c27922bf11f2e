package node

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == WatchdogCommand {
		os.Exit(Watchdog(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func server(t *testing.T) *stores.Server {
	t.Helper()
	if !stores.HasRedis() {
		t.Skip("Redis is not installed: nothing was tested on it; e2e/setup/install.sh brings it")
	}
	s, err := stores.Redis("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// setup is a worker's set-up with a free address to listen at.
func setup(t *testing.T, redisURL string) config.Config {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	c := config.Default()
	c.Mode, c.Data, c.Listen = config.ModeWorker, t.TempDir(), ln.Addr().String()
	c.RedisURL, c.RegistryRedisURL = config.StoreURL(redisURL), config.StoreURL(redisURL)
	c.Worker.Name, c.Worker.Tags, c.Worker.Lanes.Low = "w1", []string{"gpu"}, 0
	c.Worker.Sources, c.Worker.Users = []config.Source{"orders=sqlite:///var/lib/orders.db"}, []string{"nobody"}
	c.Timeouts.Connect = time.Second
	return c
}

func TestAWorkerProcessServesHealthAndRegisters(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		s := server(t)
		c := setup(t, s.URL)
		c.PprofToken = "0123456789abcdef"
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Main(ctx, c, "v1.2.3", nil) }()
		var status worker.Status
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			code := get(t, "http://"+c.Listen+"/readyz", &status)
			if code == http.StatusOK {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("not ready: %d %+v", code, status)
			}
		}
		for bearer, want := range map[string]int{"": 404, "0123456789abcdeX": 404, "0123456789abcdef": 200} {
			if code := profiled(t, c.Listen, bearer); code != want {
				t.Errorf("the profiler answers bearer %q with %d, want %d", bearer, code, want)
			}
		}
		client, err := transport.Open(t.Context(), s.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		ws, _, err := transport.Workers(t.Context(), client)
		if err != nil || len(ws) != 1 {
			t.Fatalf("registry: %v, %v", ws, err)
		}
		w := ws[0]
		if w.Name != "w1" || w.Version != "v1.2.3" || strings.Join(w.Types, " ") != "http noop python shell sql" || strings.Join(w.Tags, " ") != "gpu source:orders user:nobody" ||
			w.Lanes[protocol.LaneDefault] != 8 || w.Lanes[protocol.LaneLow] != 0 || w.Host == "" || w.IP == "" {
			t.Errorf("registered as %+v", w)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if ws, _, err := transport.Workers(t.Context(), client); err != nil || len(ws) != 0 {
			t.Errorf("after the stop the registry has %v (%v)", ws, err)
		}
	})
}

// profiled is what a worker that listens at address answers to one who asks for its heap.
func profiled(t *testing.T, address, bearer string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/debug/pprof/heap", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+bearer)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func get(t *testing.T, address string, into any) int {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Errorf("%s: %v", address, err)
	}
	return res.StatusCode
}

func TestARedisThatIsAwayIsWaitedForAndAnUnfitOneRefused(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		away := setup(t, "redis://127.0.0.1:1")
		ctx, stop := context.WithTimeout(t.Context(), 4*time.Second)
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- Main(ctx, away, "v", nil) }()
		var status worker.Readiness
		for code := 0; code != http.StatusServiceUnavailable; code = get(t, "http://"+away.Listen+"/readyz", &status) {
			if ctx.Err() != nil {
				t.Fatal("it does not say that it is not ready")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if code := profiled(t, away.Listen, "0123456789abcdef"); code != http.StatusNotFound {
			t.Errorf("without a configured token the profiler answers %d, want 404", code)
		}
		if !strings.Contains(status.Error, "heartbeat") {
			t.Errorf("status %+v", status)
		}
		for name, ok := range map[string]bool{"redis": false, "registry": false, "journal": true, "clock": true, "worker": true} {
			if p, there := status.Parts[name]; !there || p.OK != ok || ok != (p.Note == "") {
				t.Errorf("of a worker whose Redis is away, %s: %+v", name, p)
			}
		}
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
		s := server(t)
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stores.Ask(u.Host, "CONFIG SET maxmemory 100mb", "CONFIG SET maxmemory-policy allkeys-lru"); err != nil {
			t.Fatal(err)
		}
		if err := Main(t.Context(), setup(t, s.URL), "v", nil); err == nil || !strings.Contains(err.Error(), "noeviction") {
			t.Errorf("a Redis that evicts: %v", err)
		}
	})
}

func TestTheGraceLeavesRoomForTheEnd(t *testing.T) {
	for shutdown, want := range map[time.Duration]time.Duration{30 * time.Second: 25 * time.Second, 2 * time.Second: time.Second} {
		if got := grace(shutdown); got != want {
			t.Errorf("of %s the tasks get %s, want %s", shutdown, got, want)
		}
	}
}

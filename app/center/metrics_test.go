package center

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/broker"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/scheduler"
)

func scrape(t *testing.T, s *site) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text, err := io.ReadAll(w.Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("%d %v: %s", w.Code, err, text)
	}
	return string(text)
}

// The figures follow the life that is up, and two sites share nothing.
func TestMetricsTellOfTheLifeThatIsUp(t *testing.T) {
	db, err := dbx.Open(t.Context(), dbtest.SQLite(t), dbx.Options{Pool: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ids, err := domain.NewIDs(1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s, other := newSite(Options{}), newSite(Options{})
	if text := scrape(t, s); !strings.Contains(text, "ax_up 0\n") || strings.Contains(text, "ax_broker") {
		t.Fatalf("without a life:\n%s", text)
	}
	s.up(&life{broker: broker.New(&broker.Broker{IDs: ids, Mono: time.Now}), sched: scheduler.New(scheduler.Scheduler{Clock: time.Now}),
		pools: []rolePool{{db, config.ModeBroker}}}, nil)
	text := scrape(t, s)
	for _, want := range []string{
		"ax_up 1\n", "ax_broker_active 0\n", `ax_broker_ready_instances{lane="high"} 0`, `ax_broker_ready_instances{lane="low"} 0`,
		"ax_broker_in_flight_attempts 0\n", "ax_broker_withdrawals_total 0\n", "# TYPE ax_broker_withdrawals_total counter", "ax_broker_uplink_lag_seconds 0\n",
		"# TYPE ax_scheduler_fires_total counter", "ax_scheduler_last_take_timestamp_seconds 0\n", `ax_pool_max_connections{role="broker"} 3`, "go_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	if text := scrape(t, other); !strings.Contains(text, "ax_up 0\n") {
		t.Error("a site tells of another's life")
	}
	s.down()
	if text := scrape(t, s); !strings.Contains(text, "ax_up 0\n") {
		t.Error("a life that is over is told as up")
	}
}

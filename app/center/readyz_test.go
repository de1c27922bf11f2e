package center

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/broker"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/lease"
	"github.com/axsched/ax/modules/scheduler"
)

// refusing is a life whose database takes no writes.
func refusing(t *testing.T) *life {
	t.Helper()
	url := dbtest.SQLite(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	le, err := lease.Take(t.Context(), url, "test")
	must(err)
	t.Cleanup(func() { _ = le.Close(t.Context()) })
	db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 1}) // what its one connection is told counts
	must(err)
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec(t.Context(), "PRAGMA query_only = ON")
	must(err)
	if _, err := db.Exec(t.Context(), "DELETE FROM lease WHERE node = -1"); err == nil {
		t.Fatal("it takes writes")
	}
	ids, err := domain.NewIDs(1, time.Now)
	must(err)
	return &life{lease: le, broker: broker.New(&broker.Broker{IDs: ids, Mono: time.Now}), sched: scheduler.New(scheduler.Scheduler{Clock: time.Now}),
		pools: []rolePool{{db, config.ModeBroker}}}
}

// A process whose database takes no writes says of each role that this keeps it, and why.
func TestReadinessNamesADatabaseThatTakesNoWrites(t *testing.T) {
	c := config.Default()
	c.Mode = config.ModeCenter
	away := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = away.Close() })
	s := newSite(Options{Config: c, Transport: away, Registry: away})
	l := refusing(t)
	s.up(l, nil)
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
	var got struct{ Parts map[string]Part }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusServiceUnavailable {
		t.Fatalf("%d %v: %s", w.Code, err, w.Body)
	}
	for _, role := range []string{"database", "scheduler", "broker"} {
		if p := got.Parts[role]; p.OK || role != "scheduler" && !strings.Contains(p.Note, "it answers and takes no writes: attempt to write a readonly database") {
			t.Errorf("%s: %+v", role, p)
		}
	}
	if p := schedulerPart("", l.database(t.Context())); p.OK || !strings.Contains(p.Note, "no fires are taken: the database: it answers and takes no writes: attempt") {
		t.Errorf("a scheduler without a fault of its own: %+v", p)
	}
}

package center

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/broker"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/httpx"
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

// healthy is a life whose database is well.
func healthy(t *testing.T) *life {
	t.Helper()
	url := dbtest.SQLite(t)
	le, err := lease.Take(t.Context(), url, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = le.Close(t.Context()) })
	db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &life{lease: le, broker: broker.New(&broker.Broker{Mono: time.Now}), sched: scheduler.New(scheduler.Scheduler{Clock: time.Now}), pools: []rolePool{{db, config.ModeBroker}}}
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

// Where registry and transport are one Redis both say the same of it, which is told once, in one line.
func TestAFaultIsToldOnceAndInOneLine(t *testing.T) {
	away := errors.New("dial tcp 127.0.0.1:1: connect: connection refused")
	for want, errs := range map[string][]error{
		"standing by, and could do nothing: Redis: " + away.Error():               {away, errors.New(away.Error())},
		"standing by, and could do nothing: Redis: " + away.Error() + "; too old": {away, nil, errors.New("too old")},
		"standing by": {nil, nil},
	} {
		if got := brokerPart(broker.Stats{}, nil, inOneLine(errs...)); got.Note != want {
			t.Errorf("%q, want %q", got.Note, want)
		}
	}
}

// What keeps each role from being ready, and what does not.
func TestEachRoleIsJudgedByTheStoresThatItNeeds(t *testing.T) {
	well, away := Part{OK: true}, Part{Note: "connection refused"}
	all := func(database, redis, registry Part) map[string]Part {
		parts := map[string]Part{"database": database, "redis": redis, "registry": registry}
		for _, role := range rolesOf(config.ModeAll) {
			parts[string(role)] = well
		}
		return parts
	}
	for _, c := range []struct {
		name  string
		parts map[string]Part
		ready []config.Mode
	}{
		{"all well", all(well, well, well), []config.Mode{config.ModeWeb, config.ModeScheduler, config.ModeBroker, config.ModeWorker}},
		{"no redis", all(well, away, well), []config.Mode{config.ModeWeb, config.ModeScheduler, config.ModeWorker}},
		{"no registry", all(well, well, away), []config.Mode{config.ModeWeb, config.ModeScheduler, config.ModeWorker}},
		{"no database", all(away, well, well), []config.Mode{config.ModeWorker}},
	} {
		for _, role := range rolesOf(config.ModeAll) {
			if got := readiness([]config.Mode{role}, []config.Mode{role}, c.parts); got.Ready != slices.Contains(c.ready, role) {
				t.Errorf("%s: %s ready %v", c.name, role, got.Ready)
			}
		}
		for _, mode := range []config.Mode{config.ModeCenter, config.ModeAll} {
			roles := rolesOf(mode)
			if got := readiness(roles, roles, c.parts); got.Ready != (c.name == "all well") {
				t.Errorf("%s: mode %s ready %v", c.name, mode, got.Ready)
			}
		}
	}
	alone := readiness([]config.Mode{config.ModeWeb}, []config.Mode{config.ModeWeb}, all(well, away, away))
	if p := alone.Parts["redis"]; p.OK || len(p.NeededBy) != 0 || p.Note != "connection refused (no role of this process needs it)" {
		t.Errorf("redis of a web alone: %+v", p)
	}
	if p := alone.Parts["database"]; !slices.Equal(p.NeededBy, []config.Mode{config.ModeWeb}) {
		t.Errorf("the database of a web alone: %+v", p)
	}
}

// A process with all roles whose Redis is away is not ready as a whole and says so; one who asks for its pages alone, as
// what shares out readers between processes does, is sent to them.
func TestReadinessOfOneRoleOfSeveral(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0") // connections come about, and nothing is said: the worse outage
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mute.Close() })
	for name, addr := range map[string]string{"refused": "127.0.0.1:1", "mute": mute.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			c.Mode = config.ModeCenter
			client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
			t.Cleanup(func() { _ = client.Close() })
			s := newSite(Options{Config: c, Transport: client, Registry: client})
			s.up(healthy(t), &httpx.Router{})
			ask := func(query string) (int, Readiness) {
				w := httptest.NewRecorder()
				s.mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz"+query, nil))
				var got Readiness
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil && w.Code != http.StatusBadRequest {
					t.Errorf("%s: %v", w.Body, err)
				}
				return w.Code, got
			}
			began := time.Now()
			code, got := ask("?role=web")
			if code != http.StatusOK || !got.Parts["database"].OK || got.Parts["redis"].OK || !got.Parts["web"].OK || time.Since(began) > 3*time.Second {
				t.Errorf("the pages: %d after %s: %+v", code, time.Since(began), got)
			}
			if code, got = ask(""); code != http.StatusServiceUnavailable || got.Parts["broker"].OK || !strings.Contains(got.Parts["broker"].Note, "Redis") {
				t.Errorf("the whole: %d %+v", code, got)
			}
			if code, _ = ask("?role=broker"); code != http.StatusServiceUnavailable {
				t.Errorf("the broker: %d", code)
			}
			if code, _ = ask("?role=worker"); code != http.StatusBadRequest {
				t.Errorf("a role that it does not carry: %d", code)
			}
		})
	}
}

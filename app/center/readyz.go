package center

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/broker"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Part is how one role or store stands.
type Part struct {
	OK   bool   `json:"ok"`
	Note string `json:"note,omitempty"`
	// NeededBy are the roles of this process that are not ready without this store.
	NeededBy []config.Mode `json:"neededBy,omitempty"`
}

// The stores, as readiness names them.
const (
	storeDatabase = "database"
	storeRedis    = "redis"    // the transport
	storeRegistry = "registry" // the Redis of the registry
)

// needs are the stores without which a role does not do its work. What else a role uses only makes it faster: without
// Redis a web passes no hints on, and a scheduler takes fires by the database alone.
func needs(role config.Mode) []string {
	switch role {
	case config.ModeBroker:
		return []string{storeDatabase, storeRedis, storeRegistry}
	case config.ModeWorker: // beside a center; its own part says whether it hears Redis
		return nil
	}
	return []string{storeDatabase}
}

// rolesOf are the roles that a mode carries.
func rolesOf(mode config.Mode) []config.Mode {
	all := []config.Mode{config.ModeWeb, config.ModeScheduler, config.ModeBroker, config.ModeWorker}
	return slices.DeleteFunc(all, func(role config.Mode) bool { return !mode.Carries(role) })
}

// Readiness is what /readyz answers.
type Readiness struct {
	// Ready says that every role asked for does its work. A store that is away is no reason where no such role needs it.
	Ready   bool            `json:"ready"`
	Mode    config.Mode     `json:"mode"`
	Version string          `json:"version"`
	Parts   map[string]Part `json:"parts"`
}

// readiness judges the roles asked for by how the parts stand.
func readiness(asked, carried []config.Mode, parts map[string]Part) Readiness {
	r := Readiness{Ready: true, Parts: map[string]Part{}}
	for name, p := range parts {
		for _, role := range carried {
			if slices.Contains(needs(role), name) {
				p.NeededBy = append(p.NeededBy, role)
			}
		}
		isRole := slices.Contains(carried, config.Mode(name))
		if !p.OK && !isRole && len(p.NeededBy) == 0 {
			p.Note += " (no role of this process needs it)"
		}
		r.Parts[name] = p
	}
	for _, role := range asked {
		r.Ready = r.Ready && r.Parts[string(role)].OK
		for _, store := range needs(role) {
			r.Ready = r.Ready && r.Parts[store].OK
		}
	}
	return r
}

// readyz answers 200 when every role of this process is well, or the one that ?role= names, else 503. It names how each
// role and each store stands, also those that no role needs.
func (s *site) readyz(w http.ResponseWriter, r *http.Request) {
	carried := rolesOf(s.o.Config.Mode)
	asked := carried
	if name := config.Mode(r.URL.Query().Get("role")); name != "" {
		if asked = []config.Mode{name}; !slices.Contains(carried, name) {
			answer(w, http.StatusBadRequest, map[string]string{"error": fmt.Sprintf("this process does not carry the role %q; it carries %v", name, carried)})
			return
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	ready := readiness(asked, carried, s.parts(ctx))
	ready.Mode, ready.Version = s.o.Config.Mode, s.o.Version
	status := http.StatusOK
	if !ready.Ready {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, ready)
}

// parts asks all stores at a time, so that one that says nothing takes no time from the others.
func (s *site) parts(ctx context.Context) map[string]Part {
	s.mu.RLock()
	l, pages, away := s.life, s.pages, s.away
	s.mu.RUnlock()
	var database, transport, registry error
	var asked sync.WaitGroup
	asked.Go(func() { transport = s.answers(ctx, storeRedis, s.o.Transport) })
	asked.Go(func() { registry = s.answers(ctx, storeRegistry, s.o.Registry) })
	switch {
	case l != nil && len(l.pools) > 0:
		database = l.database(ctx)
	case away != nil:
		database = away
	default:
		database = errors.New("not open yet")
	}
	asked.Wait()
	parts := map[string]Part{storeDatabase: part(database), storeRedis: part(transport), storeRegistry: part(registry)}
	for _, role := range rolesOf(s.o.Config.Mode) {
		switch {
		case role == config.ModeWorker:
			if s.o.Worker != nil {
				parts[string(role)] = rolePart(s.o.Worker())
			} else {
				parts[string(role)] = Part{OK: true}
			}
		case l == nil || len(l.pools) == 0:
			parts[string(role)] = Part{Note: "has not begun: the database: " + database.Error()}
		case role == config.ModeWeb:
			parts[string(role)] = webPart(pages != nil, database)
		case role == config.ModeScheduler:
			parts[string(role)] = schedulerPart(l.sched.Status().Fault, database)
		case role == config.ModeBroker:
			parts[string(role)] = brokerPart(l.broker.Stats(), database, inOneLine(transport, registry))
		}
	}
	return parts
}

// answers is how a Redis stands: whether it answers, and can be relied on.
func (s *site) answers(ctx context.Context, name string, c redis.UniversalClient) error {
	return inOneLine(c.Ping(ctx).Err(), s.fit.verdict(name).err)
}

// database is how the database stands: whether it answers, and whether it takes what
// the roles write and the write by which this process says each half second that it lives.
func (l *life) database(ctx context.Context) error {
	for _, p := range l.pools {
		if err := p.Ping(ctx); err != nil {
			return fmt.Errorf("over the connections of role %s: %w", p.role, err)
		}
	}
	if said := l.noWrites(); said != "" {
		return fmt.Errorf("it answers and takes no writes: %s", said)
	}
	if err := l.lease.Fault(); err != nil {
		return fmt.Errorf("it answers and takes no writes: %w", err)
	}
	return nil
}

// noWrites is in the database's words why it takes no writes; "" = it takes them, as far as
// this process has written.
func (l *life) noWrites() string {
	for _, p := range l.pools {
		if said := dbx.Reason(p.Refused()); said != "" {
			return said
		}
	}
	return dbx.Reason(l.lease.Fault())
}

// inOneLine is all that is wrong, each of it once: where registry and transport are one Redis both say the same.
func inOneLine(errs ...error) error {
	var said []string
	for _, err := range errs {
		if err != nil && !slices.Contains(said, err.Error()) {
			said = append(said, err.Error())
		}
	}
	if len(said) == 0 {
		return nil
	}
	return errors.New(strings.Join(said, "; "))
}

func rolePart(fault string) Part { return Part{OK: fault == "", Note: fault} }

// webPart says whether pages and calls are answered.
func webPart(pages bool, database error) Part {
	switch {
	case !pages:
		return Part{Note: "there are no pages yet"}
	case database != nil:
		return Part{Note: "changes are refused, and what cannot be read either: the database: " + database.Error()}
	}
	return Part{OK: true}
}

// schedulerPart says whether fires are taken.
func schedulerPart(fault string, database error) Part {
	if fault == "" && database != nil {
		fault = "no fires are taken: the database: " + database.Error()
	}
	return rolePart(fault)
}

// lagLimit is how old what workers said may be before the broker counts as stuck.
const lagLimit = 15 * time.Second

// brokerPart says whether the broker can assign and keeps up with what workers say.
func brokerPart(s broker.Stats, database, redis error) Part {
	switch {
	case database != nil:
		return Part{Note: "nothing is assigned and nothing that workers say is recorded: the database: " + database.Error()}
	case !s.Active && redis != nil:
		return Part{Note: "standing by, and could do nothing: Redis: " + redis.Error()}
	case !s.Active:
		return Part{OK: true, Note: "standing by"}
	case s.Deaf != "":
		return Part{Note: "active, but nothing is assigned and nobody counts as lost: the registry cannot be relied on: " + s.Deaf}
	case redis != nil:
		return Part{Note: "active, but nothing goes to workers or comes from them: Redis: " + redis.Error()}
	case s.UplinkLag > lagLimit:
		return Part{Note: fmt.Sprintf("active, but behind: what workers said %s ago was applied last", s.UplinkLag.Round(time.Second))}
	}
	return Part{OK: true, Note: "active"}
}

func part(err error) Part {
	if err != nil {
		return Part{Note: err.Error()}
	}
	return Part{OK: true}
}

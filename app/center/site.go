package center

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/app/profile"
	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/seal"
	"github.com/axsched/ax/modules/kit/zone"
)

// site is what answers HTTP over all lives of a process: health and metrics
// always, pages while a life with the role web is up.
type site struct {
	o      Options
	mux    *http.ServeMux
	closed http.Handler // answers for the pages while no life is up
	began  time.Time
	seal   *seal.Keeper

	mu     sync.RWMutex
	life   *life
	pages  *httpx.Router
	ready  bool // Options.Ready was called
	poison poison
	fit    fit
	// troubles are what was seen of the database in any life.
	troubles troubles
	away     error     // why no life could begin; nil = none was refused since the last
	said     time.Time // when the log last had that
	heard    time.Time // until when the database answered the last life; before the first: the start of the process
}

func newSite(o Options) *site {
	s := &site{o: o, mux: http.NewServeMux(), began: time.Now()}
	s.heard, s.closed = s.began, httpx.Away(s.outage)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "alive"})
	})
	s.mux.HandleFunc("GET /readyz", s.readyz)
	s.mux.Handle("GET /metrics", promhttp.HandlerFor(newMetrics(s), promhttp.HandlerOpts{}))
	s.mux.HandleFunc("/", s.page)
	return s
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// page hands a request to the pages of the life that is up.
func (s *site) page(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock()
	pages := s.pages
	s.mu.RUnlock()
	switch {
	case pages != nil:
		pages.ServeHTTP(w, r)
	case s.o.Config.Mode.Carries(config.ModeWeb):
		s.closed.ServeHTTP(w, r)
	default:
		http.Error(w, "this process carries no pages (mode "+string(s.o.Config.Mode)+")", http.StatusServiceUnavailable)
	}
}

func (s *site) up(l *life, pages *httpx.Router) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life, s.pages, s.away = l, pages, nil
}

// waits notes why no life could begin, and says it now and then.
func (s *site) waits(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away == nil || time.Since(s.said) > sayAwayEach {
		slog.Warn("the database is away; this process begins when it answers", "error", err)
		s.said = time.Now()
	}
	s.away = err
}

func (s *site) down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages != nil {
		s.pages.EndStreams()
	}
	if s.life != nil && s.life.lease != nil {
		s.heard = s.life.lease.Renewed()
	}
	s.life, s.pages = nil, nil
}

// outage tells whether the database answers and since when it does not, by what this process asks it each half second
// anyway. A database that answers and takes no writes, or holds what is asked for locked, says so itself.
func (s *site) outage() httpx.Outage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	since := s.heard
	switch l := s.life; {
	case l != nil && l.lease != nil && l.lease.Fault() != nil && l.noWrites() == "" && s.troubles.standing() != domain.IncidentDatabaseLocked:
		since = l.lease.Renewed()
	case l == nil && s.away != nil:
	case l != nil && s.troubles.locked(time.Now()):
		return httpx.Outage{Store: storeDatabase, Locked: true}
	default:
		return httpx.Outage{}
	}
	return httpx.Outage{Store: storeDatabase, Since: s.o.Now().Add(-time.Since(since)).Truncate(time.Second)}
}

// endStreams ends what would keep a stopping server waiting.
func (s *site) endStreams() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.pages != nil {
		s.pages.EndStreams()
	}
}

// handler is all that this process answers.
func (s *site) handler() http.Handler {
	return profile.Behind(string(s.o.Config.PprofToken), s.mux)
}

// stopPatience is how long requests under way may take once the process stops.
const stopPatience = 5 * time.Second

// serve answers until ctx ends, and goes on with requests under way for at most stopPatience.
func (s *site) serve(ctx context.Context, ln net.Listener) error {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	srv := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return base }}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.endStreams()
	grace, cancel := context.WithTimeout(base, stopPatience)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		cut()
		_ = srv.Close()
	}
	<-failed
	return nil
}

// Welcome is what the first life tells a person.
type Welcome struct {
	// SetupPath is where the first account is made, with its one-time token; "" when
	// there is one.
	SetupPath string
	// LoginPath makes a one-time link that logs the first admin in and leads to the page.
	LoginPath func(ctx context.Context, page string) (string, error)
	// Token makes an API token of an admin for the demo, good for a day.
	Token func(ctx context.Context) (string, error)
}

// startWeb builds the pages and the API over the web role's pool.
func (l *life) startWeb(ctx context.Context, g *errgroup.Group, s *site, c *core) error {
	secret, err := c.access.Start(ctx, access.FirstStart{AdminPassword: string(l.o.Config.AdminPassword), BootstrapToken: string(l.o.Config.BootstrapToken),
		Networks: firstNetworks(l.o.Config.Mode)})
	if err != nil {
		return err
	}
	zone, err := zone.Load(l.o.Config.Timezone)
	if err != nil {
		return err
	}
	router, err := httpx.New(httpx.Options{Policy: c.policy, Identity: c.access, Sessions: c.sessions, Ledger: c.sessions, Denials: c.access,
		Zone: zone, Environment: l.o.Config.Environment, Version: l.o.Version, Nav: navigation(c), Now: c.now, Outage: s.outage})
	if err != nil {
		return err
	}
	if err := router.Add(append(l.routes(c, zone), router.Document())...); err != nil {
		return err
	}
	g.Go(func() error { return c.access.Run(ctx) })
	g.Go(func() error { return c.incidents.Run(ctx) })
	g.Go(func() error { return c.graph.Run(ctx) })
	s.up(l, router)
	s.welcome(ctx, c, secret)
	return nil
}

// navigation is every page with what it takes to see it.
func navigation(c *core) []httpx.NavEntry {
	return []httpx.NavEntry{
		{Page: "dashboard", URL: "/", Action: domain.ActInstanceRead},
		{Page: "jobs", URL: "/jobs", Action: domain.ActJobRead},
		{Page: "instances", URL: "/instances", Action: domain.ActInstanceRead},
		{Page: "orphans", URL: "/orphans", Action: domain.ActInstanceRead},
		{Page: "backfills", URL: "/backfills", Action: domain.ActInstanceRead},
		{Page: "ledger", URL: "/ledger", Action: domain.ActJobRead},
		{Page: "calendars", URL: "/calendars", Action: domain.ActJobRead},
		{Page: "dag", URL: "/dag", Action: domain.ActJobRead},
		{Page: "pools", URL: "/pools", Action: domain.ActPoolRead},
		{Page: "secrets", URL: "/secrets", Action: domain.ActSecretRead},
		{Page: "workers", URL: "/workers", Action: domain.ActWorkerRead},
		{Page: "incidents", URL: "/incidents", Action: domain.ActInstanceRead, Count: c.incidents.OpenCount},
		{Page: "projects", URL: "/projects", Action: domain.ActProjectRead},
		{Page: "audit", URL: "/audit", Action: domain.ActAuditRead},
	}
}

func (s *site) welcome(ctx context.Context, c *core, setup string) {
	s.mu.Lock()
	first := !s.ready
	s.ready = true
	s.mu.Unlock()
	if !first || s.o.Ready == nil {
		return
	}
	w := Welcome{LoginPath: func(ctx context.Context, page string) (string, error) {
		secret, err := c.access.LoginLink(ctx)
		return "/login?token=" + secret + "&next=" + url.QueryEscape(page), err
	}, Token: func(ctx context.Context) (string, error) {
		return c.access.AdminToken(ctx, "demo", time.Now().Add(24*time.Hour))
	}}
	if setup != "" {
		w.SetupPath = "/setup?token=" + setup
	}
	s.o.Ready(ctx, w)
}

package httpx

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/idem"
	"github.com/axsched/ax/views/layout"
)

// Public is the action of a route that anybody may call. AnyAccount is that of a
// route that asks only for a known caller, because it is about the caller's own.
const (
	Public     domain.Action = "public"
	AnyAccount domain.Action = "any_account"
)

// Route is one entry of the table. Method, Path (echo's form, /jobs/:id), Action
// and Handler are required.
type Route struct {
	Method   string
	Path     string
	Action   domain.Action
	Creating bool  // takes an idempotency key; its handler answers through Once or OnceForm
	Stream   bool  // an event stream: no compression, no write time-out
	MaxBody  int64 // bytes of body taken; 0 = 1 MB
	// Bare routes neither read nor need a session: files, health, metrics, signed
	// calls of executors. They get no CSRF check, no compression, errors as JSON.
	Bare    bool
	Handler echo.HandlerFunc
	Doc     Doc // of a call of the API
}

// String is the method and the path.
func (r Route) String() string { return r.Method + " " + r.Path }

// Options of New. Policy, Identity, Sessions, Ledger and Denials are required.
type Options struct {
	Policy   Policy
	Identity Identity
	Sessions SessionStore
	Ledger   idem.Ledger
	Denials  Denials

	Log            *slog.Logger     // nil = slog.Default()
	Now            func() time.Time // nil = time.Now
	Zone           *time.Location   // for readers who chose none; nil = UTC
	Environment    string           // shown in the frame
	Version        string           // shown in the frame
	TrustedProxies []netip.Prefix   // whose X-Forwarded-* headers count
	Secure         bool             // cookies are Secure whatever the connection looks like
	KeepAlive      time.Duration    // between comments of a stream; 0 = 15 s
	Patience       time.Duration    // for the answer to what only looks, and for learning who asks; 0 = 4 s
	Lifetime       time.Duration    // longest life of a session; 0 = 7 days
	Nav            []NavEntry       // the navigation; nil = every page that the frame knows
	// Degraded names the parts that are away, for the top of every page; nil = none.
	Degraded func(ctx context.Context) []layout.Notice
	// Outage tells which store does not answer, and since when; it must ask none. nil = nothing is known.
	Outage func() Outage
}

// NavEntry is an entry of the navigation, shown to whoever may do its action in
// some project. Page is one of layout.NavItem's names.
type NavEntry struct {
	Page   string
	URL    string
	Action domain.Action
	// Count is how many things wait there in the projects in which the caller may do the
	// action; it must ask no store. nil: none are counted.
	Count func(seen domain.ProjectSet) int64
}

// Router is the table of routes and the rules round them. It is an http.Handler.
// Routes are added before the first request.
type Router struct {
	o        Options
	echo     *echo.Echo
	routes   []Route
	sessions *scs.SessionManager
	origin   *http.CrossOriginProtection

	closing    chan struct{} // closed by EndStreams
	endStreams sync.Once
}

// New makes an empty table.
func New(o Options) (*Router, error) {
	if o.Policy == nil || o.Identity == nil || o.Sessions == nil || o.Ledger == nil || o.Denials == nil {
		return nil, fmt.Errorf("httpx: policy, identity, sessions, ledger and denials are all required")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = 15 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = lookPatience
	}
	if o.Lifetime == 0 {
		o.Lifetime = 7 * 24 * time.Hour
	}
	r := &Router{o: o, echo: echo.New(), sessions: newSessions(o), origin: http.NewCrossOriginProtection(), closing: make(chan struct{})}
	r.echo.HTTPErrorHandler = r.answerError
	r.echo.Use(r.outer)
	return r, nil
}

// Add registers routes. A route that lacks a part, whose action the policy does
// not know, or that is there already is an error and nothing is registered.
func (r *Router) Add(routes ...Route) error {
	for i, route := range routes {
		if err := r.check(route, routes[:i]); err != nil {
			return err
		}
	}
	for _, route := range routes {
		h := r.chain(route)
		r.echo.Add(route.Method, route.Path, h)
		if route.Method == http.MethodGet && !route.Stream {
			r.echo.Add(http.MethodHead, route.Path, h)
		}
	}
	r.routes = append(r.routes, routes...)
	return nil
}

func (r *Router) check(route Route, before []Route) error {
	switch {
	case route.Method == "" || !strings.HasPrefix(route.Path, "/") || route.Handler == nil:
		return fmt.Errorf("route %q lacks a method, a path or a handler", route)
	case route.Action == "":
		return fmt.Errorf("route %q names no action: name one of the policy's, httpx.AnyAccount or httpx.Public", route)
	case route.Action != Public && route.Action != AnyAccount && !r.o.Policy.Known(route.Action):
		return fmt.Errorf("route %q asks for action %q, which no role of the policy grants", route, route.Action)
	case route.Bare && route.Action != Public:
		return fmt.Errorf("route %q is bare, so nobody is known there: its action can only be httpx.Public", route)
	case route.Creating && !unsafeMethod(route.Method):
		return fmt.Errorf("route %q creates, yet its method promises to change nothing", route)
	case len(route.String()) > 100:
		return fmt.Errorf("route %q is longer than the 100 bytes that the idempotency table keeps", route)
	}
	same := func(o Route) bool { return o.String() == route.String() }
	if slices.ContainsFunc(r.routes, same) || slices.ContainsFunc(before, same) {
		return fmt.Errorf("route %q is registered twice", route)
	}
	return nil
}

// Routes is the table as registered, for a test that walks it.
func (r *Router) Routes() []Route { return slices.Clone(r.routes) }

// ServeHTTP answers one request.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.echo.ServeHTTP(w, req) }

// chain is what stands before a route's handler, in order.
func (r *Router) chain(route Route) echo.HandlerFunc {
	h := func(c echo.Context) error {
		sc := scopeOf(c.Request().Context())
		sc.route = route
		steps := []func(echo.Context, *scope) error{r.readBody, r.authenticate, r.pickReader, r.checkForgery, r.checkAction, r.readKey}
		if route.Bare {
			steps = []func(echo.Context, *scope) error{r.readBody}
			sc.timer.Stop()
		}
		for i, step := range steps {
			if err := step(c, sc); err != nil {
				return err
			}
			if i == 0 && !route.Bare { // the body is there
				sc.timer.Reset(r.o.Patience)
			}
		}
		switch {
		case route.Stream:
			sc.timer.Stop()
		case unsafeMethod(route.Method):
			sc.timer.Reset(changePatience)
		}
		if err := route.Handler(c); err != nil {
			return err
		}
		r.complain(c, sc)
		return nil
	}
	if route.Bare || route.Stream {
		return h
	}
	return middleware.GzipWithConfig(middleware.GzipConfig{MinLength: 1024})(h)
}

// complain logs what only a mistake in a handler can bring about.
func (r *Router) complain(c echo.Context, sc *scope) {
	if sc.key.Hash != "" && !sc.onced && c.Response().Status < 400 {
		r.o.Log.Error("a creating route was given an idempotency key and its handler did not use Once", "route", sc.route.String())
	}
}

func unsafeMethod(m string) bool {
	return m != http.MethodGet && m != http.MethodHead && m != http.MethodOptions && m != http.MethodTrace
}

package httpx

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
)

const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// outer goes round every request, also one that no route answers: it gives the
// request its scope, id and time, sets the security headers, catches panics, writes the
// error's answer and logs.
func (r *Router) outer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		req := c.Request()
		sc := &scope{router: r}
		r.lookAt(req, sc)
		ctx, done := r.limit(context.WithValue(req.Context(), scopeKey{}, sc), req.Method, sc)
		defer done()
		c.SetRequest(req.WithContext(domain.WithOrigin(ctx, domain.Origin{Remote: sc.remote, RequestID: sc.id})))
		setHeaders(c.Response().Header(), sc)
		defer r.log(c, sc, began)
		if err := r.guarded(c, next); err != nil {
			r.answerError(err, c)
		}
		return nil
	}
}

// guarded turns a panic into an error that carries its stack for the log. Where
// part of an answer has left already, the connection is cut instead.
func (r *Router) guarded(c echo.Context, next echo.HandlerFunc) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler {
			panic(v)
		}
		p := &panicked{value: v, stack: debug.Stack()}
		if c.Response().Committed {
			r.logFault(c, p)
			panic(http.ErrAbortHandler)
		}
		err = p
	}()
	return next(c)
}

type panicked struct {
	value any
	stack []byte
}

// Error names what was thrown, not where.
func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func setHeaders(h http.Header, sc *scope) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", sc.id)
	if sc.secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

func (r *Router) log(c echo.Context, sc *scope, began time.Time) {
	level := slog.LevelInfo
	if sc.route.Bare || !unsafeMethod(c.Request().Method) && c.Response().Status < http.StatusBadRequest {
		level = slog.LevelDebug // what only looked and was answered
	}
	r.o.Log.Log(c.Request().Context(), level, "http",
		"method", c.Request().Method, "path", c.Request().URL.Path, "route", sc.route.Path, "status", c.Response().Status,
		"ms", time.Since(began).Milliseconds(), "bytes", c.Response().Size, "who", sc.caller.Name, "kind", string(sc.caller.Kind),
		"remote", sc.remote, "request", sc.id)
}

func (r *Router) logFault(c echo.Context, err error) {
	attrs := []any{"error", err.Error(), "method", c.Request().Method, "path", c.Request().URL.Path}
	if sc := scopeOf(c.Request().Context()); sc != nil {
		attrs = append(attrs, "request", sc.id)
	}
	if p, ok := err.(*panicked); ok {
		attrs = append(attrs, "stack", string(p.stack))
	}
	r.o.Log.Error("a request failed inside AX", attrs...)
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9._-]{8,64}$`)

// lookAt finds the client's address, whether it speaks TLS, and the request's id,
// believing forwarding headers only where a trusted proxy speaks.
func (r *Router) lookAt(req *http.Request, sc *scope) {
	sc.id = rand.Text()
	sc.secure = req.TLS != nil || r.o.Secure
	peer, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		sc.remote = req.RemoteAddr
		return
	}
	addr := peer.Addr().Unmap()
	sc.remote = addr.String()
	if !r.trusted(addr) {
		return
	}
	if id := req.Header.Get("X-Request-Id"); plainID.MatchString(id) {
		sc.id = id
	}
	sc.secure = sc.secure || req.Header.Get("X-Forwarded-Proto") == "https"
	hops := strings.Split(strings.Join(req.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			return
		}
		sc.remote = hop.Unmap().String()
		if !r.trusted(hop.Unmap()) {
			return
		}
	}
}

func (r *Router) trusted(a netip.Addr) bool {
	for _, p := range r.o.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

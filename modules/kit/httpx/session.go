package httpx

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
)

const (
	cookieSession = "ax_session"
	cookieForm    = "ax_form"
	cookieLang    = "ax_lang"
	cookieTheme   = "ax_theme"
	cookieZone    = "ax_zone"
	valueUser     = "user"
)

func newSessions(o Options) *scs.SessionManager {
	m := scs.New()
	m.Store = ctxStore{o.Sessions}
	m.Codec = jsonCodec{}
	m.Lifetime = o.Lifetime
	return m
}

// ctxStore fits a SessionStore to scs, which asks for the methods without a
// context too and never calls them where those with one exist.
type ctxStore struct{ SessionStore }

var errNoContext = errors.New("sessions are reached with a context only")

// Find is never called.
func (ctxStore) Find(string) ([]byte, bool, error) { return nil, false, errNoContext }

// Commit is never called.
func (ctxStore) Commit(string, []byte, time.Time) error { return errNoContext }

// Delete is never called.
func (ctxStore) Delete(string) error { return errNoContext }

// jsonCodec writes a session so that its store can read whose it is.
type jsonCodec struct{}

type sessionData struct {
	Deadline int64             `json:"deadline"`
	Values   map[string]string `json:"values"`
}

// Encode writes deadline and values, all of which are texts.
func (jsonCodec) Encode(deadline time.Time, values map[string]any) ([]byte, error) {
	d := sessionData{Deadline: deadline.UnixMilli(), Values: map[string]string{}}
	for k, v := range values {
		s, ok := v.(string)
		if !ok {
			return nil, errors.New("a session holds texts only")
		}
		d.Values[k] = s
	}
	return json.Marshal(d)
}

// Decode reads what Encode wrote.
func (jsonCodec) Decode(b []byte) (time.Time, map[string]any, error) {
	var d sessionData
	if err := json.Unmarshal(b, &d); err != nil {
		return time.Time{}, nil, err
	}
	values := make(map[string]any, len(d.Values))
	for k, v := range d.Values {
		values[k] = v
	}
	return time.UnixMilli(d.Deadline).UTC(), values, nil
}

// Login begins a session of the account, with a token of its own; one that the
// browser had before ends.
func Login(c echo.Context, account domain.ID) error {
	ctx := c.Request().Context()
	sc := scopeOf(ctx)
	m := sc.router.sessions
	ctx, err := m.Load(ctx, "")
	if err != nil {
		return err
	}
	if err := m.RenewToken(ctx); err != nil {
		return err
	}
	m.Put(ctx, valueUser, account.String())
	token, expiry, err := m.Commit(ctx)
	if err != nil {
		return err
	}
	sc.setCookie(c, cookieSession, token, time.Until(expiry))
	sc.session = token
	return nil
}

// Logout ends the caller's session, if there is one.
func Logout(c echo.Context) error {
	ctx := c.Request().Context()
	sc := scopeOf(ctx)
	if sc.session != "" {
		if err := sc.router.sessions.Destroy(ctx); err != nil {
			return err
		}
	}
	sc.setCookie(c, cookieSession, "", -1)
	sc.session = ""
	return nil
}

// setCookie sets a cookie that scripts cannot read. A negative age removes it.
func (sc *scope) setCookie(c echo.Context, name, value string, age time.Duration) {
	c.SetCookie(&http.Cookie{Name: name, Value: value, Path: "/", MaxAge: int(age.Seconds()), Secure: sc.secure, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
}

func cookie(c echo.Context, name string) string {
	k, err := c.Cookie(name)
	if err != nil {
		return ""
	}
	return k.Value
}

// authenticate puts the caller into the context: by bearer token where the request
// carries an Authorization header, else by session. A header that does not fit is
// 401 and never falls back to the session.
func (r *Router) authenticate(c echo.Context, sc *scope) error {
	var err error
	if headers := c.Request().Header.Values(echo.HeaderAuthorization); len(headers) > 0 {
		err = r.byToken(c, sc, headers)
	} else {
		err = r.bySession(c, sc)
	}
	if domain.Is(err, domain.Unauthentic) && sc.route.Action == Public && len(c.Request().Header.Values(echo.HeaderAuthorization)) == 0 {
		return nil
	}
	return err
}

func (r *Router) byToken(c echo.Context, sc *scope, headers []string) error {
	scheme, secret, _ := strings.Cut(headers[0], " ")
	secret = strings.TrimSpace(secret)
	if len(headers) != 1 || !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return domain.Fail(domain.Unauthentic, "the Authorization header holds no token").
			WithHint("send Authorization: Bearer ax_…").Coded("http.bad_token")
	}
	p, err := r.o.Identity.Bearer(c.Request().Context(), secret)
	if err != nil {
		return err
	}
	via := "api"
	if strings.HasPrefix(c.Request().UserAgent(), "ax/") {
		via = "cli"
	}
	sc.bearer = secret
	sc.become(c, p, via)
	return nil
}

func (r *Router) bySession(c echo.Context, sc *scope) error {
	ctx, err := r.sessions.Load(c.Request().Context(), cookie(c, cookieSession))
	if err != nil {
		return err
	}
	c.SetRequest(c.Request().WithContext(ctx))
	id, err := domain.ParseID(r.sessions.GetString(ctx, valueUser))
	if err != nil {
		sc.become(c, domain.Principal{}, "page")
		return nil
	}
	p, err := r.o.Identity.Account(ctx, id)
	if err != nil {
		return err
	}
	sc.session = r.sessions.Token(ctx)
	sc.become(c, p, "page")
	return nil
}

// become makes p the caller.
func (sc *scope) become(c echo.Context, p domain.Principal, via string) {
	ctx := c.Request().Context()
	o := domain.OriginOf(ctx)
	o.Via = via
	sc.caller = p
	c.SetRequest(c.Request().WithContext(domain.WithPrincipal(domain.WithOrigin(ctx, o), p)))
}

// checkAction asks whether the caller may do the route's action in any project at
// all; the project of the object is for the handler to ask.
func (r *Router) checkAction(c echo.Context, sc *scope) error {
	action := sc.route.Action
	if action == Public {
		return nil
	}
	if !sc.caller.Known() {
		return domain.Fail(domain.Unauthentic, "log in or send a token").WithHint("send Authorization: Bearer ax_…").Coded("http.login_first")
	}
	if action == AnyAccount || !r.o.Policy.Visible(c.Request().Context(), sc.caller.ID, action).Empty() {
		return nil
	}
	sc.denied = &denial{domain.EveryProject, action}
	return refusal(action)
}

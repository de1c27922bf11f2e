package httpx

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/layout"
)

// WithProblems gives an error a list of problems (any JSON array) that the API
// answers beside it as "problems". An Invalid one is answered 422: the call itself
// could be read, what it carries is wrong.
func WithProblems(err error, list any) error { return &problemsError{err, list} }

type problemsError struct {
	error
	list any
}

// Unwrap gives the error without its list.
func (p *problemsError) Unwrap() error { return p.error }

// retryer is an error that knows when another try makes sense. With kind Denied it
// is answered 429, with any other kind it only sets Retry-After.
type retryer interface {
	error
	RetryAfter() time.Duration
}

// failure is an error as it is answered.
type failure struct {
	Kind      string `json:"kind"`
	Message   string `json:"message"`
	Field     string `json:"field,omitempty"`
	Hint      string `json:"hint,omitempty"`
	Problems  any    `json:"problems,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	// Store is which store is away, where that is why; Since is when it answered last, where that is known.
	Store string     `json:"store,omitempty"`
	Since *time.Time `json:"since,omitempty"`

	status int
	retry  time.Duration // 0 = say nothing
	own    bool          // the error's own words may be shown
	outage Outage        // what is known of the store
}

var statusOf = map[domain.Kind]int{
	domain.Invalid: http.StatusBadRequest, domain.NotFound: http.StatusNotFound, domain.Conflict: http.StatusConflict,
	domain.Exists: http.StatusConflict, domain.Denied: http.StatusForbidden, domain.Unauthentic: http.StatusUnauthorized,
	domain.TooLarge: http.StatusRequestEntityTooLarge, domain.Unavailable: http.StatusServiceUnavailable,
}

// database is the store that all answers wait for.
const database = "database"

// away says since when the store is away that err is about, or that it is not, as far as that is known.
func (f *failure) away(o Outage) {
	if f.Store == "" || o.Store != f.Store {
		return
	}
	f.Message, f.outage = o.words(), o
	if o.Locked {
		f.Store = ""
		return
	}
	since := o.Since.UTC()
	f.Since = &since
}

// plainSlash finds calls whose path seems to name something of a project with a slash of its own.
var plainSlash = regexp.MustCompile(`^/api/v1/(jobs|calendars|pools)/[^/]+/[^/]`)

// translate is the one place where errors become HTTP. form says that a browser's
// form is answered.
func translate(err error, form bool) failure {
	var e *domain.Error
	var web *echo.HTTPError
	f := failure{Kind: "internal", Message: "AX failed inside; its log has more under this request id", status: http.StatusInternalServerError}
	switch {
	case errors.As(err, &e) && statusOf[e.Kind] != 0:
		f = failure{Kind: string(e.Kind), Message: e.Msg, Field: e.Field, Hint: e.Hint, status: statusOf[e.Kind], own: true}
		if e.Kind == domain.Invalid && form {
			f.status = http.StatusUnprocessableEntity
		}
		if e.Kind == domain.Unavailable {
			f.retry = 5 * time.Second
			if e.Err != nil && e.ID == "" { // its words are a driver's: of all stores, answers wait for the database alone
				f.Message, f.Store, f.own = Outage{}.words(), database, false
			}
		}
	case errors.As(err, &web) && web.Code < 500:
		f = failure{Kind: string(domain.Invalid), Message: strings.ToLower(http.StatusText(web.Code)), status: web.Code}
		if web.Code == http.StatusNotFound {
			f.Kind, f.Message = string(domain.NotFound), "there is no such page"
		}
	}
	var list *problemsError
	if errors.As(err, &list) {
		f.Problems = list.list
		if f.Kind == string(domain.Invalid) {
			f.status = http.StatusUnprocessableEntity
		}
	}
	var later retryer
	if errors.As(err, &later) {
		f.retry = later.RetryAfter()
		if f.status == http.StatusForbidden {
			f.status = http.StatusTooManyRequests
		}
	}
	return f
}

// Say is what is wrong, in the reader's language where the catalog has it, with
// how to mend it.
func Say(ctx context.Context, err error) string {
	var e *domain.Error
	if !errors.As(err, &e) {
		return i18n.T(ctx, "http.internal")
	}
	if e.ID != "" && i18n.Has(i18n.Lang(ctx), e.ID) {
		args := make([]any, 0, 2*len(e.Args))
		for k, v := range e.Args {
			args = append(args, k, v)
		}
		return i18n.T(ctx, e.ID, args...)
	}
	if e.Hint != "" {
		return e.Msg + " (" + e.Hint + ")"
	}
	return e.Msg
}

// answerError writes err as JSON for programs, as a fragment for htmx and as a
// page for browsers. Nothing of a fault inside AX is told but the request's id.
func (r *Router) answerError(err error, c echo.Context) {
	ctx := c.Request().Context()
	sc := scopeOf(ctx)
	err = overdue(ctx, err)
	if errors.Is(err, context.Canceled) && domain.KindOf(err) == "" && ctx.Err() != nil {
		c.Response().Status = 499 // the client left; only the log sees this
		return
	}
	ctx = context.WithoutCancel(ctx) // its time may be over, and the answer must be made yet
	c.SetRequest(c.Request().WithContext(ctx))
	f := translate(err, sc.form != nil)
	f.RequestID = sc.id
	f.away(r.outage())
	if f.status == http.StatusNotFound && !f.own && plainSlash.MatchString(c.Request().URL.EscapedPath()) {
		f.Hint = "in a path the slash of project/name is written %2F"
	}
	if f.status >= 500 {
		r.logFault(c, err)
	}
	r.recordDenial(c, sc, f)
	if c.Response().Committed {
		return
	}
	setRetry(c, f)
	if err := r.writeFailure(c, sc, f, err); err != nil {
		r.logFault(c, err)
	}
}

func (r *Router) recordDenial(c echo.Context, sc *scope, f failure) {
	if sc.denied == nil || !unsafeMethod(c.Request().Method) || f.status != http.StatusForbidden && f.status != http.StatusNotFound {
		return
	}
	ctx := context.WithoutCancel(c.Request().Context())
	object := c.Request().Method + " " + c.Request().URL.Path
	if err := r.o.Denials.Denied(ctx, sc.denied.project, sc.denied.action, object); err != nil {
		r.logFault(c, err)
	}
}

func (r *Router) writeFailure(c echo.Context, sc *scope, f failure, err error) error {
	if forProgram(c, sc) {
		if f.status == http.StatusUnauthorized {
			c.Response().Header().Set("WWW-Authenticate", "Bearer")
		}
		return c.JSON(f.status, map[string]failure{"error": f})
	}
	if sc.route.Path == "" {
		_ = r.authenticate(c, sc) // nothing matched, so nobody was looked for; the page may do without
	}
	if err := r.pickReader(c, sc); err != nil {
		return err
	}
	if f.status == http.StatusUnauthorized {
		return Redirect(c, "/login?next="+url.QueryEscape(cameFrom(c)))
	}
	page := layout.FailurePage{Shell: Shell(c), Status: f.status, RequestID: sc.id}
	ctx := c.Request().Context()
	if f.own {
		page.Text = Say(ctx, err)
	}
	switch f.status {
	case http.StatusServiceUnavailable:
		switch {
		case page.Text != "":
		case f.Store != "" || f.outage.Locked:
			page.Text = f.outage.page(ctx)
		default:
			page.Text = i18n.T(ctx, "failure.503.text")
		}
	case 401, 405, 415:
		page.Title = i18n.T(ctx, "http.refused")
		if page.Text == "" {
			page.Text = f.Message
		}
	}
	if f.status == http.StatusForbidden && sc.denied != nil {
		page.Need, page.Grant = string(sc.denied.action), i18n.T(ctx, "http.grant")
	}
	if fromHTMX(c) {
		return Render(c, f.status, alert(page))
	}
	return Render(c, f.status, layout.Failure(page))
}

// alert is a failure as a fragment, fit to be swapped into a page. htmx swaps
// every answer.
func alert(p layout.FailurePage) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		text := p.Text
		if text == "" {
			text = i18n.T(ctx, "http.internal")
		}
		return writeAll(w, `<div class="alert alert-failure" role="alert">`, templ.EscapeString(text), ` <small>`, templ.EscapeString(p.RequestID), `</small></div>`)
	})
}

func forProgram(c echo.Context, sc *scope) bool {
	path := c.Request().URL.Path
	return sc.route.Bare || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/executor/") ||
		len(c.Request().Header.Values(echo.HeaderAuthorization)) > 0
}

// cameFrom is the page to return to after login.
func cameFrom(c echo.Context) string {
	if fromHTMX(c) {
		if u, err := url.Parse(c.Request().Header.Get("HX-Current-URL")); err == nil {
			return LocalPath(u.RequestURI())
		}
	}
	if c.Request().Method == http.MethodGet {
		return LocalPath(c.Request().URL.RequestURI())
	}
	return "/"
}

// Explain is for a handler that shows an error in a page of its own, such as the
// form it came from: it sets Retry-After where that is known and gives the status
// and the words in the reader's language. A change that the policy refused is
// recorded. ok is false for what only the edge may answer; return such an error.
func Explain(c echo.Context, err error) (status int, text string, ok bool) {
	f := translate(overdue(c.Request().Context(), err), true)
	if !f.own {
		return 0, "", false
	}
	sc := scopeOf(c.Request().Context())
	sc.router.recordDenial(c, sc, f)
	setRetry(c, f)
	return f.status, Say(c.Request().Context(), err), true
}

func setRetry(c echo.Context, f failure) {
	if f.retry > 0 {
		c.Response().Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retry.Seconds()))))
	}
}

// FieldOf is the field that an error is about, "" for the whole.
func FieldOf(err error) string {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.Field
	}
	return ""
}

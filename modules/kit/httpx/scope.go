package httpx

import (
	"context"
	"net/url"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/idem"
)

// scope is what the edge knows of one request. It belongs to the request's own
// goroutine.
type scope struct {
	router  *Router
	route   Route
	remote  string
	secure  bool
	id      string // request id
	timer   *time.Timer
	session string // token of a session that exists; "" = none
	bearer  string // secret of a token that exists; "" = none
	body    []byte
	form    url.Values
	theme   string
	key     idem.Key
	onced   bool
	denied  *denial
	caller  domain.Principal // for the log, which looks from outside of the context
}

type denial struct {
	project domain.ID
	action  domain.Action
}

type scopeKey struct{}

func scopeOf(ctx context.Context) *scope {
	sc, _ := ctx.Value(scopeKey{}).(*scope)
	return sc
}

// Allow reports whether the caller may do the action in the project of the object
// at hand: nil, Denied, or NotFound where the caller has no role in that project,
// so that nobody learns what exists elsewhere. EveryProject asks for a role that
// holds everywhere. Outside of a request nobody may do anything.
func Allow(ctx context.Context, project domain.ID, action domain.Action) error {
	sc := scopeOf(ctx)
	if sc == nil {
		return domain.Fail(domain.Unauthentic, "nobody is known here")
	}
	p, policy := domain.PrincipalOf(ctx), sc.router.o.Policy
	if p.Known() && policy.Allowed(ctx, p.ID, project, action) {
		return nil
	}
	sc.denied = &denial{project, action}
	if project != domain.EveryProject && !(p.Known() && policy.Allowed(ctx, p.ID, project, domain.ActProjectRead)) {
		return domain.Fail(domain.NotFound, "there is no such thing, or it is in a project that you have no role in").Coded("http.not_found")
	}
	return refusal(action)
}

func refusal(action domain.Action) error {
	return domain.Fail(domain.Denied, "this needs the permission %s, which your roles do not give", action).
		WithHint("an admin of the project can grant it").Coded("http.denied", "action", string(action))
}

// Can is Allow for a page that only asks whether to offer a button.
func Can(ctx context.Context, project domain.ID, action domain.Action) bool {
	sc, p := scopeOf(ctx), domain.PrincipalOf(ctx)
	return sc != nil && p.Known() && sc.router.o.Policy.Allowed(ctx, p.ID, project, action)
}

// Visible is the projects in which the caller may do the action.
func Visible(ctx context.Context, action domain.Action) domain.ProjectSet {
	sc, p := scopeOf(ctx), domain.PrincipalOf(ctx)
	if sc == nil || !p.Known() {
		return domain.ProjectSet{}
	}
	return sc.router.o.Policy.Visible(ctx, p.ID, action)
}

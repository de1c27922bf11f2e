package httpx

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
)

const (
	fieldCSRF  = "csrf"
	headerCSRF = "X-CSRF-Token"
	fieldKey   = "idempotency_key"
	headerKey  = "Idempotency-Key"
)

// CSRF is the token for the forms of the page being made. It is bound to the
// session or, before there is one, to a cookie that this call sets; so call it
// before anything is written. Each call masks it anew, so that compression
// cannot give it away.
func CSRF(c echo.Context) string {
	sc := scopeOf(c.Request().Context())
	seed := sc.formSeed(c)
	if seed == "" {
		seed = rand.Text()
		sc.setCookie(c, cookieForm, seed, 24*time.Hour)
		c.Request().Header.Add(echo.HeaderCookie, cookieForm+"="+seed) // a second call in this request finds it
	}
	sum := csrfSum(seed)
	out := make([]byte, 2*len(sum))
	_, _ = rand.Read(out[:len(sum)])
	for i, b := range sum {
		out[len(sum)+i] = b ^ out[i]
	}
	return base64.RawURLEncoding.EncodeToString(out)
}

func (sc *scope) formSeed(c echo.Context) string {
	if sc.session != "" {
		return sc.session
	}
	return cookie(c, cookieForm)
}

func csrfSum(seed string) []byte {
	m := hmac.New(sha256.New, []byte(seed))
	m.Write([]byte("ax form token"))
	return m.Sum(nil)
}

func csrfValid(seed, token string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || seed == "" || len(raw) != 2*sha256.Size {
		return false
	}
	for i := range sha256.Size {
		raw[sha256.Size+i] ^= raw[i]
	}
	return hmac.Equal(raw[sha256.Size:], csrfSum(seed))
}

// checkForgery lets a change by a browser pass only with the session's token and
// from the same origin. Callers with a bearer token send nothing by themselves and
// need neither.
func (r *Router) checkForgery(c echo.Context, sc *scope) error {
	if !unsafeMethod(sc.route.Method) || sc.caller.Kind == domain.PrincipalToken {
		return nil
	}
	if err := r.origin.Check(c.Request()); err != nil {
		return domain.Fail(domain.Denied, "this request was sent by a page of another site").Coded("http.other_site")
	}
	token := c.Request().Header.Get(headerCSRF)
	if token == "" {
		token = sc.form.Get(fieldCSRF)
	}
	if token == "" {
		return domain.Fail(domain.Denied, "the form's token is missing").
			WithHint("send it as the field csrf or the header " + headerCSRF + "; programs use a bearer token instead").Coded("http.csrf_missing")
	}
	if !csrfValid(sc.formSeed(c), token) {
		return domain.Fail(domain.Denied, "the form's token is not of this session").WithHint("load the page again").Coded("http.csrf_wrong")
	}
	return nil
}

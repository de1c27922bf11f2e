package httpx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/idem"
)

const maxKey = 200

// readKey takes the idempotency key of a creating call.
func (r *Router) readKey(c echo.Context, sc *scope) error {
	if !sc.route.Creating {
		return nil
	}
	key := c.Request().Header.Get(headerKey)
	if key == "" {
		key = sc.form.Get(fieldKey)
	}
	if len(key) > maxKey {
		return domain.Fail(domain.Invalid, "the idempotency key is longer than %d bytes", maxKey).At(headerKey)
	}
	body := sc.body
	if sc.form != nil {
		body = []byte(sc.formValues().Encode())
	}
	sc.key = idem.Key{
		Principal: "u" + sc.caller.ID.String(),
		Route:     sc.route.String(),
		Body:      digest([]byte(c.Request().URL.RequestURI()), []byte{0}, body),
	}
	if key != "" {
		sc.key.Hash = digest([]byte(key))
	}
	return nil
}

func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Once answers a creating API call. effect runs in a transaction together with the
// record of the caller's key, so that both are there or neither; with a key that
// was answered before, that answer is sent again and effect does not run. effect
// may run twice on a deadlock, so it has no effects outside the database but by
// AfterCommit. An error of effect leaves nothing behind. A body that is Sealed is
// kept without its secrets.
func Once(c echo.Context, effect func(ctx context.Context) (status int, body any, err error)) error {
	var first any
	return once(c, func(ctx context.Context) (idem.Answer, error) {
		status, body, err := effect(ctx)
		if err != nil {
			return idem.Answer{}, err
		}
		first = body
		if s, ok := body.(Sealed); ok {
			body = s.Sealed()
		}
		text, err := json.Marshal(body)
		return idem.Answer{Status: status, Body: string(text)}, err
	}, func(a idem.Answer) error {
		if first != nil {
			return c.JSON(a.Status, first)
		}
		return c.JSONBlob(a.Status, []byte(a.Body))
	})
}

// Sealed is an answer with a secret that is told once. Sealed gives what is kept
// and told to a repeated call.
type Sealed interface{ Sealed() any }

// OnceForm does the same for a form, which ends at location, a place within AX.
func OnceForm(c echo.Context, effect func(ctx context.Context) (location string, err error)) error {
	return once(c, func(ctx context.Context) (idem.Answer, error) {
		location, err := effect(ctx)
		return idem.Answer{Status: http.StatusSeeOther, Location: location}, err
	}, func(a idem.Answer) error { return Redirect(c, a.Location) })
}

// OncePage does the same for a form whose answer shows what is told once: page
// answers the first call, a repeated one ends at location.
func OncePage(c echo.Context, effect func(ctx context.Context) (location string, err error), page func() error) error {
	first := false
	return once(c, func(ctx context.Context) (idem.Answer, error) {
		location, err := effect(ctx)
		first = err == nil
		return idem.Answer{Status: http.StatusSeeOther, Location: location}, err
	}, func(a idem.Answer) error {
		if first {
			return page()
		}
		return Redirect(c, a.Location)
	})
}

func once(c echo.Context, effect func(context.Context) (idem.Answer, error), answer func(idem.Answer) error) error {
	ctx := c.Request().Context()
	sc := scopeOf(ctx)
	sc.onced = true
	a, replayed, err := sc.router.o.Ledger.Once(ctx, sc.key, effect)
	if err != nil {
		return err
	}
	if replayed {
		c.Response().Header().Set("Idempotency-Replayed", "true")
	}
	return answer(a)
}

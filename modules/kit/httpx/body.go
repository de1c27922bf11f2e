package httpx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
)

const defaultMaxBody = 1 << 20

// readBody takes the whole body into memory, within the route's limit, and refuses
// text that no column could hold: NUL and what is not UTF-8.
func (r *Router) readBody(c echo.Context, sc *scope) error {
	req := c.Request()
	if err := checkText("the address", req.URL.Path); err != nil {
		return err
	}
	query, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return domain.Fail(domain.Invalid, "the query of the address cannot be read: %v", err)
	}
	if err := checkValues(query); err != nil {
		return err
	}
	limit := sc.route.MaxBody
	if limit == 0 {
		limit = defaultMaxBody
	}
	sc.body, err = io.ReadAll(http.MaxBytesReader(c.Response(), req.Body, limit))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return domain.Fail(domain.TooLarge, "the body is larger than %s, the limit of %s", size(limit), sc.route).
			Coded("http.too_large", "limit", size(limit))
	}
	if err != nil {
		return domain.Fail(domain.Invalid, "the body broke off: %v", err)
	}
	req.Body = io.NopCloser(bytes.NewReader(sc.body))
	if sc.route.Bare {
		return nil
	}
	if err := checkText("the body", string(sc.body)); err != nil {
		return err
	}
	return sc.readForm(req)
}

func (sc *scope) readForm(req *http.Request) error {
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if kind != "application/x-www-form-urlencoded" {
		return nil
	}
	form, err := url.ParseQuery(string(sc.body))
	if err != nil {
		return domain.Fail(domain.Invalid, "the form cannot be read: %v", err)
	}
	sc.form = form
	return checkValues(form)
}

func checkValues(values url.Values) error {
	for name, all := range values {
		for _, v := range append(all, name) {
			if err := checkText(name, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkText(where, s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return nulError(where)
	}
	if !utf8.ValidString(s) {
		return domain.Fail(domain.Invalid, "the text is not valid UTF-8").At(plainName(where)).WithHint("send UTF-8").Coded("http.utf8")
	}
	return nil
}

func nulError(where string) error {
	return domain.Fail(domain.Invalid, "the text holds a NUL character").At(plainName(where)).WithHint("remove it").Coded("http.nul")
}

// plainName makes the name of a field fit to be said.
func plainName(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
}

func size(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d KB", n>>10)
}

// Form is the posted form without "csrf" and "idempotency_key", which are the
// edge's own.
func Form(c echo.Context) (url.Values, error) {
	sc := scopeOf(c.Request().Context())
	if sc.form == nil {
		return nil, domain.Fail(domain.Invalid, "this takes a form").WithHint("send application/x-www-form-urlencoded")
	}
	return sc.formValues(), nil
}

func (sc *scope) formValues() url.Values {
	out := make(url.Values, len(sc.form))
	for name, v := range sc.form {
		if name != fieldCSRF && name != fieldKey {
			out[name] = v
		}
	}
	return out
}

// Body is the request's body as it came, for texts such as job files. The caller
// does not change it.
func Body(c echo.Context) []byte { return scopeOf(c.Request().Context()).body }

// ReadJSON decodes the body into dest. Unknown keys, wrong types, text after the
// document, NUL and half characters are Invalid, with the field where it is known.
func ReadJSON(c echo.Context, dest any) error {
	body := Body(c)
	if len(bytes.TrimSpace(body)) == 0 {
		return domain.Fail(domain.Invalid, "the body is empty").WithHint("send a JSON object")
	}
	if err := escapeFault(body); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(dest); err != nil {
		return jsonError(err, body, dest)
	}
	if _, err := d.Token(); err != io.EOF {
		return domain.Fail(domain.Invalid, "there is text after the JSON document")
	}
	return nil
}

func jsonError(err error, body []byte, dest any) error {
	var syntax *json.SyntaxError
	var own *domain.Error
	switch {
	case errors.As(err, &own):
		return err
	case errors.As(err, &syntax):
		return domain.Fail(domain.Invalid, "the body is not JSON: %v at byte %d", err, syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return domain.Fail(domain.Invalid, "the body is not JSON: it ends too early")
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return domain.Fail(domain.Invalid, "there is no such key").At(strings.Trim(field, `"`))
	}
	var document json.RawMessage
	if json.NewDecoder(bytes.NewReader(body)).Decode(&document) == nil {
		if m, found := findMisfit(reflect.TypeOf(dest), document, ""); found {
			return domain.Fail(domain.Invalid, "wanted is %s, not %s", m.wanted, m.given).At(m.path)
		}
	}
	return domain.Fail(domain.Invalid, "the body is not what is wanted: %v", err)
}

package httpx_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

func TestBodiesAreBoundedAndClean(t *testing.T) {
	read := func(c echo.Context) error {
		var in struct {
			Name string `json:"name"`
			N    int    `json:"n"`
		}
		if err := httpx.ReadJSON(c, &in); err != nil {
			return err
		}
		return c.String(200, in.Name)
	}
	e := newEdge(t, httpx.Route{Method: "POST", Path: "/api/x", Action: httpx.Public, Handler: read},
		httpx.Route{Method: "POST", Path: "/api/small", Action: httpx.Public, MaxBody: 2048, Handler: read})
	a := e.do(t, "POST", "/api/x", `{"name":"`+strings.Repeat("a", 1<<20)+`"}`, bearer...)
	if f := a.failure(t); a.status != 413 || f.Error.Kind != "too_large" || !strings.Contains(f.Error.Message, "1 MB") {
		t.Errorf("over 1 MB: %d %s", a.status, a.body)
	}
	if a := e.do(t, "POST", "/api/small", `{"name":"`+strings.Repeat("a", 3000)+`"}`, bearer...); a.status != 413 || !strings.Contains(a.body, "2 KB") {
		t.Errorf("over a route's own limit: %d %s", a.status, a.body)
	}
	if a := e.do(t, "POST", "/api/x", `{"name":"`+strings.Repeat("a", 1<<20-100)+`"}`, bearer...); a.status != 200 {
		t.Errorf("just under 1 MB: %d", a.status)
	}
	for body, word := range map[string]string{
		"{\"name\":\"a\x00b\"}":     "NUL",
		`{"name":"a\u0000b"}`:       "NUL",
		`{"name":"a\\\u0000b"}`:     "NUL",
		"{\"name\":\"\xff\xfe\"}":   "UTF-8",
		`{"nmae":"a"}`:              "nmae",
		`{"n":"text"}`:              `"field":"n"`,
		`{"name":"a"} {"name":"b"}`: "after",
		`{"name":`:                  "too early",
		`nonsense`:                  "byte",
		``:                          "empty",
		`{"name":"\ud800"}`:         "half a character",
		`{"name":"\udc00\ud800"}`:   "half a character",
		`{"name":"\ud83dx\ude00"}`:  "half a character",
		`[]`:                        "wanted is an object, not this list",
	} {
		if a := e.do(t, "POST", "/api/x", body, bearer...); a.status != 400 || !strings.Contains(a.body, word) {
			t.Errorf("%q: %d %s", body, a.status, a.body)
		}
	}
	if a := e.do(t, "POST", "/api/x", `{"name":"a\\u0000b"}`, bearer...); a.status != 200 || a.body != `a\u0000b` {
		t.Errorf("an escaped backslash before u0000: %d %s", a.status, a.body)
	}
	if a := e.do(t, "POST", "/api/x", `{"name":"\\ud800 \ud83d\ude00"}`, bearer...); a.status != 200 || a.body != `\ud800 😀` {
		t.Errorf("whole characters: %d %s", a.status, a.body)
	}
	for _, path := range []string{"/api/x?a=%00", "/api/x?%00=a", "/api/x?a=%ff"} {
		if a := e.do(t, "POST", path, `{}`, bearer...); a.status != 400 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if a := e.do(t, "POST", "/api/x", "a=%00", "Authorization", "Bearer good", "Content-Type", "application/x-www-form-urlencoded"); a.status != 422 {
		t.Errorf("NUL in a form: %d", a.status)
	}
}

func TestAWrongValueIsToldWithItsPathAndInPlainWords(t *testing.T) {
	read := func(c echo.Context) error {
		var in struct {
			Files []struct {
				Name string `json:"name"`
			} `json:"files"`
			Params map[string]string `json:"params"`
			Until  *time.Time        `json:"until"`
			Date   domain.BizDate    `json:"date"`
			On     bool              `json:"on"`
			N      int               `json:"n"`
		}
		return httpx.ReadJSON(c, &in)
	}
	e := newEdge(t, httpx.Route{Method: "POST", Path: "/api/x", Action: httpx.Public, Handler: read})
	for body, want := range map[string][2]string{
		`"text"`:                                {"", "wanted is an object, not this text"},
		`{"files":"a"}`:                         {"files", "wanted is a list, not this text"},
		`{"files":[{"name":"a"},3]}`:            {"files[1]", "wanted is an object, not this number"},
		`{"files":[{"name":["a"]}]}`:            {"files[0].name", "wanted is a text, not this list"},
		`{"params":{"a":"b","c":1}}`:            {"params.c", "wanted is a text, not this number"},
		`{"params":[]}`:                         {"params", "wanted is an object, not this list"},
		`{"until":"tomorrow"}`:                  {"until", "wanted is a time such as 2026-02-03T04:05:06Z, not this text"},
		`{"until":5}`:                           {"until", "wanted is a time such as 2026-02-03T04:05:06Z, not this number"},
		`{"on":"yes"}`:                          {"on", "wanted is true or false, not this text"},
		`{"N":1.5}`:                             {"N", "wanted is a whole number, not this number"},
		`{"n":99999999999999999999,"files":[]}`: {"n", "wanted is a whole number, not this number"},
		`{"n":true}`:                            {"n", "wanted is a whole number, not true"},
	} {
		a := e.do(t, "POST", "/api/x", body, bearer...)
		if f := a.failure(t); a.status != 400 || f.Error.Field != want[0] || f.Error.Message != want[1] {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}

func TestAPageOfRefusedInputSaysSo(t *testing.T) {
	e := newEdge(t, httpx.Route{Method: "GET", Path: "/page", Action: httpx.Public, Handler: func(echo.Context) error {
		return domain.Fail(domain.Invalid, "there is no state %q", "bogus")
	}}, httpx.Route{Method: "POST", Path: "/page", Action: httpx.Public, Handler: ok})
	for _, a := range []answer{e.do(t, "GET", "/page", ""), e.do(t, "POST", "/page", "a=%00", "Content-Type", "application/x-www-form-urlencoded")} {
		if a.status != 400 && a.status != 422 || strings.Contains(a.body, "Something broke") ||
			!strings.Contains(a.body, "<h1>The input was refused</h1>") || !strings.Contains(a.body, "<title>The input was refused") {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

func TestPagesAreCompressedAndStreamsAreNot(t *testing.T) {
	long := strings.Repeat("text ", 2000)
	e := newEdge(t, httpx.Route{Method: "GET", Path: "/page", Action: httpx.Public, Handler: func(c echo.Context) error { return httpx.Render(c, 200, templ.Raw(long)) }},
		httpx.Route{Method: "GET", Path: "/stream", Action: httpx.Public, Stream: true, Handler: func(c echo.Context) error {
			return httpx.Stream(c, func(_ context.Context, s *httpx.Events) error { return s.Send(httpx.Event{Data: long}) })
		}})
	if a := e.do(t, "GET", "/page", "", "Accept-Encoding", "gzip"); a.header.Get("Content-Encoding") != "gzip" || len(a.body) > 1000 {
		t.Errorf("page: %q, %d bytes", a.header.Get("Content-Encoding"), len(a.body))
	}
	if a := e.do(t, "GET", "/stream", "", "Accept-Encoding", "gzip"); a.header.Get("Content-Encoding") != "" || !strings.Contains(a.body, long) {
		t.Errorf("stream: %q, %d bytes", a.header.Get("Content-Encoding"), len(a.body))
	}
}

func TestAFailingViewGivesNoHalfPage(t *testing.T) {
	e := newEdge(t, httpx.Route{Method: "GET", Path: "/page", Action: httpx.Public, Handler: func(c echo.Context) error {
		return httpx.Render(c, 200, templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
			_, _ = io.WriteString(w, "the first half")
			return errors.New("the view broke")
		}))
	}})
	if a := e.do(t, "GET", "/page", ""); a.status != 500 || strings.Contains(a.body, "first half") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestCursors(t *testing.T) {
	type key struct {
		At int64
		ID domain.ID
	}
	text, err := httpx.Cursor(key{5, 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	var got key
	if given, err := httpx.ReadCursor(text, &got); err != nil || !given || got != (key{5, 1 << 60}) {
		t.Errorf("%v %v %v", got, given, err)
	}
	if given, err := httpx.ReadCursor("", &got); err != nil || given {
		t.Errorf("none: %v %v", given, err)
	}
	for _, bad := range []string{"%", "bm9uc2Vuc2U", "AAAA", strings.Repeat("A", 5000)} {
		if _, err := httpx.ReadCursor(bad, &got); !domain.Is(err, domain.Invalid) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

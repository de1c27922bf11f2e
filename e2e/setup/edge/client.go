package edge

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// Answer is a response that was read.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// JSON reads the body into dest.
func (a Answer) JSON(t *testing.T, dest any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), dest); err != nil {
		t.Fatalf("status %d, not the JSON that was wanted: %v in %q", a.Status, err, a.Body)
	}
}

// Failure is an error as the API answers it.
type Failure struct {
	Kind     string           `json:"kind"`
	Message  string           `json:"message"`
	Field    string           `json:"field"`
	Hint     string           `json:"hint"`
	Problems []map[string]any `json:"problems"`
}

// Failure reads the error of an API answer and fails the test if it says nothing.
func (a Answer) Failure(t *testing.T) Failure {
	t.Helper()
	var out struct{ Error Failure }
	a.JSON(t, &out)
	if out.Error.Kind == "" || out.Error.Message == "" {
		t.Errorf("the error says nothing: %d %s", a.Status, a.Body)
	}
	return out.Error
}

func do(t *testing.T, c *http.Client, req *http.Request) Answer {
	t.Helper()
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Answer{res.StatusCode, res.Header, string(b)}
}

// Browser keeps cookies and follows no redirects.
type Browser struct {
	w *World
	c *http.Client
}

// Browser is one that is logged in under the name.
func (w *World) Browser(name, password string) *Browser {
	w.T.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.T.Fatal(err)
	}
	b := &Browser{w, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if a := b.Submit("/login", "/login", "name", name, "password", password); a.Status != http.StatusSeeOther {
		w.T.Fatalf("login: %d %s", a.Status, a.Body)
	}
	return b
}

// Get asks for a page, in English unless a header says otherwise.
func (b *Browser) Get(path string, headers ...string) Answer {
	b.w.T.Helper()
	req, err := http.NewRequestWithContext(b.w.T.Context(), http.MethodGet, b.w.URL+path, nil)
	if err != nil {
		b.w.T.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return do(b.w.T, b.c, req)
}

// Post sends a form as it is; fields come in pairs.
func (b *Browser) Post(path string, fields ...string) Answer {
	b.w.T.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	req, err := http.NewRequestWithContext(b.w.T.Context(), http.MethodPost, b.w.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.w.T.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return do(b.w.T, b.c, req)
}

var csrfInput = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// Submit posts a form with the token of a page.
func (b *Browser) Submit(page, path string, fields ...string) Answer {
	b.w.T.Helper()
	got := b.Get(page)
	m := csrfInput.FindStringSubmatch(got.Body)
	if m == nil {
		b.w.T.Fatalf("no token in %s (%d): %s", page, got.Status, got.Body)
	}
	return b.Post(path, append(fields, "csrf", m[1])...)
}

// Dump is the whole of the tables as text, in the order of their rows' text, to see
// whether anything changed.
func (w *World) Dump(tables ...string) string {
	w.T.Helper()
	var b strings.Builder
	for _, table := range tables {
		var rows []map[string]any
		if err := w.DB.Scan(w.T.Context(), &rows, "SELECT * FROM `"+table+"`"); err != nil {
			w.T.Fatal(err)
		}
		lines := make([]string, len(rows))
		for i, r := range rows {
			for k, v := range r {
				if text, ok := v.([]byte); ok {
					r[k] = string(text)
				}
			}
			lines[i] = fmt.Sprint(r)
		}
		sort.Strings(lines)
		fmt.Fprintf(&b, "%s: %d rows\n%s\n", table, len(lines), strings.Join(lines, "\n"))
	}
	return b.String()
}

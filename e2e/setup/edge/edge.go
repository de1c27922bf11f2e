// Package edge gives tests of pages and APIs a real edge: accounts, roles, sessions
// and the audit trail over a database of the test's own, behind a real server. It
// refuses to be imported by anything but tests.
package edge

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/access/policy"
	accessstore "github.com/axsched/ax/modules/access/store"
	accessweb "github.com/axsched/ax/modules/access/web"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/httpx"
)

// AdminToken is an API token with the role admin everywhere; AdminPassword is the
// password of the account "admin".
const (
	AdminToken    = "0123456789abcdef0123456789abcdef"
	AdminPassword = "correct horse"
)

// World is one edge. It is for the test's own goroutine.
type World struct {
	T      *testing.T
	DB     *dbx.DB
	IDs    *domain.IDs
	Access *access.Access
	Router *httpx.Router
	URL    string
}

// New opens the database and serves access's own routes and those that routes gives.
// All ends with the test.
func New(t *testing.T, url string, routes func(w *World) []httpx.Route) *World {
	t.Helper()
	db, err := dbx.Open(t.Context(), url, dbx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := domain.NewIDs(1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	st := accessstore.New(db, time.Now, 0)
	pol := policy.New(st, time.Now)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	acc := access.New(access.Options{Store: st, Rights: pol, IDs: ids.Next, Now: time.Now, Log: quiet})
	router, err := httpx.New(httpx.Options{Policy: pol, Identity: acc, Sessions: st, Ledger: st, Denials: acc, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &World{T: t, DB: db, IDs: ids, Access: acc, Router: router}
	for _, part := range [][]httpx.Route{(&accessweb.Handlers{Access: acc}).Routes(), routes(w)} {
		if err := router.Add(part...); err != nil {
			t.Fatal(err)
		}
	}
	if link, err := acc.Start(t.Context(), access.FirstStart{AdminPassword: AdminPassword, BootstrapToken: AdminToken}); err != nil || link != "" {
		t.Fatalf("first start: set-up link %q, error %v", link, err)
	}
	server := httptest.NewServer(router)
	w.URL = server.URL
	t.Cleanup(func() {
		server.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// testLog shows faults inside AX with the test that met them.
func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
}

// System is a context in which AX itself acts.
func (w *World) System() context.Context {
	return domain.WithPrincipal(w.T.Context(), domain.Principal{Name: "test", Kind: domain.PrincipalSystem})
}

// Project makes a project.
func (w *World) Project(name string) domain.ID {
	w.T.Helper()
	p, err := w.Access.EnsureProject(w.System(), name)
	if err != nil {
		w.T.Fatal(err)
	}
	return p.ID
}

// As makes an account with a role in a project ("" = all; no role = none) and gives
// a token of it. Its password is "password of " and the name.
func (w *World) As(name string, role access.Role, project string) string {
	w.T.Helper()
	acc, err := w.Access.CreateAccount(w.System(), name, "password of "+name)
	if err != nil {
		w.T.Fatal(err)
	}
	if role != "" {
		if err := w.Access.Grant(w.System(), name, project, role); err != nil {
			w.T.Fatal(err)
		}
	}
	own := domain.WithPrincipal(w.System(), domain.Principal{ID: acc.ID, Name: name, Kind: domain.PrincipalUser})
	_, secret, err := w.Access.CreateToken(own, "test", time.Time{})
	if err != nil {
		w.T.Fatal(err)
	}
	return secret
}

// API calls with a token and pairs of headers.
func (w *World) API(token, method, path, body string, headers ...string) Answer {
	w.T.Helper()
	req, err := http.NewRequestWithContext(w.T.Context(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		w.T.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return do(w.T, http.DefaultClient, req)
}

// Trail is the audit trail, oldest first, a line a row: who did what to what, and
// whether it was refused.
func (w *World) Trail() []string {
	w.T.Helper()
	rows, err := w.Access.Audit(w.T.Context(), access.AuditQuery{Projects: domain.ProjectSet{All: true}, Limit: 1000})
	if err != nil {
		w.T.Fatal(err)
	}
	var out []string
	for _, r := range rows {
		line := strings.Fields(r.Actor)[0] + " " + r.Action + " " + r.Object
		if !r.Allowed {
			line += " refused"
		}
		out = append([]string{line}, out...)
	}
	return out
}

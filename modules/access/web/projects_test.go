package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/access"
)

// An admin says where tasks of a project may go; everybody with a role sees it, and the trail tells.
func TestAnAdminOpensNetworksToAProject(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		w.project("pay")
		editor, stranger, boss := w.as("ed", access.Editor, "pay"), w.as("eve", access.Viewer, "default"), w.as("bo", access.Admin, "pay")
		const path = "/api/v1/projects/pay/networks"
		put := func(token, body string) answer { return w.api(token, http.MethodPut, path, body) }
		if a := put(editor, `{"networks":["loopback"]}`); a.status != http.StatusForbidden {
			t.Errorf("an editor: %d %s", a.status, a.body)
		}
		if a := put(stranger, `{"networks":["loopback"]}`); a.status != http.StatusNotFound && a.status != http.StatusForbidden {
			t.Errorf("a stranger: %d %s", a.status, a.body)
		}
		for body, says := range map[string]string{`{"networks":["0.0.0.0/0"]}`: "public network", `{"networks":["10.1.0.0/16","lan"]}`: "lan", `{"networks":["169.254.169.254"]}`: "nobody",
			`{}`: "missing"} {
			if a := put(adminToken, body); a.status != http.StatusUnprocessableEntity && a.status != http.StatusBadRequest || !strings.Contains(a.body, says) {
				t.Errorf("%s: %d %s", body, a.status, a.body)
			}
		}
		if a := put(boss, `{"networks":[" 10.1.0.0/16","loopback","loopback"]}`); a.status != http.StatusOK || !strings.Contains(a.body, `"networks":["10.1.0.0/16","loopback"]`) {
			t.Errorf("an admin of the project: %d %s", a.status, a.body)
		}
		if a := w.api(editor, http.MethodGet, "/api/v1/projects", ""); !strings.Contains(a.body, `"networks":["10.1.0.0/16","loopback"]`) {
			t.Errorf("the list: %s", a.body)
		}
		if a := w.api(stranger, http.MethodGet, "/api/v1/projects/pay", ""); a.status != http.StatusNotFound {
			t.Errorf("a stranger sees it: %d %s", a.status, a.body)
		}
		p, err := w.access.ProjectByName(t.Context(), "pay")
		if err != nil || strings.Join(p.Networks, " ") != "10.1.0.0/16 loopback" {
			t.Errorf("kept: %+v, %v", p, err)
		}
		found := false
		for _, r := range w.trail() {
			found = found || r.Action == "project.networks" && r.Allowed && r.Object == "project/pay" && strings.Contains(r.After, "10.1.0.0/16 loopback") && strings.HasPrefix(r.Actor, "bo")
		}
		if !found {
			t.Errorf("the trail: %+v", w.trail())
		}
	})
}

func TestTheFormOfNetworks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		b := w.browser()
		b.login("admin", adminPassword)
		if a := b.submit("/projects/default", "/projects/default", "networks", "10.1.0.0/16\r\n8.8.8.8"); a.status < 400 || !strings.Contains(a.body, "8.8.8.8 lies in the public network") || !strings.Contains(a.body, "10.1.0.0/16\n8.8.8.8") && !strings.Contains(a.body, "10.1.0.0/16\r\n8.8.8.8") {
			t.Errorf("a wrong entry: %d %s", a.status, a.body)
		}
		if a := b.submit("/projects/default", "/projects/default", "networks", "10.1.0.0/16\r\n loopback, fd12::/16"); a.status != http.StatusSeeOther {
			t.Errorf("saved: %d %s", a.status, a.body)
		}
		if a := b.get("/projects"); !strings.Contains(a.body, "fd12::/16") {
			t.Errorf("the list: %s", a.body)
		}
		if a := b.submit("/projects/default", "/projects/default", "networks", ""); a.status != http.StatusSeeOther {
			t.Errorf("emptied: %d %s", a.status, a.body)
		}
		if p, err := w.access.ProjectByName(t.Context(), "default"); err != nil || len(p.Networks) != 0 {
			t.Errorf("kept: %+v, %v", p, err)
		}
	})
}

// The first start of everything in one process opens that machine to the default project; later ones change nothing.
func TestTheFirstStartOpensLoopbackWhereAsked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, networks := range [][]string{{"loopback"}, {"private"}} {
			if _, err := w.access.Start(t.Context(), access.FirstStart{Networks: networks}); err != nil {
				t.Fatal(err)
			}
			if p, err := w.access.ProjectByName(t.Context(), "default"); err != nil || strings.Join(p.Networks, " ") != "loopback" {
				t.Errorf("after a start with %v: %+v, %v", networks, p, err)
			}
		}
	})
}

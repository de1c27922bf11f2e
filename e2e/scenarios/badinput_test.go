package scenarios

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup"
)

// badFiles are job files that must be refused, each with what the refusal must say.
func badFiles() []struct{ name, text, says string } {
	dep := func(name string) string {
		return "deps:\n  - name: " + name + "\n    biz_date: current\n    check: success"
	}
	return []struct{ name, text, says string }{
		{"wrong YAML", "version: v1\njob:\n  name: a\n   exec: {type: shell, command: true}\n", ":4:"},
		{"unknown key", shellJob("a", "true", "tiemout: 5"), "timeout"},
		{"duplicate key", shellJob("a", "true", "timeout: 5", "timeout: 6"), "timeout"},
		{"wrong type", shellJob("a", "true", "timeout: soon"), "timeout"},
		{"cycle", files(shellJob("base", "true", dep("b")), shellJob("b", "true", dep("c")), shellJob("c", "true", dep("base"))), "base → "},
		{"impossible cron", shellJob("a", "true", `cron: "0 0 31 2 *"`), "never"},
		{"wrong cron", shellJob("a", "true", `cron: "61 * * * *"`), "61"},
		{"unquoted cron", shellJob("a", "true", "cron: * * * * *"), ":4:"},
		{"unknown template variable", shellJob("a", "echo {{bizdate}}"), "biz_date"},
		{"missing dependency", shellJob("a", "true", dep("not_there")), "not_there"},
		{"markup in the name", shellJob(`"<script>alert(1)</script>"`, "true"), "name"},
		{"a megabyte of param", shellJob("a", "true", "params:\n  big: "+strings.Repeat("x", 1<<20)), "64"},
		{"empty file", "# nothing\n", ""},
		{"one good, one bad", files(shellJob("good", "true"), shellJob("bad", "true", "retry:\n  times: 99\n  interval: 1")), "times"},
	}
}

func TestBadFilesAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c, dump := dumped(t, s)
		before := dump()
		for _, b := range badFiles() {
			name := c.File(b.text)
			if said := c.Run("apply", "-f", name); said.Code != 1 || !strings.Contains(said.Err, b.says) {
				t.Errorf("%s: ax apply: exit %d, want 1 and a text with %q:\n%s%s", b.name, said.Code, b.says, said.Out, said.Err)
			}
			if said := c.Run("apply", "--dry-run", "-f", name); said.Code != 1 {
				t.Errorf("%s: ax apply --dry-run: exit %d, want 1", b.name, said.Code)
			}
			body, err := json.Marshal(map[string]any{"files": []map[string]string{{"name": "a.yaml", "text": b.text}}})
			if err != nil {
				t.Fatal(err)
			}
			a, err := c.Call(http.MethodPost, "/api/v1/apply", string(body))
			if err != nil || a.Status < 400 || a.Status >= 500 || !strings.Contains(a.Body, strings.Trim(b.says, ":")) {
				t.Errorf("%s: the API said %v %d %.600s, want a refusal with %q", b.name, err, a.Status, a.Body, b.says)
			}
			if after := dump(); after != before {
				t.Fatalf("%s: the database changed:\n%s", b.name, changed(before, after))
			}
		}
	})
}

// Offline, ax validate says the same without a server, but for what only the server knows.
func TestValidateWithoutServer(t *testing.T) {
	t.Parallel()
	s := setup.Embedded(t)
	c := s.Client(t, &setup.Process{URL: "http://127.0.0.1:1"})
	for _, b := range badFiles() {
		if b.name == "cycle" || b.name == "missing dependency" {
			continue
		}
		if said := c.Run("validate", c.File(b.text)); said.Code != 1 || !strings.Contains(said.Err+said.Out, b.says) {
			t.Errorf("%s: ax validate: exit %d, want 1 and a text with %q:\n%s%s", b.name, said.Code, b.says, said.Out, said.Err)
		}
	}
	c.Must("validate", c.File(shellJob("good", "echo {{biz_date}}", `cron: "0 2 * * *"`)))
	if said := c.Run("jobs"); said.Code != 1 || !strings.Contains(said.Err, "nothing listens") {
		t.Errorf("without a server: %+v", said)
	}
	if said := c.Run("no-such-command"); said.Code != 2 {
		t.Errorf("wrong usage exits with 2: %+v", said)
	}
}

func TestBadCallsAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c, dump := dumped(t, s)
		before := dump()
		for _, bad := range []struct {
			name, method, path, body string
			status                   int
			says                     string
		}{
			{"a megabyte of param", "POST", "/api/v1/jobs/base/trigger", `{"params":{"p":"` + strings.Repeat("x", 1<<20) + `"}}`, 0, ""},
			{"70 KB of param", "POST", "/api/v1/jobs/base/trigger", `{"params":{"p":"` + strings.Repeat("x", 70<<10) + `"}}`, 413, "65536"},
			{"a date that is none", "POST", "/api/v1/jobs/base/trigger", `{"bizDate":"2026-02-30"}`, 400, "2026-02-30"},
			{"a job that is not there", "POST", "/api/v1/jobs/absent/trigger", `{}`, 404, "absent"},
			{"a body that is no JSON", "POST", "/api/v1/jobs/base/trigger", `{`, 400, ""},
			{"a key that is unknown", "POST", "/api/v1/jobs/base/trigger", `{"bizdat":"2026-02-03"}`, 400, "bizdat"},
			{"a state that is none", "GET", "/api/v1/instances?state=done", "", 400, "done"},
			{"an id that is none", "GET", "/api/v1/instances/abc", "", 0, "abc"},
			{"an instance that is not there", "POST", "/api/v1/instances/123456/kill", `{}`, 404, ""},
			{"a cursor of nobody", "GET", "/api/v1/instances?cursor=%3Cb%3E", "", 400, ""},
			{"a path that is not there", "GET", "/api/v1/nothing", "", 404, ""},
			{"a ledger that ends before it begins", "GET", "/api/v1/ledger?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "", 400, ""},
		} {
			a, err := c.Call(bad.method, bad.path, bad.body)
			var said struct{ Error struct{ Message string } }
			if err != nil || a.Status < 400 || a.Status >= 500 || bad.status != 0 && a.Status != bad.status || !strings.Contains(a.Body, bad.says) ||
				json.Unmarshal([]byte(a.Body), &said) != nil || said.Error.Message == "" {
				t.Errorf("%s: %v %d %.300s; want %d (0: any 4xx) and a message with %q", bad.name, err, a.Status, a.Body, bad.status, bad.says)
			}
		}
		if said := c.Run("trigger", "absent"); said.Code != 1 || !strings.Contains(said.Err, "absent") {
			t.Errorf("ax trigger absent: %+v", said)
		}
		if said := c.Run("trigger", "base", "--biz-date", "2026-02-30"); said.Code == 0 || !strings.Contains(said.Err, "2026-02-30") {
			t.Errorf("ax trigger with a date that is none: %+v", said)
		}
		stranger := *c
		stranger.Token = "axt_not_a_token"
		if said := stranger.Run("trigger", "base"); said.Code != 1 || !strings.Contains(said.Err, "AX_TOKEN") {
			t.Errorf("a wrong token must be named: %+v", said)
		}
		if a, err := stranger.Call(http.MethodPost, "/api/v1/jobs/base/trigger", `{}`); err != nil || a.Status != http.StatusUnauthorized {
			t.Errorf("a wrong token: %v %+v", err, a)
		}
		if after := dump(); after != before {
			t.Fatalf("the database changed:\n%s", changed(before, after))
		}
		if got := c.Must("jobs"); !strings.Contains(got, "base") {
			t.Errorf("the good job is gone: %s", got)
		}
	})
}

// dumped is a site with one good job, and its dump.
func dumped(t *testing.T, s *setup.Site) (*setup.Client, func() string) {
	t.Helper()
	var p *setup.Process
	if s.IsEmbedded() {
		p = s.All(t, setup.Opts{})
	} else {
		p = s.Center(t, setup.Opts{})
	}
	c := s.Client(t, p)
	c.Apply(shellJob("base", "true", "params:\n  p: v"))
	return c, func() string { return setup.Dump(t, s.DatabaseURL(p), "audit") }
}

// changed lists the lines that differ.
func changed(before, after string) string {
	var b strings.Builder
	had := map[string]bool{}
	for line := range strings.Lines(before) {
		had[line] = true
	}
	for line := range strings.Lines(after) {
		if !had[line] {
			b.WriteString("+ " + line)
		}
		delete(had, line)
	}
	for line := range had {
		b.WriteString("- " + line)
	}
	return b.String()
}

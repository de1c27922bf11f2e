package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDataSourcesOfAWorker(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ax.yaml")
	text := "worker:\n  sources:\n    - orders=mysql://etl:geheim@10.0.0.5/orders\n    - 账=postgres://etl:geheim%2C1@pg/mart?sslmode=require\n    - local=sqlite:///var/lib/local.db\n  users: [etl]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, load := range map[string]func() (Config, error){
		"file": func() (Config, error) { return Load(file, nil, nil) },
		"environment": func() (Config, error) {
			return Load("", []string{"AX_WORKER_SOURCES=orders=mysql://etl:geheim@10.0.0.5/orders,账=postgres://etl:geheim%2C1@pg/mart?sslmode=require,local=sqlite:///var/lib/local.db", "AX_WORKER_USERS=etl"}, nil)
		},
	} {
		c, err := load()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := c.Validate(ModeAll); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, s := range c.Worker.Sources {
			got = append(got, s.Name()+" "+string(s.URL()))
		}
		want := []string{"orders mysql://etl:geheim@10.0.0.5/orders", "账 postgres://etl:geheim%2C1@pg/mart?sslmode=require", "local sqlite:///var/lib/local.db"}
		if !slices.Equal(got, want) || !slices.Equal(c.Worker.Users, []string{"etl"}) {
			t.Errorf("%s: %q, users %q", name, got, c.Worker.Users)
		}
		for _, shown := range []string{c.Redacted(), fmt.Sprintf("%v %+v %#v", c.Worker, c.Worker, c.Worker)} {
			if strings.Contains(shown, "geheim") {
				t.Errorf("%s shows a password: %s", name, shown)
			}
		}
		if !strings.Contains(c.Redacted(), "orders=mysql://etl:*****@10.0.0.5/orders") {
			t.Errorf("%s: %s", name, c.Redacted())
		}
	}
	if _, err := Load("", nil, map[string]string{"worker.sources": "a=mysql://u:geheim@h/d"}); err == nil || strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), "AX_WORKER_SOURCES") {
		t.Errorf("on a command line: %v", err)
	}
}

func TestWrongDataSourcesAreNamedWithoutTheirPassword(t *testing.T) {
	for source, says := range map[Source]string{
		"mysql://u:geheim@h/d":                     "NAME=",
		"a b=mysql://u:geheim@h/d":                 "the name has",
		"a=oracle://u:geheim@h/d":                  "no kind",
		"a=mysql://h/d":                            "missing",
		"a=mysql://u:geheim@h":                     "missing",
		"a=postgres://u:geheim@/d":                 "missing",
		"a=sqlite://rel/x.db":                      "absolute",
		"a=mysql://u:ge%heim@h/d":                  "percent-encoded",
		"twice=sqlite:///a,twice=sqlite:///geheim": "",
	} {
		c := Default()
		for _, one := range strings.Split(string(source), ",") {
			c.Worker.Sources = append(c.Worker.Sources, Source(one))
		}
		if says == "" {
			says = "twice is there twice"
		}
		err := c.Validate(ModeAll)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "heim") {
			t.Errorf("%s: %v", string(source), err)
		}
	}
	c := Default()
	c.Worker.Users, c.Worker.Tags = []string{"root user"}, []string{"source:orders"}
	if err := c.Validate(ModeAll); err == nil || !strings.Contains(err.Error(), "no name of an account") || !strings.Contains(err.Error(), "worker.sources") {
		t.Errorf("users and tags: %v", err)
	}
}

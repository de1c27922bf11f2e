package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Who may import whom, said once, each rule with its reason.
//
// Patterns: "./x" is a package of AX ("." is main), "./x/..." it and all below, "*" one path segment,
// "foreign" all that is neither AX nor the standard library, other words such a path and all below it.
var archRules = []archRule{
	{
		name: "main is thin", reason: "flags → mode → app; what a second entry point would need lives in app",
		about: []string{"."}, never: []string{"./..."}, but: []string{"./app/...", "./config"}, plant: "./modules/domain",
	},
	{
		name: "domain is plain Go", reason: "the vocabulary must be usable everywhere, so it may drag in nothing",
		about: []string{"./modules/domain/..."}, never: []string{"foreign", "./..."}, but: []string{"./modules/domain/..."},
		plant: "gorm.io/gorm",
	},
	{
		name: "the wire contract is plain Go", reason: "center, worker and external executors all carry it",
		about: []string{"./worker/protocol/..."}, never: []string{"foreign", "./..."},
		but: []string{"./worker/protocol/..."}, plant: "github.com/redis/go-redis/v9",
	},
	{
		name: "the SDK is the standard library and the wire contract", reason: "a service outside AX takes it into its own module, and nothing else with it",
		about: []string{"./worker/sdk/..."}, deep: true, never: []string{"foreign", "./..."},
		but: []string{"./worker/protocol/...", "./worker/sdk/..."}, plant: "github.com/redis/go-redis/v9",
	},
	{
		name: "kit knows no business", reason: "machinery that knew a page or a business table could not be shared by all modules",
		about: []string{"./modules/kit/..."}, except: []string{"./modules/kit/httpx"}, deep: true,
		never: []string{"./modules/...", "./views/...", "./app/...", "./worker/...", "./config"},
		but:   []string{"./modules/kit/...", "./modules/domain/...", "./worker/protocol/..."}, plant: "./modules/job",
	},
	{
		name: "kit/httpx draws the frame and nothing in it", reason: "error pages and the shell around every page are the edge's, pages are not",
		about: []string{"./modules/kit/httpx"}, deep: true,
		never: []string{"./modules/...", "./views/...", "./app/...", "./worker/...", "./config"},
		but:   []string{"./modules/kit/...", "./modules/domain/...", "./views/layout", "./views/ui"}, plant: "./views/jobs",
	},
	{
		name: "the worker knows no center", reason: "a replica without a database must not be able to touch one, and starts small",
		about: []string{"./worker/...", "./app/node/..."}, deep: true,
		never: []string{"./modules/...", "./views/...", "./migrations", "./app/center/...", "./app/all/...",
			"gorm.io", "github.com/labstack/echo", "github.com/casbin"},
		plant: "./modules/kit/dbx",
	},
	{
		name: "modules and worker meet only in worker/protocol", reason: "what they agree on is the contract and nothing else",
		about: []string{"./modules/..."}, deep: true,
		never: []string{"./worker/..."}, but: []string{"./worker/protocol/..."}, plant: "./worker/journal",
	},
	{
		name: "nobody imports a composition root", reason: "app knows every module, so who imports it knows them too",
		about: []string{"./..."}, except: []string{".", "./app/..."}, never: []string{"./app/..."}, plant: "./app/center",
	},
	{
		name: "config opens nothing", reason: "a set-up is read and judged before any store is touched",
		about: []string{"./config"}, deep: true,
		never: []string{"./...", "gorm.io", "database/sql", "github.com/redis", "github.com/go-sql-driver", "github.com/hibiken"},
		but:   []string{"./config"}, plant: "github.com/go-sql-driver/mysql",
	},
	{
		name: "only roots read the set-up", reason: "a module takes its own options, so it can be tested and wired without a process",
		about: []string{"./..."}, except: []string{".", "./app/..."}, never: []string{"./config"}, plant: "./config",
	},
	{
		name: "a view takes one page struct", reason: "a page that can reach a store will ask it while it is drawn",
		about: []string{"./views/..."}, deep: true,
		never: []string{"./modules/...", "./app/...", "./worker/...", "gorm.io", "database/sql", "github.com/redis", "github.com/labstack/echo"},
		but:   []string{"./modules/domain/...", "./modules/kit/i18n/..."}, plant: "./modules/kit/dbx",
	},
	{
		name: "only web draws views", reason: "rules that know a page can't be used by API, CLI and loops",
		about: []string{"./modules/..."}, except: []string{"./modules/*/web/...", "./modules/kit/httpx"},
		never: []string{"./views/..."}, plant: "./views/ui",
	},
	{
		name: "echo only in web and kit/httpx", reason: "rules speak domain types and errors; HTTP is one edge among several",
		about: []string{"./..."}, except: []string{"./modules/*/web/...", "./modules/kit/httpx/..."},
		never: []string{"github.com/labstack/echo"}, plant: "github.com/labstack/echo/v4",
	},
	{
		name: "gorm only in store, kit/dbx and roots", reason: "one place a module for SQL, where the dialects' differences are known",
		about: []string{"./..."}, except: []string{"./modules/*/store/...", "./modules/kit/dbx/...", "./app/..."},
		never: []string{"gorm.io"}, plant: "gorm.io/gorm",
	},
	{
		name: "SQL drivers only in kit/dbx and the sql type", reason: "the drivers' traps (isolation, locks, affected rows) are handled once for AX's own rows; what tasks do in databases of a team is another's",
		about: []string{"./..."}, except: []string{"./modules/kit/dbx/...", "./modules/kit/dbtest/...", "./worker/types/sql/..."},
		never: []string{"github.com/go-sql-driver", "github.com/libtnb/sqlite", "modernc.org/sqlite", "gorm.io/driver", "github.com/jackc"},
		plant: "github.com/libtnb/sqlite",
	},
	{
		name: "casbin only in access/policy", reason: "one package decides who may do what, the others ask it",
		about: []string{"./..."}, except: []string{"./modules/access/policy/..."}, never: []string{"github.com/casbin"},
		plant: "github.com/casbin/casbin/v2",
	},
	{
		name: "asynq only in transport and roots", reason: "asynq carries and does not execute; its timing and leases must not leak into rules",
		about: []string{"./..."}, except: []string{"./worker/transport/...", "./app/..."},
		never: []string{"github.com/hibiken/asynq"}, plant: "github.com/hibiken/asynq",
	},
	{
		name: "go-redis only in transport, the fast path and roots", reason: "Redis may vanish at any moment: who may depend on it is a short list",
		about: []string{"./..."}, except: []string{"./worker/transport/...", "./modules/scheduler/fastpath", "./app/..."},
		never: []string{"github.com/redis/go-redis"}, plant: "github.com/redis/go-redis/v9",
	},
	{
		name: "the embedded Redis only in transport", reason: "the code behind it must not know whether it is real",
		about: []string{"./..."}, except: []string{"./worker/transport/...", "./modules/kit/redistest/..."},
		never: []string{"github.com/alicebob/miniredis"}, plant: "github.com/alicebob/miniredis/v2",
	},
	{
		name: "the binary carries no test kit", reason: "what starts servers and browsers has no business in production",
		about: []string{".", "./app/..."}, deep: true,
		never: []string{"./e2e/...", "./modules/kit/dbtest/...", "./modules/kit/redistest/...", "testing", "github.com/chromedp", "pgregory.net/rapid"},
		plant: "./modules/kit/dbtest",
	},
	{
		name: "migrations run in kit/dbx", reason: "one place holds the lock under which tables change",
		about: []string{"./..."}, except: []string{"./modules/kit/dbx/..."}, never: []string{"./migrations"}, plant: "./migrations",
	},
}

// ownModules is the one rule that patterns can't say: what is below modules/X never reaches modules/Y.
const ownModules = "modules never import each other"

const archModule = "github.com/axsched/ax"

type archRule struct {
	name, reason string
	about        []string // packages that the rule binds
	except       []string // of these, the free ones
	never        []string // what they must not import
	but          []string // of these, the allowed ones
	deep         bool     // nor reach through others
	plant        string   // an import that must be found out
}

func (r archRule) binds(pkg string) bool   { return anyMatch(r.about, pkg) && !anyMatch(r.except, pkg) }
func (r archRule) forbids(pkg string) bool { return anyMatch(r.never, pkg) && !anyMatch(r.but, pkg) }

// imports maps each package, ours in the form "./x", to what it imports itself.
type imports map[string][]string

// broken lists "a → b" for each import that breaks the rule, and how many packages it binds.
func (r archRule) broken(g imports) (faults []string, bound int) {
	for _, pkg := range slices.Sorted(maps.Keys(g)) {
		if !strings.HasPrefix(pkg, ".") || !r.binds(pkg) {
			continue
		}
		bound++
		targets := g[pkg]
		if r.deep {
			targets = g.reach(pkg)
		}
		for _, to := range targets {
			if to != pkg && r.forbids(to) {
				faults = append(faults, pkg+" → "+to)
			}
		}
	}
	return faults, bound
}

// reach is all that pkg imports, itself and through others, in order.
func (g imports) reach(pkg string) []string {
	seen, todo := map[string]bool{}, []string{pkg}
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range g[next] {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// with returns g and one more import; deep ones go through a package in between.
func (g imports) with(from, to string, deep bool) imports {
	more := maps.Clone(g)
	if deep {
		more["between.example/them"] = []string{to}
		to = "between.example/them"
	}
	more[from] = append(slices.Clone(more[from]), to)
	return more
}

func anyMatch(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matchPackage(p, pkg) })
}

func matchPackage(pattern, pkg string) bool {
	ours := pkg == "." || strings.HasPrefix(pkg, "./")
	first, _, _ := strings.Cut(pkg, "/")
	switch {
	case pattern == "foreign":
		return !ours && strings.Contains(first, ".")
	case !strings.HasPrefix(pattern, "."):
		return pkg == pattern || strings.HasPrefix(pkg, pattern+"/")
	case !ours:
		return false
	}
	want, tree := strings.CutSuffix(pattern, "/...")
	wants, parts := strings.Split(want, "/"), strings.Split(pkg, "/")
	if len(parts) < len(wants) || !tree && len(parts) != len(wants) {
		return false
	}
	for i, w := range wants {
		if w != "*" && w != parts[i] {
			return false
		}
	}
	return true
}

func loadImports(t *testing.T) imports {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Imports", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	g := imports{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&pkg); errors.Is(err, io.EOF) {
			return g
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range pkg.Imports {
			pkg.Imports[i] = shortPath(pkg.Imports[i])
		}
		g[shortPath(pkg.ImportPath)] = pkg.Imports
	}
}

func shortPath(path string) string {
	if rest, ok := strings.CutPrefix(path, archModule); ok && (rest == "" || rest[0] == '/') {
		return "." + rest
	}
	return path
}

// moduleRules is ownModules as one rule for each module that there is.
func moduleRules(g imports) []archRule {
	var rules []archRule
	seen := map[string]bool{}
	for _, pkg := range slices.Sorted(maps.Keys(g)) {
		parts := strings.Split(pkg, "/")
		if len(parts) < 3 || parts[0] != "." || parts[1] != "modules" || parts[2] == "domain" || parts[2] == "kit" || seen[parts[2]] {
			continue
		}
		seen[parts[2]] = true
		plant := "./modules/job"
		if parts[2] == "job" {
			plant = "./modules/scheduler"
		}
		rules = append(rules, archRule{
			name: ownModules + "/" + parts[2], reason: "a module that needs another says so in its ports.go, and app/center passes it in",
			about: []string{"./modules/" + parts[2] + "/..."}, never: []string{"./modules/..."}, deep: true,
			but: []string{"./modules/" + parts[2] + "/...", "./modules/domain/...", "./modules/kit/..."}, plant: plant,
		})
	}
	return rules
}

func TestArch(t *testing.T) {
	g := loadImports(t)
	rules := slices.Concat(archRules, moduleRules(g))
	if len(rules) == len(archRules) {
		t.Errorf("%q binds no package", ownModules)
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			faults, bound := r.broken(g)
			for _, f := range faults {
				t.Errorf("%s\nthe rule: %s: %s", f, r.name, r.reason)
			}
			if bound == 0 {
				t.Fatalf("the rule binds no package, so it protects nothing: %q", r.about)
			}
			mustBite(t, r, g, faults)
		})
	}
}

// mustBite plants an import in each package that the rule binds, and expects to be told of it.
func mustBite(t *testing.T, r archRule, g imports, before []string) {
	t.Helper()
	for pkg := range g {
		if !strings.HasPrefix(pkg, ".") || !r.binds(pkg) || pkg == r.plant {
			continue
		}
		after, _ := r.broken(g.with(pkg, r.plant, r.deep))
		if want := pkg + " → " + r.plant; !slices.Contains(after, want) && !slices.Contains(before, want) {
			t.Errorf("a planted import %s is not found out", want)
		}
	}
}

// An exception for packages that are not there is a hole that waits for somebody.
func TestArchExceptionsFreeSomebody(t *testing.T) {
	g := loadImports(t)
	for _, r := range archRules {
		for _, free := range r.except {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(g)), func(pkg string) bool { return matchPackage(free, pkg) }) {
				t.Errorf("%s: %s frees no package", r.name, free)
			}
		}
	}
}

func TestArchPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, pkg string
		want         bool
	}{
		{".", ".", true}, {".", "./app", false}, {"./...", ".", true}, {"./...", "./app/center", true}, {"./...", "fmt", false},
		{"./app/...", "./app", true}, {"./app/...", "./apple", false}, {"./app", "./app/center", false},
		{"./modules/*/store/...", "./modules/job/store", true}, {"./modules/*/store/...", "./modules/job/store/x", true},
		{"./modules/*/store/...", "./modules/store", false}, {"./modules/*/store/...", "./modules/job/web", false},
		{"gorm.io", "gorm.io/gorm/clause", true}, {"gorm.io", "gorm.iox", false}, {"database/sql", "database/sql/driver", true},
		{"foreign", "gorm.io/gorm", true}, {"foreign", "fmt", false}, {"foreign", "./app", false},
	} {
		if matchPackage(c.pattern, c.pkg) != c.want {
			t.Errorf("%q on %q is not %v", c.pattern, c.pkg, c.want)
		}
	}
}

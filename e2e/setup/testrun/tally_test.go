package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The tally is tested on what the real `go test -json` says about a real module with every way to fail.
var planted = map[string]string{
	"go.mod": "module planted\ngo 1.26\n",
	"good/good_test.go": `package good
import "testing"
func TestPlain(t *testing.T) {}
func TestStores(t *testing.T) {
	for _, s := range []string{"sqlite", "mariadb"} {
		t.Run(s, func(t *testing.T) {
			t.Run("miniredis", func(t *testing.T) {})
			t.Run("redis", func(t *testing.T) {})
			t.Run("redis", func(t *testing.T) {})
		})
	}
}
func TestSkipped(t *testing.T) { t.Skip("no moon tonight") }
`,
	"bad/bad_test.go": `package bad
import "testing"
func TestChild(t *testing.T) { t.Run("sqlite", func(t *testing.T) { t.Error("wrong sum") }); t.Run("b", func(t *testing.T) {}) }
func TestOwn(t *testing.T) { t.Run("fine", func(t *testing.T) {}); t.Error("the parent itself") }
`,
	"panics/p_test.go":   "package panics\nimport \"testing\"\nfunc TestBoom(t *testing.T) { panic(\"boom\") }\n",
	"exits/e_test.go":    "package exits\nimport (\"os\"; \"testing\")\nfunc TestMain(m *testing.M) { println(\"gone early\"); os.Exit(3) }\nfunc TestX(t *testing.T) {}\n",
	"nobuild/n_test.go":  "package nobuild\nimport \"testing\"\nfunc TestX(t *testing.T) { undefinedThing() }\n",
	"notests/notests.go": "package notests\n",
}

func TestTallyCountsEveryEnding(t *testing.T) {
	dir := t.TempDir()
	for name, text := range planted {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-json", "-vet=off", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	if err == nil {
		t.Fatal("the planted failures did not fail")
	}
	tl, shown := newTally(), &strings.Builder{}
	r := &report{w: shown}
	if err := readEvents(strings.NewReader(string(out)), func(e event) { r.show(tl.add(e)) }); err != nil {
		t.Fatal(err)
	}

	if tl.passed != 1+6+1+1 { // TestPlain, six below TestStores, TestChild/b, TestOwn/fine
		t.Errorf("passed = %d, want 9", tl.passed)
	}
	slices.Sort(tl.failed)
	want := []string{"planted/bad/TestChild/sqlite", "planted/bad/TestOwn", "planted/exits", "planted/nobuild", "planted/panics/TestBoom"}
	if !slices.Equal(tl.failed, want) {
		t.Errorf("failed = %q, want %q", tl.failed, want)
	}
	if len(tl.skipped) != 1 || !strings.Contains(tl.skipped[0], "no moon tonight") {
		t.Errorf("skipped = %q", tl.skipped)
	}
	for store, n := range map[string]int{"sqlite": 4, "mariadb": 3, "miniredis": 2, "redis": 4, noStore: 5, "chromium": 0} {
		if tl.stores[store] != n {
			t.Errorf("%s = %d, want %d", store, tl.stores[store], n)
		}
	}
	for _, text := range []string{"wrong sum", "the parent itself", "panic: boom", "gone early", "undefinedThing"} {
		if !strings.Contains(shown.String(), text) {
			t.Errorf("the reader never sees %q in:\n%s", text, shown)
		}
	}
	if strings.Contains(shown.String(), "=== RUN") {
		t.Errorf("noise is shown:\n%s", shown)
	}

	r.end(tl, []absence{{"redis", "redis-server is not installed"}}, 0)
	for _, line := range []string{
		"FAILED   planted/exits", "SKIPPED  planted/good/TestSkipped", "NOT TESTED ON REDIS: redis-server is not installed",
		"  SQLite                4\n", "  Chromium              0  NOTHING RAN ON IT\n", "total: 9 passed, 5 failed, 1 skipped",
	} {
		if !strings.Contains(shown.String(), line) {
			t.Errorf("the end lacks %q:\n%s", line, shown)
		}
	}
}

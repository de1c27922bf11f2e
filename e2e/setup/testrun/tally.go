package main

import (
	"slices"
	"strings"
)

// event is one line of `go test -json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// The stores by which tests are counted: a test that has one of these words as a part of its name ran on it.
var storeNames = []string{"sqlite", "mariadb", "postgres", "miniredis", "redis", "chromium"}

// noStore counts the tests that name no store.
const noStore = "no store"

// tally counts tests from events. Counted are leaves: a test with subtests counts only if it fails or skips by
// itself. A package that fails without a failed test (it does not build, it panics, it is timed out) counts as one
// failure, so that no failure is lost.
type tally struct {
	passed  int
	failed  []string       // names, in the order in which they failed
	skipped []string       // names with reasons
	stores  map[string]int // store → tests that passed or failed on it

	parents map[string]bool     // package/test that has subtests
	blamed  map[string]bool     // package or package/test that already has a counted failure below it
	output  map[string][]string // package or package/test → what it printed
	counts  map[string]int      // package → tests passed
}

func newTally() *tally {
	return &tally{
		stores:  map[string]int{},
		parents: map[string]bool{},
		blamed:  map[string]bool{},
		output:  map[string][]string{},
		counts:  map[string]int{},
	}
}

// news is what a reader should see of an event; its zero value is nothing.
type news struct {
	kind   string // "fail", "ok", "none" (no tests in the package), ""
	name   string
	output string
	passed int     // of the package, when ok
	took   float64 // seconds
}

// add counts one event and returns what is worth showing.
func (t *tally) add(e event) news {
	key := e.Package
	if e.ImportPath != "" {
		key = e.ImportPath
	}
	if e.Test != "" {
		key += "/" + e.Test
	}
	switch e.Action {
	case "run":
		if cut := strings.LastIndexByte(e.Test, '/'); cut > 0 {
			t.parents[e.Package+"/"+e.Test[:cut]] = true
		}
	case "output", "build-output":
		if !isNoise(e.Output) {
			t.output[key] = append(t.output[key], e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			return t.endPackage(e)
		}
		return t.endTest(key, e)
	}
	return news{}
}

func (t *tally) endTest(key string, e event) news {
	printed := strings.Join(t.output[key], "")
	leaf := !t.parents[key]
	switch {
	case e.Action == "skip":
		t.skipped = append(t.skipped, key+": "+skipReason(printed))
	case e.Action == "pass" && leaf:
		t.passed++
		t.counts[e.Package]++
		t.countStores(e.Test)
	case e.Action == "fail" && !t.blamed[key]:
		t.failed = append(t.failed, key)
		t.countStores(e.Test)
		t.blame(e.Package, e.Test)
		return news{kind: "fail", name: key, output: printed, took: e.Elapsed}
	case e.Action == "fail":
		return news{kind: "fail", name: key, output: printed, took: e.Elapsed}
	}
	delete(t.output, key)
	return news{}
}

// blame marks the package and every parent of test as explained by a counted failure.
func (t *tally) blame(pkg, test string) {
	t.blamed[pkg] = true
	for i := range test {
		if test[i] == '/' {
			t.blamed[pkg+"/"+test[:i]] = true
		}
	}
}

func (t *tally) endPackage(e event) news {
	switch e.Action {
	case "pass":
		kind := "ok"
		if t.counts[e.Package] == 0 {
			kind = "none"
		}
		return news{kind: kind, name: e.Package, passed: t.counts[e.Package], took: e.Elapsed}
	case "skip":
		return news{kind: "none", name: e.Package}
	}
	if t.blamed[e.Package] {
		return news{kind: "fail", name: e.Package, took: e.Elapsed}
	}
	t.failed = append(t.failed, e.Package)
	return news{kind: "fail", name: e.Package, output: t.unfinished(e), took: e.Elapsed}
}

// unfinished is all that a package printed which failed as a whole: its build errors, its own output and that of
// the tests that had not ended.
func (t *tally) unfinished(e event) string {
	var keys []string
	for key := range t.output {
		if key == e.FailedBuild || key == e.Package || strings.HasPrefix(key, e.Package+"/Test") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var all strings.Builder
	for _, key := range keys {
		all.WriteString(strings.Join(t.output[key], ""))
	}
	return all.String()
}

func (t *tally) countStores(test string) {
	found := false
	for _, store := range storesOf(test) {
		t.stores[store]++
		found = true
	}
	if !found {
		t.stores[noStore]++
	}
}

// storesOf returns the stores that a test's name declares: TestX/mariadb/redis ran on both. The number that Go adds
// to a repeated name (mariadb#01) is not a part of it.
func storesOf(test string) []string {
	var found []string
	for part := range strings.SplitSeq(test, "/") {
		part, _, _ = strings.Cut(part, "#")
		if slices.Contains(storeNames, part) && !slices.Contains(found, part) {
			found = append(found, part)
		}
	}
	return found
}

// isNoise is true for the lines that say only what the events say already.
func isNoise(line string) bool {
	line = strings.TrimLeft(line, " ")
	for _, head := range []string{"=== RUN", "=== PAUSE", "=== CONT", "=== NAME", "--- PASS", "--- SKIP"} {
		if strings.HasPrefix(line, head) {
			return true
		}
	}
	return false
}

// skipReason is the last line that a skipped test printed.
func skipReason(printed string) string {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

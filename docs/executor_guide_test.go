package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const guide = "executor-guide.md"

// blocks are the fenced blocks of a page, each with its language.
func blocks(t *testing.T, page string) [][2]string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var found [][2]string
	for _, b := range regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$").FindAllSubmatch(text, -1) {
		found = append(found, [2]string{string(b[1]), string(b[2])})
	}
	return found
}

func TestTheGuideSaysTheSameInBothLanguages(t *testing.T) {
	en, zh := blocks(t, guide), blocks(t, "executor-guide.zh-CN.md")
	if len(en) < 10 || !slices.Equal(en, zh) {
		t.Errorf("the examples of the two differ: %d and %d", len(en), len(zh))
	}
}

// python runs a program and gives what it printed.
func python(t *testing.T, program string, env ...string) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not there; the examples are not run")
	}
	cmd := exec.Command("python3", "-c", program)
	cmd.Dir = t.TempDir()
	cmd.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	return string(out)
}

// TestTheExamplesOfIdempotencyAreTrue runs each program that is followed by what it prints.
func TestTheExamplesOfIdempotencyAreTrue(t *testing.T) {
	all, ran := blocks(t, guide), 0
	for i, b := range all[:len(all)-1] {
		if b[0] != "python" || all[i+1][0] != "text" {
			continue
		}
		ran++
		if got := python(t, b[1]); got != all[i+1][1] {
			t.Errorf("it printed\n%s\nthe page says\n%s", got, all[i+1][1])
		}
	}
	if ran != 3 {
		t.Errorf("%d examples were run", ran)
	}
}

// example is the block of a language that holds a word.
func example(t *testing.T, language, word string) string {
	t.Helper()
	for _, b := range blocks(t, guide) {
		if b[0] == language && strings.Contains(b[1], word) {
			return b[1]
		}
	}
	t.Fatalf("no example of %s with %s", language, word)
	return ""
}

func TestTheExecutorsOfTheGuideAreWhole(t *testing.T) {
	sdk, err := filepath.Abs("../worker/sdk/python")
	if err != nil {
		t.Fatal(err)
	}
	listen := "import ax_executor\nax_executor.Executor.serve = lambda self, *address: print(sorted(self.handlers), *address)\n"
	got := python(t, listen+example(t, "python", "from ax_executor"), "PYTHONPATH="+sdk, "AX_EXECUTOR_SECRET=s")
	if got != "['bill'] 0.0.0.0 9000\n" {
		t.Errorf("the one in Python: %q", got)
	}
	dir := t.TempDir()
	main := filepath.Join(dir, "main.go")
	if err := os.WriteFile(main, []byte(example(t, "go", "worker/sdk")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "billing"), main).CombinedOutput(); err != nil {
		t.Errorf("the one in Go: %v\n%s", err, out)
	}
}

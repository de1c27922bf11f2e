package setup

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// binaryVar names a binary to test instead of one built from this tree.
const binaryVar = "AX_TEST_BINARY"

// built is the one binary of this process, in a folder of its own.
type built struct{ dir, path string }

// binary builds AX once per process; the build cache makes that a second when nothing changed.
var binary = sync.OnceValues(func() (built, error) {
	if path := os.Getenv(binaryVar); path != "" {
		return built{path: path}, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return built{}, err
	}
	dir, err := os.MkdirTemp("", "ax-binary-")
	if err != nil {
		return built{}, err
	}
	b := built{dir: dir, path: filepath.Join(dir, "ax")}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", b.path, ".")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return built{}, fmt.Errorf("building ax: %w\n%s", err, out)
	}
	return b, nil
})

// Binary is the path of the built AX.
func Binary(t T) string {
	t.Helper()
	b, err := binary()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return b.path
}

// inParallel is how many stories run at a time unless -parallel says otherwise: most of their time is waiting.
const inParallel = 6

// Main runs a package's tests and removes the binary; a package that starts AX calls it from TestMain.
func Main(m *testing.M) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(inParallel)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	code := m.Run()
	Clean()
	return code
}

// Clean removes the binary that this process built, if it did.
func Clean() {
	if b, err := binary(); err == nil && b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
}

// moduleRoot is the folder of AX's go.mod.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	mod := strings.TrimSpace(string(out))
	if err != nil || mod == "" || mod == os.DevNull {
		return "", fmt.Errorf("go env GOMOD says %q (%v): run this inside AX's source tree", mod, err)
	}
	return filepath.Dir(mod), nil
}

// Package scenarios tells stories of AX from outside: the built binary as real processes on real stores, driven by
// its command line and its API, judged also by what the tasks themselves wrote to a file. It owns no machinery;
// e2e/setup has that. Each story runs on the embedded stores and on MariaDB with Redis,
// except those that need several processes, which run on the latter alone.
package scenarios

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup"
)

func TestMain(m *testing.M) { os.Exit(setup.Main(m)) }

// shellJob is a job file with a shell command; more are further lines of the job.
func shellJob(name, command string, more ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: v1\njob:\n  name: %s\n", name)
	for _, m := range more {
		for line := range strings.Lines(m) {
			b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	b.WriteString("  exec:\n    type: shell\n    command: |\n")
	for line := range strings.Lines(command) {
		b.WriteString("      " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// files puts several jobs into one file.
func files(jobs ...string) string { return strings.Join(jobs, "---\n") }

// marker is a text for a task's environment by which its processes can be found outside AX.
func marker(t *testing.T) string {
	return "ax-e2e-" + strings.NewReplacer("/", "-", "#", "-").Replace(t.Name())
}

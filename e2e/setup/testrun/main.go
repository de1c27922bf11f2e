// Command testrun runs the Go tests with private stores and counts what ran on which store.
//
// It owns the run: it starts one MariaDB, one Redis and one PostgreSQL on free loopback ports, hands them to the tests as
// AX_TEST_MYSQL_URL, AX_TEST_REDIS_URL and AX_TEST_POSTGRES_URL, follows `go test -json`, shows failures as they happen and ends with a
// table. Its exit code is 0 only if every test that ran passed. In CI (CI=true) a store or browser that is not
// there is a failure; elsewhere it is said loudly. `make test` drives it; its arguments go to `go test`.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/axsched/ax/e2e/setup/stores"
)

// summaryVar names the variable with the path of a file that gets the line "passed failed skipped".
const summaryVar = "AX_TEST_SUMMARY"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run starts the stores, runs the tests with args and returns the exit code.
func run(ctx context.Context, args []string) int {
	out := &report{w: os.Stdout, ci: os.Getenv("CI") == "true"}
	env, absent, stop := startStores(out)
	defer stop()
	t := newTally()
	for _, a := range absent {
		out.absent(a)
		if out.ci {
			t.failed = append(t.failed, "store "+a.name+" is absent in CI")
		}
	}
	began := time.Now()
	err := goTest(ctx, env, args, func(e event) { out.show(t.add(e)) })
	if err != nil && len(t.failed) == 0 {
		t.failed = append(t.failed, "go test: "+err.Error())
	}
	if ctx.Err() != nil {
		t.failed = append(t.failed, "interrupted before the end")
	}
	out.end(t, absent, time.Since(began))
	if err := writeSummary(os.Getenv(summaryVar), t); err != nil {
		fmt.Fprintln(os.Stderr, "testrun: writing the summary:", err)
		return 1
	}
	if len(t.failed) > 0 {
		return 1
	}
	return 0
}

// absence is a store or browser that tests want and this machine lacks.
type absence struct{ name, reason string }

// startStores starts what is installed. It returns the variables that the tests read, what is absent, and what
// ends the servers.
func startStores(out *report) (env []string, absent []absence, stop func()) {
	var running []*stores.Server
	for _, s := range []struct {
		name, variable string
		start          func(string) (*stores.Server, error)
	}{
		{"mariadb", "AX_TEST_MYSQL_URL", stores.MariaDB},
		{"redis", "AX_TEST_REDIS_URL", stores.Redis},
		{"postgres", "AX_TEST_POSTGRES_URL", stores.Postgres},
	} {
		server, err := s.start("")
		if err != nil {
			absent = append(absent, absence{s.name, err.Error()})
			continue
		}
		running = append(running, server)
		env = append(env, s.variable+"="+server.URL)
		out.line("store %-8s %s", s.name, server.URL)
	}
	if !stores.HasChromium() {
		absent = append(absent, absence{"chromium", "chromium is not installed; e2e/setup/install.sh brings it"})
	}
	return env, absent, func() {
		for _, s := range running {
			s.Stop()
		}
	}
}

// goTest runs `go test -json` and calls on for each event. At the end of ctx the tests get an interrupt and ten
// seconds.
func goTest(ctx context.Context, env, args []string, on func(event)) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting go test: %w", err)
	}
	readErr := readEvents(pipe, on)
	return errors.Join(cmd.Wait(), readErr)
}

// readEvents decodes one event a line. A line that is no event is passed on as output.
func readEvents(r io.Reader, on func(event)) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			e := event{Action: "output", Output: string(line)}
			if line[0] == '{' {
				if err := json.Unmarshal(line, &e); err != nil {
					return fmt.Errorf("reading go test -json: %w", err)
				}
			}
			on(e)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func writeSummary(path string, t *tally) error {
	if path == "" {
		return nil
	}
	return os.WriteFile(path, fmt.Appendf(nil, "%d %d %d\n", t.passed, len(t.failed), len(t.skipped)), 0o600)
}

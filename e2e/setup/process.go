package setup

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/axsched/ax/e2e/setup/port"
)

const (
	// readyLimit is how long a process may take until it is ready; a loaded two-core machine needs a few seconds.
	readyLimit = 60 * time.Second
	// stopLimit is how long a process may take to end after SIGTERM.
	stopLimit = 40 * time.Second
	// logShown is how many of a process' last lines are shown when its test fails.
	logShown = 80
)

// Process is one running AX: a mode, an address, a data folder. Its methods are for one goroutine at a time.
type Process struct {
	Name string
	URL  string // http://127.0.0.1:PORT
	Data string // its --data

	t    T
	mode string
	env  []string
	args []string
	box  *Box
	log  string // the file that has its output, of all its lives
	cmd  *exec.Cmd
	done chan struct{} // closed when the present life is over
	err  error         // how it ended; read after done
}

// Opts says how a process differs from the ordinary. The zero value is an ordinary one.
type Opts struct {
	// Name is for logs, and a worker's name. Empty: the mode with a number.
	Name string
	// Env is put over the site's variables, KEY=value.
	Env []string
	// Args are further flags.
	Args []string
	// Data is its data folder. Empty: one of its own.
	Data string
	// Unready does not wait until it is ready: it may be refused to start.
	Unready bool
	// Box is where it lives; nil: among all others. Boxes says whether there can be one.
	Box *Box
}

// starter starts processes from one thread that lives as long as this process: a child's parent-death signal
// comes when the thread that forked it ends.
var starter = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// start begins a life and does not wait for readiness.
func (p *Process) start() {
	p.t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	defer func() { _ = log.Close() }()
	addr := strings.TrimPrefix(p.URL, "http://")
	cmd := p.command(append([]string{Binary(p.t), "--mode=" + p.mode, "--listen", addr}, p.args...))
	cmd.Env = p.env
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, filepath.Dir(p.log)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	starter() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		p.t.Fatalf("starting %s: %v", p.Name, err)
	}
	done := make(chan struct{})
	p.cmd, p.done = cmd, done
	go func() {
		p.err = cmd.Wait()
		close(done)
	}()
}

// command is the program with its arguments and its data folder, in a box if it lives in one.
func (p *Process) command(argv []string) *exec.Cmd {
	p.t.Helper()
	if p.box == nil {
		return exec.Command(argv[0], append(argv[1:], "--data", p.Data)...)
	}
	argv, err := p.box.boxed(filepath.Dir(p.log), p.Name, p.Data, append(argv, "--data", "/data"))
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	return exec.Command(argv[0], argv[1:]...)
}

// Ready waits until /readyz answers 200.
func (p *Process) Ready() {
	p.t.Helper()
	last := ""
	for deadline := time.Now().Add(readyLimit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-p.done:
			p.t.Fatalf("%s ended before it was ready: %v\n%s", p.Name, p.err, p.Tail(logShown))
		default:
		}
		status, body := p.readyz()
		if status == http.StatusOK {
			return
		}
		last = body
	}
	p.t.Fatalf("%s was not ready within %s: %s\n%s", p.Name, readyLimit, last, p.Tail(logShown))
}

// readyz asks once; status 0 means that nobody answered.
func (p *Process) readyz() (int, string) {
	ctx, cancel := context.WithTimeout(p.t.Context(), 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/readyz", nil)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// PID is that of the present life.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Alive reports whether the present life goes on.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Kill ends the process with SIGKILL, as a machine's end would, and waits for it. Its watchdog and tasks, which
// have groups of their own, are left to the product.
func (p *Process) Kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.done
}

// Stop ends the process with SIGTERM and expects a clean end in time.
func (p *Process) Stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
		if p.err != nil {
			p.t.Errorf("%s did not end cleanly: %v", p.Name, p.err)
		}
	case <-time.After(stopLimit):
		p.t.Errorf("%s did not end within %s after SIGTERM", p.Name, stopLimit)
		p.Kill()
	}
}

// Freeze stops the process with SIGSTOP; Thaw lets it go on.
func (p *Process) Freeze() { p.signal(syscall.SIGSTOP) }

// Thaw continues a frozen process.
func (p *Process) Thaw() { p.signal(syscall.SIGCONT) }

// Restart begins the next life on the same data and address and waits until it is ready.
func (p *Process) Restart() {
	p.t.Helper()
	if p.Alive() {
		p.t.Fatalf("%s still runs; end it before the restart", p.Name)
	}
	p.start()
	p.Ready()
}

func (p *Process) signal(s syscall.Signal) {
	if !p.Alive() {
		return
	}
	if p.box != nil && (!p.box.Init || s != syscall.SIGKILL) && p.signalInside(s) {
		return
	}
	_ = p.cmd.Process.Signal(s) // it may end at this moment, which is what most want
}

// Tail is the last n lines that the process wrote, without those of single requests.
func (p *Process) Tail(n int) string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimRight(string(text), "\n"), "\n"), func(line string) bool { return strings.Contains(line, " msg=http ") })
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// end is the test's own clean-up.
func (p *Process) end() {
	p.signal(syscall.SIGCONT)
	p.signal(syscall.SIGKILL)
	<-p.done
	if p.t.Failed() {
		p.t.Logf("the end of the log of %s:\n%s", p.Name, p.Tail(logShown))
	}
}

// process starts one AX of a site and waits until it is ready.
func (s *Site) process(t T, mode string, o Opts) *Process {
	t.Helper()
	if o.Name == "" {
		s.started++
		o.Name = mode + "-" + strconv.Itoa(s.started)
	}
	data := o.Data
	if data == "" {
		data = filepath.Join(s.dir, o.Name)
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatalf("%v", err)
	}
	p := &Process{Name: o.Name, URL: "http://" + freeAddr(t), Data: data, t: t, mode: mode,
		log: filepath.Join(s.dir, o.Name+".log"), env: s.environment(mode, o), args: o.Args, box: o.Box}
	p.start()
	t.Cleanup(p.end)
	if !o.Unready {
		p.Ready()
	}
	return p
}

func freeAddr(t T) string {
	t.Helper()
	addr, err := port.Free()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return addr
}

// environment is the site's own: nothing of the caller's AX_… gets through.
func (s *Site) environment(mode string, o Opts) []string {
	env := []string{"AX_BOOTSTRAP_TOKEN=" + s.Token, "AX_ADMIN_PASSWORD=" + AdminPassword}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "AX_") {
			env = append(env, kv)
		}
	}
	if s.Database != "" && mode != "worker" {
		env = append(env, "AX_DATABASE_URL="+s.Database)
	}
	if s.Redis != "" {
		env = append(env, "AX_REDIS_URL="+s.Redis)
	}
	if mode == "worker" || mode == "all" {
		env = append(env, "AX_WORKER_NAME="+o.Name)
	}
	return append(env, o.Env...)
}

// Survivors lists the processes whose environment has the marker, PID and command line: a task's own, and all that
// they started, since children inherit it.
func Survivors(marker string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(env), marker) {
			continue
		}
		dir := filepath.Dir(f)
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(command) == 0 {
			continue // a zombie: it runs no more
		}
		found = append(found, fmt.Sprintf("%s %s", filepath.Base(dir), strings.ReplaceAll(string(command), "\x00", " ")))
	}
	return found
}

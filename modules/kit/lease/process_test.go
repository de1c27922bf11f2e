package lease

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

// child is the other process: it takes a lease and the broker's office, and obeys its standard input. Each line it
// prints is an event.
func child(url string) int {
	ctx := context.Background()
	l, err := Take(ctx, url, "child")
	if err != nil {
		fmt.Println("failed", err)
		return 1
	}
	go func() { _ = l.Run(ctx) }()
	onConnect, onClose := l.Hooks()
	db, err := dbx.Open(ctx, url, dbx.Options{Pool: 2, OnConnect: onConnect, OnClose: onClose})
	if err != nil {
		fmt.Println("failed", err)
		return 1
	}
	in := bufio.NewScanner(os.Stdin)
	office := l.Office(Broker)
	err = office.Run(ctx, func(ctx context.Context, epoch int64) error {
		fmt.Println("term", epoch)
		fenced := dbx.WithFence(context.WithoutCancel(ctx), office.Fence(db, epoch))
		for in.Scan() {
			obey(fenced, db, in)
		}
		return errors.New("standard input ended")
	})
	fmt.Println("office", errors.Is(err, ErrLost))
	again, err := Take(ctx, url, "child again")
	fmt.Println("retaken", err == nil && again.Node() != l.Node() && again.Holder() != l.Holder())
	return 0
}

// obey does one command: "write" is a fenced write, "hold" one that keeps its locks until the next line.
func obey(ctx context.Context, db *dbx.DB, in *bufio.Scanner) {
	command := in.Text()
	err := db.Tx(ctx, func(ctx context.Context) error {
		if _, err := db.Exec(ctx, "UPDATE graph SET ver = ver + 1 WHERE id = 1"); err != nil {
			return err
		}
		if command == "hold" {
			fmt.Println("holding")
			in.Scan()
		}
		return nil
	})
	switch {
	case err == nil:
		fmt.Println("wrote")
	case errors.Is(err, ErrFenced):
		fmt.Println("refused by the fence")
	case errors.Is(err, ErrLost):
		fmt.Println("refused by the lease")
	default:
		fmt.Println("refused", err)
	}
}

type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
}

func start(t *testing.T, url string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AX_LEASE_CHILD="+url)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, in: in, lines: make(chan string, 100)}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for range p.lines {
			continue
		}
		_ = cmd.Wait()
	})
	return p
}

func (p *process) say(line string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.t.Fatal(err)
	}
}

// expect waits for the next event and wants it to begin so.
func (p *process) expect(prefix string) {
	p.t.Helper()
	select {
	case line := <-p.lines:
		if !strings.HasPrefix(line, prefix) {
			p.t.Fatalf("the other process said %q, want %q", line, prefix)
		}
	case <-time.After(15 * time.Second):
		p.t.Fatalf("the other process did not say %q within 15 s", prefix)
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// takeOver campaigns in this process after the other one was hit, wants it to succeed neither at once nor later than
// 5 s, and writes under the new epoch.
func takeOver(t *testing.T, l *Lease, db *dbx.DB, hit func()) (epoch int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	type result struct {
		epoch int64
		err   error
		at    time.Time
	}
	done := make(chan result, 1)
	office := l.Office(Broker)
	go func() {
		epoch, err := office.Campaign(ctx)
		done <- result{epoch, err, time.Now()}
	}()
	select {
	case r := <-done:
		t.Fatalf("the office was taken from a living process: %+v", r)
	case <-time.After(4 * time.Second):
	}
	hit()
	since := time.Now()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Logf("taken over after %v", r.at.Sub(since))
	if d := r.at.Sub(since); d < patience-2*beat || d > 5*time.Second {
		t.Errorf("taken over after %v, want about 3…4 s", d)
	}
	fenced := dbx.WithFence(t.Context(), office.Fence(db, r.epoch))
	if _, err := db.Exec(fenced, "UPDATE graph SET ver = ver + 1000 WHERE id = 1"); err != nil {
		t.Fatalf("the successor cannot write: %v", err)
	}
	return r.epoch
}

func graphVer(t *testing.T, db *dbx.DB) int64 {
	t.Helper()
	var ver int64
	if err := db.Scan(t.Context(), &ver, "SELECT ver FROM graph WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	return ver
}

func TestFrozenInsideATransaction(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		other := start(t, url)
		other.expect("term 1")
		l := running(t, url)
		db := pool(t, url, l, 2)
		other.say("hold")
		other.expect("holding")
		if epoch := takeOver(t, l, db, func() { other.signal(syscall.SIGSTOP) }); epoch != 2 {
			t.Errorf("epoch %d, want 2", epoch)
		}
		other.signal(syscall.SIGCONT)
		other.say("go on")
		other.expect("refused")
		until(t, 5*time.Second, "every write is refused by the lease", func() bool {
			other.say("write")
			return strings.HasPrefix(<-other.lines, "refused by the lease")
		})
		if err := other.in.Close(); err != nil {
			t.Fatal(err)
		}
		other.expect("office true")
		other.expect("retaken true")
		if ver := graphVer(t, db); ver != 1000 {
			t.Errorf("ver is %d, want the successor's 1000 alone", ver)
		}
	})
}

func TestFrozenBetweenTransactions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		other := start(t, url)
		other.expect("term 1")
		l := running(t, url)
		db := pool(t, url, l, 2)
		other.say("write")
		other.expect("wrote")
		takeOver(t, l, db, func() { other.signal(syscall.SIGSTOP) })
		other.say("write")
		other.signal(syscall.SIGCONT)
		other.expect("refused by the")
		if ver := graphVer(t, db); ver != 1001 {
			t.Errorf("ver is %d, want 1001", ver)
		}
	})
}

func TestKilled(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		other := start(t, url)
		other.expect("term 1")
		l := running(t, url)
		db := pool(t, url, l, 2)
		other.say("hold")
		other.expect("holding")
		if db.Dialect() == dbx.SQLite { // whose one lock would stop this process's own renewals too
			other.say("let go")
			other.expect("wrote")
		}
		takeOver(t, l, db, func() { other.signal(syscall.SIGKILL) })
	})
}

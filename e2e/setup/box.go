package setup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Box makes a process live as in a container: PID namespace, mounts, host name and root are its own, and in each of its
// lives they are new ones. Its data folder stands there as /data, the site's folder where it always does.
type Box struct {
	// Host is the host name in it.
	Host string
	// Init lets a shell be process 1, which goes on when AX ends. Else AX is process 1, and all ends with it.
	Init bool
	// OutsideProc shows the processes of the machine in /proc, as nobody should.
	OutsideProc bool
}

const boxScript = `set -e
root=$1; host=$2; site=$3; volume=$4; program=$5; init=$6; outside=$7; shift 7
hostname "$host"
mount -t tmpfs box "$root"
mkdir -p "$root/usr" "$root/dev" "$root/proc" "$root/tmp" "$root/etc" "$root/data"
for d in bin sbin lib lib64; do if [ -L "/$d" ]; then cp -P "/$d" "$root/"; elif [ -d "/$d" ]; then mkdir "$root/$d"; mount --rbind "/$d" "$root/$d"; fi; done
mount --rbind /usr "$root/usr"
mount --rbind /dev "$root/dev"
if [ "$outside" = true ]; then mount --rbind /proc "$root/proc"; else mount -t proc proc "$root/proc"; fi
mkdir -p "$root$site" "$root$program"
mount --bind "$site" "$root$site"
mount --bind "$program" "$root$program"
mount --bind "$volume" "$root/data"
if [ "$init" = true ]; then exec chroot "$root" /bin/sh -c '"$@" & while :; do sleep 1; done' init "$@"; fi
exec chroot "$root" "$@"`

// boxed is the command that runs a program with a data folder in a new box.
func (b Box) boxed(site, name, data string, argv []string) ([]string, error) {
	root := filepath.Join(site, "root-"+name)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	return append([]string{"unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "sh", "-c", boxScript, "box",
		root, b.Host, site, data, filepath.Dir(argv[0]), strconv.FormatBool(b.Init), strconv.FormatBool(b.OutsideProc)}, argv...), nil
}

// Boxes says why this machine can make no boxes; nil: it can.
var Boxes = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "ax-box-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	argv, err := Box{Host: "try"}.boxed(dir, "try", filepath.Join(dir, "data"), []string{"/bin/sh", "-c", "test $$ = 1"})
	if err != nil {
		return err
	}
	if said, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("unshare: %w: %s", err, said)
	}
	return nil
})

// Inside is the number by which the machine knows AX in its box; 0 where it is not there (any more).
func (p *Process) Inside() int {
	pid := child(p.PID())
	if p.box.Init && pid != 0 {
		pid = child(pid)
	}
	return pid
}

// child is the first child of a process; 0 = it has none.
func child(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	first, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.Atoi(first)
	return n
}

// signalInside sends a signal to AX in its box; false: it is not there.
func (p *Process) signalInside(s syscall.Signal) bool {
	pid := p.Inside()
	return pid != 0 && syscall.Kill(pid, s) == nil
}

// KillInside kills AX in a box whose process 1 goes on.
func (p *Process) KillInside() {
	p.t.Helper()
	if !p.signalInside(syscall.SIGKILL) {
		p.t.Fatalf("%s is not in its box", p.Name)
	}
}

// Await waits for the end of the present life and returns the last lines that it wrote.
func (p *Process) Await(limit time.Duration) string {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		p.t.Fatalf("%s did not end within %s\n%s", p.Name, limit, p.Tail(logShown))
	}
	return p.Tail(3) // unshare may have a word after it
}

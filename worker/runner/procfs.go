package runner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// proc is one process as /proc shows it. pid and start (clock ticks since boot) together name it for ever.
type proc struct {
	pid, ppid, pgrp, session int
	state                    byte
	start                    uint64
}

func (p proc) dead() bool { return p.state == 'Z' || p.state == 'X' }

// handles reports whether a process catches, ignores or blocks a signal; true where that cannot be read.
func handles(pid int, sig syscall.Signal) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return true
	}
	seen := 0
	for line := range strings.Lines(string(data)) {
		name, mask, _ := strings.Cut(line, ":")
		if name != "SigBlk" && name != "SigIgn" && name != "SigCgt" {
			continue
		}
		bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
		if err != nil || bits>>(sig-1)&1 == 1 {
			return true
		}
		seen++
	}
	return seen != 3
}

// readProc returns what /proc/<pid>/stat says.
func readProc(pid int) (proc, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, err
	}
	i := bytes.LastIndexByte(data, ')') // the name before it may hold anything
	f := bytes.Fields(data[i+1:])
	if i < 0 || len(f) < 20 || len(f[0]) == 0 {
		return proc{}, fmt.Errorf("/proc/%d/stat: not understood", pid)
	}
	p := proc{pid: pid, state: f[0][0]}
	for j, dst := range []*int{&p.ppid, &p.pgrp, &p.session} {
		if *dst, err = strconv.Atoi(string(f[1+j])); err != nil {
			return proc{}, err
		}
	}
	p.start, err = strconv.ParseUint(string(f[19]), 10, 64)
	return p, err
}

// listProcs returns every process that can be read; those that vanish meanwhile are left out.
func listProcs() ([]proc, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := readProc(pid); err == nil {
			all = append(all, p)
		}
	}
	return all, nil
}

// ownProcfs refuses a /proc of another PID namespace than this process': its numbers name other processes there than here,
// so that what is found by it and signalled would be somebody else.
func ownProcfs() error {
	here, err := os.Readlink("/proc/self")
	if err != nil {
		return fmt.Errorf("/proc does not show this process: %w; mount the proc of its own PID namespace (mount -t proc proc /proc), "+
			"as unshare --mount-proc and every container engine does", err)
	}
	if here != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("/proc is of another PID namespace: this process is %d and is shown as %s, so that the wrong processes would be killed; "+
			"mount the proc of its own one (mount -t proc proc /proc), as unshare --mount-proc and every container engine does", os.Getpid(), here)
	}
	return nil
}

// readEnviron returns the environment that pid was started with, or nothing where it can't be read.
func readEnviron(pid int) []byte {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	return env
}

// envValue returns the value of key ("NAME=") in an environment as /proc shows it.
func envValue(env []byte, key string) (string, bool) {
	for len(env) > 0 {
		kv, rest, _ := bytes.Cut(env, []byte{0})
		if v, ok := bytes.CutPrefix(kv, []byte(key)); ok {
			return string(v), true
		}
		env = rest
	}
	return "", false
}

// adopted returns the children of the process's main thread: the kernel hands orphans to it.
func adopted(pid int) ([]int, error) {
	id := strconv.Itoa(pid)
	data, err := os.ReadFile("/proc/" + id + "/task/" + id + "/children")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, f := range bytes.Fields(data) {
		if n, err := strconv.Atoi(string(f)); err == nil {
			pids = append(pids, n)
		}
	}
	return pids, nil
}

// kill sends SIGKILL to exactly this process: if its number has gone to another one, nothing happens.
func (p proc) kill() {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		return // gone
	}
	if now, rerr := readProc(p.pid); rerr != nil || now.start != p.start {
		if err == nil {
			_ = unix.Close(fd)
		}
		return
	}
	if err != nil {
		_ = unix.Kill(p.pid, unix.SIGKILL) // a kernel without pidfds
		return
	}
	defer unix.Close(fd)
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // what survives is found again by the next look
}

// hunt is a search for processes that must not live on.
type hunt struct {
	// match decides by the environment that a process was started with.
	match func(env []byte) bool
	// leaders are processes known by number and start time; their sessions and groups are meant too.
	leaders []proc
}

// run kills what matches, with all descendants, again and again until two looks in a row found nothing or limit is
// over. It returns how many it killed and which live on.
func (h hunt) run(limit time.Duration) (killed int, left []int, err error) {
	end := time.Now().Add(limit)
	seen := map[proc]bool{}
	for clean := 0; clean < 2; {
		targets, err := h.look()
		if err != nil {
			return len(seen), nil, err
		}
		left = left[:0]
		for _, p := range targets {
			p.kill()
			left = append(left, p.pid)
			seen[proc{pid: p.pid, start: p.start}] = true
		}
		clean++
		if len(targets) > 0 {
			clean = 0
		}
		if time.Now().After(end) {
			break
		}
		if clean < 2 {
			time.Sleep(2 * time.Millisecond)
		}
	}
	return len(seen), left, nil
}

// look lists the living processes that are meant.
func (h hunt) look() ([]proc, error) {
	all, err := listProcs()
	if err != nil {
		return nil, err
	}
	byPID := make(map[int]proc, len(all))
	for _, p := range all {
		byPID[p.pid] = p
	}
	spared := ancestry(byPID, os.Getpid())
	meant := map[int]bool{}
	groups := map[int]bool{}
	for _, l := range h.leaders {
		p, alive := byPID[l.pid]
		groups[l.pid] = alive && p.start == l.start
	}
	for _, p := range all {
		if !p.dead() && h.match(readEnviron(p.pid)) {
			meant[p.pid] = true
			if _, known := groups[p.session]; known {
				groups[p.session] = true // its number can't have been given away while the session has members
			}
		}
	}
	for _, p := range all {
		if groups[p.session] || groups[p.pgrp] {
			meant[p.pid] = true
		}
	}
	spread(all, meant, spared)
	var targets []proc
	for _, p := range all {
		if meant[p.pid] && !p.dead() && !slices.Contains(spared, p.pid) {
			targets = append(targets, p)
		}
	}
	return targets, nil
}

// spread marks the descendants of what is meant, except through those that are spared.
func spread(all []proc, meant map[int]bool, spared []int) {
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if meant[p.ppid] && !meant[p.pid] && !slices.Contains(spared, p.ppid) {
				meant[p.pid], grown = true, true
			}
		}
	}
}

// ancestry returns pid, its parents and process 1: whoever looks never kills itself or what it stands on.
func ancestry(byPID map[int]proc, pid int) []int {
	line := []int{1}
	for pid > 1 && !slices.Contains(line, pid) {
		line = append(line, pid)
		pid = byPID[pid].ppid
	}
	return line
}

// KillMarked kills whatever an earlier life of a data directory left running: processes with this uid and another boot
// number than m's. A worker calls it at boot, before it settles its journal and before it starts anything. It returns
// how many processes it killed; processes that live on after limit are an error.
func KillMarked(m Marker, limit time.Duration) (int, error) {
	if err := ownProcfs(); err != nil {
		return 0, err
	}
	boot := strconv.FormatInt(m.Boot, 10)
	killed, left, err := hunt{match: func(env []byte) bool {
		uid, _ := envValue(env, uidKey)
		b, _ := envValue(env, bootKey)
		return uid == m.UID && b != boot
	}}.run(limit)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("processes of an earlier life of this worker can't be killed: %v; look at them before their tasks run again", left)
	}
	return killed, err
}

package runner

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// clear kills what a dead leader left behind until nothing of its session or with its marker is a child of this process.
// The leader's group has been sent SIGKILL; whoever left the group has become our child when its parents died. It returns
// how many were killed and which could not be.
func (r *Runner) clear(c *child) (killed int, alive []int) {
	end := time.Now().Add(goneLimit)
	pause := 100 * time.Microsecond
	for {
		n, members := reapGroup(c.pid)
		killed += n
		orphans := r.orphansOf(c)
		if !members && len(orphans) == 0 {
			return killed, nil
		}
		for _, p := range orphans {
			killed += killOrphan(p)
		}
		if time.Now().After(end) {
			for _, p := range orphans {
				alive = append(alive, p.pid)
			}
			return killed, alive
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// reapGroup collects dead members of a group that have become our children, and says whether the group still has any.
func reapGroup(pgid int) (reaped int, members bool) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-pgid, &ws, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			break
		}
		if sigkilled(ws) {
			reaped++
		}
	}
	return reaped, unix.Kill(-pgid, 0) == nil
}

func sigkilled(ws syscall.WaitStatus) bool { return ws.Signaled() && ws.Signal() == syscall.SIGKILL }

// orphansOf lists our adopted children that belong to a task: they are in its session or carry its attempt.
func (r *Runner) orphansOf(c *child) []proc {
	self := os.Getpid()
	pids, err := adopted(self)
	if err != nil {
		r.log.Warn("can't list orphaned processes; the watchdog and the next boot still see them", "err", err)
		return nil
	}
	attempt := strconv.FormatInt(c.spec.Attempt, 10)
	var found []proc
	for _, pid := range pids {
		if r.owns(pid) {
			continue
		}
		p, err := readProc(pid)
		if err != nil || p.ppid != self {
			continue
		}
		env := readEnviron(pid)
		id, _ := envValue(env, attemptKey)
		uid, _ := envValue(env, uidKey)
		if p.session == c.pid || id == attempt && uid == r.marker.UID {
			found = append(found, p)
		}
	}
	return found
}

// killOrphan kills a child of ours, with its group where it leads one, and reaps it if it dies at once. Nobody else
// reaps our children, so its number can't have gone to another process.
func killOrphan(p proc) int {
	if p.pgrp == p.pid {
		_ = unix.Kill(-p.pid, unix.SIGKILL)
	}
	_ = unix.Kill(p.pid, unix.SIGKILL)
	for range 20 {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(p.pid, &ws, syscall.WNOHANG, nil)
		if pid == p.pid {
			if p.dead() && !sigkilled(ws) {
				return 0 // it had ended by itself
			}
			return 1
		}
		if err != nil && err != syscall.EINTR {
			return 0
		}
		time.Sleep(100 * time.Microsecond)
	}
	return 0
}

const reapPeriod = 5 * time.Second

// reapOrphans collects adopted children that died by themselves while their task went on. Other code of this process
// may have children of its own (os/exec), which it collects at once: only what has been dead for a whole period is ours.
func (r *Runner) reapOrphans() {
	tick := time.NewTicker(reapPeriod)
	defer tick.Stop()
	dead := map[proc]bool{}
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
			r.oom.tick()
			dead = r.reapLong(dead)
		}
	}
}

// reapLong reaps the zombies that are in before and returns the present ones.
func (r *Runner) reapLong(before map[proc]bool) map[proc]bool {
	dead := map[proc]bool{}
	pids, err := adopted(os.Getpid())
	if err != nil {
		return dead
	}
	for _, pid := range pids {
		p, err := readProc(pid)
		if err != nil || !p.dead() || r.owns(pid) {
			continue
		}
		key := proc{pid: p.pid, start: p.start}
		if before[key] {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			continue
		}
		dead[key] = true
	}
	return dead
}

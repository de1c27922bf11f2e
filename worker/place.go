package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/axsched/ax/worker/journal"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// placeLen is enough to tell places apart, and little beside what a start costs anyway.
const placeLen = 8

// ownPlace names where this process can see processes: the run of the kernel and the PID namespace. It goes into the
// journal with each start. Nil where the system does not say.
func ownPlace() []byte {
	kernel, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(append(bytes.TrimSpace(kernel), space...))
	return sum[:placeLen]
}

// sees says whether the processes of a start could be seen, and so were killed, from here.
func (n *Node) sees(s journal.Start) bool { return len(n.place) > 0 && bytes.Equal(s.Body, n.place) }

// renewWatch is how long a life of this directory that may not be over must be silent in the registry: a heartbeat each
// second, of which one may fail after its 2 s, leaves nobody silent for longer.
const renewWatch = 5 * time.Second

// awaitSilence refuses to start while another life of this directory, whatever its name, is heard: the directory is a
// copy then, and that life's tasks are not ours to kill. It returns when there is none, or none is heard any more.
func (n *Node) awaitSilence(ctx context.Context) error {
	var first map[string]int64 // name → stamp, as first seen
	var since time.Duration
	for told := false; ctx.Err() == nil; pause(ctx, beatEvery/4) {
		twins, err := n.twins(ctx)
		if errors.Is(err, transport.ErrUnfit) {
			return err
		}
		if err != nil {
			if !told {
				n.log.Warn("waiting for Redis, to see whether another process uses a copy of the data directory", "err", err)
				told = true
			}
			first = nil // whoever is alive is not heard meanwhile either
			continue
		}
		if first == nil {
			first, since = map[string]int64{}, n.cfg.Boot()
			for _, hb := range twins {
				first[hb.Name] = hb.Stamp
			}
		}
		for _, hb := range twins {
			if first[hb.Name] != hb.Stamp {
				return n.twinOf(hb)
			}
		}
		if len(twins) == 0 || n.cfg.Boot()-since >= renewWatch {
			return nil
		}
	}
	return nil
}

// twins are the last heartbeats of the lives of this directory that hold a name.
func (n *Node) twins(ctx context.Context) ([]protocol.Heartbeat, error) {
	ctx, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	if err := n.link.Ready(ctx); errors.Is(err, transport.ErrUnfit) {
		return nil, err
	}
	all, err := n.link.Workers(ctx)
	if err != nil {
		return nil, err
	}
	var out []protocol.Heartbeat
	for _, hb := range all {
		if hb.UID == n.uid {
			out = append(out, hb)
		}
	}
	return out, nil
}

// twinOf says who uses the other copy and what to do.
func (n *Node) twinOf(hb protocol.Heartbeat) error {
	return fmt.Errorf("%w: the process on host %s (%s) that is up since %s is alive as worker %q, boot %d of this same data directory, "+
		"of which --data %s is a copy: stop that one, or give this one a --data of its own",
		ErrNameHeld, hb.Host, hb.IP, time.UnixMilli(hb.Started).UTC().Format(time.RFC3339), hb.Name, hb.Boot, n.cfg.Data)
}

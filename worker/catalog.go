package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/types"
)

// catalogEach is how often a catalogue that did not change is written again, for a registry that lost it.
const catalogEach = 5 * time.Minute

// catalogue is what was last told of the types, for the beat's goroutine alone.
type catalogue struct {
	rev    string
	body   []byte
	writes string        // the rev that stands in the registry, as far as is known
	at     time.Duration // when it was written there, on the boot clock
}

// faultOf says why a type can run nothing now, "" = it can.
func faultOf(e types.Executor) string {
	if u, ok := e.(types.Unsteady); ok {
		return u.Fault()
	}
	return ""
}

// announced are the types that can run something now.
func (n *Node) announced() []string {
	out := make([]string, 0, len(n.types))
	for _, name := range sortedKeys(n.types) {
		if faultOf(n.types[name]) == "" {
			out = append(out, name)
		}
	}
	return out
}

// plugins is how the worker's plug-ins stand; none where it has none.
func (n *Node) plugins() []protocol.PluginState {
	if n.cfg.Plugins == nil {
		return nil
	}
	return n.cfg.Plugins()
}

// pluginFaults says which plug-ins are not ready and why, "" = none.
func (n *Node) pluginFaults() string {
	var out []string
	for _, p := range n.plugins() {
		switch p.State {
		case protocol.PluginFailed:
			out = append(out, p.Name+": "+p.Fault)
		case protocol.PluginLoading:
			out = append(out, p.Name+": it is being loaded")
		}
	}
	return strings.Join(out, "; ")
}

// describe brings the catalogue up to date. What only plug-ins change is not looked at again where there are none.
func (n *Node) describe() error {
	c := &n.catalog
	states := n.plugins()
	if c.rev != "" && len(states) == 0 {
		return nil
	}
	all := protocol.Catalog{Worker: n.name, Boot: n.boot, Types: make([]protocol.TypeDescription, 0, len(n.types)), Plugins: states}
	for _, name := range sortedKeys(n.types) {
		all.Types = append(all.Types, n.types[name].Describe())
	}
	bare, err := all.Fitted()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(bare)
	rev := hex.EncodeToString(sum[:6])
	if rev == c.rev {
		return nil
	}
	all.Rev = rev
	body, err := all.Fitted()
	if err == nil {
		c.rev, c.body = rev, body
	}
	return err
}

// tellTypes writes the catalogue to the registry where it changed, or was written long ago.
func (n *Node) tellTypes(ctx context.Context) {
	c := &n.catalog
	if c.rev == "" || c.rev == c.writes && n.cfg.Boot()-c.at < catalogEach {
		return
	}
	if err := n.link.Tell(ctx, n.name, c.body); err != nil {
		n.log.Debug("what the types take could not be told; the next heartbeat tries again", "err", err)
		return
	}
	c.writes, c.at = c.rev, n.cfg.Boot()
}

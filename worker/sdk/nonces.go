package sdk

import (
	"sync"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// nonces remembers those of signed requests for at least twice the age that a request may have: two generations,
// the older of which is dropped as a whole. A restart forgets them; the journal knows the attempts then.
type nonces struct {
	mu       sync.Mutex
	now, old map[string]struct{}
	since    time.Time
}

func newNonces() *nonces { return &nonces{now: map[string]struct{}{}} }

const nonceAge = 2 * protocol.MaxSignatureAge

// fresh reports whether the nonce is new, and remembers it.
func (n *nonces) fresh(nonce string, at time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if age := at.Sub(n.since); age > nonceAge || age < -nonceAge {
		n.now, n.old, n.since = map[string]struct{}{}, n.now, at
	}
	_, now := n.now[nonce]
	_, old := n.old[nonce]
	n.now[nonce] = struct{}{}
	return !now && !old
}

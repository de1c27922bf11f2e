package netguard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Policy says where a connection may go. The zero value allows the public network only.
type Policy struct {
	// Allow are the private networks and loopback addresses that the project may reach.
	Allow []netip.Prefix
	// Stores are the addresses of AX's own databases and Redis. One on loopback is meant on every loopback address.
	Stores []netip.AddrPort
}

// Refused is the error of a connection that the policy forbids.
type Refused struct {
	Address netip.AddrPort
	What    string // behind "address X", such as "is in a private network"
	// Listable says that an admin may open the address to the project.
	Listable bool
}

// Error says which address, why, and what can be done.
func (r *Refused) Error() string {
	text := fmt.Sprintf("address %s %s: refused", r.Address, r.What)
	if r.Listable {
		text += "; an admin may allow the project to reach it (page Projects, or ax projects allow)"
	}
	return text
}

// Judge says whether a connection may go to the address: nil, or a *Refused.
func (p Policy) Judge(to netip.AddrPort) error {
	ip := plain(to.Addr())
	for _, s := range p.Stores {
		at := plain(s.Addr())
		if s.Port() == to.Port() && (at == ip || at.IsLoopback() && ip.IsLoopback()) {
			return &Refused{Address: to, What: "is a store of AX itself"}
		}
	}
	if s, hit := find(never, ip); hit {
		return &Refused{Address: to, What: s.what}
	}
	s, hit := find(byList, ip)
	if !hit || slices.ContainsFunc(p.Allow, func(a netip.Prefix) bool { return a.Contains(ip) }) {
		return nil
	}
	return &Refused{Address: to, What: s.what, Listable: true}
}

// connectLimit bounds a connection and its TLS handshake, each.
const connectLimit = 30 * time.Second

// Transport connects directly, and only where the policy allows. It uses no proxy and keeps no connection: a request on a
// dying one would be repeated in silence, and a policy that has changed would not be asked. The caller may set its TLS.
func Transport(p Policy) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            Dial(p),
		DisableKeepAlives:      true,
		TLSHandshakeTimeout:    connectLimit,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	}
}

// Dial is the connecting of Transport, for who has a transport of its own.
func Dial(p Policy) func(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: connectLimit, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("address %s: %w", address, err)
		}
		return p.Judge(to)
	}}
	return dialer.DialContext
}

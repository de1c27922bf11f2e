package netguard

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Book knows the addresses of hosts, AX's own stores: names may change what they stand for. A nil book knows none.
type Book struct {
	hosts  []string // host:port
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	own    func() []netip.Addr // this machine's addresses

	mu     sync.Mutex
	looked time.Time // when the last look began
	of     map[string][]netip.AddrPort
}

const (
	// lookEach is how long an answer of the name service counts.
	lookEach = 30 * time.Second
	// lookLimit bounds a whole look.
	lookLimit = 2 * time.Second
)

// NewBook is a book of hosts, each host:port with a name or an address; others are left out. Hosts that are addresses are
// known from the beginning, names from the first look.
func NewBook(hosts ...string) *Book {
	b := &Book{own: ownAddresses, of: map[string][]netip.AddrPort{}, lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}}
	for _, h := range hosts {
		host, service, err := net.SplitHostPort(h)
		port, perr := strconv.ParseUint(service, 10, 16)
		if err != nil || perr != nil {
			continue
		}
		b.hosts = append(b.hosts, h)
		if ip, err := netip.ParseAddr(host); err == nil {
			b.of[h] = b.ends([]netip.Addr{ip}, uint16(port))
		}
	}
	return b
}

// Known are the addresses of all hosts as the last look found them. It asks nobody.
func (b *Book) Known() []netip.AddrPort {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []netip.AddrPort
	for _, h := range b.hosts {
		out = append(out, b.of[h]...)
	}
	return out
}

// Fresh is Known after a look, where the last one is over 30 s old. It takes at most 2 s; whoever comes meanwhile gets what
// is known. A name that is not answered keeps the addresses that it had.
func (b *Book) Fresh(ctx context.Context, now time.Time) []netip.AddrPort {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	since := now.Sub(b.looked)
	due := b.looked.IsZero() || since < 0 || since >= lookEach
	if due {
		b.looked = now
	}
	b.mu.Unlock()
	if due {
		b.look(ctx)
	}
	return b.Known()
}

// Run looks each 30 s until ctx ends, for who must not wait: Known then is never much older.
func (b *Book) Run(ctx context.Context) error {
	if b == nil {
		return nil
	}
	tick := time.NewTicker(lookEach)
	defer tick.Stop()
	for {
		b.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look asks for all names.
func (b *Book) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	for _, h := range b.hosts {
		host, service, _ := net.SplitHostPort(h)
		port, _ := strconv.ParseUint(service, 10, 16) // both were judged by NewBook
		ips := []netip.Addr{}
		if ip, err := netip.ParseAddr(host); err == nil {
			ips = append(ips, ip)
		} else if ips, err = b.lookup(ctx, host); err != nil || len(ips) == 0 {
			continue // it keeps what it had
		}
		ends := b.ends(ips, uint16(port))
		b.mu.Lock()
		b.of[h] = ends
		b.mu.Unlock()
	}
}

// ends are the addresses at which a store is to be found. One on loopback most often listens at each address of its machine.
func (b *Book) ends(ips []netip.Addr, port uint16) []netip.AddrPort {
	if slices.ContainsFunc(ips, netip.Addr.IsLoopback) {
		ips = append(slices.Clip(ips), b.own()...)
	}
	out := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		out[i] = netip.AddrPortFrom(ip.Unmap().WithZone(""), port)
	}
	return out
}

func ownAddresses() []netip.Addr {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil // loopback itself is still known
	}
	var out []netip.Addr
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && !ip.IsLoopback() {
				out = append(out, ip.Unmap())
			}
		}
	}
	return out
}

package http

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// guardedTransport connects directly and only where a job may go. The check sits behind name resolution, at the moment
// of connecting, so neither a name that changes its address nor a redirect gets around it. Connections are not kept: a
// request on a dying one would be repeated in silence.
func guardedTransport() http.RoundTripper {
	dialer := &net.Dialer{Timeout: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("address %s: %w", address, err)
		}
		return allowed(ap.Addr())
	}}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		DisableKeepAlives:      true,
		TLSHandshakeTimeout:    30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	}
}

// allowed refuses the addresses at which machines and clouds serve credentials to whoever asks. Private networks and
// this machine are allowed: that is where the services of a team live.
func allowed(addr netip.Addr) error {
	ip := addr.Unmap().WithZone("")
	if nat64 := netip.MustParsePrefix("64:ff9b::/96"); nat64.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	switch {
	case ip.IsLinkLocalUnicast():
		return fmt.Errorf("address %s is link-local, where clouds serve their metadata: refused", addr)
	case ip.IsMulticast(), ip.IsUnspecified():
		return fmt.Errorf("address %s is no single machine: refused", addr)
	}
	for _, metadata := range []string{"fd00:ec2::254", "100.100.100.200", "192.0.0.192"} {
		if ip == netip.MustParseAddr(metadata) {
			return fmt.Errorf("address %s is a cloud's metadata service: refused", addr)
		}
	}
	return nil
}

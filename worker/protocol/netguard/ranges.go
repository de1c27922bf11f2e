package netguard

import (
	"net/netip"
	"slices"
)

// span is a range of addresses that are not the public network's.
type span struct {
	prefix netip.Prefix
	what   string // behind "address X"
}

func spans(what string, prefixes ...string) []span {
	out := make([]span, len(prefixes))
	for i, p := range prefixes {
		out[i] = span{netip.MustParsePrefix(p), what}
	}
	return out
}

// never are the ranges that nobody can allow.
var never = slices.Concat(
	spans("is a cloud's metadata service", "169.254.169.254/32", "fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32",
		"192.0.0.192/32", "168.63.129.16/32"),
	spans("is link-local, where clouds serve their metadata", "169.254.0.0/16", "fe80::/10", "fec0::/10"),
	spans("is no single machine", "0.0.0.0/8", "::/128", "224.0.0.0/4", "240.0.0.0/4", "ff00::/8"),
)

// byList are the ranges that a project's allow-list may open, whole or in part.
var byList = slices.Concat(
	spans("is this machine's own (loopback)", loopback...),
	spans("is in a private network", private...),
	spans("is in a network for special use", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"64:ff9b:1::/48", "100::/64", "2001:db8::/32", "5f00::/16"),
)

// What the words of an allow-list stand for.
var (
	loopback = []string{"127.0.0.0/8", "::1/128"}
	private  = []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"}
)

func find(all []span, ip netip.Addr) (span, bool) {
	i := slices.IndexFunc(all, func(s span) bool { return s.prefix.Contains(ip) })
	if i < 0 {
		return span{}, false
	}
	return all[i], true
}

// plain is the address that packets to ip reach in the end: several kinds of IPv6 addresses are IPv4 ones in a wrapping.
func plain(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip
	}
	b := ip.As16()
	four := func(from int) netip.Addr { return netip.AddrFrom4([4]byte(b[from : from+4])) }
	switch {
	case within(ip, "64:ff9b::/96"), within(ip, "::/96") && !within(ip, "::/127"): // NAT64, IPv4-compatible
		return four(12)
	case within(ip, "2002::/16"): // 6to4
		return four(2)
	case within(ip, "2001::/32"): // Teredo
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
	}
	return ip
}

func within(ip netip.Addr, prefix string) bool { return netip.MustParsePrefix(prefix).Contains(ip) }

package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// The words that an allow-list may have beside addresses and networks.
const (
	WordLoopback = "loopback" // 127.0.0.0/8 and ::1
	WordPrivate  = "private"  // 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 and fc00::/7
)

// MaxAllow is the most entries of an allow-list.
const MaxAllow = 80

// What is wrong with an entry of an allow-list.
var (
	ErrEntry  = errors.New("is no address, no network such as 10.1.0.0/16, and none of the words loopback and private")
	ErrPublic = errors.New("lies in the public network, which every project may reach: name a private network")
	ErrNever  = errors.New("is among the addresses that nobody can allow")
	ErrMany   = fmt.Errorf("has more than %d entries", MaxAllow)
)

// ParseAllow reads an allow-list: each entry an address, a network, or a word. The error wraps one of those above and
// names the entry.
func ParseAllow(entries []string) ([]netip.Prefix, error) {
	if len(entries) > MaxAllow {
		return nil, fmt.Errorf("the list %w", ErrMany)
	}
	var out []netip.Prefix
	for _, entry := range entries {
		prefixes, err := parseEntry(strings.TrimSpace(entry))
		if err != nil {
			return nil, fmt.Errorf("%q %w", entry, err)
		}
		out = append(out, prefixes...)
	}
	return out, nil
}

func parseEntry(text string) ([]netip.Prefix, error) {
	switch text {
	case WordLoopback:
		return prefixes(loopback), nil
	case WordPrivate:
		return prefixes(private), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.Zone() != "" {
			return nil, ErrEntry
		}
		ip = ip.Unmap()
		p = netip.PrefixFrom(ip, ip.BitLen())
	}
	if p = p.Masked(); p.Addr().Is4In6() || plain(p.Addr()) != p.Addr() {
		return nil, ErrEntry // an IPv4 address in a wrapping is judged as what it stands for
	}
	inside := func(s span) bool { return s.prefix.Bits() <= p.Bits() && s.prefix.Contains(p.Addr()) }
	switch {
	case slices.ContainsFunc(never, inside):
		return nil, ErrNever
	case !slices.ContainsFunc(byList, inside):
		return nil, ErrPublic
	}
	return []netip.Prefix{p}, nil
}

func prefixes(texts []string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

package netguard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

func at(text string, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(text), port)
}

// (G-J6)
func TestWhoMayReachWhat(t *testing.T) {
	all, err := ParseAllow([]string{"loopback", "private", "100.64.0.0/10", "198.18.0.0/15"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{ // "": anybody; list: by the list; never: nobody
		"93.184.216.34": "", "2606:4700::1111": "", "64:ff9b::5db8:d822": "", "2002:5db8:d822::1": "", "172.32.0.1": "", "11.0.0.1": "",
		"10.1.2.3": "list", "172.31.255.255": "list", "192.168.0.1": "list", "127.0.0.1": "list", "127.8.9.10": "list", "::1": "list", "fd12::1": "list",
		"::ffff:127.0.0.1": "list", "::ffff:10.0.0.1": "list", "64:ff9b::a00:1": "list", "2002:a00:1::": "list", "::10.0.0.1": "list",
		"2001:0:1:1::f5ff:fffe": "list", "100.64.1.1": "list", "198.18.1.1": "list",
		"169.254.169.254": "never", "169.254.0.1": "never", "::ffff:169.254.169.254": "never", "64:ff9b::a9fe:a9fe": "never", "fe80::1%eth0": "never",
		"fd00:ec2::254": "never", "fd20:ce::254": "never", "100.100.100.200": "never", "192.0.0.192": "never", "168.63.129.16": "never", "2002:a9fe:a9fe::1": "never",
		"0.0.0.0": "never", "0.1.2.3": "never", "::": "never", "224.0.0.1": "never", "255.255.255.255": "never", "ff02::1": "never",
	} {
		var open, shut *Refused
		isOpen := !errors.As(Policy{Allow: all}.Judge(at(text, 80)), &open)
		isShut := errors.As(Policy{}.Judge(at(text, 80)), &shut)
		got := map[[2]bool]string{{true, false}: "", {true, true}: "list", {false, true}: "never"}[[2]bool{isOpen, isShut}]
		if got != want || isShut && shut.Listable != (want == "list") || isShut && !strings.Contains(shut.Error(), netip.MustParseAddr(text).String()) {
			t.Errorf("%s: %q, want %q (%v, %v)", text, got, want, open, shut)
		}
	}
}

func TestAStoreIsRefusedWhateverTheListSays(t *testing.T) {
	all, _ := ParseAllow([]string{"loopback", "private"})
	p := Policy{Allow: all, Stores: []netip.AddrPort{at("127.0.0.1", 6379), at("10.0.0.5", 3306), at("93.184.216.34", 6380)}}
	for _, to := range []netip.AddrPort{at("127.0.0.1", 6379), at("127.4.4.4", 6379), at("::1", 6379), at("::ffff:127.0.0.1", 6379), at("10.0.0.5", 3306), at("::ffff:10.0.0.5", 3306), at("93.184.216.34", 6380)} {
		var r *Refused
		if !errors.As(p.Judge(to), &r) || !strings.Contains(r.What, "store of AX") || r.Listable {
			t.Errorf("%s: %v", to, r)
		}
	}
	for _, to := range []netip.AddrPort{at("127.0.0.1", 6380), at("10.0.0.5", 80), at("10.0.0.6", 3306), at("93.184.216.34", 80)} {
		if err := p.Judge(to); err != nil {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestAnAllowListNamesWhatIsNotPublic(t *testing.T) {
	for entry, want := range map[string]error{
		"10.1.0.0/16": nil, "10.1.2.3": nil, "fd12:3456::/32": nil, "::1": nil, "127.0.0.1/32": nil, "loopback": nil, "private": nil, " 10.0.0.0/8 ": nil, "100.64.0.0/16": nil,
		"10.0.0.0/7": ErrPublic, "0.0.0.0/0": ErrPublic, "::/0": ErrPublic, "8.8.8.8": ErrPublic, "2606:4700::/32": ErrPublic, "192.0.0.0/8": ErrPublic,
		"169.254.1.1": ErrNever, "fe80::/10": ErrNever, "224.0.0.0/8": ErrNever, "100.100.100.200": ErrNever, "0.0.0.0/8": ErrNever, "fd00:ec2::254": ErrNever,
		"": ErrEntry, "lan": ErrEntry, "10.1.2": ErrEntry, "10.0.0.0/33": ErrEntry, "fe80::1%eth0": ErrEntry, "::ffff:10.0.0.0/104": ErrEntry, "example.com": ErrEntry,
	} {
		got, err := ParseAllow([]string{entry})
		if !errors.Is(err, want) || (err == nil) != (len(got) > 0) {
			t.Errorf("%q: %v, %v, want %v", entry, got, err, want)
		}
	}
	if _, err := ParseAllow(slices.Repeat([]string{"10.0.0.1"}, MaxAllow+1)); !errors.Is(err, ErrMany) {
		t.Error("a list without end:", err)
	}
}

// The address is judged as it is connected to: behind the name and at each redirect.
func TestTransportAsksAtTheMomentOfConnecting(t *testing.T) {
	var reached bool
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer inner.Close()
	port := inner.URL[strings.LastIndex(inner.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		res, err := (&http.Client{Transport: Transport(Policy{})}).Get("http://" + host + port)
		var r *Refused
		if err == nil {
			_ = res.Body.Close()
		}
		if !errors.As(err, &r) || reached {
			t.Errorf("%s: %v, reached: %v", host, err, reached)
		}
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inner.URL, http.StatusFound) }))
	defer front.Close()
	only := netip.MustParseAddrPort(strings.TrimPrefix(front.URL, "http://"))
	allow, _ := ParseAllow([]string{"loopback"})
	guarded := Policy{Allow: allow, Stores: []netip.AddrPort{netip.MustParseAddrPort(strings.TrimPrefix(inner.URL, "http://"))}}
	res, err := (&http.Client{Transport: Transport(guarded)}).Get("http://" + only.String())
	if err == nil {
		_ = res.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "store of AX") || reached {
		t.Errorf("a redirect to a store: %v, reached: %v", err, reached)
	}
}

func TestTheBookFollowsNames(t *testing.T) {
	b := NewBook("db.internal:3306", "10.0.0.9:6379", "nonsense", "gone.internal:1", "10.0.0.1:99999")
	answer := []netip.Addr{netip.MustParseAddr("10.0.0.5")}
	looks := 0
	b.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		looks++
		if host == "gone.internal" || answer == nil {
			return nil, errors.New("no such host")
		}
		return answer, nil
	}
	now := time.Now()
	if got := b.Known(); !slices.Equal(got, []netip.AddrPort{at("10.0.0.9", 6379)}) {
		t.Errorf("before the first look: %v", got)
	}
	want := []netip.AddrPort{at("10.0.0.5", 3306), at("10.0.0.9", 6379)}
	for range 2 {
		if got := b.Fresh(t.Context(), now); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if looks != 2 {
		t.Errorf("asked %d times within the time that an answer counts", looks)
	}
	answer = nil
	if got := b.Fresh(t.Context(), now.Add(time.Minute)); !slices.Equal(got, want) {
		t.Errorf("names that are not answered: %v", got)
	}
	answer = []netip.Addr{netip.MustParseAddr("10.0.0.6")}
	if got := b.Fresh(t.Context(), now.Add(2*time.Minute)); got[0] != at("10.0.0.6", 3306) {
		t.Errorf("a name that has moved: %v", got)
	}
	if (*Book)(nil).Fresh(t.Context(), now) != nil || (*Book)(nil).Known() != nil {
		t.Error("no book knows addresses")
	}
}

// A store on loopback is guarded at each address of this machine.
func TestAStoreOnLoopbackIsThisMachines(t *testing.T) {
	b := NewBook("127.0.0.1:6379")
	stores := b.Known()
	for _, ip := range append(ownAddresses(), netip.MustParseAddr("127.3.3.3")) {
		if ip.IsLinkLocalUnicast() {
			continue
		}
		var r *Refused
		if err := (Policy{Allow: []netip.Prefix{netip.PrefixFrom(ip, ip.BitLen())}, Stores: stores}).Judge(netip.AddrPortFrom(ip, 6379)); !errors.As(err, &r) || r.Listable {
			t.Errorf("%s: %v", ip, err)
		}
	}
}

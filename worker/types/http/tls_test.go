package http

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol/netguard"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// pair writes a certificate of its own authority and its key, and returns the paths.
func pair(t *testing.T, name string) (cert, key string, parsed *x509.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, parsed
}

// A server with a certificate of one's own authority, which asks for one of the client: without ca_file it is not trusted,
// without cert_file it does not answer, and nothing switches that off.
func TestOwnAuthorityAndClientCertificate(t *testing.T) {
	serverCert, serverKey, _ := pair(t, "orders.internal")
	clientCert, clientKey, client := pair(t, "ax")
	own, err := tls.LoadX509KeyPair(serverCert, serverKey)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(client)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "https://localhost:1/", http.StatusFound)
		}
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted}
	s.StartTLS()
	t.Cleanup(s.Close)
	all := map[string]any{"ca_file": serverCert, "cert_file": clientCert, "key_file": clientKey, "server_name": "orders.internal"}
	but := func(key string, value any) map[string]any {
		out := map[string]any{}
		for k, v := range all {
			out[k] = v
		}
		if out[key] = value; value == nil {
			delete(out, key)
		}
		return out
	}
	for _, c := range []struct {
		path string
		tls  map[string]any
		says string // "": success
	}{
		{"", all, ""},
		{"", but("server_name", nil), ""},
		{"", nil, "certificate"},
		{"", but("ca_file", nil), "certificate"},
		{"", but("server_name", "else.internal"), "else.internal"},
		{"", map[string]any{"ca_file": serverCert}, "certificate required"},
		{"", but("key_file", nil), "belong together"},
		{"", but("ca_file", "ca.pem"), "absolute path"},
		{"", but("ca_file", clientKey), "holds no certificate"},
		{"", but("ca_file", "/no/such/file"), "no such file"},
		{"", but("insecure", true), "insecure"},
		{"/away", all, "client certificate does not follow"},
	} {
		exec := map[string]any{"url": s.URL + c.path}
		if c.tls != nil {
			exec["tls"] = c.tls
		}
		o, _ := run(t, context.Background(), exec, types.Task{})
		if (o.Run.Outcome == runner.Success) != (c.says == "") || !strings.Contains(o.Run.Message, c.says) {
			t.Errorf("%v: %+v", c.tls, o)
		}
	}
}

// Nothing but what the project's list opens, and never a store, whichever side knows of it.
func TestARequestGoesNowhereElse(t *testing.T) {
	reached := 0
	url := serve(t, func(http.ResponseWriter, *http.Request) { reached++ })
	own := netip.MustParseAddrPort(strings.TrimPrefix(url, "http://"))
	spool, err := runner.OpenSpool(t.TempDir(), runner.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		policy netguard.Policy
		known  *netguard.Book
		says   string
	}{
		{"no list", netguard.Policy{}, nil, "admin may allow"},
		{"a list without it", netguard.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, nil, "admin may allow"},
		{"the center's store", netguard.Policy{Allow: loopback(t), Stores: []netip.AddrPort{own}}, nil, "store of AX"},
		{"the worker's store", netguard.Policy{Allow: loopback(t)}, netguard.NewBook(own.String()), "store of AX"},
		{"allowed", netguard.Policy{Allow: loopback(t)}, netguard.NewBook("10.9.9.9:6379"), ""},
	} {
		out := spool.Create(9)
		o := New("test", c.known).Run(t.Context(), types.Task{Attempt: 9, Net: c.policy, Exec: []byte(`{"url":"` + url + `"}`)}, out)
		out.Finish(time.Now())
		if (o.Run.Outcome == runner.Success) != (c.says == "") || !strings.Contains(o.Run.Message, c.says) || (reached > 0) != (c.says == "") {
			t.Errorf("%s: %+v, reached %d times", c.name, o, reached)
		}
	}
}

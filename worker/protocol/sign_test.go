package protocol_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

var (
	signedAt = time.UnixMilli(1704045600000)
	secret   = []byte("correct horse battery staple")
)

// The value was made with openssl; docs/protocol.md shows how.
func TestSignIsPinned(t *testing.T) {
	got := protocol.Sign(secret, "POST", "/run/shell?x=1", signedAt, "abcdefghijklmnop", []byte(`{"traceId":"`+trace+`"}`))
	if want := "v1=96fd7dc0a63b6ff067536d3721214317d769bfd7ba4101bebbf4c2ba62999e88"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// received sends a signed request through a real server and gives what arrived there.
func received(t *testing.T, method, path string, body []byte, change func(*http.Request)) (*http.Request, []byte) {
	t.Helper()
	var got *http.Request
	var read []byte
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		read, _ = io.ReadAll(r.Body)
		got = r
	}))
	defer srv.Close()
	r, err := http.NewRequest(method, srv.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	protocol.SignRequest(r, "default/billing", secret, signedAt, body)
	change(r)
	answer, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return got, read
}

func TestASignedRequestIsTaken(t *testing.T) {
	for _, path := range []string{"/run", "/", "", "/run/%2F?attempt=4711&x=a%20b", "/日终?q=日"} {
		r, body := received(t, "POST", path, []byte("{}"), func(*http.Request) {})
		for _, off := range []time.Duration{0, 300 * time.Second, -300 * time.Second} {
			if err := protocol.VerifyRequest(r, body, [][]byte{[]byte("new"), secret}, signedAt.Add(off)); err != nil {
				t.Errorf("%q at %v: %v", path, off, err)
			}
		}
		if r.Header.Get(protocol.HeaderExecutor) != "default/billing" {
			t.Errorf("executor %q", r.Header.Get(protocol.HeaderExecutor))
		}
	}
}

func TestEachRequestHasItsOwnNonce(t *testing.T) {
	a, _ := received(t, "GET", "/x", nil, func(*http.Request) {})
	b, _ := received(t, "GET", "/x", nil, func(*http.Request) {})
	if a.Header.Get(protocol.HeaderNonce) == b.Header.Get(protocol.HeaderNonce) {
		t.Error("the same nonce twice")
	}
}

func TestAForeignRequestIsRefused(t *testing.T) {
	set := func(header, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(header, value) }
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		body   string
		now    time.Time
		kind   string
	}{
		"no time":         {set(protocol.HeaderTime, ""), "{}", signedAt, protocol.SignatureMissing},
		"a date as time":  {set(protocol.HeaderTime, "2024-01-01"), "{}", signedAt, protocol.SignatureMissing},
		"no nonce":        {set(protocol.HeaderNonce, ""), "{}", signedAt, protocol.SignatureMissing},
		"short nonce":     {set(protocol.HeaderNonce, "abc"), "{}", signedAt, protocol.SignatureMissing},
		"long nonce":      {set(protocol.HeaderNonce, strings.Repeat("a", 65)), "{}", signedAt, protocol.SignatureMissing},
		"odd nonce":       {set(protocol.HeaderNonce, "aaaaaaaaaaaaaaa b"), "{}", signedAt, protocol.SignatureMissing},
		"no signature":    {set(protocol.HeaderSignature, ""), "{}", signedAt, protocol.SignatureMissing},
		"no version":      {set(protocol.HeaderSignature, strings.Repeat("0", 64)), "{}", signedAt, protocol.SignatureMissing},
		"half signature":  {set(protocol.HeaderSignature, "v1=00"), "{}", signedAt, protocol.SignatureMissing},
		"zero signature":  {set(protocol.HeaderSignature, "v1="+strings.Repeat("0", 64)), "{}", signedAt, protocol.SignatureWrong},
		"other time":      {set(protocol.HeaderTime, "1704045600001"), "{}", signedAt, protocol.SignatureWrong},
		"other nonce":     {set(protocol.HeaderNonce, "abcdefghijklmnop"), "{}", signedAt, protocol.SignatureWrong},
		"other body":      {func(*http.Request) {}, "{ }", signedAt, protocol.SignatureWrong},
		"other path":      {func(r *http.Request) { r.URL.Path = "/other" }, "{}", signedAt, protocol.SignatureWrong},
		"other query":     {func(r *http.Request) { r.URL.RawQuery = "attempt=2" }, "{}", signedAt, protocol.SignatureWrong},
		"other method":    {func(r *http.Request) { r.Method = "PUT" }, "{}", signedAt, protocol.SignatureWrong},
		"later":           {func(*http.Request) {}, "{}", signedAt.Add(300001 * time.Millisecond), protocol.SignatureTime},
		"sooner":          {func(*http.Request) {}, "{}", signedAt.Add(-300001 * time.Millisecond), protocol.SignatureTime},
		"wrong and later": {func(r *http.Request) { r.Method = "PUT" }, "{}", signedAt.Add(time.Hour), protocol.SignatureWrong},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := received(t, "POST", "/run?attempt=1", []byte("{}"), c.change)
			var fault *protocol.SignatureError
			err := protocol.VerifyRequest(r, []byte(c.body), [][]byte{secret}, c.now)
			if !errors.As(err, &fault) || fault.Kind != c.kind {
				t.Fatalf("%v, want %s", err, c.kind)
			}
			if (fault.Now == c.now.UnixMilli()) != (c.kind == protocol.SignatureTime) {
				t.Errorf("its clock: %d", fault.Now)
			}
		})
	}
}

// A receiver that has no secret takes nothing, not even what was signed with none.
func TestAnEmptySecretFitsNothing(t *testing.T) {
	r := httptest.NewRequest("POST", "/run", nil)
	protocol.SignRequest(r, "default/billing", nil, signedAt, nil)
	for _, secrets := range [][][]byte{nil, {}, {nil}, {{}}} {
		if err := protocol.VerifyRequest(r, nil, secrets, signedAt); err == nil {
			t.Errorf("%v fits", secrets)
		}
	}
}

// A proxy is asked with a whole URL; what is signed is its path and query.
func TestAWholeURLAsTarget(t *testing.T) {
	for target, path := range map[string]string{"http://h.example/run?a=1": "/run?a=1", "http://h.example": "/", "/x?next=http://y/z": "/x?next=http://y/z"} {
		r := httptest.NewRequest("POST", path, nil)
		protocol.SignRequest(r, "default/billing", secret, signedAt, nil)
		r.RequestURI = target
		if err := protocol.VerifyRequest(r, nil, [][]byte{secret}, signedAt); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}

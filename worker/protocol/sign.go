package protocol

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed request between the center and an executor, in both directions.
const (
	HeaderExecutor  = "X-Ax-Executor"  // project/name of the executor
	HeaderTime      = "X-Ax-Time"      // the sender's clock, UTC milliseconds
	HeaderNonce     = "X-Ax-Nonce"     // 16–64 of A–Z a–z 0–9 _ -, new for each request
	HeaderSignature = "X-Ax-Signature" // v1=<hex>
)

// MaxSignatureAge is how far the time of a signed request may be from the receiver's clock, before or after.
// A receiver remembers nonces for twice as long.
const MaxSignatureAge = 300 * time.Second

const (
	signatureVersion = "v1"
	minNonce         = 16
	maxNonce         = 64
)

// Sign gives the value of X-Ax-Signature: "v1=" and the hex of HMAC-SHA256 over version, method, request target
// (path?query, as sent), time, nonce and the hex of the body's SHA-256, a line each without a last line feed.
func Sign(secret []byte, method, target string, at time.Time, nonce string, body []byte) string {
	return signatureVersion + "=" + hex.EncodeToString(signature(secret, method, target, millis(at), nonce, body))
}

func signature(secret []byte, method, target, at, nonce string, body []byte) []byte {
	sum := sha256.Sum256(body)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(strings.Join([]string{signatureVersion, method, target, at, nonce, hex.EncodeToString(sum[:])}, "\n")))
	return mac.Sum(nil)
}

func millis(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }

// SignRequest sets the four headers of a request that is about to be sent, with a new nonce. executor is
// project/name, body what r.Body will give. A request that is sent again is signed again.
func SignRequest(r *http.Request, executor string, secret []byte, at time.Time, body []byte) {
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	nonce := rand.Text()
	r.Header.Set(HeaderExecutor, executor)
	r.Header.Set(HeaderTime, millis(at))
	r.Header.Set(HeaderNonce, nonce)
	r.Header.Set(HeaderSignature, Sign(secret, method, r.URL.RequestURI(), at, nonce, body))
}

// The kinds of a SignatureError.
const (
	SignatureMissing = "missing" // a header is absent or malformed
	SignatureWrong   = "wrong"   // none of the secrets gives this signature
	SignatureTime    = "time"    // signed rightly, at a moment too far from the receiver's clock
)

// SignatureError says why a request is not taken as the sender's. It is answered with 401.
type SignatureError struct {
	Kind string
	Text string // a sentence for the sender
	Now  int64  // the receiver's clock, UTC milliseconds; 0 unless Kind is SignatureTime
}

// Error is the sentence.
func (e *SignatureError) Error() string { return e.Text }

// VerifyRequest judges a request as a server received it: its headers, the signature by one of the secrets, and
// that its time is within MaxSignatureAge of now. The error is a *SignatureError. An empty secret fits nothing.
// Whether the nonce was seen before and whether the executor is the right one is for the receiver to ask.
func VerifyRequest(r *http.Request, body []byte, secrets [][]byte, now time.Time) error {
	sent, nonce := r.Header.Get(HeaderTime), r.Header.Get(HeaderNonce)
	at, err := strconv.ParseInt(sent, 10, 64)
	if err != nil {
		return &SignatureError{Kind: SignatureMissing, Text: HeaderTime + " must hold UTC milliseconds, such as 1704045600000"}
	}
	if !plainNonce(nonce) {
		return &SignatureError{Kind: SignatureMissing, Text: HeaderNonce + " must hold 16 to 64 of the characters A-Z a-z 0-9 _ -, new for each request"}
	}
	digits, ok := strings.CutPrefix(r.Header.Get(HeaderSignature), signatureVersion+"=")
	given, err := hex.DecodeString(digits)
	if !ok || err != nil || len(given) != sha256.Size {
		return &SignatureError{Kind: SignatureMissing, Text: HeaderSignature + " must hold v1= and 64 hex digits"}
	}
	if !anySigned(secrets, given, r.Method, requestTarget(r), sent, nonce, body) {
		return &SignatureError{Kind: SignatureWrong, Text: HeaderSignature + " does not fit: compare the secret, the method, the path with its query, and that the body is signed byte for byte as sent"}
	}
	if off := now.Sub(time.UnixMilli(at)); off > MaxSignatureAge || off < -MaxSignatureAge {
		return &SignatureError{Kind: SignatureTime, Now: now.UnixMilli(), Text: HeaderTime + " is more than " +
			strconv.Itoa(int(MaxSignatureAge/time.Second)) + " s off this machine's clock: set the clocks, and sign a request again when it is sent again"}
	}
	return nil
}

// anySigned compares with every secret, so that the time taken does not tell which one fitted.
func anySigned(secrets [][]byte, given []byte, method, target, at, nonce string, body []byte) bool {
	fits := false
	for _, secret := range secrets {
		if len(secret) > 0 && hmac.Equal(given, signature(secret, method, target, at, nonce, body)) {
			fits = true
		}
	}
	return fits
}

// requestTarget is path?query as the sender wrote it, also when a proxy was asked with a whole URL.
func requestTarget(r *http.Request) string {
	target := r.RequestURI
	if target == "" {
		return r.URL.RequestURI()
	}
	if _, rest, whole := strings.Cut(target, "://"); whole && !strings.HasPrefix(target, "/") {
		if i := strings.IndexAny(rest, "/?"); i >= 0 {
			return rest[i:]
		}
		return "/"
	}
	return target
}

func plainNonce(nonce string) bool {
	if len(nonce) < minNonce || len(nonce) > maxNonce {
		return false
	}
	for _, c := range []byte(nonce) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

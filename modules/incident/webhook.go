package incident

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// The headers of a notice.
const (
	HeaderNotice    = "AX-Notice-Id" // the same at each try
	HeaderTimestamp = "AX-Timestamp" // Unix seconds of this try
	HeaderSignature = "AX-Signature" // "sha256=" and hex; see Sign
)

// Webhook posts notices to one address, signed. Safe for concurrent use; make it with
// NewWebhook.
type Webhook struct {
	url    string
	secret string
	client *http.Client
}

// NewWebhook posts to the address and signs with the secret. Redirects are not
// followed, no proxy is used, and the addresses where clouds keep their machines' secrets
// (169.254.0.0/16, fe80::/10, fd00:ec2::254, 100.100.100.200) are refused once the name is
// resolved.
func NewWebhook(address, secret string) *Webhook {
	dialer := &net.Dialer{Timeout: hookLimit, Control: func(_, address string, _ syscall.RawConn) error { return allowed(address) }}
	return &Webhook{url: address, secret: secret, client: &http.Client{
		Timeout:       hookLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DialContext: dialer.DialContext, MaxIdleConns: 1, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10},
	}}
}

// metadata are the addresses beside the link-local ones at which clouds keep their
// machines' secrets.
var metadata = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200")}

// allowed refuses addresses that no receiver has.
func allowed(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %s can't be read: %w", address, err)
	}
	if ip := at.Addr().Unmap(); ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip.IsUnspecified() || slices.Contains(metadata, ip.WithZone("")) {
		return fmt.Errorf("%s is not an address that notices may go to", ip)
	}
	return nil
}

// Sign is the signature of a body at a time: the hex of HMAC-SHA256, with the secret,
// over the timestamp's text, a dot and the body.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Send posts one notice at a time; nil: it was taken, with a status of 2xx.
func (w *Webhook) Send(ctx context.Context, at time.Time, id domain.ID, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader([]byte(body)))
	if err != nil {
		return fmt.Errorf("alerts.webhook_url is no address: %w", err)
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ax")
	req.Header.Set(HeaderNotice, id.String())
	req.Header.Set(HeaderTimestamp, stamp)
	req.Header.Set(HeaderSignature, Sign(w.secret, stamp, []byte(body)))
	res, err := w.client.Do(req)
	if err != nil {
		return plain(err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // so that the connection can be used again
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return fmt.Errorf("the receiver answers %d, and redirects are not followed: give its final address", res.StatusCode)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return fmt.Errorf("the receiver answers %d", res.StatusCode)
	}
	return nil
}

// plain is the error without the address, which may hold a secret.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

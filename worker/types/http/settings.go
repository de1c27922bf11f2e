package http

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/axsched/ax/worker/types"
)

// settings are the keys of exec.
type settings struct {
	URL          string                     `json:"url"`
	Method       string                     `json:"method"`
	Headers      map[string]string          `json:"headers"`
	Body         string                     `json:"body"`
	ExpectStatus []int                      `json:"expect_status"`
	ExpectJSON   map[string]json.RawMessage `json:"expect_json"`
	TLS          *tlsSettings               `json:"tls"`
}

// tlsSettings name files on the worker's machine.
type tlsSettings struct {
	CAFile     string `json:"ca_file"`
	CertFile   string `json:"cert_file"`
	KeyFile    string `json:"key_file"`
	ServerName string `json:"server_name"`
}

// read takes the settings apart and refuses what can't be sent.
func read(raw json.RawMessage) (settings, *url.URL, error) {
	var s settings
	if err := types.DecodeExec(raw, &s); err != nil {
		return s, nil, err
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return s, nil, errors.New("exec.url: must be a full http or https address")
	}
	if s.Method == "" {
		s.Method = http.MethodGet
		if s.Body != "" {
			s.Method = http.MethodPost
		}
	}
	return s, u, nil
}

func (s settings) expects(status int) bool {
	if len(s.ExpectStatus) == 0 {
		return status >= 200 && status <= 299
	}
	return slices.Contains(s.ExpectStatus, status)
}

// hasCertificate reports whether the worker shows who it is.
func (s settings) hasCertificate() bool { return s.TLS != nil && s.TLS.CertFile != "" }

// config reads the files. nil settings are the machine's own authorities and no certificate. There is no switch that takes any
// certificate: an authority of one's own is what ca_file is for. What stands in a file is never told.
func (t *tlsSettings) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t == nil {
		return c, nil
	}
	for key, path := range map[string]string{"ca_file": t.CAFile, "cert_file": t.CertFile, "key_file": t.KeyFile} {
		if path != "" && !filepath.IsAbs(path) {
			return nil, fmt.Errorf("exec.tls.%s: must be an absolute path on the worker's machine", key)
		}
	}
	c.ServerName = t.ServerName
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("exec.tls.ca_file: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("exec.tls.ca_file: %s holds no certificate in PEM form", t.CAFile)
		}
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("exec.tls: cert_file and key_file belong together")
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("exec.tls: cert_file and key_file: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

func TestEveryNameIsServedInEveryForm(t *testing.T) {
	if len(names()) < 6 {
		t.Fatalf("manifest holds %d files", len(names()))
	}
	for name := range names() {
		hashed := strings.TrimPrefix(Path(name), Prefix)
		plain, ok := Lookup(hashed, "")
		if !ok || plain.Encoding != "" || len(plain.Data) == 0 || plain.ContentType == "" {
			t.Fatalf("%s: plain form is missing or odd: %+v", name, plain.ContentType)
		}
		if strings.HasSuffix(name, ".woff2") {
			continue
		}
		br, _ := Lookup(hashed, "gzip, deflate, br")
		if got, err := io.ReadAll(brotli.NewReader(bytes.NewReader(br.Data))); br.Encoding != "br" || err != nil || !bytes.Equal(got, plain.Data) {
			t.Errorf("%s: brotli form (%s) differs: %v", name, br.Encoding, err)
		}
		gz, _ := Lookup(hashed, "gzip;q=0.5, br;q=0")
		r, err := gzip.NewReader(bytes.NewReader(gz.Data))
		if err != nil || gz.Encoding != "gzip" {
			t.Fatalf("%s: gzip form (%s): %v", name, gz.Encoding, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain.Data) {
			t.Errorf("%s: gzip form differs: %v", name, err)
		}
	}
}

func TestOnlyBuiltFilesAreServed(t *testing.T) {
	for _, name := range []string{"", ".", "manifest.json", "../embed.go", "missing/x.js", strings.TrimPrefix(Path("app.js"), Prefix) + ".br"} {
		if _, ok := Lookup(name, "br"); ok {
			t.Errorf("Lookup(%q) served something", name)
		}
	}
	if got := Path("nothing.js"); !strings.Contains(got, "missing") {
		t.Errorf("Path of an unknown name is %s", got)
	}
}

// TestStylesHoldNoForeignAddress wants nothing loaded from elsewhere.
func TestStylesHoldNoForeignAddress(t *testing.T) {
	for _, name := range []string{"ax.css", "tabler.css"} {
		a, ok := Lookup(strings.TrimPrefix(Path(name), Prefix), "")
		if !ok || bytes.Contains(a.Data, []byte("url(http")) || bytes.Contains(a.Data, []byte("@import")) {
			t.Errorf("%s loads something from elsewhere, or is missing", name)
		}
	}
}

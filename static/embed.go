// Package static owns the files that pages load: one script, one editor script,
// styles, icons and a font, as built by static/build and committed in dist. It
// needs neither npm nor a network, and refuses to serve: whoever does asks Lookup.
//
// File names carry a hash of their content, so every answer may be kept for ever
// ("immutable").
package static

import (
	"embed"
	"encoding/json"
	"io/fs"
	"mime"
	"path"
	"strings"
	"sync"
)

// Prefix is where the files are expected to be served.
const Prefix = "/static/"

//go:embed dist
var dist embed.FS

// FS is the built files, with the precompressed .br and .gz beside each.
func FS() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return sub
}

// names maps the plain name to the hashed one; parsed at the first use.
var names = sync.OnceValue(func() map[string]string {
	data, err := dist.ReadFile("dist/manifest.json")
	if err != nil {
		panic(err)
	}
	var manifest struct{ Files map[string]string }
	if err := json.Unmarshal(data, &manifest); err != nil {
		panic(err)
	}
	return manifest.Files
})

// Path is the address of a file by its plain name: Path("app.js") is
// "/static/app.1a2b3c4d.js". An unknown name gives an address that is not found.
func Path(name string) string {
	if hashed, ok := names()[name]; ok {
		return Prefix + hashed
	}
	return Prefix + "missing/" + name
}

// Asset is one file as it should be sent. Encoding is "br", "gzip" or "".
type Asset struct {
	Data        []byte
	ContentType string
	Encoding    string
}

// Lookup finds a file by its hashed name (the part after Prefix) in the best form
// that acceptEncoding allows. ok is false for names that are not built files.
func Lookup(name, acceptEncoding string) (a Asset, ok bool) {
	name = path.Clean(name)
	if name == "manifest.json" || strings.HasSuffix(name, ".br") || strings.HasSuffix(name, ".gz") {
		return Asset{}, false
	}
	a.ContentType = mime.TypeByExtension(path.Ext(name))
	if path.Ext(name) == ".woff2" {
		a.ContentType = "font/woff2"
	}
	for _, form := range []struct{ encoding, suffix string }{{"br", ".br"}, {"gzip", ".gz"}} {
		if !accepts(acceptEncoding, form.encoding) {
			continue
		}
		if data, err := dist.ReadFile("dist/" + name + form.suffix); err == nil {
			a.Data, a.Encoding = data, form.encoding
			return a, true
		}
	}
	data, err := dist.ReadFile("dist/" + name)
	if err != nil {
		return Asset{}, false
	}
	a.Data = data
	return a, true
}

func accepts(header, encoding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == encoding {
			return strings.ReplaceAll(params, " ", "") != "q=0"
		}
	}
	return false
}

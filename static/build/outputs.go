package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/evanw/esbuild/pkg/api"
)

// manifest tells the program which hashed name a file has. Inputs is the digest
// of what went in.
type manifest struct {
	Inputs string            `json:"inputs"`
	Files  map[string]string `json:"files"`
}

// builder gathers outputs and the packages that ended up in them.
type builder struct {
	out      outputs
	files    map[string]string
	packages map[string]bool
}

func makeOutputs(inputs string) (outputs, error) {
	b := &builder{out: outputs{}, files: map[string]string{}, packages: map[string]bool{}}
	steps := []func() error{b.font, b.styles, b.scripts, b.icons, b.licences}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	data, err := json.MarshalIndent(manifest{Inputs: inputs, Files: b.files}, "", "  ")
	if err != nil {
		return nil, err
	}
	b.out[distDir+"/manifest.json"] = append(data, '\n')
	return b.out, nil
}

// add puts a file under its hashed name, with its compressed forms unless it is
// compressed already.
func (b *builder) add(name string, data []byte) error {
	sum := sha256.Sum256(data)
	ext := filepath.Ext(name)
	hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:4]) + ext
	b.files[name] = hashed
	b.out[distDir+"/"+hashed] = data
	if ext == ".woff2" {
		return nil
	}
	var br, gz bytes.Buffer
	bw := brotli.NewWriterLevel(&br, brotli.BestCompression)
	if _, err := bw.Write(data); err != nil {
		return err
	}
	if err := bw.Close(); err != nil {
		return err
	}
	zw, err := gzip.NewWriterLevel(&gz, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := zw.Write(data); err != nil {
		return err
	}
	if err := zw.Close(); err != nil {
		return err
	}
	b.out[distDir+"/"+hashed+".br"] = br.Bytes()
	b.out[distDir+"/"+hashed+".gz"] = gz.Bytes()
	return nil
}

func (b *builder) font() error {
	data, err := os.ReadFile(npmDir + "/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2")
	if err != nil {
		return err
	}
	b.packages["@fontsource-variable/inter"] = true
	return b.add("inter.woff2", data)
}

var sourceMap = regexp.MustCompile(`/\*# sourceMappingURL=[^*]*\*/`)

func (b *builder) styles() error {
	kit, err := os.ReadFile(npmDir + "/@tabler/core/dist/css/tabler.min.css")
	if err != nil {
		return err
	}
	b.packages["@tabler/core"] = true
	if err := b.add("tabler.css", sourceMap.ReplaceAll(kit, nil)); err != nil {
		return err
	}
	own, err := os.ReadFile(srcDir + "/ax.css")
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(own), "inter.woff2", "/static/"+b.files["inter.woff2"])
	result := api.Transform(text, api.TransformOptions{
		Loader: api.LoaderCSS, MinifyWhitespace: true, MinifySyntax: true, Sourcefile: "ax.css",
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("ax.css: %s", result.Errors[0].Text)
	}
	return b.add("ax.css", result.Code)
}

func (b *builder) scripts() error {
	for _, name := range []string{"app.js", "editor.js"} {
		result := api.Build(api.BuildOptions{
			EntryPoints: []string{srcDir + "/" + name}, Bundle: true, Write: false, Metafile: true,
			MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
			Format: api.FormatIIFE, Target: api.ES2022, LegalComments: api.LegalCommentsNone,
			NodePaths: []string{npmDir}, Outfile: name, LogLevel: api.LogLevelWarning,
		})
		if len(result.Errors) > 0 {
			return fmt.Errorf("%s: %s", name, result.Errors[0].Text)
		}
		if err := b.notePackages(result.Metafile); err != nil {
			return err
		}
		if err := b.add(name, result.OutputFiles[0].Contents); err != nil {
			return err
		}
	}
	return nil
}

var packageOf = regexp.MustCompile(`node_modules/((?:@[^/]+/)?[^/]+)/`)

func (b *builder) notePackages(metafile string) error {
	var meta struct{ Inputs map[string]any }
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return err
	}
	for input := range meta.Inputs {
		if m := packageOf.FindStringSubmatch(input); m != nil {
			b.packages[m[1]] = true
		}
	}
	return nil
}

var (
	svgInside = regexp.MustCompile(`(?s)<svg[^>]*>(.*)</svg>`)
	svgFrame  = regexp.MustCompile(`<path stroke="none" d="M0 0h24v24H0z" fill="none"\s*/>`)
	svgSpace  = regexp.MustCompile(`\s*\n\s*`)
)

// icons joins the icons in use into one sprite of symbols.
func (b *builder) icons() error {
	names, err := iconNames()
	if err != nil {
		return err
	}
	b.packages["@tabler/icons"] = true
	var sprite strings.Builder
	sprite.WriteString(`<svg xmlns="http://www.w3.org/2000/svg">`)
	for _, name := range names {
		data, err := os.ReadFile(npmDir + "/@tabler/icons/icons/outline/" + name + ".svg")
		if err != nil {
			return fmt.Errorf("icon %q is used in views and not in @tabler/icons: %w", name, err)
		}
		inside := svgInside.FindSubmatch(data)
		if inside == nil {
			return fmt.Errorf("icon %q: no svg in its file", name)
		}
		body := svgSpace.ReplaceAll(svgFrame.ReplaceAll(inside[1], nil), nil)
		fmt.Fprintf(&sprite, `<symbol id="%s" viewBox="0 0 24 24">%s</symbol>`, name, body)
	}
	sprite.WriteString("</svg>")
	if err := b.add("icons.svg", []byte(sprite.String())); err != nil {
		return err
	}
	logo, err := os.ReadFile(srcDir + "/logo.svg")
	if err != nil {
		return err
	}
	return b.add("logo.svg", logo)
}

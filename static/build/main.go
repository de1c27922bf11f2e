// Command build makes static/dist out of static/src and the npm packages that
// static/package.json pins: it bundles, minifies, copies, names files by their
// content and compresses them beforehand. Run it from the root of the repository,
// after `npm ci --ignore-scripts` in static:
//
//	go run ./static/build          writes static/dist and static/THIRD_PARTY_LICENSES
//	go run ./static/build -check   exits 1 when they are stale
//
// Without the npm packages -check compares what went in (sources, package-lock,
// icon names, this program) with what went in at the last build.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

const (
	root     = "static"
	srcDir   = "static/src"
	distDir  = "static/dist"
	npmDir   = "static/node_modules"
	licences = "static/THIRD_PARTY_LICENSES"
)

func main() {
	check := flag.Bool("check", false, "write nothing, exit 1 when static/dist is stale")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "static/build:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	inputs, err := inputsDigest()
	if err != nil {
		return err
	}
	_, statErr := os.Stat(npmDir)
	if check && statErr != nil {
		return checkInputs(inputs)
	}
	if statErr != nil {
		return fmt.Errorf("%s is missing: run npm ci --ignore-scripts in %s", npmDir, root)
	}
	out, err := makeOutputs(inputs)
	if err != nil {
		return err
	}
	if check {
		return compare(out)
	}
	return write(out)
}

// outputs are the files to be, by path from the root of the repository.
type outputs map[string][]byte

func (o outputs) paths() []string {
	var all []string
	for p := range o {
		all = append(all, p)
	}
	sort.Strings(all)
	return all
}

func compare(out outputs) error {
	present, err := filepath.Glob(distDir + "/*")
	if err != nil {
		return err
	}
	for _, p := range present {
		if _, ok := out[p]; !ok {
			return fmt.Errorf("%s is left over: run go run ./static/build", p)
		}
	}
	for _, p := range out.paths() {
		data, err := os.ReadFile(p)
		if err != nil || !bytes.Equal(data, out[p]) {
			return fmt.Errorf("%s is stale: run go run ./static/build", p)
		}
	}
	return nil
}

func write(out outputs) error {
	if err := os.RemoveAll(distDir); err != nil {
		return err
	}
	if err := os.MkdirAll(distDir, 0o755); err != nil {
		return err
	}
	for _, p := range out.paths() {
		if err := os.WriteFile(p, out[p], 0o644); err != nil {
			return err
		}
	}
	return nil
}

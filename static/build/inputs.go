package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// inputsDigest sums up everything that a build depends on.
func inputsDigest() (string, error) {
	var paths []string
	for _, pattern := range []string{srcDir + "/*", root + "/build/*.go", root + "/package-lock.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		paths = append(paths, found...)
	}
	sort.Strings(paths)
	sum := sha256.New()
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n", p, len(data))
		sum.Write(data)
	}
	icons, err := iconNames()
	if err != nil {
		return "", err
	}
	fmt.Fprint(sum, icons)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func checkInputs(inputs string) error {
	data, err := os.ReadFile(distDir + "/manifest.json")
	if err != nil {
		return err
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	if m.Inputs != inputs {
		return fmt.Errorf("sources changed since %s was built: run npm ci --ignore-scripts in %s, then go run ./static/build", distDir, root)
	}
	return nil
}

// iconUse matches how templates and Go code name an icon: Icon("x"), icon: "x", Empty("x".
var iconUse = regexp.MustCompile(`\b(?:[iI]con(?:\(|:\s*)|Empty\()"([a-z0-9-]+)"`)

// iconNames lists the icons that the views use, sorted.
func iconNames() ([]string, error) {
	seen := map[string]bool{}
	err := filepath.WalkDir("views", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		generated := strings.HasSuffix(p, "_templ.go")
		if generated || (!strings.HasSuffix(p, ".templ") && !strings.HasSuffix(p, ".go")) {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, m := range iconUse.FindAllSubmatch(data, -1) {
			seen[string(m[1])] = true
		}
		return nil
	})
	var names []string
	for n := range seen {
		names = append(names, n)
	}
	sort.Strings(names)
	return names, err
}

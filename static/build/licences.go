package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// licences writes the texts that the shipped packages ask to be kept beside them.
func (b *builder) licences() error {
	var names []string
	for n := range b.packages {
		names = append(names, n)
	}
	sort.Strings(names)
	var all strings.Builder
	all.WriteString("Parts of static/dist come from the packages below; each keeps its own licence.\n")
	for _, name := range names {
		text, err := licenceOf(name)
		if err != nil {
			return err
		}
		all.WriteString("\n" + strings.Repeat("-", 78) + "\n" + text)
	}
	b.out[licences] = []byte(all.String())
	return nil
}

func licenceOf(name string) (string, error) {
	dir := filepath.Join(npmDir, name)
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", err
	}
	var pkg struct{ Version, License string }
	if err := json.Unmarshal(data, &pkg); err != nil {
		return "", fmt.Errorf("%s/package.json: %w", dir, err)
	}
	head := fmt.Sprintf("%s %s (%s)\n", name, pkg.Version, pkg.License)
	found, err := filepath.Glob(filepath.Join(dir, "[Ll][Ii][Cc][Ee][Nn][SsCc][Ee]*"))
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return head + "\nThe package carries no licence file; package.json names the licence above.\n", nil
	}
	sort.Strings(found)
	text, err := os.ReadFile(found[0])
	if err != nil {
		return "", err
	}
	return head + "\n" + strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")) + "\n", nil
}

package storybook

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// forbidden is what the security policy would stop, and what an id may not be.
var forbidden = regexp.MustCompile(`\sstyle=|\son[a-z]+=|<style|javascript:|<script(?:>| [^>]*>[^<])`)

// TestEveryStory renders each page in both languages: no word missing, no inline
// style or script, no id twice, every form carries the token, every label has its
// field.
func TestEveryStory(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Stories() {
		if seen[s.Name] {
			t.Errorf("two stories are named %s", s.Name)
		}
		seen[s.Name] = true
		for _, lang := range []string{"en", "zh-CN"} {
			var page bytes.Buffer
			if err := s.Page(Shell(lang, "")).Render(context.Background(), &page); err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			text := page.String()
			if i := strings.Index(text, "⟦"); i >= 0 {
				t.Errorf("%s in %s lacks a word: %.60s", s.Name, lang, text[i:])
			}
			if found := forbidden.FindString(text); found != "" {
				t.Errorf("%s holds %q", s.Name, found)
			}
			if !strings.Contains(text, `<html lang="`+lang+`"`) {
				t.Errorf("%s does not say that it is in %s", s.Name, lang)
			}
			root, err := html.Parse(&page)
			if err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			checkPage(t, s.Name, root)
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d stories", len(seen))
	}
}

func checkPage(t *testing.T, name string, root *html.Node) {
	t.Helper()
	ids, labels := map[string]int{}, []string{}
	for n := range root.Descendants() {
		if id := attribute(n, "id"); id != "" {
			ids[id]++
		}
		if n.Data == "label" && attribute(n, "for") != "" {
			labels = append(labels, attribute(n, "for"))
		}
		if n.Data == "form" && attribute(n, "method") == "post" && !hasToken(n) {
			t.Errorf("%s: the form to %s has no token", name, attribute(n, "action"))
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%s: id %q stands %d times", name, id, n)
		}
	}
	for _, f := range labels {
		if ids[f] == 0 {
			t.Errorf("%s: a label is for %q, which is not there", name, f)
		}
	}
}

func hasToken(form *html.Node) bool {
	for n := range form.Descendants() {
		if n.Data == "input" && attribute(n, "name") == "csrf" && attribute(n, "value") != "" {
			return true
		}
	}
	return false
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

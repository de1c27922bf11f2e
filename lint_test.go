package main_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What must not be written, said once, each rule with its reason, a line that breaks it and one that does not.
var lintRules = []lintRule{
	{
		name: "no RETURNING", reason: "MySQL has none, and behind it gorm counts duplicates as new",
		in: sqlText, free: []string{"worker/protocol/sqltext/"}, // which reads what others write
		bad: `\bRETURNING\b`, breaks: "DELETE FROM job WHERE id = ? RETURNING id", keeps: "UPDATE instance SET returning_at = ?",
	},
	{
		name: "no FOR SHARE", reason: "a syntax error on MariaDB; kit/dbx has the shared lock",
		in: sqlText, bad: `\bFOR\s+SHARE\b`, breaks: "SELECT id FROM lease FOR SHARE", keeps: "SELECT id FROM lease LOCK IN SHARE MODE",
	},
	{
		name: "locks and upserts in kit/dbx", reason: "each dialect says them its own way; kit/dbx has one helper for each",
		in: sqlText, free: []string{"modules/kit/dbx/"}, bad: `\bON\s+CONFLICT\b|\bON\s+DUPLICATE\s+KEY\b|\bINSERT\s+(OR\s+)?IGNORE\b|\bFOR\s+UPDATE\b|\bLOCK\s+IN\s+SHARE\b|\bREPLACE\s+INTO\b`,
		breaks: "INSERT INTO a (b) VALUES (?) ON DUPLICATE KEY UPDATE b = b", keeps: "INSERT INTO a (b) VALUES (?)",
	},
	{
		name: "no NOWAIT", reason: "each server answers it with another error number",
		in: sqlText, bad: `\bNOWAIT\b`, breaks: "SELECT 1 FOR UPDATE NOWAIT", keeps: "SKIP LOCKED",
	},
	{
		name: "no ordered UPDATE or DELETE", reason: "a syntax error on SQLite: choose the ids first",
		in: sqlText, bad: `^\W*(UPDATE|DELETE)\b[^;]*\bLIMIT\b`, breaks: "DELETE FROM log WHERE at < ? LIMIT 100", keeps: "SELECT id FROM log ORDER BY id LIMIT 100",
	},
	{
		name: "no clock of the database in SQL", reason: "NOW() has the session's zone and whole seconds; kit/dbx asks for the database's milliseconds",
		in: sqlText, free: []string{"modules/kit/dbx/"}, bad: `\b(NOW|SYSDATE|CURRENT_TIMESTAMP|UNIX_TIMESTAMP|CURDATE)\s*\(|\bCURRENT_TIMESTAMP\b`,
		breaks: "UPDATE trigger SET at = NOW()", keeps: "known_at",
	},
	{
		name: "no gorm traps", reason: "PrepareStmt deadlocks on a bounded pool; AutoMigrate leaves tables that no migration knows; ClockTTL sorts every key at every command",
		in: goCode, bad: `PrepareStmt:\s*true|\.AutoMigrate\(|ClockTTL\(true\)`, breaks: "gorm.Config{PrepareStmt: true}", keeps: "PrepareStmt: false",
	},
	{
		name: "zones from kit/zone", reason: "time.LoadLocation prefers the host's files, and two nodes with different hosts would compute different instants",
		in: goCode, free: []string{"modules/kit/zone/", "config/"}, bad: `time\.LoadLocation\(`, breaks: "time.LoadLocation(name)", keeps: "zone.Load(name)",
	},
	{
		name: "no init", reason: "everything is wired by hand in one place, in an order that can be read",
		in: goCode, bad: `^func init\(\)`, breaks: "func init() {", keeps: "func initial() {",
	},
	{
		name: "no style attribute", reason: "the content security policy forbids it; sizes go into SVG attributes or <progress>",
		in: pages, bad: `\bstyle\s*=`, breaks: `<div style="color:red">`, keeps: `<div data-style-of="x" class="y">`,
	},
	{
		name: "no inline script", reason: "the content security policy forbids it; app.js finds elements by data attributes",
		in: pages, bad: `<script>|\son(click|change|load|submit|input|error)\s*=|javascript:|^\s*(script|css)\s+\w+\(`,
		breaks: `<button onclick="go()">`, keeps: `<button data-confirm="x" type="submit">`,
	},
	{
		name: "no htmx 2", reason: "htmx 4 renamed these, and a renamed attribute fails in silence",
		in: pages, bad: `hx-ext=|\bsse-connect|\bsse-swap|hx-disabled-elt|htmx:[a-z]+[A-Z]|hx-on\b|hx-vars`, breaks: `<form hx-disabled-elt="this">`, keeps: `<form hx-disable>`,
	},
	{
		name: "states have their own colours", reason: "the kit's badges fail AA contrast; ax.css has tokens for states that pass",
		in: pages, bad: `badge bg-|status-(red|green|yellow|orange)|text-(danger|success|warning)`, breaks: `<span class="badge bg-green">`, keeps: `<span class="st st-success">`,
	},
	{
		name: "scripts speak htmx 4", reason: "events are htmx:after:swap",
		in: scripts, bad: `htmx:[a-z]+[A-Z]|\beval\(|new Function\(|\.innerHTML\s*=`, breaks: `addEventListener("htmx:afterSwap", f)`, keeps: `addEventListener("htmx:after:swap", f)`,
	},
	{
		name: "nothing left to do", reason: "what is not built is refused, not promised",
		in: everything, bad: `\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`, breaks: "// TO" + "DO: later", keeps: "what is to be done",
	},
}

type lintRule struct {
	name, reason  string
	in            func(path, text string) []excerpt // the parts of a file that the rule reads
	free          []string                          // paths that begin so are free
	bad           string
	breaks, keeps string
}

// excerpt is a piece of a file with the line on which it starts.
type excerpt struct {
	line int
	text string
}

func sourceOnly(path, suffix string) bool {
	return strings.HasSuffix(path, suffix) && !strings.HasSuffix(path, "_test"+suffix)
}

// sqlText is the migrations, and in Go the string literals.
func sqlText(path, text string) []excerpt {
	if strings.HasSuffix(path, ".sql") {
		return byLine(regexp.MustCompile(`--.*`).ReplaceAllString(text, ""))
	}
	if !sourceOnly(path, ".go") || strings.HasSuffix(path, "_templ.go") {
		return nil
	}
	return goTokens(text, func(tok token.Token) bool { return tok == token.STRING })
}

// goCode is Go without comments and strings, a line a piece.
func goCode(path, text string) []excerpt {
	if !sourceOnly(path, ".go") || strings.HasSuffix(path, "_templ.go") {
		return nil
	}
	blank := []byte(text)
	for _, e := range goPieces(text) {
		if e.tok == token.COMMENT || e.tok == token.STRING {
			for i := e.from; i < e.from+len(e.text); i++ {
				if blank[i] != '\n' {
					blank[i] = ' '
				}
			}
		}
	}
	return byLine(string(blank))
}

// pages is the templates.
func pages(path, text string) []excerpt {
	if !strings.HasSuffix(path, ".templ") {
		return nil
	}
	return byLine(text)
}

// scripts is our own JavaScript.
func scripts(path, text string) []excerpt {
	if !strings.HasSuffix(path, ".js") || !strings.HasPrefix(path, "static/src/") {
		return nil
	}
	return byLine(text)
}

// everything is every text that people wrote, tests too.
func everything(path, text string) []excerpt {
	switch filepath.Ext(path) {
	case ".go", ".templ", ".sql", ".js", ".css", ".sh", ".py", ".yaml", ".md":
		return byLine(text)
	}
	return nil
}

func byLine(text string) []excerpt {
	var found []excerpt
	n := 0
	for line := range strings.Lines(text) {
		n++
		found = append(found, excerpt{n, line})
	}
	return found
}

type goPiece struct {
	from, line int
	tok        token.Token
	text       string
}

func goPieces(text string) []goPiece {
	var found []goPiece
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return found
		}
		found = append(found, goPiece{file.Offset(pos), file.Line(pos), tok, lit})
	}
}

func goTokens(text string, want func(token.Token) bool) []excerpt {
	var found []excerpt
	for _, p := range goPieces(text) {
		if want(p.tok) {
			found = append(found, excerpt{p.line, p.text})
		}
	}
	return found
}

// sourceFiles maps the paths of the project's own texts to what they hold.
func sourceFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	skip := map[string]bool{".git": true, "node_modules": true, "dist": true, "testdata": true, "data": true, "bin": true, "tmp": true, "shots": true}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skip[d.Name()] {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || d.Name() == "lint_test.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		files[filepath.ToSlash(path)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestLint(t *testing.T) {
	files := sourceFiles(t)
	for _, r := range lintRules {
		t.Run(r.name, func(t *testing.T) {
			bad := regexp.MustCompile(r.bad)
			if !bad.MatchString(r.breaks) || bad.MatchString(r.keeps) {
				t.Errorf("the rule takes %q for right or %q for wrong", r.breaks, r.keeps)
			}
			read := 0
			for path, text := range files {
				for _, e := range r.in(path, text) {
					read++
					if bad.MatchString(e.text) && !startsWithAny(path, r.free) {
						t.Errorf("%s:%d: %s\nthe rule: %s: %s", path, e.line, strings.TrimSpace(e.text), r.name, r.reason)
					}
				}
			}
			if read == 0 {
				t.Error("the rule reads nothing, so it protects nothing")
			}
		})
	}
}

func startsWithAny(path string, heads []string) bool {
	for _, h := range heads {
		if strings.HasPrefix(path, h) {
			return true
		}
	}
	return false
}

// The readers are tested too: a rule that looks at the wrong part of a file is as blind as one without a pattern.
func TestLintReadersSeeWhatTheyShould(t *testing.T) {
	const src = "package p\n// a comment NOWAIT\nvar q = `SELECT\n1 NOWAIT`\nfunc f() { time.Now() } // time.Now(\n"
	sql := sqlText("a.go", src)
	if len(sql) != 1 || sql[0].line != 3 || !strings.Contains(sql[0].text, "1 NOWAIT") {
		t.Errorf("string literals: %+v", sql)
	}
	code := ""
	for _, e := range goCode("a.go", src) {
		code += e.text
	}
	if strings.Count(code, "time.Now(") != 1 || strings.Contains(code, "NOWAIT") {
		t.Errorf("code without comments and strings: %q", code)
	}
	if sqlText("a_test.go", src) != nil || goCode("a_templ.go", src) != nil {
		t.Error("tests and generated pages are not read for SQL and Go rules")
	}
	lines := sqlText("m.sql", "-- NOWAIT\nSELECT 1; -- NOWAIT\n")
	if len(lines) != 2 || strings.Contains(lines[0].text+lines[1].text, "NOWAIT") {
		t.Errorf("migrations without comments: %+v", lines)
	}
}

package docs

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	caseID  = regexp.MustCompile(`\b[JG]-[A-Z][0-9]+\b`)
	caseRow = regexp.MustCompile(`(?m)^\| ((?:[JG]-[A-Z][0-9]+(?:, )?)+) \| (.*) \|$`)
	shownBy = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+|[a-z0-9_/]+_test\\.go)`")
)

// proofs are the tests of the tree: by the name of the function and by the path of the file, its text with the comment.
type proofs map[string]string

func readProofs(t *testing.T) proofs {
	t.Helper()
	out := proofs{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "docs"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		out[filepath.ToSlash(path)] = string(text)
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, is := decl.(*ast.FuncDecl); is && fn.Recv == nil {
				from := fn.Pos()
				if fn.Doc != nil {
					from = fn.Doc.Pos()
				}
				at := func(p token.Pos) int { return files.Position(p).Offset }
				out[fn.Name.Name] += string(text[at(from):at(fn.End())]) // of one name there may be several
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// of is the text of a test, or of the file whose path ends so; "" if there is none.
func (p proofs) of(name string) string {
	for path, text := range p {
		if path == name || strings.HasSuffix(path, "/"+name) {
			return text
		}
	}
	return ""
}

// TestCasesAreShown: a case of the tables in docs/adr is shown by tests that are there and name it, and no test names one
// that has no row.
func TestCasesAreShown(t *testing.T) {
	tests, rows := readProofs(t), map[string]string{}
	pages, err := filepath.Glob("adr/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range caseRow.FindAllSubmatch(bytes.ReplaceAll(text, []byte("\r"), nil), -1) {
			for _, id := range caseID.FindAllString(string(row[1]), -1) {
				if was, twice := rows[id]; twice {
					t.Errorf("%s: %s has a row in %s already", page, id, was)
				}
				rows[id] = page
				tests.show(t, page, id, string(row[2]))
			}
		}
	}
	if len(rows) < 100 {
		t.Errorf("%d cases have a row", len(rows))
	}
	for path, text := range tests {
		for _, id := range caseID.FindAllString(text, -1) {
			if strings.HasSuffix(path, ".go") && rows[id] == "" {
				t.Errorf("%s names %s, which has no row in docs/adr", path, id)
			}
		}
	}
}

// show expects that what a row refers to is there, and that some of it names the case.
func (p proofs) show(t *testing.T, page, id, row string) {
	t.Helper()
	refs, named := shownBy.FindAllStringSubmatch(row, -1), false
	for _, ref := range refs {
		text := p.of(ref[1])
		if text == "" {
			t.Errorf("%s: %s is shown by %s, which is not there", page, id, ref[1])
		}
		named = named || slices.Contains(caseID.FindAllString(text, -1), id)
	}
	if len(refs) > 0 && !named {
		t.Errorf("%s: none of the tests of %s names it", page, id)
	}
}

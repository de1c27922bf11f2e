package sqltext

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// script makes pieces of a text in which «…» stands for a value.
func script(text string) []Piece {
	var out []Piece
	for text != "" {
		before, rest, found := strings.Cut(text, "«")
		if before != "" {
			out = append(out, Piece{Text: before})
		}
		if !found {
			break
		}
		value, rest, _ := strings.Cut(rest, "»")
		out = append(out, Piece{Value: &value})
		text = rest
	}
	return out
}

func TestStatementsEndWhereTheServerEndsThem(t *testing.T) {
	for _, c := range []struct {
		dialects, text string
		want           []string
	}{
		{"mysql postgres sqlite", "select 1", []string{"select 1"}},
		{"mysql postgres sqlite", " select 1 ;; \n; select 2;\n-- done\n", []string{"select 1 ", "select 2"}},
		{"mysql postgres sqlite", "select ';', \"a;b\" -- ; no\n; select /* ; */ 2", []string{"select ';', \"a;b\" -- ; no\n", "select /* ; */ 2"}},
		{"mysql postgres sqlite", "select 'it''s; '; select 2", []string{"select 'it''s; '", "select 2"}},
		{"mysql", `select 'it\'s; '; select "\";"; select 3 # ;'
; select 1--2`, []string{`select 'it\'s; '`, `select "\";"`, "select 3 # ;'\n", "select 1--2"}},
		{"postgres sqlite", `select 'c:\'; select 2`, []string{`select 'c:\'`, "select 2"}},
		{"postgres", `select E'it\'s;'; select $$a;b$$, $x$ $$ ; $x$, $1; select a #> '{b}'; select 1 /* a /* ; */ ; */; select 2`,
			[]string{`select E'it\'s;'`, `select $$a;b$$, $x$ $$ ; $x$, $1`, `select a #> '{b}'`, `select 1 /* a /* ; */ ; */`, "select 2"}},
		{"mysql sqlite", "select `a;b`; select 2", []string{"select `a;b`", "select 2"}},
		{"sqlite", "select [a;b]; select 2", []string{"select [a;b]", "select 2"}},
		{"postgres", "select a[1]; select 2", []string{"select a[1]", "select 2"}},
	} {
		for _, d := range Dialects() {
			if !strings.Contains(c.dialects, string(d)) {
				continue
			}
			got, err := Split(d, script(c.text))
			texts := make([]string, len(got))
			for i, s := range got {
				texts[i] = s.Text()
			}
			if err != nil || !slices.Equal(texts, c.want) {
				t.Errorf("%s: %q\ngot  %q, %v\nwant %q", d, c.text, texts, err, c.want)
			}
		}
	}
}

// A value is a parameter or it is refused: it is never text of the statement.
func TestAValueStandsWhereAParameterCan(t *testing.T) {
	for _, c := range []struct {
		dialects, text, fault string
		line                  int
	}{
		{"mysql postgres sqlite", "select * from t where d = «x» and (e in («y», «z»))", "", 0},
		{"mysql postgres sqlite", "insert into t values («x»,«y»);select «z»", "", 0},
		{"mysql postgres sqlite", "select 1;\nselect 'a «x»'", InString, 2},
		{"mysql postgres sqlite", "select '«x»'", InString, 1},
		{"mysql postgres sqlite", "select 1 -- «x»", InComment, 1},
		{"mysql postgres sqlite", "select /* «x» */ 1", InComment, 1},
		{"mysql postgres sqlite", "select * from tab_«x»", InWord, 1},
		{"mysql postgres sqlite", "select «x»1", InWord, 1},
		{"mysql postgres sqlite", "select «x»«y»", InWord, 1},
		{"mysql postgres sqlite", "select @«x»", InWord, 1},
		{"mysql postgres sqlite", "select :«x»", InWord, 1},
		{"mysql postgres sqlite", "select 'a", Unclosed, 1},
		{"mysql postgres sqlite", "select 1;\nselect 2 /* a\n\n", Unclosed, 2},
		{"mysql postgres sqlite", " ;\n-- nothing\n", NoStatement, 1},
		{"mysql", "select \"«x»\"", InString, 1},
		{"postgres sqlite", "select \"«x»\"", InName, 1},
		{"mysql sqlite", "select `«x»`", InName, 1},
		{"mysql", `select 'a\'«x»'`, InString, 1},
		{"mysql", "select 1 # «x»", InComment, 1},
		{"postgres", "select $a$ «x» $a$", InString, 1},
		{"postgres", `select E'a\'«x»'`, InString, 1},
		{"sqlite", "select [«x»]", InName, 1},
		{"postgres sqlite", `select 'a\', «x»`, "", 0},
	} {
		for _, d := range Dialects() {
			if !strings.Contains(c.dialects, string(d)) {
				continue
			}
			_, err := Split(d, script(c.text))
			var f *Fault
			errors.As(err, &f)
			if c.fault == "" && err != nil || c.fault != "" && (f == nil || f.Kind != c.fault || f.Line != c.line || f.Error() == "") {
				t.Errorf("%s: %q: %v, want %q in line %d", d, c.text, err, c.fault, c.line)
			}
		}
	}
}

func TestBindWritesThePlaceholdersOfTheDialect(t *testing.T) {
	const nasty = "; $(id) \"x\" '中文🚀`\\"
	all, err := Split(Postgres, script("select «"+nasty+"», «b» where 1 = «»"))
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range map[Dialect]string{Postgres: "select $1, $2 where 1 = $3", MySQL: "select ?, ? where 1 = ?", SQLite: "select ?, ? where 1 = ?"} {
		query, args := all[0].Bind(d)
		if query != want || !slices.Equal(args, []any{nasty, "b", ""}) {
			t.Errorf("%s: %q with %q", d, query, args)
		}
	}
	if one, err := One(SQLite, script("create trigger t after insert on a begin delete from b; end")); err != nil || one.Text() != "create trigger t after insert on a begin delete from b; end" {
		t.Errorf("one: %q, %v", one.Text(), err)
	}
}

func TestWhichStatementsAnswerWithRows(t *testing.T) {
	for text, want := range map[string]bool{
		"select 1": true, "(select 1) union (select 2)": true, "with a as (select 1) select * from a": true, "show tables": true, "explain select 1": true,
		"values (1)": true, "pragma user_version": true, "table t": true, "insert into t values (1) returning id": true,
		"with a as (select 1) insert into t select * from a": false, "with a as (delete from t returning *) select * from a": true,
		"insert into t select 1": false, "update t set a = 'returning'": false, "delete from t": false, "create table t (a int)": false, "-- select\nupdate t set a = 1": false,
		"set a = 1": false,
	} {
		all, err := Split(Postgres, script(text))
		if err != nil || all[0].Rows() != want {
			t.Errorf("%q: %v, want %v (%v)", text, !want, want, err)
		}
	}
	for text, want := range map[string]bool{"commit": true, "begin": true, "rollback": true, "rollback to savepoint a": false, "savepoint a": false, "start transaction": true, "select 1": false} {
		all, err := Split(SQLite, script(text))
		if err != nil || all[0].Ends() != want {
			t.Errorf("%q ends the transaction: %v, want %v (%v)", text, !want, want, err)
		}
	}
}

// Whatever the text: every value is in the statements once, in order, or the script is refused; and no text is lost or made.
func FuzzSplit(f *testing.F) {
	f.Add("select «a»; select 'x' -- «b»\n", "mysql")
	f.Add("select $a$ ; $a$ «c» /* /* */ */", "postgres")
	f.Add("select [a] «d» `e`", "sqlite")
	f.Fuzz(func(t *testing.T, text, dialect string) {
		in := script(text)
		all, err := Split(Dialect(dialect), in)
		if err != nil {
			return
		}
		var want, got []string
		for _, p := range in {
			if p.Value != nil {
				want = append(want, *p.Value)
			}
		}
		for _, s := range all {
			_, args := s.Bind(Dialect(dialect))
			for _, a := range args {
				got = append(got, a.(string))
			}
		}
		if !slices.Equal(want, got) {
			t.Errorf("%q: values %q, want %q", text, got, want)
		}
	})
}

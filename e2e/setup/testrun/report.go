package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// report writes what people and CI read.
type report struct {
	w  io.Writer
	ci bool
}

func (r *report) line(format string, args ...any) { _, _ = fmt.Fprintf(r.w, format+"\n", args...) }

func (r *report) absent(a absence) {
	if r.ci {
		r.line("!! %s is absent, which is a failure in CI: %s", a.name, a.reason)
		return
	}
	r.line("!! %s is absent: NOTHING WILL BE TESTED ON IT: %s", a.name, a.reason)
}

func (r *report) show(n news) {
	switch n.kind {
	case "ok":
		r.line("ok    %-60s %4d tests %6.1f s", n.name, n.passed, n.took)
	case "fail":
		r.line("FAIL  %s (%.1f s)", n.name, n.took)
		for printed := range strings.SplitSeq(strings.TrimRight(n.output, "\n"), "\n") {
			if printed != "" {
				r.line("      | %s", printed)
			}
		}
	}
}

// end prints failures again, what was skipped, the table and the totals.
func (r *report) end(t *tally, absent []absence, took time.Duration) {
	for _, name := range t.failed {
		r.line("FAILED   %s", name)
	}
	for _, name := range t.skipped {
		r.line("SKIPPED  %s", name)
	}
	for _, a := range absent {
		r.line("NOT TESTED ON %s: %s", strings.ToUpper(a.name), a.reason)
	}
	r.line("")
	r.line("tests that ran, by store")
	for _, row := range []struct{ store, title string }{
		{"sqlite", "SQLite"},
		{"mariadb", "MariaDB"},
		{"postgres", "PostgreSQL"},
		{"miniredis", "embedded Redis"},
		{"redis", "real Redis"},
		{"chromium", "Chromium"},
		{noStore, "no store"},
	} {
		remark := ""
		if t.stores[row.store] == 0 && row.store != noStore {
			remark = "  NOTHING RAN ON IT"
		}
		r.line("  %-16s %6d%s", row.title, t.stores[row.store], remark)
	}
	r.line("total: %d passed, %d failed, %d skipped in %s", t.passed, len(t.failed), len(t.skipped), took.Round(time.Second))
}

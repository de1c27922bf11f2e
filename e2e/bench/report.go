package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// Report is everything that was measured, in the form of the JSON file. Keys are stable; a figure that was not
// measured is absent.
type Report struct {
	Machine Machine  `json:"machine"`
	Quick   bool     `json:"quick"`
	Runs    []Result `json:"runs"`
	Medians *Result  `json:"medians,omitempty"` // of more than one run
}

// Result is one run.
type Result struct {
	Parts []*Part `json:"parts"`
}

// Part is one part of a run. Lost and Doubled count work that is missing from the tables or was granted twice.
type Part struct {
	Key      string   `json:"key"`
	Title    string   `json:"title"`
	Measured string   `json:"measured"`
	Tables   []*Table `json:"tables"`
	Notes    []string `json:"notes,omitempty"`
	Seconds  float64  `json:"seconds"`
	Lost     int      `json:"lost"`
	Doubled  int      `json:"doubled"`
}

// Table is rows of figures under the same columns.
type Table struct {
	Key     string   `json:"key"`
	Title   string   `json:"title"`
	Columns []Column `json:"columns"`
	Rows    []*Row   `json:"rows"`
}

// Column says what the figures of a key are.
type Column struct {
	Key    string `json:"key"`
	Name   string `json:"name"` // with the unit
	Digits int    `json:"digits"`
}

// Row is one thing that was measured.
type Row struct {
	Key     string            `json:"key"`
	Name    string            `json:"name"`
	Figures map[string]Figure `json:"figures"` // by column
}

// Figure is a value and, where there is one, its aim.
type Figure struct {
	Value float64 `json:"value"`
	Aim   *Aim    `json:"aim,omitempty"`
}

// Aim is a bound of a figure, from above or from below.
type Aim struct {
	AtMost  *float64 `json:"atMost,omitempty"`
	AtLeast *float64 `json:"atLeast,omitempty"`
	Met     bool     `json:"met"`
}

func atMost(limit float64) *Aim  { return &Aim{AtMost: &limit} }
func atLeast(limit float64) *Aim { return &Aim{AtLeast: &limit} }

// judged is a copy of the aim that says whether the value meets it.
func (a *Aim) judged(value float64) *Aim {
	if a == nil {
		return nil
	}
	out := *a
	out.Met = (a.AtMost == nil || value <= *a.AtMost) && (a.AtLeast == nil || value >= *a.AtLeast)
	return &out
}

func (a *Aim) text() string {
	bound := ""
	switch {
	case a.AtMost != nil:
		bound = "≤ " + number(*a.AtMost, -1)
	case a.AtLeast != nil:
		bound = "≥ " + number(*a.AtLeast, -1)
	}
	if a.Met {
		return bound + ": met"
	}
	return bound + ": not met"
}

// table adds an empty table.
func (p *Part) table(key, title string, columns ...Column) *Table {
	t := &Table{Key: key, Title: title, Columns: columns}
	p.Tables = append(p.Tables, t)
	return t
}

// note adds a sentence below the tables.
func (p *Part) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// row adds an empty row.
func (t *Table) row(key, name string) *Row {
	r := &Row{Key: key, Name: name, Figures: map[string]Figure{}}
	t.Rows = append(t.Rows, r)
	return r
}

// put sets a figure; NaN, of nothing measured, leaves it absent.
func (r *Row) put(column string, value float64) *Row { return r.aim(column, value, nil) }

// aim is put with an aim, nil for none.
func (r *Row) aim(column string, value float64, aim *Aim) *Row {
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		r.Figures[column] = Figure{Value: value, Aim: aim.judged(value)}
	}
	return r
}

// number is a value with that many digits after the point, -1 for as many as it has, and commas at the thousands.
func number(v float64, digits int) string {
	text := fmt.Sprintf("%.*f", max(digits, 0), v)
	if digits < 0 {
		text = strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
	}
	whole, rest, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if strings.HasPrefix(text, "-") {
		whole = "-" + whole
	}
	if point {
		return whole + "." + rest
	}
	return whole
}

// cells is the table as text cells, the heads first. A column with an aim is followed by one that says it.
func (t *Table) cells() [][]string {
	head := []string{t.Title}
	out := [][]string{nil}
	for _, r := range t.Rows {
		out = append(out, []string{r.Name})
	}
	for _, c := range t.Columns {
		aimed, there := false, false
		for _, r := range t.Rows {
			f, ok := r.Figures[c.Key]
			there = there || ok
			aimed = aimed || f.Aim != nil
		}
		if !there {
			continue
		}
		head = append(head, c.Name)
		if aimed {
			head = append(head, "aim")
		}
		for i, r := range t.Rows {
			f, ok := r.Figures[c.Key]
			text, aim := "–", ""
			if ok {
				text = number(f.Value, c.Digits)
			}
			if f.Aim != nil {
				aim = f.Aim.text()
			}
			out[i+1] = append(out[i+1], text)
			if aimed {
				out[i+1] = append(out[i+1], aim)
			}
		}
	}
	out[0] = head
	return out
}

// Text is a Markdown table with even columns: figures stand right, names left.
func (t *Table) Text() string {
	cells := t.cells()
	width := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c), 3)
		}
	}
	line := func(row []string) string {
		var b strings.Builder
		for i, c := range row {
			fill := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				b.WriteString("| " + c + fill + " ")
			} else {
				b.WriteString("| " + fill + c + " ")
			}
		}
		return b.String() + "|\n"
	}
	rule := make([]string, len(width))
	for i, w := range width {
		rule[i] = strings.Repeat("-", w)
		if i > 0 {
			rule[i] = strings.Repeat("-", w-1) + ":"
		}
	}
	out := line(cells[0]) + line(rule)
	for _, row := range cells[1:] {
		out += line(row)
	}
	return out
}

// Text is the part as Markdown.
func (p *Part) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s. %s\n\n%s\n", p.Key, p.Title, p.Measured)
	for _, t := range p.Tables {
		b.WriteString("\n" + t.Text())
	}
	if len(p.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range p.Notes {
		b.WriteString("- " + n + "\n")
	}
	fmt.Fprintf(&b, "- This part took %.0f s.\n", p.Seconds)
	return b.String()
}

// harm counts what was lost and what was done twice in all runs.
func (r *Report) harm() (lost, doubled int) {
	for _, run := range r.Runs {
		for _, p := range run.Parts {
			lost, doubled = lost+p.Lost, doubled+p.Doubled
		}
	}
	return lost, doubled
}

// Write writes the JSON file.
func (r *Report) Write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// medians takes each figure's median over the runs that have it. Aims are judged anew, by the median.
func medians(runs []Result) *Result {
	out := &Result{}
	for _, run := range runs {
		for _, p := range run.Parts {
			if !slices.ContainsFunc(out.Parts, func(q *Part) bool { return q.Key == p.Key }) {
				out.Parts = append(out.Parts, medianPart(p.Key, runs))
			}
		}
	}
	return out
}

func medianPart(key string, runs []Result) *Part {
	var all []*Part
	for _, run := range runs {
		for _, p := range run.Parts {
			if p.Key == key {
				all = append(all, p)
			}
		}
	}
	out := &Part{Key: key, Title: all[0].Title, Measured: all[0].Measured}
	var seconds []float64
	for _, p := range all {
		out.Lost, out.Doubled = out.Lost+p.Lost, out.Doubled+p.Doubled
		seconds = append(seconds, p.Seconds)
		for _, n := range p.Notes {
			if !slices.Contains(out.Notes, n) {
				out.Notes = append(out.Notes, n)
			}
		}
	}
	out.Seconds = median(seconds)
	for i, t := range all[0].Tables {
		merged := out.table(t.Key, t.Title, t.Columns...)
		for _, r := range t.Rows {
			medianRow(merged.row(r.Key, r.Name), t, i, all)
		}
	}
	return out
}

// medianRow fills a row with the medians of the rows with its key in table i of the parts.
func medianRow(into *Row, t *Table, i int, all []*Part) {
	for _, c := range t.Columns {
		var values []float64
		var aim *Aim
		for _, p := range all {
			if i >= len(p.Tables) {
				continue
			}
			for _, r := range p.Tables[i].Rows {
				if f, ok := r.Figures[c.Key]; ok && r.Key == into.Key {
					values, aim = append(values, f.Value), f.Aim
				}
			}
		}
		into.aim(c.Key, median(values), aim)
	}
}

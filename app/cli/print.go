package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

// printf writes to standard output. Its error is that of the reader who left.
func (p *process) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.out, format, args...)
	return err
}

// note says something beside the output.
func (p *process) note(format string, args ...any) {
	_, _ = fmt.Fprintf(p.err, format, args...)
}

// serial is a writer for several goroutines.
type serial struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes one piece at a time.
func (s *serial) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// document prints JSON that came from the server, on one line.
func (p *process) document(doc json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Compact(&b, doc); err != nil {
		return err
	}
	return p.printf("%s\n", b.Bytes())
}

// value prints a value as JSON, on one line.
func (p *process) value(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return p.printf("%s", b.Bytes())
}

// table prints rows under a head with columns as wide as their widest cell. On a terminal that is too narrow for that,
// sentences are broken; to anything else each row is one line.
func (p *process) table(head []string, rows [][]string) error {
	wide := make([]int, len(head))
	all := append([][]string{head}, rows...)
	for _, row := range all {
		for i := range row {
			row[i] = printable(row[i])
			if row[i] == "" {
				row[i] = "-"
			}
			wide[i] = max(wide[i], columns(row[i]))
		}
	}
	var b strings.Builder
	narrow, tooWide := fit(all, wide, p.wide)
	for n, row := range all {
		if tooWide {
			if narrow.write(&b, row); n > 0 {
				narrow.below(&b, row)
			}
			continue
		}
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", wide[i]-columns(cell)+2))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

// facts prints names and values in two columns, without those that are empty.
func (p *process) facts(pairs ...string) error {
	wide := 0
	for i := 0; i < len(pairs); i += 2 {
		wide = max(wide, columns(pairs[i]))
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		if err := p.printf("%s%s  %s\n", pairs[i], strings.Repeat(" ", wide-columns(pairs[i])), printable(pairs[i+1])); err != nil {
			return err
		}
	}
	return nil
}

// columns is how wide a text is on a terminal.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// printable keeps a text on its line and from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return '·'
	}, s)
}

// whenForm is how tables show a moment.
const whenForm = "2006-01-02 15:04:05 -07:00"

// when shows a moment with its offset in the zone of this machine, "" for none.
func (p *process) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(p.zone).Format(whenForm)
}

// took is the time between two moments, "" while there is none.
func took(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	return to.Sub(from).Round(time.Millisecond).String()
}

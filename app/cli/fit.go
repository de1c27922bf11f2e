package cli

import (
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// proseFrom is the width from which a column holds sentences, which may be broken between words; ids, names, states
	// and moments are narrower.
	proseFrom = 31
	// proseLeast is how narrow such a column may become.
	proseLeast = 26
	// indent is before what stands below its row.
	indent = 4
)

// terminalWidth is how many columns a terminal has; 0 where w is none, so that what is read by programs or kept in a file
// stands whole on its line.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// layout is how a table stands on a terminal that is too narrow for it.
type layout struct {
	head   []string
	widths []int
	inRow  int // so many columns, from the first on, stand in the row
	wide   int // the terminal
}

// fit decides how a table is laid out, whose columns are naturally that wide; false: as it is. Columns of sentences become
// narrower, but no word is broken; where that does not do, what finds no room stands below its row. A table without
// sentences stays as it is.
func fit(rows [][]string, natural []int, wide int) (layout, bool) {
	l := layout{head: rows[0], widths: slices.Clone(natural), inRow: len(natural), wide: wide}
	if wide <= 0 || total(natural) <= wide || slices.Max(natural) < proseFrom {
		return l, false
	}
	least := make([]int, len(natural))
	for i := range natural {
		if least[i] = natural[i]; natural[i] >= proseFrom {
			least[i] = max(proseLeast, longestWord(rows, i))
		}
	}
	for total(l.widths) > wide {
		widest, most := -1, 0
		for i, w := range l.widths {
			if w > least[i] && w > most {
				widest, most = i, w
			}
		}
		if widest < 0 {
			break
		}
		l.widths[widest]--
	}
	for l.inRow > 1 && total(l.widths[:l.inRow]) > wide {
		l.inRow--
	}
	return l, true
}

func longestWord(rows [][]string, column int) int {
	most := 0
	for _, row := range rows {
		for word := range strings.FieldsSeq(row[column]) {
			most = max(most, columns(word))
		}
	}
	return most
}

// gap is what stands between two columns.
const gap = "  "

func total(widths []int) int {
	sum := len(gap) * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// write writes a row over as many lines as its longest cell has.
func (l layout) write(b *strings.Builder, row []string) {
	cells := make([][]string, l.inRow)
	lines := 1
	for i := range cells {
		cells[i] = wrap(row[i], l.widths[i])
		lines = max(lines, len(cells[i]))
	}
	for n := range lines {
		var line strings.Builder
		for i, cell := range cells {
			text := ""
			if n < len(cell) {
				text = cell[n]
			}
			line.WriteString(text + strings.Repeat(" ", max(0, l.widths[i]-columns(text))) + gap)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// below writes what of a row has no room in it, each cell with its head.
func (l layout) below(b *strings.Builder, row []string) {
	for i := l.inRow; i < len(row); i++ {
		if row[i] == "-" {
			continue
		}
		for _, line := range wrap(l.head[i]+" "+row[i], max(l.wide-indent, proseLeast)) {
			b.WriteString(strings.Repeat(" ", indent) + line + "\n")
		}
	}
}

// wrap breaks a text between its words so that no line is wider than wide; a word that is wider is broken too. It gives
// at least one line.
func wrap(text string, wide int) []string {
	lines, line := []string{}, ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && columns(line)+1+columns(word) > wide {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for columns(line) > wide {
			cut := 0
			for i, r := range line {
				if end := i + len(string(r)); i == 0 || columns(line[:end]) <= wide {
					cut = end
				}
			}
			lines, line = append(lines, line[:cut]), line[cut:]
		}
	}
	return append(lines, line)
}

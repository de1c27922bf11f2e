package job

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// document is one YAML document of a file.
type document struct {
	text  string
	first int // the line of the file on which text begins, from 1
}

// ParseFile reads one file, which may hold several jobs parted by lines of ---. It gives the
// jobs that are sound by themselves, in order, and every problem found, those that are only
// warnings too. A job with an error is not among the jobs; a fault in one document does not
// hide those in the next. Whether the jobs fit together and fit what is there is CheckGraph's.
func ParseFile(text []byte, opts Options) ([]Parsed, Problems) {
	opts = opts.filled()
	if p, bad := refuseBytes(text, opts.File); bad {
		return nil, Problems{p}
	}
	clean := normalise(text)
	lines := strings.Split(clean, "\n")
	docs := split(lines)
	if len(docs) == 0 || len(docs) > MaxDocuments {
		id := idFileEmpty
		if len(docs) > 0 {
			id = idFileManyDocs
		}
		return nil, Problems{{File: opts.File, Line: 1, Column: 1, ID: id,
			Args: pairs("n", strconv.Itoa(len(docs)), "max", strconv.Itoa(MaxDocuments))}}
	}
	var jobs []Parsed
	var all Problems
	for _, doc := range docs {
		r := &reader{opts: opts, doc: doc, lines: lines, places: map[string]Place{}, nodes: map[string]entry{}}
		parsed, ok := r.read()
		r.problems.sort()
		all = append(all, r.problems...)
		if ok {
			parsed.Warnings = r.problems.Warnings()
			jobs = append(jobs, parsed)
		}
	}
	return jobs, all
}

// refuseBytes names what no YAML reader should be given.
func refuseBytes(text []byte, file string) (Problem, bool) {
	if len(text) > MaxFileBytes {
		return Problem{File: file, ID: idFileTooBig, Hint: hintFileTooBig,
			Args: pairs("size", size(len(text)), "max", size(MaxFileBytes))}, true
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		at := placeOf(text, i)
		return Problem{File: file, Line: at.Line, Column: at.Column, ID: idFileNUL}, true
	}
	if utf8.Valid(text) {
		return Problem{}, false
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			at := placeOf(text, i)
			return Problem{File: file, Line: at.Line, Column: at.Column, ID: idFileUTF8, Hint: hintFileUTF8,
				Args: pairs("byte", fmt.Sprintf("0x%02X", text[i]))}, true
		}
		i += n
	}
}

func placeOf(text []byte, i int) Place {
	before := normalise(text[:i])
	start := strings.LastIndexByte(before, '\n') + 1
	return Place{Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[start:]) + 1}
}

// normalise drops a byte order mark and makes every line end a single \n, as YAML reads them.
func normalise(text []byte) string {
	s := strings.TrimPrefix(string(text), "\ufeff")
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
}

// split cuts a file at its document markers. YAML lets no text of a job begin a line with ---,
// not even inside quotes, so lines decide. Documents without anything but blanks and comments
// are dropped.
func split(lines []string) []document {
	var docs []document
	start, filled := 0, false
	flush := func(end int) {
		if filled {
			docs = append(docs, document{strings.Join(lines[start:end], "\n"), start + 1})
		}
		start, filled = end+1, false
	}
	for i, line := range lines {
		switch {
		case marker(line, "---"):
			flush(i)
			if rest := strings.TrimSpace(line[3:]); rest != "" && rest[0] != '#' {
				lines[i] = "   " + line[3:]
				start, filled = i, true
			}
		case marker(line, "..."):
			flush(i)
		default:
			trimmed := strings.TrimSpace(line)
			filled = filled || trimmed != "" && trimmed[0] != '#'
		}
	}
	flush(len(lines))
	return docs
}

func marker(line, mark string) bool {
	return strings.HasPrefix(line, mark) && (len(line) == 3 || line[3] == ' ' || line[3] == '\t')
}

// size says a number of bytes for people.
func size(n int) string {
	switch {
	case n < 10<<10:
		return strconv.Itoa(n) + " B"
	case n < 10<<20:
		return strconv.Itoa((n+1023)>>10) + " KiB"
	}
	return strconv.Itoa(n>>20) + " MiB"
}

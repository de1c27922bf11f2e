package calendar

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/axsched/ax/modules/domain"
)

// The limits of a calendar.
const (
	// MaxBytes, MaxLines and MaxLine bound a file, and each of its lines, in bytes.
	MaxBytes, MaxLines, MaxLine = 256 << 10, 4000, 4000
	// MaxDays is the most special days that one calendar may have.
	MaxDays = 2500
	// MaxYears is the most years that one calendar may cover.
	MaxYears = 60
	// FirstYear and LastYear bound the years.
	FirstYear, LastYear = 1970, 2200
	// MaxNameRunes bounds a name, MaxTitleRunes a title, MaxLabelRunes what is said of a day, in characters.
	MaxNameRunes, MaxTitleRunes, MaxLabelRunes = 100, 200, 100
)

// Format is how a file is written.
type Format string

// The formats. A YAML file is the whole calendar; CSV and ICS hold days, and replace those of
// the years in which they lie.
const (
	YAML Format = "yaml"
	CSV  Format = "csv"
	ICS  Format = "ics"
)

// FormatOf tells the format by the name of the file, or else by how the text begins.
func FormatOf(name, text string) Format {
	lower := strings.ToLower(name)
	for ending, f := range map[string]Format{".yaml": YAML, ".yml": YAML, ".csv": CSV, ".ics": ICS, ".ical": ICS} {
		if strings.HasSuffix(lower, ending) {
			return f
		}
	}
	head := strings.ToLower(strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), " \r\n\t"))
	first, _, _ := strings.Cut(head, "\n")
	switch {
	case strings.HasPrefix(head, "begin:vcalendar"):
		return ICS
	case strings.Contains(first, ",") && (strings.Contains(first, "date") || strings.Contains(first, "日期")):
		return CSV
	}
	return YAML
}

// Sheet is what a file says of a calendar.
type Sheet struct {
	Format  Format
	Project string // "" = not said
	Name    string // "" = not said
	Title   string
	Rest    [7]bool // by time.Weekday; YAML only
	Years   []int   // in order
	Days    map[domain.BizDate]domain.CalendarDay
}

// Problem is one thing wrong with a file. ID and Args choose the sentence in the reader's language
// (catalog key "calendar.problem."+ID).
type Problem struct {
	File   string            `json:"file"`
	Line   int               `json:"line"`   // from 1; 0 when about no place
	Column int               `json:"column"` // from 1, in characters
	ID     string            `json:"id"`
	Args   map[string]string `json:"args,omitempty"`
	Source string            `json:"source,omitempty"` // the line
}

// Message is the sentence.
func (p Problem) Message(say func(key string, args map[string]string) string) string {
	return say("calendar.problem."+p.ID, p.Args)
}

// Excerpt shows the line with a mark below the place; "" where there is none.
func (p Problem) Excerpt() string {
	if p.Source == "" {
		return ""
	}
	line := strings.ReplaceAll(p.Source, "\t", " ")
	number := fmt.Sprintf("%5d | ", p.Line)
	blank := strings.Repeat(" ", len(number)-2) + "| "
	before := line
	if rs := []rune(line); p.Column-1 < len(rs) {
		before = string(rs[:max(p.Column-1, 0)])
	}
	pad := 0
	for _, r := range before {
		if pad++; width.LookupRune(r).Kind() == width.EastAsianWide || width.LookupRune(r).Kind() == width.EastAsianFullwidth {
			pad++
		}
	}
	return number + line + "\n" + blank + strings.Repeat(" ", pad) + "^\n"
}

// maxProblems is how many are told of one file.
const maxProblems = 50

// notes gathers what a reader finds.
type notes struct {
	file     string
	lines    []string
	problems []Problem
	days     map[domain.BizDate][2]int // line and column of each day
}

func (n *notes) add(line, column int, id string, args ...string) {
	if len(n.problems) >= maxProblems {
		return
	}
	p := Problem{File: n.file, Line: line, Column: column, ID: id, Args: map[string]string{}}
	for i := 0; i+1 < len(args); i += 2 {
		p.Args[args[i]] = clip(args[i+1])
	}
	if line >= 1 && line <= len(n.lines) {
		p.Source = clip(strings.TrimRight(n.lines[line-1], "\r"))
	}
	n.problems = append(n.problems, p)
}

func clip(s string) string {
	const most = 100
	if rs := []rune(s); len(rs) > most {
		return string(rs[:most]) + "…"
	}
	return s
}

// garbled finds the first byte that is no UTF-8, or that a browser put in the place of such; -1: there is none. Lines of an
// ICS file may be folded within a character.
func garbled(text string, format Format) int {
	const stood = "\ufffd"
	if format == ICS && !utf8.ValidString(text) {
		if utf8.ValidString(foldless.Replace(text)) {
			return -1
		}
	}
	return strings.Index(strings.ToValidUTF8(text, stood), stood)
}

var foldless = strings.NewReplacer("\r\n ", "", "\r\n\t", "", "\n ", "", "\n\t", "")

// Read reads a file. The name is for problems and, with "" for the format, decides it. The sheet is
// nil when there is a problem.
func Read(name, text string, format Format) (*Sheet, []Problem) {
	if format == "" {
		format = FormatOf(name, text)
	}
	n := &notes{file: name, days: map[domain.BizDate][2]int{}}
	switch {
	case len(text) > MaxBytes:
		n.add(0, 0, "too_big", "max", strconv.Itoa(MaxBytes>>10))
		return nil, n.problems
	case garbled(text, format) >= 0:
		n.add(strings.Count(text[:garbled(text, format)], "\n")+1, 1, "utf8")
		return nil, n.problems
	case strings.ContainsRune(text, 0):
		n.add(strings.Count(text[:strings.IndexByte(text, 0)], "\n")+1, 1, "nul")
		return nil, n.problems
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if n.lines = strings.Split(text, "\n"); len(n.lines) > MaxLines {
		n.add(MaxLines+1, 1, "many_lines", "max", strconv.Itoa(MaxLines))
		return nil, n.problems
	}
	for i, line := range n.lines {
		if len(line) > MaxLine {
			n.add(i+1, 1, "long_line", "max", strconv.Itoa(MaxLine))
			return nil, n.problems
		}
	}
	s := &Sheet{Format: format, Rest: domain.UsualRest(), Days: map[domain.BizDate]domain.CalendarDay{}}
	switch format {
	case CSV:
		s.readCSV(n, text)
	case ICS:
		s.readICS(n)
	case YAML:
		s.readYAML(n, text)
	default:
		n.add(0, 0, "format", "value", string(format))
	}
	if len(n.problems) == 0 {
		s.finish(n)
	}
	if len(n.problems) > 0 {
		return nil, n.problems
	}
	return s, nil
}

// finish judges what only the whole can tell, and takes the years from the days where none are said.
func (s *Sheet) finish(n *notes) {
	if len(s.Years) == 0 {
		s.Years = s.yearsOf()
	}
	switch {
	case len(s.Days) > MaxDays:
		n.add(0, 0, "many_days", "n", strconv.Itoa(len(s.Days)), "max", strconv.Itoa(MaxDays))
	case len(s.Years) > MaxYears:
		n.add(0, 0, "many_years", "n", strconv.Itoa(len(s.Years)), "max", strconv.Itoa(MaxYears))
	case len(s.Years) == 0:
		n.add(0, 0, "no_days")
	case s.Rest == [7]bool{true, true, true, true, true, true, true}:
		n.add(0, 0, "all_rest")
	}
}

// put notes a special day; what is wrong is at a place of the file. A day that was there already
// is refused, or joined where both are off and join is set.
func (s *Sheet) put(n *notes, line, column int, d domain.BizDate, day domain.CalendarDay, join bool) {
	old, twice := s.Days[d]
	switch {
	case !twice:
		s.Days[d], n.days[d] = day, [2]int{line, column}
	case old.Work != day.Work:
		n.add(line, column, "both", "date", d.String())
	case !join:
		n.add(line, column, "twice", "date", d.String())
	case day.Label != "" && !slices.Contains(strings.Split(old.Label, "、"), day.Label):
		old.Label = strings.TrimPrefix(old.Label+"、"+day.Label, "、")
		s.Days[d] = old
	}
}

// date reads one date within the years that a calendar may have.
func (n *notes) date(line, column int, text string) (domain.BizDate, bool) {
	d, err := domain.ParseBizDate(text)
	if err != nil {
		n.add(line, column, "date", "value", text)
		return d, false
	}
	if y, _, _ := d.Date(); y < FirstYear || y > LastYear {
		n.add(line, column, "year", "value", text, "first", strconv.Itoa(FirstYear), "last", strconv.Itoa(LastYear))
		return d, false
	}
	return d, true
}

// dates reads a date, or the first and the last of a stretch: 2024-02-10..2024-02-17.
func (n *notes) dates(line, column int, text string) (first, last domain.BizDate, ok bool) {
	from, to, stretch := strings.Cut(text, "..")
	if first, ok = n.date(line, column, strings.TrimSpace(from)); !ok || !stretch {
		return first, first, ok
	}
	if last, ok = n.date(line, column, strings.TrimSpace(to)); !ok {
		return first, last, false
	}
	if last.Before(first) || first.AddDays(365).Before(last) {
		n.add(line, column, "stretch", "value", text)
		return first, last, false
	}
	return first, last, true
}

// label judges what is said of a day.
func (n *notes) label(line, column int, text string) (string, bool) {
	text = strings.TrimSpace(text)
	if strings.IndexFunc(text, unicode.IsControl) >= 0 {
		n.add(line, column, "control")
		return "", false
	}
	if utf8.RuneCountInString(text) > MaxLabelRunes {
		n.add(line, column, "label_long", "max", strconv.Itoa(MaxLabelRunes))
		return "", false
	}
	return text, true
}

// Calendar is the calendar that the sheet makes of an older one; nil: there was none. Days
// without a whole calendar replace those of their years and leave the others.
func (s *Sheet) Calendar(old *domain.Calendar) *domain.Calendar {
	out := &domain.Calendar{Name: s.Name, Title: s.Title, Rest: s.Rest, Years: s.Years, Days: s.Days}
	if old == nil {
		return out
	}
	out.ID, out.ProjectID, out.Name, out.Version = old.ID, old.ProjectID, old.Name, old.Version
	if s.Format == YAML {
		return out
	}
	out.Title, out.Rest = old.Title, old.Rest
	out.Years = slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.Years, s.Years))))
	out.Days = maps.Clone(s.Days)
	for d, day := range old.Days {
		_, said := out.Days[d]
		if y, _, _ := d.Date(); !said && !slices.Contains(s.Years, y) {
			out.Days[d] = day
		}
	}
	return out
}

package calendar

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// property is one unfolded content line of an ICS file.
type property struct {
	name   string
	params map[string]string
	value  string
	line   int // where it begins, from 1
}

// unfold joins folded lines and takes each apart.
func unfold(n *notes) []property {
	var out []property
	var text strings.Builder
	began := 0
	flush := func() {
		if text.Len() > 0 {
			if p, ok := parseProperty(text.String(), began); ok {
				out = append(out, p)
			} else {
				n.add(began, 1, "ics_line")
			}
		}
		text.Reset()
	}
	for i, line := range n.lines {
		line = strings.TrimSuffix(line, "\r")
		if line != "" && (line[0] == ' ' || line[0] == '\t') && began > 0 {
			text.WriteString(line[1:])
			continue
		}
		flush()
		text.WriteString(line)
		began = i + 1
	}
	flush()
	return out
}

// parseProperty reads NAME;PARAM=VALUE;PARAM="VALUE":VALUE.
func parseProperty(text string, line int) (property, bool) {
	p := property{params: map[string]string{}, line: line}
	quoted, start, key := false, 0, ""
	put := func(end int) bool {
		part := text[start:end]
		switch {
		case p.name == "":
			p.name = strings.ToUpper(part)
			return part != "" && strings.IndexFunc(part, func(r rune) bool {
				return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
			}) < 0
		case key == "":
			return false
		}
		p.params[key] = strings.Trim(part, `"`)
		key = ""
		return true
	}
	for i, r := range text {
		switch {
		case r == '"' && p.name != "":
			quoted = !quoted
		case quoted:
		case r == '=' && p.name != "" && key == "":
			key, start = strings.ToUpper(text[start:i]), i+1
		case r == ';' || r == ':':
			if !put(i) {
				return p, false
			}
			start = i + 1
			if r == ':' {
				p.value = text[start:]
				return p, true
			}
		}
	}
	return p, false
}

// unescape reads the value of a text property.
func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\,`, ",", `\;`, ";", `\n`, " ", `\N`, " ").Replace(s)
}

// event is one VEVENT while it is read.
type event struct {
	line       int
	start, end *property
	days       int // of DURATION
	summary    string
	categories []string
	cancelled  bool
	wrong      bool
}

// readICS reads the all-day events of an ICS file: VEVENT with dates as DTSTART and DTEND, which is the
// day after the last. An event whose CATEGORIES say WORKDAY, or without categories whose SUMMARY
// says it, is a make-up working day; every other is a holiday.
func (s *Sheet) readICS(n *notes) {
	var stack []string
	var e *event
	for _, p := range unfold(n) {
		switch p.name {
		case "BEGIN":
			if len(stack) == 0 && !strings.EqualFold(p.value, "VCALENDAR") {
				n.add(p.line, 1, "ics_begin")
				return
			}
			stack = append(stack, strings.ToUpper(strings.TrimSpace(p.value)))
			if len(stack) == 2 && stack[1] == "VEVENT" {
				e = &event{line: p.line, days: 1}
			}
			continue
		case "END":
			if len(stack) == 0 || stack[len(stack)-1] != strings.ToUpper(strings.TrimSpace(p.value)) {
				n.add(p.line, 1, "ics_end", "value", p.value)
				return
			}
			if len(stack) == 2 && e != nil {
				s.event(n, e)
				e = nil
			}
			stack = stack[:len(stack)-1]
			continue
		}
		switch {
		case len(stack) == 0:
			n.add(p.line, 1, "ics_begin")
			return
		case len(stack) == 1 && p.name == "X-WR-CALNAME" && s.Title == "":
			s.Title, _ = n.label(p.line, 1, unescape(p.value))
		case len(stack) == 2 && e != nil:
			e.take(n, p)
		}
	}
	if len(stack) > 0 {
		n.add(len(n.lines), 1, "ics_open", "value", stack[len(stack)-1])
	}
}

var durationDays = regexp.MustCompile(`^P([0-9]{1,3})([DW])$`)

// take notes one property of an event.
func (e *event) take(n *notes, p property) {
	switch p.name {
	case "DTSTART":
		e.start = &p
	case "DTEND":
		e.end = &p
	case "DURATION":
		m := durationDays.FindStringSubmatch(p.value)
		if m == nil {
			e.refuse(n, p.line, "ics_time", "value", p.value)
			return
		}
		e.days, _ = strconv.Atoi(m[1])
		if m[2] == "W" {
			e.days *= 7
		}
	case "SUMMARY":
		label, ok := n.label(p.line, 1, unescape(p.value))
		e.summary, e.wrong = label, e.wrong || !ok
	case "CATEGORIES":
		for _, c := range strings.Split(p.value, ",") {
			e.categories = append(e.categories, strings.ToLower(strings.TrimSpace(unescape(c))))
		}
	case "STATUS":
		e.cancelled = strings.EqualFold(p.value, "CANCELLED")
	case "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID":
		e.refuse(n, p.line, "ics_rule", "value", p.name)
	}
}

func (e *event) refuse(n *notes, line int, id string, args ...string) {
	n.add(line, 1, id, args...)
	e.wrong = true
}

// event puts the days of an event into the sheet.
func (s *Sheet) event(n *notes, e *event) {
	if e.wrong || e.cancelled {
		return
	}
	if e.start == nil {
		n.add(e.line, 1, "ics_start")
		return
	}
	first, ok := icsDate(n, *e.start)
	if !ok {
		return
	}
	last := first.AddDays(e.days - 1)
	if e.end != nil {
		end, ok := icsDate(n, *e.end)
		if !ok {
			return
		}
		last = end.AddDays(-1)
	}
	if e.end != nil && last.Before(first) {
		n.add(e.line, 1, "ics_dtend", "value", e.end.value, "next", strings.ReplaceAll(first.AddDays(1).String(), "-", ""))
		return
	}
	if last.Before(first) || first.AddDays(365).Before(last) {
		n.add(e.line, 1, "stretch", "value", first.String()+".."+last.String())
		return
	}
	if _, ok := n.date(e.line, 1, last.String()); !ok {
		return
	}
	day := domain.CalendarDay{Work: e.worked(), Label: plainLabel(e.summary)}
	for d := first; !last.Before(d); d = d.AddDays(1) {
		s.put(n, e.line, 1, d, day, true)
	}
}

// icsDate reads a date without a time of day.
func icsDate(n *notes, p property) (domain.BizDate, bool) {
	at, err := time.Parse("20060102", p.value)
	if err != nil || p.params["VALUE"] != "" && !strings.EqualFold(p.params["VALUE"], "DATE") {
		n.add(p.line, 1, "ics_time", "value", p.value)
		return domain.BizDate{}, false
	}
	return n.date(p.line, 1, at.Format(time.DateOnly))
}

var workWords = regexp.MustCompile(`(?i)班|\b(workday|work day|working day|make-?up day)\b`)

// worked tells a make-up working day from a holiday.
func (e *event) worked() bool {
	for _, c := range e.categories {
		if work, ok := kindOf(c); ok {
			return work
		}
	}
	return workWords.MatchString(e.summary)
}

// plainLabel takes off the mark that tells the kind.
func plainLabel(s string) string {
	for _, mark := range []string{"（休）", "（班）", "(休)", "(班)", " 休", " 班"} {
		s = strings.TrimSuffix(s, mark)
	}
	return strings.TrimSpace(s)
}

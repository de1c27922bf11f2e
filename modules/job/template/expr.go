package template

import (
	"fmt"
	"regexp"
	"strings"
)

// The values that a template may name.
const (
	nameBizDate  = "biz_date"
	nameExpected = "expected_time"
	nameTrace    = "trace_id"
	nameAttempt  = "attempt"
	nameParams   = "params"
	nameSecrets  = "secrets"
	nameUpstream = "upstream"
	nameShardIdx = "shard.index"
	nameShardTot = "shard.total"
)

func names() []string {
	return []string{nameBizDate, nameExpected, nameTrace, nameAttempt, nameShardIdx, nameShardTot, "params.NAME", "secrets.NAME", "upstream.NAME.result.KEY"}
}

// part is a stretch of literal text, or one {{…}}.
type part struct {
	text   string // literal
	expr   *expr
	raw    string // {{…}} as written
	offset int    // bytes from the start of the field
}

// expr is what stands between braces.
type expr struct {
	name   string
	param  string // for params and secrets: which; for upstream the key of its result
	job    string // for upstream: the job as the template names it
	dep    int    // for upstream: its place among the dependencies
	steps  []step // for biz_date
	format string // "" is the canonical form
}

// key is equal for expressions that give the same value.
func (e expr) key() string {
	return fmt.Sprintf("%s\x00%s\x00%v\x00%s\x00%s", e.name, e.param, e.steps, e.format, e.job)
}

// parse takes a text apart. Faults carry the offset of their braces.
func parse(text string) ([]part, []Issue) {
	var parts []part
	var faults []Issue
	var lit strings.Builder
	start := 0
	flush := func() {
		if lit.Len() > 0 {
			parts = append(parts, part{text: lit.String(), offset: start})
			lit.Reset()
		}
	}
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "{{{{"):
			lit.WriteString("{{")
			i += 4
			continue
		case !strings.HasPrefix(text[i:], "{{"):
			lit.WriteByte(text[i])
			i++
			continue
		}
		end := strings.Index(text[i:], "}}")
		if next := strings.IndexByte(text[i:], '\n'); end < 0 || next >= 0 && next < end {
			faults = append(faults, Issue{Offset: i, ID: IDUnclosed, Hint: HintLiteral})
			lit.WriteString("{{")
			i += 2
			continue
		}
		flush()
		raw := text[i : i+end+2]
		e, fault := parseExpr(raw[2 : len(raw)-2])
		if fault != nil {
			fault.Offset = i
			faults = append(faults, *fault)
		} else {
			parts = append(parts, part{expr: e, raw: raw, offset: i})
		}
		i += len(raw)
		start = i
	}
	flush()
	return parts, faults
}

var (
	exprShape  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.]*)\s*([+-]\s*[0-9]+\s*[A-Za-z]*)?\s*(?:\|\s*(.*))?$`)
	paramShape = regexp.MustCompile(`^params\.([A-Za-z_][A-Za-z0-9_]*)$`)
	// secretShape's name is that of modules/secret.
	secretShape = regexp.MustCompile(`^secrets\.([A-Za-z_][A-Za-z0-9_]*)$`)
	// upstreamShape takes any name of a job, dots and all.
	upstreamShape = regexp.MustCompile(`^upstream\.([^\s{}|]+)\.result\.([A-Za-z_][A-Za-z0-9_]*)$`)
)

// parseExpr reads what stands between the braces.
func parseExpr(inner string) (*expr, *Issue) {
	text := strings.TrimSpace(inner)
	args := map[string]string{"expr": clip(text)}
	if u := upstreamShape.FindStringSubmatch(text); u != nil {
		return &expr{name: nameUpstream, job: u[1], param: u[2]}, nil
	}
	if strings.HasPrefix(text, "upstream.") {
		return nil, &Issue{ID: IDUpstream, Hint: HintUpstream, Args: args}
	}
	m := exprShape.FindStringSubmatch(text)
	if m == nil {
		return nil, &Issue{ID: IDUnknown, Hint: HintLiteral, Args: args, Word: text, Near: names()}
	}
	e := &expr{name: m[1]}
	if p := paramShape.FindStringSubmatch(m[1]); p != nil {
		e.name, e.param = nameParams, p[1]
	} else if p := secretShape.FindStringSubmatch(m[1]); p != nil {
		e.name, e.param = nameSecrets, p[1]
	} else if !known(m[1]) {
		return nil, &Issue{ID: IDUnknown, Hint: HintLiteral, Args: args, Word: m[1], Near: names()}
	}
	piped := strings.Contains(text, "|")
	if (m[2] != "" && e.name != nameBizDate) || (piped && e.name != nameBizDate && e.name != nameExpected) {
		return nil, &Issue{ID: IDNotDate, Args: args}
	}
	if m[2] != "" {
		s, ok := parseShift(m[2])
		if !ok {
			return nil, &Issue{ID: IDShift, Hint: HintShift, Args: args}
		}
		e.steps = append(e.steps, s)
	}
	switch {
	case piped && e.name == nameBizDate:
		if fault := e.parsePipe(strings.Split(m[3], "|"), args); fault != nil {
			return nil, fault
		}
	case piped:
		if e.format = strings.TrimSpace(m[3]); !goodFormat(e.format, true) {
			return nil, &Issue{ID: IDFormat, Hint: HintFormat, Args: args}
		}
	}
	return e, nil
}

func known(name string) bool {
	switch name {
	case nameBizDate, nameExpected, nameTrace, nameAttempt, nameShardIdx, nameShardTot:
		return true
	}
	return false
}

// fields are the letters of a format, longest first, with Go's layout for each.
func fields(withClock bool) [][2]string {
	out := [][2]string{{"yyyy", "2006"}, {"yy", "06"}, {"MM", "01"}, {"dd", "02"}}
	if withClock {
		out = append(out, [][2]string{{"HH", "15"}, {"mm", "04"}, {"ss", "05"}}...)
	}
	return out
}

// nextField cuts one field, or one other character, from the front of a format.
func nextField(format string, withClock bool) (layout, literal, rest string) {
	for _, f := range fields(withClock) {
		if strings.HasPrefix(format, f[0]) {
			return f[1], "", format[len(f[0]):]
		}
	}
	return "", format[:1], format[1:]
}

// goodFormat takes the fields and between them only - / _ . : , and blanks, so that a letter
// mistyped is an error and no text.
func goodFormat(format string, withClock bool) bool {
	if format == "" || len(format) > 60 {
		return false
	}
	for format != "" {
		layout, literal, rest := nextField(format, withClock)
		if layout == "" && !strings.Contains("-/_.:, T", literal) {
			return false
		}
		format = rest
	}
	return true
}

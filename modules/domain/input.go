package domain

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// InputType says what values an input takes.
type InputType string

// The types. A value is always text: a number keeps its digits as they were written.
const (
	InputText   InputType = "text" // the default
	InputNumber InputType = "number"
	InputDate   InputType = "date"
	// InputBizDate is a date that is the run's business date where none is given.
	InputBizDate InputType = "biz_date"
	InputChoice  InputType = "choice"
	// InputChoices takes several, parted by commas.
	InputChoices InputType = "multi_choice"
	// InputFile is an absolute path or a URL; AX opens neither.
	InputFile InputType = "file"
	// InputSecret is the name of a secret of the project, whose value the task gets.
	InputSecret InputType = "secret"
)

// InputTypes are all of them, in the order in which they are told to people.
func InputTypes() []InputType {
	return []InputType{InputText, InputNumber, InputDate, InputBizDate, InputChoice, InputChoices, InputFile, InputSecret}
}

// MaxInputs is how many inputs a job may declare.
const MaxInputs = 50

// Input is a parameter that a run may be given.
type Input struct {
	Name     string    `json:"name"`
	Type     InputType `json:"type"`
	Title    string    `json:"title,omitempty"`
	Required bool      `json:"required,omitempty"`
	// Default stands where none is given; of text, date, biz_date and file it may hold templates. "" = none.
	Default string `json:"default,omitempty"`
	// Choices are what choice and multi_choice take, and, where there are any, of a secret the names.
	Choices []string `json:"choices,omitempty"`
	// Pattern is a regular expression that the whole of a text or file must match; "" = any.
	Pattern string `json:"pattern,omitempty"`
}

// Field names the input in errors.
func (i Input) Field() string { return "params." + i.Name }

// Fed reports whether a run has a value of the input without being given one, or needs none.
func (i Input) Fed() bool { return !i.Required || i.Default != "" || i.Type == InputBizDate }

// Templated reports whether a default may hold templates.
func (t InputType) Templated() bool {
	return t == InputText || t == InputDate || t == InputBizDate || t == InputFile
}

// Chosen reports whether values are among declared choices.
func (t InputType) Chosen() bool { return t == InputChoice || t == InputChoices }

// Matched reports whether a pattern may be given.
func (t InputType) Matched() bool { return t == InputText || t == InputFile }

// CheckInputs judges the params that a run is given by the inputs that its job declares: all faults, in the order of the
// inputs, those of undeclared names last. A job without inputs takes any. An empty text is as if not given.
func CheckInputs(inputs []Input, given map[string]string) []*Error {
	if len(inputs) == 0 {
		return nil
	}
	var out []*Error
	declared := map[string]bool{}
	for _, in := range inputs {
		declared[in.Name] = true
		if value := given[in.Name]; value != "" || !in.Fed() {
			if err := in.Check(value); err != nil {
				out = append(out, err)
			}
		}
	}
	var others []string
	for name := range given {
		if !declared[name] {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	for _, name := range others {
		out = append(out, undeclared(name, inputs))
	}
	return out
}

func undeclared(name string, inputs []Input) *Error {
	names := make([]string, len(inputs))
	for i, in := range inputs {
		names[i] = in.Name
	}
	known := strings.Join(names, ", ")
	return Fail(Invalid, "the job declares no input %q; it declares %s", clipped(name), known).At("params."+clipped(name)).
		Coded("input.undeclared", "name", clipped(name), "known", known)
}

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// Check judges one value; "" is none.
func (i Input) Check(value string) *Error {
	if value == "" {
		if i.Required {
			return i.fail("input.missing", "needs a value")
		}
		return nil
	}
	switch i.Type {
	case InputNumber:
		if !number.MatchString(value) {
			return i.fail("input.number", "wants a number such as 12 or -0.5, not %q", clipped(value))
		}
	case InputDate, InputBizDate:
		if d, err := ParseBizDate(value); err != nil || d.String() != value {
			return i.fail("input.date", "wants a date such as 2026-02-03, not %q", clipped(value))
		}
	case InputChoice:
		return i.choose(value, value)
	case InputChoices:
		return i.chooseAll(value)
	case InputSecret:
		return i.secret(value)
	case InputFile:
		if !isFile(value) {
			return i.fail("input.file", "wants an absolute path or a URL on one line, not %q", clipped(value))
		}
		return i.match(value)
	default:
		return i.match(value)
	}
	return nil
}

func (i Input) choose(one, value string) *Error {
	if slices.Contains(i.Choices, one) {
		return nil
	}
	known := strings.Join(i.Choices, ", ")
	return i.fail("input.choice", "%q is none of %s", clipped(one), known).Coded("input.choice", "name", i.Name, "value", clipped(cmp.Or(one, value)), "known", known)
}

func (i Input) chooseAll(value string) *Error {
	seen := map[string]bool{}
	for one := range strings.SplitSeq(value, ",") {
		if err := i.choose(one, value); err != nil {
			return err
		}
		if seen[one] {
			return i.fail("input.twice", "names %q twice", one)
		}
		seen[one] = true
	}
	return nil
}

var secretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

func (i Input) secret(name string) *Error {
	if len(i.Choices) > 0 && !slices.Contains(i.Choices, name) || !secretName.MatchString(name) {
		return i.fail("input.secret", "wants the name of a secret of the project, never a value")
	}
	return nil
}

const maxFile = 4096

var urlShape = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://\S+$`)

func isFile(value string) bool {
	return len(value) <= maxFile && !strings.ContainsFunc(value, unicode.IsControl) && (strings.HasPrefix(value, "/") || urlShape.MatchString(value))
}

func (i Input) match(value string) *Error {
	if i.Pattern == "" {
		return nil
	}
	re, err := i.Regexp()
	if err != nil || !re.MatchString(value) {
		return i.fail("input.pattern", "%q does not match the pattern %s", clipped(value), i.Pattern).
			Coded("input.pattern", "name", i.Name, "value", clipped(value), "pattern", i.Pattern)
	}
	return nil
}

// Regexp is the pattern, of the whole value.
func (i Input) Regexp() (*regexp.Regexp, error) { return regexp.Compile(`^(?s:` + i.Pattern + `)$`) }

func (i Input) fail(id, format string, args ...any) *Error {
	e := Fail(Invalid, "input "+i.Name+" "+format, args...).At(i.Field())
	value := ""
	if len(args) > 0 {
		value, _ = args[0].(string)
	}
	return e.Coded(id, "name", i.Name, "value", value)
}

// clipped is a value as far as an error shows it.
func clipped(s string) string {
	const most = 80
	if rs := []rune(s); len(rs) > most {
		s = string(rs[:most]) + "…"
	}
	quoted := strconv.Quote(s)
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return quoted[1 : len(quoted)-1]
	}
	return s
}

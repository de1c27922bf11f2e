package job

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
)

const (
	maxChoices      = 100
	maxChoiceRunes  = 200
	maxPatternBytes = 500
)

// inputs reads what a run may be given.
func (d *draft) inputs(e entry) {
	items, ok := d.items(e)
	if !ok {
		return
	}
	if len(items) > domain.MaxInputs {
		d.add(e.at, e.path, idInputMany, "", "n", strconv.Itoa(len(items)), "max", strconv.Itoa(domain.MaxInputs))
		return
	}
	seen := map[string]bool{}
	for _, it := range items {
		in, ok := d.input(it)
		if !ok {
			continue
		}
		if seen[in.Name] {
			d.add(it.at, it.path, idInputTwice, "", "name", in.Name)
		}
		seen[in.Name] = true
		d.spec.Inputs = append(d.spec.Inputs, in)
	}
}

// input reads one.
func (d *draft) input(e entry) (domain.Input, bool) {
	in := domain.Input{Type: domain.InputText}
	children, ok := d.entries(e)
	if !ok {
		return in, false
	}
	before := len(d.problems.Errors())
	at := map[string]entry{}
	for _, c := range children {
		at[c.key] = c
		switch c.key {
		case "name":
			in.Name = d.variable(c)
		case "type":
			take(d, c, &in.Type, domain.InputTypes()...)
		case "title":
			in.Title = d.line(c, 200)
		case "required":
			in.Required, _ = d.boolean(c)
		case "default":
			in.Default, _ = d.text(c)
		case "choices":
			in.Choices = d.choices(c)
		case "pattern":
			in.Pattern, _ = d.text(c)
		default:
			d.unknownKey(c, idInputKey, []string{"name", "type", "title", "required", "default", "choices", "pattern"})
		}
	}
	if _, given := at["name"]; !given {
		d.add(e.at, e.path, idInputName, hintInput)
	}
	if len(d.problems.Errors()) > before {
		return in, false
	}
	d.fits(e, in, at)
	return in, len(d.problems.Errors()) == before
}

// variable reads a name that can name a variable.
func (d *draft) variable(e entry) string {
	s, ok := d.text(e)
	if ok && (!variableName(s) || utf8.RuneCountInString(s) > MaxNameRunes) {
		d.add(e.at, e.path, idParamName, hintVariableName, "key", clip(s))
		return ""
	}
	return s
}

// choices reads what may be chosen; a comma parts several in one value, so none has one.
func (d *draft) choices(e entry) []string {
	items, ok := d.items(e)
	if !ok {
		return nil
	}
	if len(items) == 0 || len(items) > maxChoices {
		d.add(e.at, e.path, idInputChoices, "", "max", strconv.Itoa(maxChoices))
		return nil
	}
	var out []string
	for _, it := range items {
		s, ok := d.text(it)
		switch {
		case !ok:
		case s == "" || strings.TrimSpace(s) != s || strings.Contains(s, ",") || utf8.RuneCountInString(s) > maxChoiceRunes || strings.ContainsFunc(s, unicode.IsControl):
			d.add(it.at, it.path, idInputChoice, "", "value", clip(s), "max", strconv.Itoa(maxChoiceRunes))
		case slices.Contains(out, s):
			d.add(it.at, it.path, idListTwice, "", "key", e.key, "value", clip(s))
		default:
			out = append(out, s)
		}
	}
	return out
}

// fits judges the keys of one input together.
func (d *draft) fits(e entry, in domain.Input, at map[string]entry) {
	if c, given := at["choices"]; given && !in.Type.Chosen() && in.Type != domain.InputSecret {
		d.add(c.keyAt, c.path, idInputNeedless, "", "key", "choices", "type", string(in.Type))
	} else if !given && in.Type.Chosen() {
		d.add(e.at, e.path, idInputChoices, "", "max", strconv.Itoa(maxChoices))
		return
	}
	if c, given := at["pattern"]; given {
		_, err := in.Regexp()
		switch {
		case !in.Type.Matched():
			d.add(c.keyAt, c.path, idInputNeedless, "", "key", "pattern", "type", string(in.Type))
		case err != nil || len(in.Pattern) > maxPatternBytes:
			reason := "it is longer than " + strconv.Itoa(maxPatternBytes) + " bytes"
			if err != nil {
				reason = strings.TrimPrefix(err.Error(), "error parsing regexp: ")
			}
			d.add(c.at, c.path, idInputPattern, "", "reason", reason)
			return
		}
	}
	c, given := at["default"]
	if !given || in.Default == "" || in.Type.Templated() && strings.Contains(in.Default, "{{") {
		return
	}
	if err := in.Check(in.Default); err != nil {
		d.add(c.at, c.path, idInputDefault, "", "reason", err.Msg)
	}
}

// feeds judges inputs together with params and with what makes the job due: nobody is there to give a value when a
// schedule fires.
func (d *draft) feeds() {
	due := ""
	for _, key := range []string{"cron", "every", "at", "trigger"} {
		if _, given := d.given[key]; given {
			due = key
		}
	}
	for i, in := range d.spec.Inputs {
		path := "job.inputs[" + strconv.Itoa(i) + "]"
		if _, both := d.spec.Params[in.Name]; both {
			d.add(d.At("job.params."+in.Name), "job.params."+in.Name, idInputParam, "", "name", in.Name)
		}
		if due != "" && !in.Fed() {
			d.add(d.At(path), path, idInputUnfed, hintInputUnfed, "name", in.Name, "key", due)
		}
	}
}

// outputs reads the keys that the result promises.
func (d *draft) outputs(e entry) {
	items := []entry{e}
	if _, single := scalar(e.node); !single {
		var ok bool
		if items, ok = d.items(e); !ok {
			return
		}
	}
	if len(items) > maxListItems {
		d.add(e.at, e.path, idListLong, "", "key", e.key, "n", strconv.Itoa(len(items)), "max", strconv.Itoa(maxListItems))
		return
	}
	for _, it := range items {
		s, ok := d.text(it)
		switch {
		case !ok:
		case !variableName(s) || utf8.RuneCountInString(s) > MaxNameRunes:
			d.add(it.at, it.path, idOutputName, hintOutputName, "value", clip(s))
		case slices.Contains(d.spec.Outputs, s):
			d.add(it.at, it.path, idListTwice, "", "key", e.key, "value", s)
		default:
			d.spec.Outputs = append(d.spec.Outputs, s)
		}
	}
}

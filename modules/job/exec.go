package job

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/axsched/ax/modules/domain"
)

// exec reads what the job runs. The settings end as one JSON object with sorted keys.
func (d *draft) exec(e entry) {
	children, ok := d.entries(e)
	if !ok {
		return
	}
	var kind string
	rest := make([]entry, 0, len(children))
	found := false
	for _, c := range children {
		if c.key != "type" {
			rest = append(rest, c)
			continue
		}
		found = true
		kind, ok = d.execType(c)
	}
	if !found {
		d.add(e.at, e.path, idExecType, hintExecType)
	}
	if !found || !ok {
		return
	}
	var spec map[string]any
	switch kind {
	case "shell":
		spec = d.shell(e, rest)
	case "python":
		spec = d.python(e, rest)
	case "http":
		spec = d.http(e, rest)
	case "sql":
		spec = d.sql(e, rest)
	case "noop":
		spec = d.settings(rest, kind, nil)
	default:
		spec = d.free(rest)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		d.add(e.at, e.path, idExecJSON, "", "reason", err.Error())
		return
	}
	d.spec.Exec = domain.Exec{Type: kind, Spec: text, Needs: needs(kind, spec)}
}

// execType reads which type it is: one that is built in, or a word that plug-ins and executors give meaning to.
func (d *draft) execType(e entry) (string, bool) {
	s, ok := d.text(e)
	switch {
	case !ok || domain.BuiltIn(s):
		return s, ok
	case domain.TypeWord(s):
		return s, true
	}
	args := []string{"value", clip(s), "max", strconv.Itoa(domain.MaxTypeBytes)}
	if near := nearest(s, domain.BuiltInTypes()); near != "" {
		d.add(e.at, e.path, idExecTypeWord, hintMeant, append(args, "suggestion", near)...)
	} else {
		d.add(e.at, e.path, idExecTypeWord, "", args...)
	}
	return "", false
}

// free takes the keys of a type that AX does not know as they are: what they mean is for whoever announces it.
func (d *draft) free(rest []entry) map[string]any {
	spec := map[string]any{}
	for _, c := range rest {
		if _, empty := c.node.(*ast.NullNode); empty {
			d.wrongType(c, "text")
			continue
		}
		if raw, ok := d.asJSON(c); ok {
			spec[c.key] = raw
		}
	}
	return spec
}

// settings reads the keys of one executor type.
func (d *draft) settings(rest []entry, kind string, keys map[string]func(entry) (any, bool)) map[string]any {
	spec := map[string]any{}
	for _, c := range rest {
		read, known := keys[c.key]
		if !known {
			names := []string{"type"}
			for k := range keys {
				names = append(names, k)
			}
			slices.Sort(names)
			args := []string{"key", clip(c.key), "type", kind, "known", strings.Join(names, ", ")}
			if near := nearest(c.key, names); near != "" {
				d.add(c.keyAt, c.path, idExecKey, hintMeant, append(args, "suggestion", near)...)
			} else {
				d.add(c.keyAt, c.path, idExecKey, hintOneOf, args...)
			}
			continue
		}
		if v, ok := read(c); ok {
			spec[c.key] = v
		}
	}
	return spec
}

func (d *draft) need(e entry, spec map[string]any, kind, key string) {
	if _, ok := spec[key]; ok {
		return
	}
	if _, tried := d.places[e.path+"."+key]; !tried {
		d.add(e.at, e.path, idExecNeeds, "", "type", kind, "key", key)
	}
}

// quoteJSON writes a string as JSON without turning <, > and & into escapes.
func quoteJSON(s string) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("a string cannot be written as JSON: " + err.Error())
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

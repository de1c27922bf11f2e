package job

import (
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// maxCode is the greatest exit code of a program.
const maxCode = 255

func (d *draft) shell(e entry, rest []entry) map[string]any {
	spec := d.settings(rest, "shell", map[string]func(entry) (any, bool){
		"command":       func(c entry) (any, bool) { return d.filled(c) },
		"shell":         func(c entry) (any, bool) { return d.choice(c, []string{"sh", "bash"}, nil) },
		"cwd":           func(c entry) (any, bool) { return d.workerPath(c) },
		"user":          func(c entry) (any, bool) { return d.word(c) },
		"success_codes": func(c entry) (any, bool) { return d.wholes(c, 0, maxCode) },
		"dump_signal": func(c entry) (any, bool) {
			return d.choice(c, []string{"SIGABRT", "SIGQUIT", "SIGTERM", "SIGINT"}, nil)
		},
	})
	d.need(e, spec, "shell", "command")
	return spec
}

// filled reads a text that says something.
func (d *draft) filled(e entry) (string, bool) {
	s, ok := d.text(e)
	if ok && strings.TrimSpace(s) == "" {
		d.add(e.at, e.path, idValueEmpty, "", "key", e.key)
		return "", false
	}
	return s, ok
}

// word reads a name.
func (d *draft) word(e entry) (string, bool) {
	s := d.name(e)
	return s, s != ""
}

func (d *draft) python(e entry, rest []entry) map[string]any {
	spec := d.settings(rest, "python", map[string]func(entry) (any, bool){
		"script":        func(c entry) (any, bool) { return d.filled(c) },
		"file":          func(c entry) (any, bool) { return d.workerPath(c) },
		"args":          func(c entry) (any, bool) { return d.texts(c) },
		"interpreter":   func(c entry) (any, bool) { return d.interpreter(c) },
		"venv":          func(c entry) (any, bool) { return d.workerPath(c) },
		"cwd":           func(c entry) (any, bool) { return d.workerPath(c) },
		"success_codes": func(c entry) (any, bool) { return d.wholes(c, 0, maxCode) },
	})
	d.either(e, "script", "file", true)
	d.either(e, "interpreter", "venv", false)
	return spec
}

// either wants one of two keys, or at most one of them.
func (d *draft) either(e entry, one, other string, needed bool) {
	_, first := d.places[e.path+"."+one]
	at, second := d.places[e.path+"."+other]
	switch {
	case first && second:
		d.add(at, e.path+"."+other, idExecBoth, "", "key", other, "other", one)
	case !first && !second && needed:
		d.add(e.at, e.path, idExecOneOf, "", "key", one, "other", other)
	}
}

// interpreter reads a program's name, or its path on the worker's machine.
func (d *draft) interpreter(e entry) (string, bool) {
	s := d.line(e, maxPathRunes)
	if s != "" && strings.Contains(s, "/") && !strings.HasPrefix(s, "/") || strings.ContainsAny(s, " \t") {
		d.add(e.at, e.path, idInterpreter, "", "value", clip(s))
		return "", false
	}
	return s, s != ""
}

// maxPathRunes bounds a path.
const maxPathRunes = 1000

// texts reads a list of texts, or a single one; empty ones count.
func (d *draft) texts(e entry) ([]string, bool) {
	items := []entry{e}
	if _, single := scalar(e.node); !single {
		var ok bool
		if items, ok = d.items(e); !ok {
			return nil, false
		}
	}
	out, fine := []string{}, true
	for _, it := range items {
		s, ok := d.text(it)
		out, fine = append(out, s), fine && ok
	}
	return out, fine
}

// needs are what the settings of a type name of the worker's own set-up.
func needs(kind string, spec map[string]any) []string {
	name := func(key string) string {
		s, _ := spec[key].(string) // absent, or refused
		return s
	}
	switch source, user := name("source"), name("user"); {
	case kind == "sql" && source != "":
		return []string{domain.NeedSource(source)}
	case kind == "shell" && user != "":
		return []string{domain.NeedUser(user)}
	}
	return nil
}

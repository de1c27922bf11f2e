package plugin

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/axsched/ax/worker/protocol"
)

var (
	nameForm  = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	paramForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)
	envForm   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

const nameSays = "write a-z, 0-9, - and _, beginning with a letter, at most 63 characters"

// top reads the keys of a manifest.
func (d *draft) top(e entry) {
	d.fields(e, map[string]func(entry){
		"manifest": func(c entry) {
			if s := d.text(c, maxWordBytes); s != "v1" {
				d.add(c, "%q: this version of AX reads v1", s)
			}
		},
		"name":        func(c entry) { d.Name = d.word(c, nameForm, nameSays) },
		"version":     func(c entry) { d.Version = d.text(c, 100) },
		"command":     d.command,
		"pool":        func(c entry) { d.Pool = d.whole(c, 1, maxPool) },
		"env":         d.env,
		"config":      d.config,
		"dump_signal": d.dump,
		"venv":        d.venv,
		"timeouts": func(c entry) {
			d.fields(c, map[string]func(entry){"start": func(c entry) { d.Start = d.seconds(c) }, "prepare": func(c entry) { d.Prepare = d.seconds(c) },
				"install": func(c entry) { d.Install = d.seconds(c) }})
		},
		"types": d.types,
	}, "manifest", "name", "version", "command", "types")
	if d.Dump == "" {
		if d.Dump = defaultDump; d.python() {
			d.Dump = pythonDump
		}
	}
}

func (d *draft) command(e entry) {
	for _, c := range d.items(e) {
		d.Command = append(d.Command, d.text(c, 4096))
	}
	if len(d.Command) > 0 && d.Command[0] == "" || len(d.Command) == 0 {
		d.add(e, "the first word must name the program: [python3, main.py]")
	}
}

func (d *draft) env(e entry) {
	d.Env = map[string]string{}
	for _, c := range d.entries(e) {
		switch {
		case !envForm.MatchString(c.name):
			d.add(c, "it can't name a variable: write letters, digits and _")
		case strings.HasPrefix(c.name, "AX_"):
			d.add(c, "names that begin with AX_ are AX's own")
		default:
			d.Env[c.name] = d.text(c, 64<<10)
		}
	}
}

// config takes what init is given as it is.
func (d *draft) config(e entry) {
	d.entries(e) // a map, each key once
	var any map[string]any
	if err := yaml.NodeToValue(e.node, &any); err != nil {
		d.add(e, "it can't be read: %v", err)
		return
	}
	if _, err := json.Marshal(any); err != nil {
		d.add(e, "it can't be written as JSON: %v", err)
		return
	}
	d.Config = any
}

func (d *draft) dump(e entry) {
	if d.Dump = d.text(e, maxWordBytes); !slices.Contains(dumpSignals(), d.Dump) {
		d.add(e, "%q: one of %s is wanted", d.Dump, strings.Join(dumpSignals(), ", "))
	}
}

func (d *draft) venv(e entry) {
	d.Venv = &Venv{Python: "python3"}
	d.fields(e, map[string]func(entry){
		"python":       func(c entry) { d.Venv.Python = d.text(c, 4096) },
		"requirements": func(c entry) { d.Venv.Requirements = d.within(c) },
		"wheels":       func(c entry) { d.Venv.Wheels = d.within(c) },
	})
	if d.Venv.Requirements != "" && d.Venv.Wheels == "" {
		d.add(e, "requirements are installed from local wheels only: name their folder in wheels")
	}
}

// within reads the path of something that lies in the folder.
func (d *draft) within(e entry) string {
	s := d.text(e, 4096)
	if s != "" && !filepath.IsLocal(s) {
		d.add(e, "%q: it must lie within the plug-in's folder", s)
		return ""
	}
	return s
}

func (d *draft) types(e entry) {
	all := d.items(e)
	if len(all) == 0 || len(all) > maxTypes {
		d.add(e, "from 1 to %d types are wanted", maxTypes)
		return
	}
	seen := map[string]bool{}
	for _, c := range all {
		var t Type
		d.fields(c, map[string]func(entry){
			"name":   func(c entry) { t.Name = d.word(c, nameForm, nameSays) },
			"about":  func(c entry) { t.About = d.words(c) },
			"params": func(c entry) { t.Params = d.params(c) },
		}, "name")
		if t.Name != "" && seen[t.Name] {
			d.add(c, "the type %s stands there twice", t.Name)
		}
		seen[t.Name] = true
		d.Types = append(d.Types, t)
	}
}

func (d *draft) params(e entry) []protocol.TypeParam {
	all := d.items(e)
	out := make([]protocol.TypeParam, 0, len(all))
	if len(all) > maxParams {
		d.add(e, "at most %d are allowed", maxParams)
		return out
	}
	seen := map[string]bool{"type": true}
	for _, c := range all {
		p := d.param(c)
		if p.Name == "type" {
			d.add(c, "type is the key that names the type itself")
		} else if p.Name != "" && seen[p.Name] {
			d.add(c, "the parameter %s stands there twice", p.Name)
		}
		seen[p.Name] = true
		out = append(out, p)
	}
	return out
}

func (d *draft) param(e entry) protocol.TypeParam {
	p := protocol.TypeParam{Kind: protocol.KindText}
	d.fields(e, map[string]func(entry){
		"name": func(c entry) {
			p.Name = d.word(c, paramForm, "write letters, digits, - and _, beginning with a letter or _")
		},
		"kind": func(c entry) {
			if p.Kind = d.text(c, maxWordBytes); !slices.Contains(kinds(), p.Kind) {
				d.add(c, "%q: one of %s is wanted", p.Kind, strings.Join(kinds(), ", "))
			}
		},
		"required": func(c entry) { p.Required = d.boolean(c) },
		"default":  func(c entry) { p.Default = d.text(c, 4096) },
		"choices": func(c entry) {
			for _, one := range d.items(c) {
				p.Choices = append(p.Choices, d.text(one, maxWordBytes))
			}
		},
		"label": func(c entry) { p.Label = d.words(c) },
		"about": func(c entry) { p.Help = d.words(c); p.About = p.Help.In("en") },
	}, "name")
	if fault := misfit(p); fault != "" {
		d.add(e, "%s", fault)
	}
	return p
}

func kinds() []string {
	return []string{protocol.KindText, protocol.KindNumber, protocol.KindBoolean, protocol.KindList, protocol.KindMap}
}

// misfit says what of a parameter's default and choices does not go together.
func misfit(p protocol.TypeParam) string {
	switch {
	case p.Default == "":
	case p.Required:
		return "a parameter that is required needs no default"
	case p.Kind == protocol.KindNumber && !isNumber(p.Default):
		return "the default " + strconv.Quote(p.Default) + " is no number"
	case p.Kind == protocol.KindBoolean && p.Default != "true" && p.Default != "false":
		return "the default must be true or false"
	case p.Kind == protocol.KindList || p.Kind == protocol.KindMap:
		return "a list or map has no default"
	case len(p.Choices) > 0 && !slices.Contains(p.Choices, p.Default):
		return "the default is none of the choices"
	}
	if len(p.Choices) > 0 && p.Kind != protocol.KindText && p.Kind != protocol.KindNumber {
		return "only texts and numbers have choices"
	}
	return ""
}

var numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func isNumber(s string) bool { return numberForm.MatchString(s) }

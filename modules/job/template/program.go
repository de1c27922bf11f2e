package template

import (
	"encoding/json"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// settings takes a type's settings apart; nil after an issue.
func (c *compiler) settings(raw json.RawMessage) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	if err := json.Unmarshal(raw, &out); err != nil {
		c.add("exec", 0, IDExecDamaged, "", "reason", err.Error())
		return nil
	}
	return out
}

// textOf is a setting that is a text; "" where there is none.
func textOf(settings map[string]json.RawMessage, key string) string {
	var s string
	_ = json.Unmarshal(settings[key], &s) // what is no text was refused when the file was read
	return s
}

// shell reads the settings of a shell task. A value has its place in the command alone.
func (c *compiler) shell(raw json.RawMessage) *shellText {
	all := c.settings(raw)
	for _, key := range []string{"cwd", "user"} {
		c.plain("exec."+key, textOf(all, key))
	}
	out := c.shellText("exec.command", textOf(all, "command"))
	out.rest = all
	return out
}

// render writes the settings with the command as AX quotes it.
func (s *shellText) render(env map[string]string, v values) (json.RawMessage, error) {
	for _, ref := range s.vars {
		text, err := v.of(ref.expr)
		if err != nil {
			return nil, err
		}
		env[ref.name] = text
	}
	return withKey(s.rest, "command", s.text)
}

// withKey is the settings with one of them replaced.
func withKey(settings map[string]json.RawMessage, key string, value any) (json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(settings)
	out[key] = text
	return json.Marshal(out)
}

// pythonText is the settings of a python task, its arguments taken apart.
type pythonText struct {
	rest map[string]json.RawMessage
	args [][]part // nil: it gives none
}

// python reads the settings of a python task. The script goes to the interpreter byte for byte, so braces in it are Python's;
// only what would be a template of AX is refused, since nothing is filled in there.
func (c *compiler) python(raw json.RawMessage) *pythonText {
	out := &pythonText{rest: c.settings(raw)}
	for _, key := range []string{"file", "interpreter", "venv", "cwd"} {
		c.plain("exec."+key, textOf(out.rest, key))
	}
	c.script("exec.script", textOf(out.rest, "script"))
	var args []string
	if given := out.rest["args"]; given != nil && json.Unmarshal(given, &args) == nil {
		out.args = make([][]part, len(args))
		for i, a := range args {
			field := "exec.args[" + strconv.Itoa(i) + "]"
			out.args[i] = c.parts(field, a)
			c.noSecrets(field, IDSecretCommand, out.args[i])
		}
	}
	return out
}

// ourTemplate matches what the author of a script most likely takes for a template of AX.
var ourTemplate = regexp.MustCompile(`^(params|secrets|upstream|shard)\.[A-Za-z_]`)

// script refuses templates in a script.
func (c *compiler) script(field, text string) {
	for at := 0; ; {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			return
		}
		at += open
		inner, _, closed := strings.Cut(text[at+2:], "}}")
		if closed && !strings.ContainsAny(inner, "{\n") {
			e, fault := parseExpr(inner)
			if fault == nil || ourTemplate.MatchString(strings.TrimSpace(inner)) {
				variable := "AX_…"
				if e != nil {
					variable = ownVariable(e)
				}
				c.add(field, at, IDScript, HintScript, "expr", "{{"+clip(inner)+"}}", "variable", variable)
			}
		}
		at += 2
	}
}

// render fills in the arguments.
func (p *pythonText) render(v values) (json.RawMessage, error) {
	if p.args == nil {
		return json.Marshal(p.rest)
	}
	args := make([]string, len(p.args))
	for i, parts := range p.args {
		var err error
		if args[i], err = fill(parts, v, nil); err != nil {
			return nil, err
		}
	}
	return withKey(p.rest, "args", args)
}

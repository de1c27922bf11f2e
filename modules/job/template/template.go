// Package template owns what {{…}} means in a job: which values there are, where they may stand,
// and how each is written for its place. Compile judges a job at save; Render fills it in at
// dispatch.
//
// A value never becomes code. In a shell command a substitution turns into a reference to an
// environment variable, quoted for its place as the shell reads it; in a URL it is
// percent-encoded; in a JSON body it is encoded as part of a string; in a header a line break is
// refused; in SQL it is a bound parameter, for a Python script an argument. Where no such writing is safe, the place is refused at save. There is one pass: braces
// inside a value are text. {{{{ writes a literal {{.
//
// Everything here is a pure function: no clock, no store, safe for concurrent use.
package template

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// Issue is one fault of a template. ID and Hint are keys of the catalogs of job files; Near are
// the words among which the one meant may be.
type Issue struct {
	Field  string // the path within the job: exec.command, env.DAY, params.day, exec.headers.X
	Offset int    // the byte in the field's text at which the fault begins
	ID     string
	Hint   string
	Args   map[string]string
	Word   string
	Near   []string
}

// Program is a compiled job: its templates taken apart, each with its way of writing.
type Program struct {
	kind    string
	project string
	job     string
	params  map[string][]part
	env     map[string][]part
	command *shellText
	http    *httpText
	free    *node // of a type that AX does not know
	python  *pythonText
	sql     *sqlText
	raw     json.RawMessage
	secrets []SecretUse
	results []ResultUse
	inputs  []domain.Input
}

// SecretUse is a place in which a job names a secret of its project.
type SecretUse struct{ Name, Field string }

// ResultUse is a place in which a job reads the result of one it depends on.
type ResultUse struct {
	Job   domain.JobKey
	Key   string
	Field string
}

// Results lists where the job reads results, in the order in which it is read.
func (p *Program) Results() []ResultUse { return p.results }

// Secrets lists where the job names secrets, in the order in which it is read.
func (p *Program) Secrets() []SecretUse { return p.secrets }

// Compile takes a job's templates apart. The program is nil when there is an issue.
func Compile(spec domain.JobSpec) (*Program, []Issue) {
	c := &compiler{spec: spec, params: sortedKeys(spec.Params)}
	p := &Program{kind: spec.Exec.Type, project: spec.Project, job: spec.Name, raw: spec.Exec.Spec, inputs: spec.Inputs,
		params: map[string][]part{}, env: map[string][]part{}}
	own := c.params
	c.inputs(p)
	for _, name := range own {
		p.params[name] = c.parts("params."+name, spec.Params[name])
		c.noParams("params."+name, p.params[name])
		c.noSecrets("params."+name, IDSecretParam, p.params[name])
	}
	for _, name := range sortedKeys(spec.Env) {
		p.env[name] = c.parts("env."+name, spec.Env[name])
	}
	switch spec.Exec.Type {
	case "shell":
		p.command = c.shell(spec.Exec.Spec)
	case "python":
		p.python = c.python(spec.Exec.Spec)
	case "http":
		p.http = c.http(spec.Exec.Spec)
	case "sql":
		p.sql = c.sql(spec.Exec.Spec)
	default:
		if !domain.BuiltIn(spec.Exec.Type) {
			p.free = c.free(spec.Exec.Spec)
		}
	}
	if len(c.issues) > 0 {
		return nil, c.issues
	}
	p.secrets, p.results = c.secrets, c.results
	return p, nil
}

// compiler gathers the issues of one job.
type compiler struct {
	spec    domain.JobSpec
	params  []string // all names, also of inputs
	secrets []SecretUse
	results []ResultUse
	issues  []Issue
}

func (c *compiler) add(field string, offset int, id, hint string, args ...string) {
	m := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		m[args[i]] = args[i+1]
	}
	c.issues = append(c.issues, Issue{Field: field, Offset: offset, ID: id, Hint: hint, Args: m})
}

// parts takes one text apart and judges its expressions.
func (c *compiler) parts(field, text string) []part {
	out, faults := parse(text)
	for _, f := range faults {
		f.Field = field
		c.issues = append(c.issues, f)
	}
	for _, p := range out {
		if p.expr != nil && p.expr.name == nameSecrets {
			c.secrets = append(c.secrets, SecretUse{p.expr.param, field})
		}
		if p.expr != nil && p.expr.name == nameUpstream {
			c.upstream(field, p)
		}
		if p.expr != nil && p.expr.name == nameParams && !slices.Contains(c.params, p.expr.param) {
			c.issues = append(c.issues, Issue{Field: field, Offset: p.offset, ID: IDParamUnknown, Hint: HintParamDeclare,
				Args: map[string]string{"param": clip(p.expr.param)}, Word: p.expr.param, Near: c.params})
		}
	}
	return out
}

// noParams keeps parameters from naming one another: one pass has no order to do that in.
func (c *compiler) noParams(field string, parts []part) {
	for _, p := range parts {
		if p.expr != nil && p.expr.name == nameParams {
			c.add(field, p.offset, IDParamNested, "", "expr", p.raw)
		}
	}
}

// noSecrets keeps secrets out of places in which others would see them: of a command every user of the machine, of a URL
// every log on the way, of parameters every page.
func (c *compiler) noSecrets(field, id string, parts []part) {
	for _, p := range parts {
		if p.expr != nil && c.isSecret(p.expr) {
			c.add(field, p.offset, id, HintSecretPlace, "expr", p.raw)
		}
	}
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func clip(s string) string {
	const most = 60
	if rs := []rune(s); len(rs) > most {
		return string(rs[:most]) + "…"
	}
	return strings.ToValidUTF8(s, "·")
}

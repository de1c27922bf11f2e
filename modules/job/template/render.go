package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
)

// ErrTooLarge is wrapped by the error about params and env that are too large.
var ErrTooLarge = errors.New("more than the")

// MaxValueBytes bounds params and env of one run together, names and values counted.
const MaxValueBytes = 64 << 10

// Vars is what one attempt is about.
type Vars struct {
	BizDate  domain.BizDate
	Expected time.Time      // the instant at which the fire was due
	Zone     *time.Location // the job's zone, for Expected; nil is UTC
	// Workdays gives the job's calendar where working days are counted; nil, or a nil calendar:
	// Monday to Friday are worked.
	Workdays func() (*domain.Calendar, error)
	TraceID  string
	Attempt  int // the ordinal within the run, from 1
	// Params override the job's by name and add to them. They are text: braces in them mean
	// nothing.
	Params     map[string]string
	ShardIndex int // from 0
	ShardTotal int // 0 counts as 1
	// Secrets opens the project's secrets of these names; it is asked once, and only where the job uses some. nil: there
	// are none.
	Secrets func(names []string) (map[string]string, error)
	// Upstream gives the value of a key of the result of the instance that met the job's n-th dependency, as text. nil:
	// there is none.
	Upstream func(dep int, key string) (string, error)
}

// Rendered is what a worker is given. It still needs the worker's own AX_ATTEMPT and
// AX_WORKER_UID in the environment.
type Rendered struct {
	// Exec is the settings of the executor type, as its worker reads them; for a type that AX does
	// not know the job's own with values inside their texts.
	Exec json.RawMessage
	// Env is the job's env, the AX_* values, and what the command refers to.
	Env map[string]string
	// Params are the job's and the run's together, filled in.
	Params map[string]string
	// Secrets are the values in all of it that nobody must see.
	Secrets []string
}

// Render compiles and fills in at once. A spec that was saved compiles.
func Render(spec domain.JobSpec, v Vars) (Rendered, error) {
	p, issues := Compile(spec)
	if len(issues) > 0 {
		return Rendered{}, fmt.Errorf("job %s: %s at byte %d: %s", spec.Key(), issues[0].Field, issues[0].Offset, issues[0].ID)
	}
	return p.Render(v)
}

// Render fills the job in. It fails on a value that no place can take: a NUL, text that is not
// UTF-8, a line break in a header, a way up in a URL's path, or more than MaxValueBytes in all.
func (p *Program) Render(v Vars) (Rendered, error) {
	vals := values{Vars: v}
	if vals.Zone == nil {
		vals.Zone = time.UTC
	}
	vals.ShardTotal = max(vals.ShardTotal, 1)
	params, err := p.fed(vals)
	if err != nil {
		return Rendered{}, err
	}
	picked := p.picked(params)
	secrets, err := vals.open(p.secretNames(picked))
	if err != nil {
		return Rendered{}, err
	}
	params = unseal(params, picked, vals.secrets)
	vals.Params = params
	env := map[string]string{}
	for name, parts := range p.env {
		text, err := fill(parts, vals, nil)
		if err != nil {
			return Rendered{}, fmt.Errorf("env.%s: %w", name, err)
		}
		env[name] = text
	}
	if err := Check(params, env); err != nil {
		return Rendered{}, err
	}
	p.ownEnv(env, vals)
	exec, err := p.exec(env, vals)
	if err != nil {
		return Rendered{}, err
	}
	return Rendered{Exec: exec, Env: env, Params: params, Secrets: secrets}, nil
}

// secretNames are the secrets that a run uses, each once: what inputs only offer is not among them.
func (p *Program) secretNames(picked map[string]string) []string {
	names := slices.Collect(maps.Values(picked))
	for _, use := range p.secrets {
		if !strings.HasPrefix(use.Field, "inputs[") {
			names = append(names, use.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// open brings the secrets of these names and returns their values.
func (v *values) open(names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if v.Secrets == nil {
		return nil, fmt.Errorf("{{secrets.%s}}: no secrets are kept here", names[0])
	}
	var err error
	if v.secrets, err = v.Secrets(names); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Values(v.secrets)), nil
}

// Check judges the params and env of one run: names that can name a variable, text without NUL,
// and not too much of it.
func Check(params, env map[string]string) error {
	total := 0
	for _, group := range []struct {
		what string
		m    map[string]string
	}{{"params", params}, {"env", env}} {
		for name, value := range group.m {
			where := group.what + "." + clip(name)
			switch {
			case !paramShape.MatchString("params." + name):
				return fmt.Errorf("%s: a name is ASCII letters, digits and _, and does not begin with a digit", where)
			case strings.ContainsRune(value, 0):
				return fmt.Errorf("%s: the value holds a NUL character, which no environment can carry", where)
			case !utf8.ValidString(value):
				return fmt.Errorf("%s: the value is not UTF-8", where)
			}
			total += len(name) + len(value)
		}
	}
	if total > MaxValueBytes {
		return fmt.Errorf("params and env hold %d bytes, %w %d allowed; put large data into a file and pass its name", total, ErrTooLarge, MaxValueBytes)
	}
	return nil
}

// ownEnv adds the AX_* values that every task finds.
func (p *Program) ownEnv(env map[string]string, v values) {
	env["AX_PROJECT"] = p.project
	env["AX_JOB"] = p.job
	env["AX_BIZ_DATE"] = v.BizDate.String()
	env["AX_TRACE_ID"] = v.TraceID
	env["AX_ATTEMPT_NO"] = strconv.Itoa(v.Attempt)
	env["AX_SHARD_INDEX"] = strconv.Itoa(v.ShardIndex)
	env["AX_SHARD_TOTAL"] = strconv.Itoa(v.ShardTotal)
	if !v.Expected.IsZero() {
		env["AX_EXPECTED_TIME"] = v.Expected.In(v.Zone).Format(time.RFC3339)
	}
	for name, value := range v.Params {
		env["AX_PARAM_"+name] = value
	}
	if all := paramsJSON(v.Params); len(v.Params) > 0 && len(all) <= maxVariable {
		env["AX_PARAMS"] = all
	}
}

// maxVariable is how long one variable may be: Linux takes 128 KB with the name.
const maxVariable = 128<<10 - 64

// paramsJSON is all parameters as one JSON object of texts, by name.
func paramsJSON(params map[string]string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(params); err != nil {
		panic("texts cannot be written as JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (p *Program) exec(env map[string]string, v values) (json.RawMessage, error) {
	switch {
	case p.command != nil:
		return p.command.render(env, v)
	case p.python != nil:
		return p.python.render(v)
	case p.sql != nil:
		return p.sql.render(v)
	case p.http != nil:
		return p.http.render(v)
	case p.free != nil:
		return p.free.render(v)
	}
	return p.raw, nil
}

// values gives the text of expressions.
type values struct {
	Vars
	secrets map[string]string
}

func (v values) of(e *expr) (string, error) {
	switch e.name {
	case nameBizDate:
		return v.bizDate(e)
	case nameExpected:
		if v.Expected.IsZero() {
			return "", fmt.Errorf("{{expected_time}}: this run has none")
		}
		at := v.Expected.In(v.Zone)
		if e.format == "" {
			return at.Format(time.RFC3339), nil
		}
		return at.Format(layout(e.format, true)), nil
	case nameTrace:
		return v.TraceID, nil
	case nameAttempt:
		return strconv.Itoa(v.Attempt), nil
	case nameShardIdx:
		return strconv.Itoa(v.ShardIndex), nil
	case nameShardTot:
		return strconv.Itoa(v.ShardTotal), nil
	case nameSecrets:
		return v.secrets[e.param], nil
	case nameUpstream:
		return v.result(e)
	}
	text, ok := v.Params[e.param]
	if !ok {
		return "", fmt.Errorf("{{params.%s}}: this run has no such parameter", e.param)
	}
	return text, nil
}

// result is what an upstream handed over.
func (v values) result(e *expr) (string, error) {
	if v.Upstream == nil {
		return "", fmt.Errorf("{{upstream.%s.result.%s}}: no results are kept here", e.job, e.param)
	}
	text, err := v.Upstream(e.dep, e.param)
	switch {
	case err != nil:
		return "", fmt.Errorf("{{upstream.%s.result.%s}}: %w", e.job, e.param, err)
	case strings.ContainsRune(text, 0):
		return "", fmt.Errorf("{{upstream.%s.result.%s}}: the value holds a NUL character, which no environment can carry", e.job, e.param)
	}
	return text, nil
}

// layout turns a format that goodFormat took into Go's.
func layout(format string, withClock bool) string {
	var b strings.Builder
	for format != "" {
		field, literal, rest := nextField(format, withClock)
		b.WriteString(field + literal)
		format = rest
	}
	return b.String()
}

// fill joins the parts; encode writes a value for its place, nil as it is.
func fill(parts []part, v values, encode func(string) string) (string, error) {
	var b strings.Builder
	for _, p := range parts {
		if p.expr == nil {
			b.WriteString(p.text)
			continue
		}
		text, err := v.of(p.expr)
		if err != nil {
			return "", err
		}
		if encode != nil {
			text = encode(text)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

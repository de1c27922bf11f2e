package template

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/axsched/ax/modules/domain"
)

// inputs makes parameters of what a run may be given: each has the template of its default, an empty one where there is
// none, so that a parameter that is declared is always there.
func (c *compiler) inputs(p *Program) {
	for _, in := range c.spec.Inputs {
		c.params = append(c.params, in.Name)
	}
	for i, in := range c.spec.Inputs {
		field := "inputs[" + strconv.Itoa(i) + "]"
		switch {
		case in.Default == "" && in.Type == domain.InputBizDate:
			p.params[in.Name] = []part{{expr: &expr{name: nameBizDate}, raw: "{{biz_date}}"}}
		case in.Default == "":
			p.params[in.Name] = nil
		case in.Type.Templated():
			parts := c.parts(field+".default", in.Default)
			c.noParams(field+".default", parts)
			c.noSecrets(field+".default", IDSecretParam, parts)
			p.params[in.Name] = parts
		default:
			p.params[in.Name] = []part{{text: in.Default}}
		}
		if in.Type != domain.InputSecret {
			continue
		}
		if in.Default != "" {
			c.secrets = append(c.secrets, SecretUse{in.Default, field + ".default"})
		}
		for k, name := range in.Choices {
			c.secrets = append(c.secrets, SecretUse{name, field + ".choices[" + strconv.Itoa(k) + "]"})
		}
	}
}

// isSecret reports whether an expression stands for a value that nobody must see.
func (c *compiler) isSecret(e *expr) bool {
	if e.name == nameParams {
		for _, in := range c.spec.Inputs {
			if in.Name == e.param {
				return in.Type == domain.InputSecret
			}
		}
	}
	return e.name == nameSecrets
}

// upstream finds the dependency whose result an expression reads: one job, about one date.
func (c *compiler) upstream(field string, p part) {
	found := -1
	var near []string
	for i, dep := range c.spec.Deps {
		near = append(near, dep.Key().String())
		if !means(p.expr.job, dep, c.spec) {
			continue
		}
		if found >= 0 {
			c.add(field, p.offset, IDUpstreamTwice, "", "expr", p.raw, "job", p.expr.job)
			return
		}
		found = i
	}
	if found < 0 {
		c.issues = append(c.issues, Issue{Field: field, Offset: p.offset, ID: IDUpstreamDep, Hint: HintUpstreamDep,
			Args: map[string]string{"expr": p.raw, "job": clip(p.expr.job)}, Word: p.expr.job, Near: near})
		return
	}
	dep := c.spec.Deps[found]
	if set, _, _ := dep.BizDate.Parts(); set == "week" || set == "month" {
		c.add(field, p.offset, IDUpstreamDates, "", "expr", p.raw, "dates", string(dep.BizDate))
		return
	}
	p.expr.dep = found
	c.results = append(c.results, ResultUse{dep.Key(), p.expr.param, field})
}

// means reports whether a template means the job of a dependency: by [project/]name, where its own project need not be
// named, or as self.
func means(text string, dep domain.Dep, spec domain.JobSpec) bool {
	if text == "self" && dep.Key() == spec.Key() {
		return true
	}
	return text == dep.Project+"/"+dep.Name || text == dep.Key().String() || dep.Project == spec.Project && text == dep.Name
}

// fed fills in the parameters of a run: those of the job and defaults of inputs where the run gives none.
func (p *Program) fed(v values) (map[string]string, error) {
	params := map[string]string{}
	for name, parts := range p.params {
		if given, own := v.Params[name]; own && (given != "" || !p.declares(name)) {
			continue
		}
		text, err := fill(parts, v, nil)
		if err != nil {
			return nil, fmt.Errorf("params.%s: %w", name, err)
		}
		params[name] = text
	}
	for name, given := range v.Params {
		if given != "" || !p.declares(name) {
			params[name] = given
		}
	}
	for _, in := range p.inputs {
		if err := in.Check(params[in.Name]); err != nil {
			return nil, err
		}
	}
	return params, nil
}

func (p *Program) declares(name string) bool {
	for _, in := range p.inputs {
		if in.Name == name {
			return true
		}
	}
	return false
}

// picked are the names of the secrets that inputs of a run name, by parameter.
func (p *Program) picked(params map[string]string) map[string]string {
	out := map[string]string{}
	for _, in := range p.inputs {
		if in.Type == domain.InputSecret && params[in.Name] != "" {
			out[in.Name] = params[in.Name]
		}
	}
	return out
}

// unseal puts the values of secrets in the place of the names by which a run picked them. What was given stays as it is.
func unseal(params, picked, secrets map[string]string) map[string]string {
	if len(picked) == 0 {
		return params
	}
	params = maps.Clone(params)
	for param, name := range picked {
		params[param] = secrets[name]
	}
	return params
}

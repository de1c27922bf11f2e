package template

import (
	"encoding/json"
	"strconv"
	"strings"
)

// shellText is a command whose substitutions have become references to variables.
type shellText struct {
	text string
	vars []shellVar
	rest map[string]json.RawMessage // the other settings
}

type shellVar struct {
	name string
	expr *expr
}

// shellText places every substitution of a command. Equal expressions share a variable.
func (c *compiler) shellText(field, command string) *shellText {
	parts := c.parts(field, command)
	c.noSecrets(field, IDSecretCommand, parts)
	out := &shellText{}
	byKey := map[string]string{}
	places := lex(parts)
	var b strings.Builder
	i := 0
	for _, p := range parts {
		if p.expr == nil {
			b.WriteString(p.text)
			continue
		}
		at := places[i]
		i++
		if c.isSecret(p.expr) {
			continue // refused wherever it stands
		}
		if at.fault != "" {
			hint := shellHint(at.fault)
			if p.expr.name == nameUpstream && (hint == HintVariable || hint == HintArgument) {
				hint = HintEnv
			}
			c.add(field, p.offset, at.fault, hint, "expr", p.raw, "variable", ownVariable(p.expr))
			continue
		}
		name, seen := byKey[p.expr.key()]
		if !seen {
			name = "AX_V" + strconv.Itoa(len(out.vars)+1)
			byKey[p.expr.key()] = name
			out.vars = append(out.vars, shellVar{name, p.expr})
		}
		ref := "${" + name + "}"
		if !at.quoted {
			ref = `"` + ref + `"`
		}
		b.WriteString(ref)
	}
	out.text = b.String()
	return out
}

func shellHint(fault string) string {
	switch fault {
	case IDShellSingle:
		return HintUnquote
	case IDShellCommand, IDShellComment, IDShellEscape:
		return ""
	case IDShellCode:
		return HintArgument
	}
	return HintVariable
}

// ownVariable names the environment variable that holds the plain value, for hints.
func ownVariable(e *expr) string {
	switch e.name {
	case nameParams:
		return "AX_PARAM_" + e.param
	case nameBizDate:
		return "AX_BIZ_DATE"
	case nameExpected:
		return "AX_EXPECTED_TIME"
	case nameTrace:
		return "AX_TRACE_ID"
	case nameAttempt:
		return "AX_ATTEMPT_NO"
	case nameShardIdx:
		return "AX_SHARD_INDEX"
	case nameSecrets:
		return e.param // once env has it under this name
	}
	return "AX_SHARD_TOTAL"
}

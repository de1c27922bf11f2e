package template

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNoValueIsRun glues shell text together at random, mostly nonsense. Where Compile takes it,
// both shells run it with a value that calls a program in every way there is: the program must
// never start. The text itself knows no such program, so that only the value can call it.
func TestNoValueIsRun(t *testing.T) {
	for _, s := range []string{"sh", "bash"} {
		if _, err := exec.LookPath(s); err != nil {
			t.Skipf("%s is not on this machine", s)
		}
	}
	bin, flown := t.TempDir(), filepath.Join(t.TempDir(), "flown")
	if err := os.WriteFile(filepath.Join(bin, "canary"), []byte("#!/bin/sh\n: > "+flown+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const call = "$(canary)`canary`;canary;\ncanary\n'\";canary;'\"$(canary)|canary&a[$(canary)]+canary)}canary"
	taken := 0
	rapid.Check(t, func(r *rapid.T) {
		value := rapid.SampledFrom([]string{call, "canary", "'" + call, `"` + call, "E\n" + call, "}" + call, ")" + call, "a[$(canary)]", "\\" + call}).Draw(r, "value")
		command := nonsense(r)
		p, issues := Compile(shellSpec(command, map[string]string{"p": ""}))
		if len(issues) > 0 {
			return
		}
		taken++
		out, err := p.Render(someVars(map[string]string{"p": value}))
		if err != nil {
			r.Fatal(err)
		}
		for _, shell := range []string{"sh", "bash"} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			cmd := exec.CommandContext(ctx, shell, "-c", commandOf(r, out))
			cmd.Dir = bin
			cmd.WaitDelay = time.Second
			cmd.Env = []string{"PATH=" + bin}
			for k, v := range out.Env {
				cmd.Env = append(cmd.Env, k+"="+v)
			}
			said, _ := cmd.CombinedOutput() // nonsense may well fail
			cancel()
			if os.Remove(flown) == nil {
				r.Fatalf("%s -c %q ran the value %q: %s", shell, commandOf(r, out), value, said)
			}
		}
	})
	if taken == 0 {
		t.Error("every command was refused: nothing was tested")
	}
}

func nonsense(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{"{{params.p}}", "{{params.p}}", "{{params.p}}", "echo ", "echo ", ": ", "'", `"`, "`", "$", "$(", ")", "${x", "${x:-", "}", "$((", "))", "(", "\\",
		"\n", " ", " ", ";", "|", "&&", "#", " # ", "<<E\n", "<<'E'\n", "<<-E\n", "\nE\n", "<<<", "case x in ", "x) ", ";; ", "esac", "if true; then ", "fi", "$'", `$"`, "\\\n",
		"a=", "x", "[[ ", " ]]", "let ", "1+", "declare -i x", "x=", "RANDOM=", "!", "{ ", "; }", "$x", "=", "~", "1", "> /dev/null ", "2>&1 ", "[ ", " ]", "-eq 1", "declare ", "a[", "]", "eval ", "\t", "((", "export "})
	return strings.Join(rapid.SliceOfN(piece, 1, 14).Draw(t, "command"), "")
}

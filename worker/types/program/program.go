// Package program is what the types that start a program on the worker's machine have in common: the environment that surrounds
// it, which exit codes are success, whose rights it runs with, and its last words. The types in it are values; it starts nothing.
package program

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/axsched/ax/worker/runner"
)

// BaseEnv is what every program finds before the job's own environment is laid over it: PATH, HOME, LANG and TZ of the worker
// and nothing else of its. A task must not depend on, nor see, what the worker happened to be started with. Python's two
// switches make its output and its stacks reach the log when it is killed.
func BaseEnv() []string { return baseEnv(os.Getenv) }

func baseEnv(get func(string) string) []string {
	or := func(v, def string) string {
		if v == "" {
			return def
		}
		return v
	}
	env := []string{
		"PATH=" + or(get("PATH"), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
		"HOME=" + or(get("HOME"), "/"),
		"LANG=" + or(get("LANG"), "C.UTF-8"),
		"PYTHONFAULTHANDLER=1",
		"PYTHONUNBUFFERED=1",
	}
	if tz := get("TZ"); tz != "" {
		env = append(env, "TZ="+tz)
	}
	return env
}

// Environ lays values over a base, in a fixed order.
func Environ(base []string, over map[string]string) []string {
	env := make([]string, 0, len(base)+len(over))
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		if _, replaced := over[name]; !replaced {
			env = append(env, kv)
		}
	}
	for name, value := range over {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// DumpSignals lists what a job may choose to be sent before it is killed. SIGKILL is not among them: it follows anyway.
func DumpSignals() []string { return []string{"SIGABRT", "SIGQUIT", "SIGTERM", "SIGINT"} }

// DumpSignal is the signal of that name; "" is SIGABRT, at which Python and Go programs write their stacks.
func DumpSignal(name string) (syscall.Signal, error) {
	switch name {
	case "", "SIGABRT":
		return syscall.SIGABRT, nil
	case "SIGQUIT":
		return syscall.SIGQUIT, nil
	case "SIGTERM":
		return syscall.SIGTERM, nil
	case "SIGINT":
		return syscall.SIGINT, nil
	}
	return 0, fmt.Errorf("exec.dump_signal %q: must be one of %s", name, strings.Join(DumpSignals(), ", "))
}

// Judge says of a program that has ended by itself whether its exit code is success: where codes are given those, and no
// others, else 0. A time-out, a kill or a signal stays what it is.
func Judge(res runner.Result, codes []int) runner.Result {
	ended := res.Outcome == runner.Success || res.Outcome == runner.Failed
	if len(codes) == 0 || res.ExitCode < 0 || !ended {
		return res
	}
	switch good := slices.Contains(codes, res.ExitCode); {
	case good && res.Outcome == runner.Failed:
		res.Outcome = runner.Success
		res.Message = runner.CleanMessage(res.Message + "; success_codes has it, so it is success")
	case !good && res.Outcome == runner.Success:
		res.Outcome = runner.Failed
		res.Message = runner.CleanMessage(strings.TrimSuffix("exit code 0, which is not among success_codes; "+res.Message, "; "))
	}
	return res
}

// lastWordsMax bounds what of the error output stands in the message, in bytes.
const lastWordsMax = 500

// WithLastWords adds to the message of a failure the last line that the program wrote to its error output: most often the
// reason.
func WithLastWords(res runner.Result, out *runner.Capture) runner.Result {
	if res.Outcome != runner.Failed || res.ExitCode <= 0 {
		return res
	}
	lines, err := out.Peek(50)
	if err != nil {
		return res // the log itself shows what is wrong with it
	}
	for _, l := range slices.Backward(lines) {
		if text := strings.TrimSpace(l.Text); l.Stream == runner.Err && text != "" {
			if len(text) > lastWordsMax {
				text = strings.ToValidUTF8(text[:lastWordsMax], "") + "…"
			}
			res.Message = runner.CleanMessage(res.Message + ": " + text)
			return res
		}
	}
	return res
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// overBare measures what a shell task costs beyond its program, by the worker's own benchmark: rounds of a bare
// fork+exec and rounds of the same command as a task take turns, so that both meet the same machine.
func (b *bench) overBare(p *Part) {
	cmd := exec.CommandContext(b.ctx, "go", "test", "-buildvcs=false", "-run", "^$", "-bench", "^BenchmarkOverBare$/^sh$",
		"-benchtime", pick(b.options, 2*time.Second, time.Second).String(), "github.com/axsched/ax/worker/runner")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.must(fmt.Errorf("%w\n%s", err, out), "measuring shell tasks over a bare fork+exec")
	}
	t := p.table("over_bare", "`sh -c true` as a task", Column{"bare", "bare fork+exec, ms each", 2}, Column{"task", "as a task, ms", 2},
		Column{"over", "over bare, ms", 2}, Column{"watchdog", "of it the watchdog's CPU, ms", 2})
	for _, r := range []struct {
		at   int
		name string
	}{{1, "one after the other"}, {8, "eight at once"}} {
		got, err := benchmarkLine(string(out), fmt.Sprintf("BenchmarkOverBare/sh/at=%d", r.at))
		b.must(err, "measuring shell tasks over a bare fork+exec")
		t.row(fmt.Sprintf("at_%d", r.at), r.name).put("bare", got["bare-ms"]).put("task", got["task-ms"]).
			aim("over", got["over-ms"], atMost(2)).put("watchdog", got["watchdog-cpu-ms"])
	}
	b.say("shell tasks measured over a bare fork+exec")
}

// benchmarkLine is the figures by unit of one benchmark in the output of go test.
func benchmarkLine(out, name string) (map[string]float64, error) {
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != name && !strings.HasPrefix(f[0], name+"-") {
			continue
		}
		got := map[string]float64{}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", strings.TrimSpace(line), err)
			}
			got[f[i+1]] = v
		}
		if _, ok := got["over-ms"]; !ok {
			return nil, fmt.Errorf("%q has no over-ms", strings.TrimSpace(line))
		}
		return got, nil
	}
	return nil, fmt.Errorf("there is no %s in\n%s", name, out)
}

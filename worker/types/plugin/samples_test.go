package plugin

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// The Python sample runs with its own dependency, installed from its folder alone; a second load uses the environment that is
// there, and the check finds nothing wrong.
func TestThePythonSample(t *testing.T) {
	if err := exec.Command("python3", "-c", "import venv, ensurepip").Run(); err != nil {
		t.Skip("this Python can make no virtual environment (Debian: python3-venv)")
	}
	folder := copied(t, "samples/python")
	h := open(t, folder)
	o, log := h.do(context.Background(), "acme_table", `{"text":"name,city\nAda,京都\n","style":"lined","repeat":"2"}`, types.Task{})
	if o.Run.Outcome != runner.Success || string(o.Result) == "" || !strings.Contains(log, "1:name  city\n1:----  ----\n1:Ada   京都\n3:progress: 50 %, table 1 of 2\n") {
		t.Errorf("%+v, log %q", o, log)
	}
	if o, _ := h.do(context.Background(), "acme_table", `{"text":"nothing"}`, types.Task{}); o.Run.Outcome != runner.Failed || !strings.Contains(o.Run.Message, "comma-separated") {
		t.Errorf("what prepare refuses: %+v", o)
	}
	if made := strings.Count(h.log.String(), "making its virtual environment"); made != 1 || !strings.Contains(h.log.String(), "acme_table_kit") {
		t.Errorf("made %d times, and the log says nothing of the wheel:\n%s", made, h.log)
	}
	if _, err := os.Stat(filepath.Join(h.plugins[0].home, "venv-x")); err == nil {
		t.Error("there is another")
	}
	p := h.plugins[0]
	was, err := p.environment(t.Context(), p.home)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "python", "requirements.txt"), []byte("acme-table-kit==1.0\nacme-not-there==3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.environment(t.Context(), p.home); err == nil || !strings.Contains(err.Error(), "acme-not-there") {
		t.Errorf("a requirement without a wheel: %v", err)
	}
	if _, err := os.Stat(was); err != nil {
		t.Errorf("the environment that worked is gone: %v", err)
	}
}

// The Go sample is built with the standard library alone, says itself what it takes, and digests.
func TestTheGoSample(t *testing.T) {
	folder := copied(t, "samples/go")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(folder, "go", "acme-digest"), "./samples/go")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	h := open(t, folder)
	raw, err := json.Marshal(map[string]string{"text": oddText})
	if err != nil {
		t.Fatal(err)
	}
	o, log := h.do(context.Background(), "acme_digest", string(raw), types.Task{})
	if o.Run.Outcome != runner.Success || !strings.Contains(string(o.Result), `"bytes":`) || !strings.Contains(log, "bytes read") {
		t.Errorf("%+v, log %q", o, log)
	}
	d := h.ready("acme_digest").Describe()
	if len(d.Params) != 2 || d.Params[1].Name != "file" || d.Version != "1.0" || d.About.In("zh-CN") == "" {
		t.Errorf("%+v", d)
	}
	var found []string
	r := h.plugins[0].runner
	well := Check(t.Context(), filepath.Join(folder, "go"), Trial{Spool: h.spool, Limit: time.Minute, Options: Options{Home: t.TempDir(), Runner: r, Env: h.plugins[0].base, Log: h.plugins[0].log}},
		func(f Finding) { found = append(found, f.What+" "+f.Note) })
	if !well || len(found) != 4 || !strings.HasPrefix(found[3], "run acme_digest with {}") {
		t.Errorf("%v %q", well, found)
	}
}

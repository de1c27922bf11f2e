package worker_test

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// holds names the files below dir in which any of the words stands.
func holds(t *testing.T, dir string, words ...string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // gone meanwhile
		}
		text, _ := os.ReadFile(path)
		for _, w := range words {
			if strings.Contains(string(text), w) {
				found = append(found, path+" holds "+w)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const hidden = `hunter2/"x' 中文`

// secretly gives a task a secret in its environment, as the center does.
func secretly(task protocol.Task) protocol.Task {
	task.Secrets, task.Env = []string{hidden}, map[string]string{"PASSWORD": hidden}
	return task
}

// A secret that a task prints, in pieces too, or hands over as a result is seen by nobody: not in the log, not in the
// message, not in the result. (J-G16)
func TestSecretsAreMaskedInLogMessageAndResult(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l)
		c.mute = true // so that the worker keeps what it has
		c.run()
		data := t.TempDir()
		n := start(t, l, worker.Config{Data: data})
		c.send(n.boot, "m1", protocol.LaneDefault, secretly(sh(1, `echo "plain $PASSWORD."
printf 'half '; printf %s "$PASSWORD" | head -c 5; sleep 0.3; printf %s "$PASSWORD" | tail -c +6; echo
printf %s "user:$PASSWORD" | base64 -w0; echo
echo "whole $PASSWORD" >&2
printf '{"got":"%s","n":1}' "$(printf %s "$PASSWORD" | base64 -w0)" > "$AX_RESULT_FILE"
exit 3`)))
		r := c.await(1, protocol.OutcomeError)
		if r.Message != "exit code 3: whole ***" || string(r.Result) != `{"got":"***","n":1}` {
			t.Errorf("message %q, result %s", r.Message, r.Result)
		}
		within(t, 10*time.Second, "four lines arrive", func() bool { return strings.Count(c.log(1), "\n") == 3 })
		log := c.log(1)
		for _, want := range []string{`"plain ***."`, `"half ***"`, `"whole ***"`} {
			if !strings.Contains(log, want) {
				t.Errorf("no %s in\n%s", want, log)
			}
		}
		quoted, _ := json.Marshal(hidden)
		words := []string{hidden, "hunter2", string(quoted[1 : len(quoted)-1]), base64.StdEncoding.EncodeToString([]byte(hidden))[:8], base64.StdEncoding.EncodeToString([]byte("user:" + hidden))[8:20]}
		for _, w := range words {
			if strings.Contains(log, w) {
				t.Errorf("%q stands in\n%s", w, log)
			}
		}
		if found := holds(t, data, words...); len(found) > 0 {
			t.Errorf("on the worker's disk: %q", found)
		}
	})
}

// A worker that is killed in the middle leaves nothing secret on its disk.
func TestAKilledWorkerLeavesNoSecret(t *testing.T) {
	s := redisServer(t)
	l := dial(t, s.URL)
	c := newCenter(t, l).run()
	data, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	cmd, b := spawn(t, s.URL, data, 1)
	c.send(b, "m1", protocol.LaneDefault, secretly(sh(1, `echo "saying $PASSWORD"; printf 'and half of it: hunte'; echo > `+ran+`; sleep 60`)))
	within(t, 20*time.Second, "the task has said it", func() bool { return countLines(t, ran) == 1 && strings.Contains(c.log(1), "saying ***") })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if found := holds(t, data, "hunter2", hidden); len(found) > 0 {
		t.Errorf("left behind: %q", found)
	}
	start(t, l, worker.Config{Data: data})
	c.await(1, protocol.OutcomeWorkerLost)
	if left, err := os.ReadDir(filepath.Join(data, "results")); err != nil || len(left) > 0 {
		t.Errorf("results of the life before: %v, %v", left, err)
	}
}

// What a task leaves in the file that AX names is its result; what cannot be one fails the task, for whoever waits for
// it would miss it later. (G-G2)
func TestATaskHandsItsResultOver(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		n := start(t, l, worker.Config{})
		c.send(n.boot, "m1", protocol.LaneDefault,
			sh(1, `cd /; printf '%s\n' '{"rows": 12, "text": "; $(id) \"x\" '"'"'中文🚀"}' > "$AX_RESULT_FILE"`),
			sh(2, `echo '[1]' > "$AX_RESULT_FILE"`),
			sh(3, `head -c 70000 /dev/zero > "$AX_RESULT_FILE"`),
			sh(4, `true`))
		if r := c.await(1, protocol.OutcomeSuccess); !sameJSON(t, r.Result, `{"rows": 12, "text": "; $(id) \"x\" '中文🚀"}`) {
			t.Errorf("result %s", r.Result)
		}
		if r := c.await(2, protocol.OutcomeError); !strings.Contains(r.Message, "no JSON object") || r.Result != nil {
			t.Errorf("%q, %s", r.Message, r.Result)
		}
		if r := c.await(3, protocol.OutcomeError); !strings.Contains(r.Message, "larger than 64 KB") {
			t.Errorf("%q", r.Message)
		}
		if r := c.await(4, protocol.OutcomeSuccess); r.Result != nil {
			t.Errorf("a result out of nothing: %s", r.Result)
		}
	})
}

func sameJSON(t *testing.T, got []byte, want string) bool {
	t.Helper()
	a, errA := json.Marshal(json.RawMessage(got))
	b, errB := json.Marshal(json.RawMessage(want))
	return errA == nil && errB == nil && string(a) == string(b)
}

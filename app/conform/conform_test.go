package conform_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axsched/ax/app/conform"
	"github.com/axsched/ax/worker/protocol"
)

const name, secret = "default/echo", "correct horse battery staple"

func options(url string) conform.Options {
	return conform.Options{URL: url, Executor: name, Secret: secret, Type: "echo", Listen: "127.0.0.1:0", Parallel: 8}
}

// listens finds the address in what a sample says at its start.
var listens = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)

// sample starts an executor in a folder of its own and gives its address and process.
func sample(t *testing.T, args ...string) (string, int) {
	t.Helper()
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Skipf("%s is not there; the sample is not tested", args[0])
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "AX_EXECUTOR="+name, "AX_EXECUTOR_SECRET="+secret, "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "PORT=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	})
	address := make(chan string, 1)
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if found := listens.FindString(lines.Text()); found != "" {
				select {
				case address <- found:
				default:
				}
			}
		}
		_ = cmd.Wait()
	}()
	select {
	case found := <-address:
		return "http://" + found + "/run/{type}?zone=a", cmd.Process.Pid
	case <-time.After(30 * time.Second):
		t.Fatal("the sample does not listen")
	}
	return "", 0
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	whole, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// Each sample of the repository keeps the whole protocol.
func TestTheSamplesConform(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "echo")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "../../worker/sdk/samples/echo").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	python, shell := absolute(t, "../../worker/sdk/python/echo.py"), absolute(t, "../../worker/sdk/shell")
	for kind, args := range map[string][]string{
		"Go":     {binary, "-listen", "127.0.0.1:0"},
		"Python": {"python3", python, "--port", "0"},
		"shell":  {"python3", filepath.Join(shell, "listen.py"), "0", filepath.Join(shell, "executor.sh")},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url, pid := sample(t, args...)
			o := options(url)
			o.PID = pid
			rows, err := conform.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				t.Logf("%-12s %-14s %5.1f s  %s", r.Case, r.Verdict, r.Took.Seconds(), r.Reason)
				if r.Verdict != conform.Passed {
					t.Errorf("%s: %s: %s", r.Case, r.Verdict, r.Reason)
				}
			}
			if len(rows) != len(conform.Names()) {
				t.Errorf("%d rows", len(rows))
			}
		})
	}
}

// The smallest executor of the guide, which answers with the outcome, keeps what applies to it.
func TestTheExecutorByHandOfTheGuideConforms(t *testing.T) {
	page, err := os.ReadFile("../../docs/executor-guide.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?ms)^```python\\n(import hashlib.*?)^```$").FindSubmatch(page)
	if found == nil {
		t.Fatal("the guide has no such example")
	}
	file := filepath.Join(t.TempDir(), "executor.py")
	if err := os.WriteFile(file, found[1], 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := sample(t, "python3", file)
	rows, err := conform.Run(t.Context(), options(url))
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, r := range rows {
		if r.Verdict == conform.Failed {
			t.Errorf("%s: %s", r.Case, r.Reason)
		} else if r.Verdict == conform.Passed {
			passed++
		}
	}
	if passed < 10 {
		t.Errorf("only %d cases passed", passed)
	}
}

// careless does what an executor must not: it verifies nothing, runs everything it gets, reports once, and does not stop.
type careless struct{}

// ServeHTTP takes every POST.
func (careless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var task protocol.ExternalTask
	if json.NewDecoder(r.Body).Decode(&task) != nil || task.ExecType == "" {
		w.WriteHeader(http.StatusOK)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	go func() {
		ids := map[string]any{"traceId": task.TraceID, "attempt": task.Attempt}
		tell(task.CallbackURL, protocol.CallClaim, ids)
		tell(task.CallbackURL, protocol.CallHeartbeat, ids)
		seconds, _ := strconv.ParseFloat(task.Params["sleep"], 64)
		time.Sleep(time.Duration(seconds * float64(time.Second)))
		ids["success"], ids["result"] = true, task.Params
		if strings.ContainsFunc(task.Params["v00"], func(r rune) bool { return r > 127 }) {
			ids["result"] = map[string]string{"v00": "???"}
		}
		tell(task.CallbackURL, protocol.CallReport, ids)
	}()
}

func tell(callback, call string, said map[string]any) {
	to, err := protocol.CallbackFor(callback, call)
	if err != nil {
		return
	}
	body, err := json.Marshal(said)
	if err != nil {
		return
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, to, strings.NewReader(string(body)))
	if err != nil {
		return
	}
	protocol.SignRequest(r, name, []byte(secret), time.Now(), body)
	if resp, err := http.DefaultClient.Do(r); err == nil {
		_ = resp.Body.Close()
	}
}

// The kit finds each fault of an executor that has all.
func TestACarelessExecutorIsFoundOut(t *testing.T) {
	server := httptest.NewServer(careless{})
	defer server.Close()
	rows, err := conform.Run(t.Context(), options(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	good := []string{"health", "huge", "undecided", "slow-claim", "skew"}
	for _, r := range rows {
		want := conform.Failed
		switch {
		case r.Case == "drain" || r.Case == "log":
			want = conform.NotApplicable
		case r.Case == "heartbeat": // one at the start, and none in the 13 s after it
		case r.Case == "undecided": // it runs without having been granted
		case r.Case == "skew": // it does not stop
		case slices.Contains(good, r.Case):
			want = conform.Passed
		}
		if r.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", r.Case, r.Verdict, want, r.Reason)
		}
		if (r.Verdict == conform.Passed) != (r.Reason == "") {
			t.Errorf("%s: %s: %q", r.Case, r.Verdict, r.Reason)
		}
	}
}

// One that answers with the outcome is judged by what applies to it.
func TestASyncExecutor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var task protocol.ExternalTask
		if json.NewDecoder(r.Body).Decode(&task) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "result": task.Params})
	}))
	defer server.Close()
	o := options(server.URL)
	o.Only = []string{"huge", "values", "skew", "denied", "report-503", "cancel", "duplicate"}
	rows, err := conform.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, r.Case+"="+r.Verdict)
	}
	if want := "duplicate=not applicable,denied=not applicable,cancel=not applicable,skew=passed,huge=passed,values=passed,report-503=not applicable"; strings.Join(got, ",") != want {
		t.Errorf("%s", strings.Join(got, ","))
	}
}

func TestWhatCannotBeTested(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello")) }))
	defer page.Close()
	for word, change := range map[string]func(*conform.Options){
		"no http or https URL":          func(o *conform.Options) { o.URL = "127.0.0.1:9000" },
		"there is no secret":            func(o *conform.Options) { o.Secret = "" },
		`no case "x"`:                   func(o *conform.Options) { o.Only = []string{"x"} },
		"listen":                        func(o *conform.Options) { o.Listen = "256.0.0.1:0" },
		"could not be sent":             func(o *conform.Options) { o.URL = "http://127.0.0.1:1" },
		"answered with 200 <html>hello": func(*conform.Options) {},
	} {
		o := options(page.URL)
		change(&o)
		if _, err := conform.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v", word, err)
		}
	}
}

package http

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol/netguard"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// loopback is what the tests' own servers stand on.
func loopback(t *testing.T) []netip.Prefix {
	t.Helper()
	all, err := netguard.ParseAllow([]string{netguard.WordLoopback})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func run(t *testing.T, ctx context.Context, exec map[string]any, task types.Task) (types.Outcome, string) {
	t.Helper()
	raw, err := json.Marshal(exec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := runner.OpenSpool(t.TempDir(), runner.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	task.Attempt, task.TraceID, task.Exec = 7, "trace-1", raw
	out := s.Create(7)
	task.Net.Allow = append(task.Net.Allow, loopback(t)...)
	o := New("test", nil).Run(ctx, task, out)
	out.Finish(time.Now())
	b, err := out.Lines(1, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for _, l := range b.Lines {
		log.WriteString(l.Text + "\n")
	}
	return o, log.String()
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestRequestAndAnswer(t *testing.T) {
	var got string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s %s %s %s %s", r.Method, r.URL.RequestURI(), r.Host, r.Header.Get("X-Token"), r.Header.Get("X-Ax-Trace-Id"), body)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `{"rows": 12}`)
	})
	o, log := run(t, context.Background(), map[string]any{"url": url + "/load?token=secret", "body": "day=1",
		"headers": map[string]string{"x-token": "t", "Host": "orders.example"}}, types.Task{Deadline: time.Now().Add(10 * time.Second)})
	if o.Run.Outcome != runner.Success || string(o.Result) != `{"rows": 12}` || o.Run.StartedAt.IsZero() {
		t.Errorf("got %+v", o)
	}
	if want := "POST /load?token=secret orders.example t trace-1 day=1"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	if strings.Contains(log, "secret") || !strings.Contains(log, "200 OK") || !strings.Contains(log, `{"rows": 12}`) {
		t.Errorf("log:\n%s", log)
	}
}

// The status decides, and nothing else: a body that says otherwise is the task's result. (G-C17)
func TestStatusDecides(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &code)
		if body, ok := strings.CutPrefix(r.URL.RawQuery, "json="); ok {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
			return
		}
		w.WriteHeader(code)
		if code == 203 {
			_, _ = io.WriteString(w, "<html>an error page of a proxy</html>")
		}
	})
	cases := []struct {
		status int
		expect []int
		want   runner.Outcome
	}{
		{200, nil, runner.Success}, {201, nil, runner.Success}, {202, nil, runner.Success}, {203, nil, runner.Success}, {204, nil, runner.Success},
		{299, nil, runner.Success}, {301, nil, runner.Failed}, {304, nil, runner.Failed}, {202, []int{200}, runner.Failed},
		{404, nil, runner.Failed}, {500, nil, runner.Failed}, {404, []int{404, 410}, runner.Success}, {200, []int{404}, runner.Failed},
	}
	for _, tc := range cases {
		exec := map[string]any{"url": fmt.Sprintf("%s/%d", url, tc.status)}
		if tc.expect != nil {
			exec["expect_status"] = tc.expect
		}
		o, _ := run(t, context.Background(), exec, types.Task{})
		if o.Run.Outcome != tc.want || (tc.want == runner.Failed) != strings.Contains(o.Run.Message, fmt.Sprint(tc.status)) {
			t.Errorf("%d, expected %v: %+v", tc.status, tc.expect, o)
		}
	}
	o, log := run(t, context.Background(), map[string]any{"url": url + `/200?json={"success":false}`}, types.Task{})
	if o.Run.Outcome != runner.Success || string(o.Result) != `{"success":false}` || !strings.Contains(log, "false") {
		t.Errorf("a body that says otherwise: %+v, log %s", o, log)
	}
}

func TestLongAndBrokenAnswers(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("0123456789abcde\n", 1<<16))
	})
	o, log := run(t, context.Background(), map[string]any{"url": url + "/long"}, types.Task{})
	if o.Run.Outcome != runner.Success || len(log) > 66<<10 || !strings.Contains(log, "first 64 KB are kept") {
		t.Errorf("%+v, log of %d bytes", o, len(log))
	}
	o, _ = run(t, context.Background(), map[string]any{"url": url + "/broken"}, types.Task{})
	if o.Run.Outcome != runner.Failed || !strings.Contains(o.Run.Message, "broke off") {
		t.Errorf("a broken answer: %+v", o)
	}
}

func TestTimeoutAndKill(t *testing.T) {
	hold := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
		}
		<-hold
	})
	t.Cleanup(func() { close(hold) })
	for _, path := range []string{"/head", "/body"} {
		o, _ := run(t, context.Background(), map[string]any{"url": url + path}, types.Task{Deadline: time.Now().Add(100 * time.Millisecond)})
		if o.Run.Outcome != runner.Timeout || !strings.Contains(o.Run.Message, "timed out after") {
			t.Errorf("%s: time-out: %+v", path, o)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(50*time.Millisecond, func() { cancel(runner.ErrKilled) })
		if o, _ := run(t, ctx, map[string]any{"url": url + path}, types.Task{}); o.Run.Outcome != runner.Killed {
			t.Errorf("%s: kill: %+v", path, o)
		}
	}
}

func TestRedirects(t *testing.T) {
	var token string
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { token = r.Header.Get("X-Token") })
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other, http.StatusFound)
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		default:
			http.Redirect(w, r, "/round", http.StatusFound)
		}
	})
	headers := map[string]string{"X-Token": "t"}
	if o, _ := run(t, context.Background(), map[string]any{"url": url + "/away", "headers": headers}, types.Task{}); o.Run.Outcome != runner.Success || token != "" {
		t.Errorf("%+v; the other host was given the token %q", o, token)
	}
	if o, _ := run(t, context.Background(), map[string]any{"url": url + "/metadata"}, types.Task{}); o.Run.Outcome != runner.Failed ||
		!strings.Contains(o.Run.Message, "metadata") {
		t.Errorf("a redirect to the metadata service: %+v", o)
	}
	if o, _ := run(t, context.Background(), map[string]any{"url": url + "/round"}, types.Task{}); o.Run.Outcome != runner.Failed ||
		!strings.Contains(o.Run.Message, "redirects") {
		t.Errorf("a circle: %+v", o)
	}
}

func TestWrongSettings(t *testing.T) {
	for says, exec := range map[string]map[string]any{
		"exec.url":  {"url": "ftp://x/"},
		"exec.url ": {"url": "/path"},
		"bodi":      {"url": "http://x/", "bodi": ""},
		"status":    {"url": "http://x/", "expect_status": "200"},
	} {
		o, _ := run(t, context.Background(), exec, types.Task{})
		if o.Run.Outcome != runner.Failed || !strings.Contains(o.Run.Message, strings.TrimSpace(says)) {
			t.Errorf("%v: %+v", exec, o)
		}
	}
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	if o, _ := run(t, context.Background(), map[string]any{"url": "http://127.0.0.1:1/"}, types.Task{}); o.Run.Outcome != runner.Failed ||
		!strings.Contains(o.Run.Message, "no answer") {
		t.Errorf("nobody listens: %+v", o)
	}
}

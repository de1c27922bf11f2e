package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCommandsAreToldFromFlagsOfTheServer(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "--mode=all --data d": false, "--demo": false, "-data d": false,
		"jobs": true, "nosuch": true, "help": true, "--help": true, "-h": true, "--version": true, "--json jobs": true,
	} {
		if got := IsCommand(strings.Fields(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestExitCodes(t *testing.T) {
	a := newAPI(t)
	a.on("GET /api/v1/jobs", 200, `{"jobs":[],"cursor":""}`)
	a.on("GET /api/v1/instances", 200, `{"instances":[],"cursor":""}`)
	a.on("GET /api/v1/workers", 200, `not json`)
	a.on("GET /api/v1/ledger", 200, `{"balanced":false,"jobs":[{"job":"a","planned":2,"fired":1,"balanced":false,"absent":["2026-02-03T01:00:00Z"]}]}`)
	a.on("POST /api/v1/jobs/big/trigger", 413, `{"error":{"kind":"too_large","message":"params hold 1 MB; at most 64 KB are taken","field":"params"}}`)
	whole := map[string]string{"AX_URL": a.url, "AX_TOKEN": token}
	trace := "05b45c4e-c000-4000-8000-000000000001"
	for _, c := range []struct {
		env  map[string]string
		args string
		code int
		says string // on standard error
	}{
		{whole, "jobs", 0, "there are no such jobs"},
		{whole, "instances --trace " + trace, 0, ""},
		{whole, "workers", 1, "not JSON"},
		{whole, "ledger --from 2026-02-03T00:00:00Z --to 2026-02-04T00:00:00Z", 1, "does not balance"},
		{whole, "trigger big", 1, "params: params hold 1 MB"},
		{whole, "instance 12", 1, "there is no such thing"},
		{whole, "instance " + trace, 1, "no instance with the trace id"},
		{whole, "pause nosuch", 1, "there is no such thing"},
		{whole, "apply -f testdata/nosuch.yaml", 1, "no such file"},
		{whole, "apply -f testdata/golden", 1, "no *.yaml or *.yml"},
		{whole, "validate testdata/bad.yaml", 1, "testdata/bad.yaml:4:3: error: a job has no key crom"},

		{nil, "jobs", 2, "AX_URL is not set"},
		{map[string]string{"AX_URL": a.url}, "jobs", 2, "AX_TOKEN is not set"},
		{map[string]string{"AX_URL": a.url, "AX_TOKEN": "wrong"}, "jobs", 1, "this token is not known"},
		{map[string]string{"AX_URL": a.url, "AX_TOKEN": "two words"}, "jobs", 1, "copy it again"},
		{map[string]string{"AX_URL": "127.0.0.1:8080", "AX_TOKEN": token}, "jobs", 1, "no address of AX"},
		{map[string]string{"AX_URL": a.url + "/elsewhere", "AX_TOKEN": token}, "jobs", 1, "there is no such thing"},

		{whole, "", 0, ""},
		{whole, "nosuch", 2, `ax has no command "nosuch": "ax --help" lists them`},
		{whole, "jobs extra", 2, `ax jobs takes no argument, and "extra" is one`},
		{whole, "jobs --nosuch", 2, "unknown flag"},
		{whole, "jobs --limit -1", 2, "number from 1"},
		{whole, "jobs --limit 0", 2, "number from 1"},
		{whole, "jobs --limit ten", 2, `invalid argument "ten" for "--limit" flag: write a whole number`},
		{whole, "jobs --json=perhaps", 2, "write true or false"},
		{whole, "trigger a --wait --timeout soon", 2, "write a span of time such as"},
		{whole, "trigger", 2, "ax trigger: JOB is missing"},
		{whole, "trigger a --biz-date 2026-02-30", 2, "--biz-date"},
		{whole, "trigger a --param novalue", 2, "name=value"},
		{whole, "trigger a --param k=1 --param k=2", 2, "twice"},
		{whole, "trigger a --timeout 5s", 2, "--wait"},
		{whole, "instances --biz-date tomorrow", 2, "--biz-date"},
		{whole, "instance abc", 2, "neither an instance id"},
		{whole, "instance", 2, "ax instance: ID is missing"},
		{whole, "apply", 2, "-f FILE"},
		{whole, "validate", 2, "ax validate: FILE... is missing"},
		{whole, "validate --tz Local testdata/good.yaml", 2, "--tz"},
		{whole, "incidents close 7", 2, "--reason"},
		{whole, "incidents close x --reason y", 2, "no id of an incident"},
		{whole, "ledger --from 2026-02-03T00:00:00Z", 2, "--from and --to"},
		{whole, "ledger --from yesterday --to 2026-02-04T00:00:00Z", 2, "a date such as 2026-02-03"},
		{whole, "ledger --from 2026-02-30 --to 2026-03-04", 2, "RFC 3339"},
		{whole, "ledger --from 2026-02-04T00:00:00Z --to 2026-02-04T00:00:00Z", 2, "after --from"},
		{whole, "next", 2, "ax next: EXPR is missing"},
		{whole, "next --dialect cron -- x", 2, "--dialect"},
		{whole, "next --tz Mars -- x", 2, "--tz"},
		{whole, "next --from now -- x", 2, "RFC 3339"},
		{whole, "next -n 0 -- x", 2, "-n"},
	} {
		got := ax(t, c.env, "", strings.Fields(c.args)...)
		if got.code != c.code || !strings.Contains(got.err, c.says) {
			t.Errorf("ax %s: wanted exit %d and %q, got\n%s", c.args, c.code, c.says, got)
		}
	}
	if strings.Contains(fmt.Sprint(ax(t, map[string]string{"AX_URL": a.url, "AX_TOKEN": "wrong"}, "", "jobs")), "wrong") {
		t.Error("an error shows the token")
	}
}

// Arguments that strings.Fields can't make, each refused before anything is asked.
func TestTextThatNoServerCouldTakeIsWrongUsage(t *testing.T) {
	a := newAPI(t)
	for _, args := range [][]string{
		{"trigger", ""}, {"trigger", " "}, {"pause", ""}, {"resume", ""}, {"delete", ""}, {"delete", "a\xff"},
		{"trigger", "a", "--param", "k=\xff"}, {"trigger", "a", "--param", "k\xff=v"}, {"trigger", "a", "--reason", "\xff"},
	} {
		if got := a.ax(t, args...); got.code != exitUsage || len(a.calls) > 0 {
			t.Errorf("ax %q: %d calls\n%s", args, len(a.calls), got)
		}
	}
}

func TestWrongUsageIsADocumentToo(t *testing.T) {
	a := newAPI(t)
	for _, args := range []string{"--json trigger", "jobs --nosuch --json", "--json jobs --limit 0", "nosuch --json", "ledger --json"} {
		got := a.ax(t, strings.Fields(args)...)
		said, _ := got.json(t)["error"].(map[string]any)
		if message, _ := said["message"].(string); got.code != exitUsage || message == "" || !strings.Contains(got.err, "ax: "+message) {
			t.Errorf("ax %s:\n%s", args, got)
		}
	}
	if got := ax(t, nil, "", "--json", "jobs"); got.code != exitUsage || got.json(t)["error"] == nil {
		t.Error(got)
	}
	if got := a.ax(t, "next", "--nosuch", "--", "--json"); got.out != "" {
		t.Errorf("an argument was taken for the flag --json:\n%s", got)
	}
}

func TestTheLedgerTakesDates(t *testing.T) {
	a := newAPI(t)
	a.on("GET /api/v1/ledger", 200, `{"balanced":true,"jobs":[]}`)
	if got := a.ax(t, "ledger", "--unbalanced", "--from", "2026-11-29", "--to", "2026-11-30T08:00:00+08:00"); got.code != 0 || !strings.Contains(got.err, "no job is out of balance") {
		t.Errorf("a balanced ledger asked for what is unbalanced: %d %s", got.code, got.err)
	}
	if got := a.ax(t, "ledger", "--from", "2026-11-29", "--to", "2026-11-30T08:00:00+08:00"); got.code != 0 {
		t.Fatal(got)
	}
	q, err := url.ParseQuery(a.calls[0].query)
	if err != nil || q.Get("from") != "2026-11-29T00:00:00Z" || q.Get("to") != "2026-11-30T08:00:00+08:00" {
		t.Errorf("asked for %q", a.calls[0].query)
	}
}

// The server is not there at all.
func TestNobodyListens(t *testing.T) {
	a := newAPI(t)
	got := ax(t, map[string]string{"AX_URL": "http://127.0.0.1:1", "AX_TOKEN": token}, "", "jobs", "--json")
	if got.code != exitFailed || !strings.Contains(got.err, "nothing listens at http://127.0.0.1:1") {
		t.Error(got)
	}
	if doc := got.json(t); doc["error"] == nil || len(a.calls) > 0 {
		t.Errorf("no error document: %s", got)
	}
}

func TestAChangeIsRepeatedUnderOneKey(t *testing.T) {
	a := newAPI(t)
	left := 2
	a.special["POST /api/v1/jobs/hello/trigger"] = func(w http.ResponseWriter, _ *http.Request) {
		if left--; left >= 0 {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close() // the answer is lost, whatever was done
			}
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"7","traceId":"x","state":"running","label":"queued"}`)
	}
	if got := a.ax(t, "trigger", "hello", "--param", "a=b=c", "--biz-date", "2026-02-03"); got.code != 0 {
		t.Fatal(got)
	}
	calls := a.of("POST /api/v1/jobs/hello/trigger")
	for _, c := range calls {
		if c.key == "" || c.key != calls[0].key || c.body != `{"bizDate":"2026-02-03","params":{"a":"b=c"}}` {
			t.Errorf("a try with key %q and body %s", c.key, c.body)
		}
		if agent := c.header.Get("User-Agent"); agent != "ax/test" {
			t.Errorf("the agent is %q", agent)
		}
	}
	if len(calls) != 3 {
		t.Errorf("%d tries", len(calls))
	}
	before := calls[0].key
	a.ax(t, "trigger", "hello")
	if after := a.of("POST /api/v1/jobs/hello/trigger"); after[len(after)-1].key == before {
		t.Error("two invocations share a key: the second would do nothing")
	}
}

func TestListsAreWhole(t *testing.T) {
	a := newAPI(t)
	a.on("GET /api/v1/instances", 200, `{"instances":[{"id":"1"},{"id":"2"}],"cursor":"next"}`, `{"instances":[{"id":"3"}],"cursor":""}`)
	doc := a.ax(t, "instances", "--job", "demo/a b", "--json").json(t)
	if len(doc.rows("instances")) != 3 || doc["cursor"] != "" {
		t.Errorf("got %v", doc)
	}
	calls := a.of("GET /api/v1/instances")
	if len(calls) != 2 || calls[0].query != "job=demo%2Fa+b" || calls[1].query != "cursor=next&job=demo%2Fa+b" {
		t.Errorf("calls were %+v", calls)
	}
	b := newAPI(t)
	b.on("GET /api/v1/instances", 200, `{"instances":[{"id":"1"}],"cursor":"next"}`)
	doc = b.ax(t, "instances", "--limit", "1", "--json").json(t)
	if len(doc.rows("instances")) != 1 || doc["cursor"] != "next" || len(b.of("GET /api/v1/instances")) != 1 {
		t.Errorf("with a limit: %v", doc)
	}
}

func TestTriggerWaits(t *testing.T) {
	begin := `{"id":"7","traceId":"t","state":"running","label":"queued"}`
	for name, c := range map[string]struct {
		seen []string
		args []string
		code int
	}{
		"success":  {[]string{begin, `{"id":"7","state":"retrying","label":"backoff"}`, `{"id":"7","traceId":"t","state":"success"}`}, nil, 0},
		"failed":   {[]string{begin, `{"id":"7","traceId":"t","state":"failed","label":"timeout"}`}, nil, 3},
		"killed":   {[]string{`{"id":"7","traceId":"t","state":"cancelled","label":"killed"}`}, nil, 3},
		"too long": {[]string{begin}, []string{"--timeout", "200ms"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			a.on("POST /api/v1/jobs/hello/trigger", 201, begin)
			a.on("GET /api/v1/instances/7", 200, c.seen...)
			last := c.seen[len(c.seen)-1]
			got := a.ax(t, append([]string{"trigger", "hello", "--wait", "--json"}, c.args...)...)
			if got.code != c.code || got.out != last+"\n" {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

// A center that is killed and comes back does not end the waiting.
func TestTriggerWaitsThroughAnOutage(t *testing.T) {
	a := newAPI(t)
	a.on("POST /api/v1/jobs/hello/trigger", 201, `{"id":"7","traceId":"t","state":"running"}`)
	left := 3
	a.special["GET /api/v1/instances/7"] = func(w http.ResponseWriter, _ *http.Request) {
		if left--; left >= 0 {
			http.Error(w, "AX is starting", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, `{"id":"7","state":"success"}`)
	}
	if got := a.ax(t, "trigger", "hello", "--wait", "--json"); got.code != 0 {
		t.Error(got)
	}
}

func TestAnInterruptIsNoFault(t *testing.T) {
	a := newAPI(t)
	ctx, cancel := context.WithCancel(t.Context())
	a.on("POST /api/v1/jobs/hello/trigger", 201, `{"id":"7","traceId":"t","state":"running"}`)
	a.special["GET /api/v1/instances/7"] = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"7","state":"running"}`)
		cancel()
	}
	var out, errs bytes.Buffer
	code := run(ctx, []string{"trigger", "hello", "--wait"}, world(map[string]string{"AX_URL": a.url, "AX_TOKEN": token}, "", &out, &errs))
	if code != exitFailed || !strings.Contains(errs.String(), "ax: interrupted") || !strings.Contains(out.String(), "instance 7") {
		t.Errorf("exit %d\n%s\n%s", code, out.String(), errs.String())
	}
}

func TestLogsFollowThroughABreakAndToTheNextAttempt(t *testing.T) {
	a := newAPI(t)
	a.on("GET /api/v1/instances/7", 200, `{"id":"7","state":"running","attempts":[]}`, `{"id":"7","state":"running","attempts":[{"id":"71","ordinal":1}]}`,
		`{"id":"7","state":"retrying","attempts":[{"id":"71","ordinal":1}]}`,
		`{"id":"7","state":"success","attempts":[{"id":"71","ordinal":1},{"id":"72","ordinal":2,"target":"w2"}]}`)
	var opened []string
	a.special["GET /api/v1/instances/7/logs/stream"] = func(w http.ResponseWriter, r *http.Request) {
		what := r.URL.Query().Get("attempt") + " after " + r.Header.Get("Last-Event-ID")
		opened = append(opened, what)
		text := map[string]string{
			"71 after ":  ": open\n\nid: 2\ndata: [[1,1769990400000,\"stdout\",\"one\"],[2,1769990400000,\"stderr\",\"two\"]]\n\n", // and it breaks
			"71 after 2": "id: 3\ndata: [[2,1769990400000,\"stderr\",\"two\"],[3,1769990400000,\"stdout\",\"three\"]]\n\nevent: end\nid: 3\ndata: {}\n\n",
			"72 after ":  "id: 1\ndata: [[1,1769990400000,\"stdout\",\"again\"]]\n\nevent: end\ndata: {}\n\n",
		}[what]
		_, _ = io.WriteString(w, text)
	}
	got := a.ax(t, "logs", "7", "-f")
	if got.code != 0 || got.out != "one\ntwo\nthree\nagain\n" || !strings.Contains(got.err, "attempt 2 on w2") {
		t.Errorf("got\n%s\nstreams: %q", got, opened)
	}
	if strings.Join(opened, ", ") != "71 after , 71 after 2, 72 after " {
		t.Errorf("streams: %q", opened)
	}
}

// Output is followed from a server that answers later than a single call waits, be it of an instance or of its shards;
// what is only read once is not waited for like that.
func TestLogsFollowFromAServerThatIsAway(t *testing.T) {
	const away = 4 * time.Second // a call alone is repeated for 3 s
	a := newAPI(t)
	var began sync.Once
	var back time.Time
	later := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			began.Do(func() { back = time.Now().Add(away) })
			if time.Now().Before(back) {
				http.Error(w, "AX is starting", http.StatusServiceUnavailable)
				return
			}
			_, _ = io.WriteString(w, text)
		}
	}
	a.special["GET /api/v1/instances/7"] = later(`{"id":"7","state":"success","attempts":[{"id":"71","ordinal":1}]}`)
	a.special["GET /api/v1/instances/7/logs/stream"] = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "id: 1\ndata: [[1,1769990400000,\"stdout\",\"one\"]]\n\nevent: end\ndata: {}\n\n")
	}
	a.special["GET /api/v1/instances/8/logs"] = func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "AX is starting", http.StatusServiceUnavailable)
	}
	if got := a.ax(t, "logs", "8"); got.code == 0 {
		t.Error(got)
	}
	if got := a.ax(t, "logs", "-f", "7"); got.code != 0 || got.out != "one\n" {
		t.Error(got)
	}
}

func TestLogsReadPageAfterPage(t *testing.T) {
	a := newAPI(t)
	a.on("GET /api/v1/instances/7/logs", 200, `{"attempt":"71","lines":[{"n":1,"stream":"stdout","text":"one","time":"2026-02-03T00:00:00Z"}],"last":3,"complete":true}`,
		`{"attempt":"71","lines":[{"n":3,"stream":"stdout","text":"three","time":"2026-02-03T00:00:00Z"}],"last":3,"complete":true}`)
	if got := a.ax(t, "logs", "7"); got.code != 0 || got.out != "one\nthree\n" {
		t.Error(got)
	}
	calls := a.of("GET /api/v1/instances/7/logs")
	if len(calls) != 2 || calls[1].query != "after=1&attempt=71" {
		t.Errorf("calls: %+v", calls)
	}
	b := newAPI(t)
	b.on("GET /api/v1/instances/7/logs", 200, `{"attempt":"","lines":[],"last":0,"complete":false}`)
	if got := b.ax(t, "logs", "7"); got.code != 0 || got.out != "" {
		t.Error(got)
	}
}

const partsJSON = `"shards":[{"id":"70","index":0,"state":"success","attempts":1},{"id":"71","index":1,"state":"%s","attempts":%d},{"id":"72","index":2,"state":"cancelled","attempts":0}]}`

// Each line of an instance that was split says whose it is; one shard alone reads like an instance.
func TestLogsOfShards(t *testing.T) {
	a := newAPI(t)
	a.on("GET /api/v1/instances/7", 200, `{"id":"7","state":"failed","attempts":[],`+fmt.Sprintf(partsJSON, "failed", 2))
	a.on("GET /api/v1/instances/7/logs", 200, `{"attempt":"","lines":[],"last":0,"complete":true,"shards":3}`)
	a.on("GET /api/v1/instances/70/logs", 200, `{"attempt":"701","lines":[{"n":1,"stream":"stdout","text":"from ","time":"2026-02-03T00:00:00Z"},{"n":2,"stream":"stdout","text":"none","cont":true,"time":"2026-02-03T00:00:00Z"}],"last":2,"complete":true}`)
	a.on("GET /api/v1/instances/71/logs", 200, `{"attempt":"712","lines":[{"n":1,"stream":"stderr","text":"bad","time":"2026-02-03T00:00:01Z"}],"last":2,"complete":true}`,
		`{"attempt":"712","lines":[{"n":2,"stream":"stderr","text":"worse","time":"2026-02-03T00:00:01Z"}],"last":2,"complete":true}`)
	a.on("GET /api/v1/instances/72/logs", 200, `{"attempt":"","lines":[],"last":0,"complete":true}`)
	const all = "[shard 0] from none\n[shard 1] bad\n[shard 1] worse\n"
	if got := a.ax(t, "logs", "7"); got.code != 0 || got.out != all {
		t.Error(got)
	}
	a.on("GET /api/v1/instances/71", 200, `{"id":"71","state":"failed","attempts":[{"id":"712","ordinal":2}]}`)
	if got := a.ax(t, "logs", "7", "--shard", "0"); got.code != 0 || got.out != "from none\n" {
		t.Error(got)
	}
	var doc output
	got := a.ax(t, "logs", "7", "--json")
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || len(doc.Lines) != 3 || *doc.Lines[0].Shard != 0 || *doc.Lines[2].Shard != 1 || !doc.Complete {
		t.Errorf("%v %s", err, got)
	}
	for arg, want := range map[string]string{"3": "instance 7 has no shard 3: its shards are 0 to 2", "-2": "numbered from 0"} {
		if got := a.ax(t, "logs", "7", "--shard", arg); got.code == 0 || !strings.Contains(got.err, want) {
			t.Error(got)
		}
	}
	a.on("GET /api/v1/instances/8", 200, `{"id":"8","state":"success","attempts":[{"id":"81"}]}`)
	if got := a.ax(t, "logs", "8", "--shard", "0"); got.code == 0 || !strings.Contains(got.err, "instance 8 is not split into shards") {
		t.Error(got)
	}
}

// Followed, the lines of all shards come as they are put out, each shard from attempt to attempt, until the end of the whole.
func TestLogsFollowShards(t *testing.T) {
	a := newAPI(t)
	running := `{"id":"7","state":"running","attempts":[],`
	a.on("GET /api/v1/instances/7", 200, `{"id":"7","state":"running","attempts":[]}`, running+fmt.Sprintf(partsJSON, "running", 0), running+fmt.Sprintf(partsJSON, "running", 0),
		running+fmt.Sprintf(partsJSON, "running", 1), running+fmt.Sprintf(partsJSON, "running", 1), `{"id":"7","state":"success","attempts":[],`+fmt.Sprintf(partsJSON, "success", 2))
	a.on("GET /api/v1/instances/70", 200, `{"id":"70","state":"success","attempts":[{"id":"701","ordinal":1}]}`)
	a.on("GET /api/v1/instances/71", 200, `{"id":"71","state":"running","attempts":[{"id":"711","ordinal":1}]}`, `{"id":"71","state":"success","attempts":[{"id":"711","ordinal":1},{"id":"712","ordinal":2,"target":"w2"}]}`)
	a.special["GET /api/v1/instances/70/logs"] = func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"attempt":"701","lines":[{"n":1,"stream":"stdout","text":"zero"}],"last":1,"complete":true}`)
	}
	looks := 0
	a.special["GET /api/v1/instances/71/logs"] = func(w http.ResponseWriter, r *http.Request) {
		looks++
		text := map[string]string{
			"711 after 0": `{"attempt":"711","lines":[{"n":1,"stream":"stdout","text":"one"}],"last":1}`,
			"711 after 1": `{"attempt":"711","lines":[{"n":2,"stream":"stdout","text":"two"}],"last":2,"complete":true}`,
			"711 after 2": `{"attempt":"711","lines":[],"last":2,"complete":true}`,
			"712 after 0": `{"attempt":"712","lines":[{"n":1,"stream":"stdout","text":"again"}],"last":1,"complete":true}`,
		}[r.URL.Query().Get("attempt")+" after "+r.URL.Query().Get("after")]
		_, _ = io.WriteString(w, text)
	}
	got := a.ax(t, "logs", "7", "-f")
	if got.code != 0 || got.out != "[shard 0] zero\n[shard 1] one\n[shard 1] two\n[shard 1] again\n" || !strings.Contains(got.err, "shard 1: attempt 2 on w2") || looks != 3 {
		t.Errorf("after %d looks %s", looks, got)
	}
}

func TestApplySendsEveryFileOfAFolder(t *testing.T) {
	a := newAPI(t)
	a.on("POST /api/v1/apply", 200, `{"results":[],"dryRun":true}`)
	dir := t.TempDir()
	for name, text := range map[string]string{"b.yml": "b", "a.yaml": "a", "deep/er/c.yaml": "c", "README.md": "no"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"AX_URL": a.url, "AX_TOKEN": token}
	if got := ax(t, env, "from a pipe", "apply", "-f", dir, "-f", "-", "-f", filepath.Join(dir, "a.yaml"), "--dry-run"); got.code != 0 {
		t.Fatal(got)
	}
	calls := a.of("POST /api/v1/apply")
	var sent struct {
		Files  []file
		DryRun bool
	}
	if len(calls) != 1 || json.Unmarshal([]byte(calls[0].body), &sent) != nil {
		t.Fatalf("calls: %+v", calls)
	}
	var names []string
	for _, f := range sent.Files {
		names = append(names, strings.TrimPrefix(f.Name, dir+"/")+"="+f.Text)
	}
	if got := strings.Join(names, " "); got != "a.yaml=a b.yml=b deep/er/c.yaml=c stdin=from a pipe" || !sent.DryRun {
		t.Errorf("sent were %s", got)
	}
}

// JSON could not carry these bytes as they are, so the file would be judged wrongly there.
func TestBytesThatNoJobFileHoldsAreRefusedHere(t *testing.T) {
	a := newAPI(t)
	env := map[string]string{"AX_URL": a.url, "AX_TOKEN": token}
	for text, want := range map[string]string{
		"version: v1\n\xff": "stdin:2:1: error: byte 0xFF here is not UTF-8", "a: \x00": "stdin:1:4: error: the file holds a NUL",
		strings.Repeat("#", 5<<20): "at most 4096 KiB are read",
	} {
		if got := ax(t, env, text, "apply", "-f", "-"); got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("wanted %q, got\n%s", want, got)
		}
	}
	if len(a.calls) > 0 {
		t.Error("they were sent")
	}
}

func TestNextOnTheCorpus(t *testing.T) {
	f, err := os.Open("../../modules/scheduler/cron/testdata/cron.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	tried := 0
	for lines := bufio.NewScanner(f); lines.Scan(); tried++ {
		var c struct {
			ID, Dialect, Expr, TZ, From string
			Next                        []string
			Valid                       *bool
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		args := []string{"next", "-n", "5"}
		if c.Dialect != "descriptor" {
			args = append(args, "--dialect", c.Dialect)
		}
		if c.TZ != "" {
			args = append(args, "--tz", c.TZ)
		}
		if c.From != "" {
			args = append(args, "--from", c.From)
		}
		got := ax(t, nil, "", append(args, "--", c.Expr)...)
		if c.Valid != nil && !*c.Valid || len(c.Next) == 0 {
			if got.code != 1 || got.out != "" || got.err == "" {
				t.Errorf("%s: %q is to be refused, got\n%s", c.ID, c.Expr, got)
			}
			continue
		}
		printed := strings.Fields(got.out)
		for i, want := range c.Next {
			if got.code != 0 || i >= len(printed) || !same(printed[i], want) {
				t.Errorf("%s: %q: wanted %v, got\n%s", c.ID, c.Expr, c.Next, got)
				break
			}
		}
	}
	if tried != 932 {
		t.Errorf("%d cases were tried", tried)
	}
}

func same(a, b string) bool {
	x, err1 := time.Parse(time.RFC3339, a)
	y, err2 := time.Parse(time.RFC3339, b)
	return err1 == nil && err2 == nil && x.Equal(y)
}

func TestTextOfOthersCannotSteerTheTerminal(t *testing.T) {
	a := newAPI(t)
	a.on("GET /api/v1/instances/7", 200, `{"id":"7","job":"a","state":"failed","label":"error","message":"\u001b[2Jgone\nnext"}`)
	got := a.ax(t, "instance", "7")
	if strings.ContainsRune(got.out, 0x1b) || !strings.Contains(got.out, "·[2Jgone next") {
		t.Errorf("got %q", got.out)
	}
}

func TestNamesTravelEncoded(t *testing.T) {
	a := newAPI(t)
	a.on("POST /api/v1/jobs/"+url.PathEscape("订单/日报")+"/pause", 200, "{}")
	if got := a.ax(t, "pause", "订单/日报"); got.code != 0 {
		t.Error(got)
	}
}

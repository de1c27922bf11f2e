package template

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

func envSpec(text string) domain.JobSpec {
	return domain.JobSpec{Project: "fin", Name: "j", Env: map[string]string{"X": text}, Params: map[string]string{"p": "{{biz_date}}"},
		Exec: domain.Exec{Type: "noop", Spec: json.RawMessage("{}")}}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		"{{biz_date}}":                            "2026-03-31",
		"{{biz_date-1d}}":                         "2026-03-30",
		"{{ biz_date + 1 d }}":                    "2026-04-01",
		"{{biz_date-1m}}":                         "2026-02-28",
		"{{biz_date+2m}}":                         "2026-05-31",
		"{{biz_date+1w}}":                         "2026-04-07",
		"{{biz_date-1y}}":                         "2025-03-31",
		"{{biz_date | yyyyMMdd}}":                 "20260331",
		"{{biz_date-1d|yyyy/MM/dd}}":              "2026/03/30",
		"{{biz_date | yyMM}}":                     "2603",
		"{{expected_time}}":                       "2026-04-01T02:00:00+08:00",
		"{{expected_time | yyyy-MM-dd HH:mm:ss}}": "2026-04-01 02:00:00",
		"{{expected_time | yyyyMMddHHmmss}}":      "20260401020000",
		"{{trace_id}}/{{attempt}}":                "a1b2/2",
		"{{shard.index}} of {{shard.total}}":      "0 of 1",
		"{{params.p}}":                            "2026-03-31",
		"a {{{{b}} } {":                           "a {{b}} } {",
	} {
		r, err := Render(envSpec(text), someVars(nil))
		if err != nil || r.Env["X"] != want {
			t.Errorf("%s: got %q, %v, want %q", text, r.Env["X"], err, want)
		}
	}
}

// What is no value is an error when the job is saved, never an empty text in a run. (G-F10)
func TestUnknownTemplates(t *testing.T) {
	for text, want := range map[string]string{
		"{{}}": IDUnknown, "{{bizdate}}": IDUnknown, "{{biz date}}": IDUnknown, "{{params}}": IDUnknown, "{{params.a-b}}": IDUnknown,
		"{{shard}}": IDUnknown, "{{BIZ_DATE}}": IDUnknown, "{{ .Names }}": IDUnknown, "{{biz_date-1h}}": IDShift, "{{biz_date-1}}": IDShift,
		"{{biz_date-99999d}}": IDShift, "{{biz_date | yyyymmdd}}": IDFormat, "{{biz_date | }}": IDFormat, "{{biz_date | YYYY}}": IDFormat,
		"{{biz_date | HH}}": IDFormat, "{{trace_id | yyyy}}": IDNotDate, "{{expected_time-1d}}": IDNotDate, "{{params.p-1d}}": IDNotDate,
		"{{upstream.a.result.k}}": IDUpstreamDep, "{{upstream.a.k}}": IDUpstream, "{{params.q}}": IDParamUnknown, "x {{": IDUnclosed, "{{biz_date\n}}": IDUnclosed,
	} {
		_, issues := Compile(envSpec("ok " + text))
		if len(issues) != 1 || issues[0].ID != want || issues[0].Field != "env.X" {
			t.Errorf("%q: %+v, want %s", text, issues, want)
		}
	}
}

// TestOnePass: what a run brings along is text, whatever it looks like.
func TestOnePass(t *testing.T) {
	spec := shellSpec("echo {{params.p}}", map[string]string{"p": "{{biz_date}}"})
	spec.Env = map[string]string{"X": "<{{params.p}}>"}
	r, err := Render(spec, someVars(map[string]string{"p": "{{biz_date}}{{{{", "extra": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	if r.Env["AX_V1"] != "{{biz_date}}{{{{" || r.Env["X"] != "<{{biz_date}}{{{{>" || r.Params["p"] != "{{biz_date}}{{{{" || r.Env["AX_PARAM_extra"] != "1" {
		t.Errorf("a value was read as a template: %q", r.Env)
	}
}

func TestEnvironment(t *testing.T) {
	r, err := Render(envSpec("x"), someVars(nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"X": "x", "AX_PROJECT": "fin", "AX_JOB": "j", "AX_BIZ_DATE": "2026-03-31", "AX_TRACE_ID": "a1b2",
		"AX_EXPECTED_TIME": "2026-04-01T02:00:00+08:00", "AX_ATTEMPT_NO": "2", "AX_PARAM_p": "2026-03-31", "AX_SHARD_INDEX": "0", "AX_SHARD_TOTAL": "1"} {
		if r.Env[name] != want {
			t.Errorf("%s = %q, want %q", name, r.Env[name], want)
		}
	}
	for _, name := range []string{"AX_ATTEMPT", "AX_WORKER_UID"} {
		if _, there := r.Env[name]; there {
			t.Errorf("%s is the worker's to set", name)
		}
	}
}

func TestValuesNoPlaceCanTake(t *testing.T) {
	for name, params := range map[string]map[string]string{
		"NUL":      {"p": "a\x00b"},
		"not UTF8": {"p": "\xff"},
		"name":     {"a-b": "x"},
		"70 KB":    {"p": strings.Repeat("x", 70<<10)},
		"1 MB":     {"p": strings.Repeat("x", 1<<20)},
	} {
		if _, err := Render(envSpec("x"), someVars(params)); err == nil {
			t.Errorf("%s was taken", name)
		} else if len(err.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	long := strings.Repeat("数", 600) + strings.Repeat("y", 9<<10)
	if r, err := Render(envSpec("{{params.p}}"), someVars(map[string]string{"p": long})); err != nil || r.Env["X"] != long {
		t.Errorf("9 KB with Chinese: %v", err)
	}
}

func httpSpec(t interface{ Fatal(...any) }, exec map[string]any) domain.JobSpec {
	raw, err := json.Marshal(exec)
	if err != nil {
		t.Fatal(err)
	}
	return domain.JobSpec{Project: "default", Name: "j", Params: map[string]string{"p": "", "q": ""}, Exec: domain.Exec{Type: "http", Spec: raw}}
}

type request struct {
	Method, URL string
	Headers     map[string]string
	Body        *string
}

func requestOf(t interface{ Fatal(...any) }, r Rendered) request {
	var out request
	if err := json.Unmarshal(r.Exec, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestValuesComeBackFromTheRequest: whoever decodes the URL, the JSON and the form finds the
// values, and the parts around them as they were written.
func TestValuesComeBackFromTheRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := nasty(t, "p"), nasty(t, "q")
		if strings.Trim(p, ".") == "" {
			p = "x"
		}
		for _, c := range []struct{ ctype, body string }{
			{"", `{"a": "<{{params.p}}>", "b": ["{{params.q}}", 1]}`},
			{"application/x-www-form-urlencoded", "a={{params.p}}&b={{params.q}}"},
			{"text/plain", "{{params.p}}\n{{params.q}}"},
		} {
			exec := map[string]any{"method": "POST", "url": "https://h:1/x/{{params.p}}/y?a={{params.q}}&b={{biz_date}}#f", "body": c.body}
			if c.ctype != "" {
				exec["headers"] = map[string]string{"content-type": c.ctype}
			}
			r, err := Render(httpSpec(t, exec), someVars(map[string]string{"p": p, "q": q}))
			if err != nil {
				t.Fatal(err)
			}
			checkRequest(t, requestOf(t, r), c.ctype, p, q)
		}
	})
}

func checkRequest(t *rapid.T, got request, ctype, p, q string) {
	u, err := url.Parse(got.URL)
	if err != nil {
		t.Fatal(err)
	}
	if u.Host != "h:1" || u.Path != "/x/"+p+"/y" || strings.Count(u.EscapedPath(), "/") != 3 || u.Query().Get("a") != q ||
		len(u.Query()) != 2 || u.Query().Get("b") != "2026-03-31" || u.Fragment != "f" {
		t.Fatalf("URL %s", got.URL)
	}
	switch ctype {
	case "":
		var body struct {
			A string
			B []any
		}
		if err := json.Unmarshal([]byte(*got.Body), &body); err != nil || body.A != "<"+p+">" || len(body.B) != 2 || body.B[0] != q {
			t.Fatalf("JSON %s: %v", *got.Body, err)
		}
		if got.Headers["Content-Type"] != "application/json" {
			t.Fatalf("headers %v", got.Headers)
		}
	case "text/plain":
		if *got.Body != p+"\n"+q {
			t.Fatalf("text %q", *got.Body)
		}
	default:
		form, err := url.ParseQuery(*got.Body)
		if err != nil || form.Get("a") != p || form.Get("b") != q || len(form) != 2 {
			t.Fatalf("form %s: %v", *got.Body, err)
		}
	}
}

func TestUnsafePlacesInRequests(t *testing.T) {
	for _, c := range []struct {
		exec map[string]any
		want string
	}{
		{map[string]any{"url": "https://{{params.p}}/x"}, IDURLHost},
		{map[string]any{"url": "https://h.{{params.p}}"}, IDURLHost},
		{map[string]any{"url": "{{params.p}}"}, IDURLHost},
		{map[string]any{"url": "https://h:{{params.p}}/"}, IDURLHost},
		{map[string]any{"url": "https://h/", "headers": map[string]string{"X": "a\r\nB: c"}}, IDHeaderBreak},
		{map[string]any{"url": "https://h/", "body": `{"a": {{params.p}}}`}, IDBodyBare},
		{map[string]any{"url": "https://h/", "body": `{"a": "\{{params.p}}"}`}, IDBodyBare},
		{map[string]any{"url": "https://h/", "body": `{"a": "{{params.p}}"`}, IDBodyJSON},
		{map[string]any{"url": "https://h/", "body": "<a>{{params.p}}</a>", "headers": map[string]string{"Content-Type": "text/xml"}}, IDBodyType},
	} {
		if _, issues := Compile(httpSpec(t, c.exec)); len(issues) != 1 || issues[0].ID != c.want {
			t.Errorf("%v: %+v, want %s", c.exec, issues, c.want)
		}
	}
}

func TestHeadersAndPathsRefuseAtDispatch(t *testing.T) {
	spec := httpSpec(t, map[string]any{"url": "https://h/{{params.p}}/x", "headers": map[string]string{"X-Q": "v {{params.q}}"}})
	for _, params := range []map[string]string{{"q": "a\r\nEvil: 1"}, {"q": "a\nb"}, {"p": ".."}, {"p": "."}} {
		if _, err := Render(spec, someVars(params)); err == nil {
			t.Errorf("%q was sent", params)
		}
	}
	r, err := Render(spec, someVars(map[string]string{"q": "数 \"x\"", "p": "../.."}))
	if err != nil {
		t.Fatal(err)
	}
	if got := requestOf(t, r); got.Headers["X-Q"] != "v 数 \"x\"" || got.URL != "https://h/..%2F../x" {
		t.Errorf("%+v", got)
	}
}

func TestRenderIsPure(t *testing.T) {
	p, issues := Compile(shellSpec("echo {{params.p}} {{biz_date}}", map[string]string{"p": "d"}))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	done := make(chan string)
	for i := range 8 {
		go func() {
			r, err := p.Render(Vars{BizDate: day("2026-01-01").AddDays(i), Expected: time.Unix(0, 0)})
			if err != nil {
				done <- err.Error()
				return
			}
			done <- r.Env["AX_V2"]
		}()
	}
	seen := map[string]bool{}
	for range 8 {
		seen[<-done] = true
	}
	if len(seen) != 8 || !seen["2026-01-08"] {
		t.Errorf("renderings ran together: %v", seen)
	}
}

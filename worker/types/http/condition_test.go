package http

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

func TestConditionsOnTheAnswersJSON(t *testing.T) {
	const answer = `{"data":{"state":"ok","n":3,"big":9007199254740993,"ratio":0.50,"a/b":{"m~n":true},"":null},"rows":[{"id":1},{"id":2}],"text":"; $(id) \"x\" '中文🚀"}`
	for want, conditions := range map[string]string{
		"":  `{"/data/state":"ok","/data/n":3,"/data/a~1b/m~0n":true,"/data/":null,"/rows/1/id":2,"/data/ratio":0.5,"/data/big":9007199254740993}`,
		" ": `{"/text":"; $(id) \"x\" '中文🚀"}`,
		`/data/state of the answer is "ok", and it must be "done"`: `{"/data/state":"done"}`,
		`/data/n of the answer is 3, and it must be "3"`:           `{"/data/n":"3"}`,
		`/data/big of the answer is 9007199254740993`:              `{"/data/big":9007199254740992}`,
		`has no /data/stat`:         `{"/data/stat":"ok"}`,
		`has no /rows/2/id`:         `{"/rows/2/id":3}`,
		`has no /rows/01/id`:        `{"/rows/01/id":2}`,
		`has no /data/state/x`:      `{"/data/state/x":null}`,
		`/rows of the answer is [{`: `{"/rows":"x"}`,
	} {
		var c map[string]json.RawMessage
		if err := json.Unmarshal([]byte(conditions), &c); err != nil {
			t.Fatal(err)
		}
		got := unmet(c, []byte(answer))
		if (strings.TrimSpace(want) == "") != (got == "") || !strings.Contains(got, strings.TrimSpace(want)) {
			t.Errorf("%s: %q, want %q", conditions, got, want)
		}
	}
	for _, broken := range []string{"", "<html>", `{"data":1} {"data":2}`, `{"n":1e999999999}`} {
		if got := unmet(map[string]json.RawMessage{"/data": json.RawMessage(`2`)}, []byte(broken)); got == "" {
			t.Errorf("%q passes", broken)
		}
	}
}

// Status and condition must both hold; the object is the result all the same. (G-C17)
func TestAConditionFailsAnAnswerOfStatus200(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/html":
			_, _ = io.WriteString(w, "<html>an error page of a proxy</html>")
		case "/long":
			_, _ = fmt.Fprintf(w, `{"success":true,"pad":%q}`, strings.Repeat("x", jsonMax))
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			_, _ = fmt.Fprintf(w, `{"success":%s,"pad":%q}`, r.URL.Path[1:], strings.Repeat("x", 40_000))
		}
	})
	for path, want := range map[string]string{"/true": "", "/false": "/success of the answer is false", "/html": "no JSON", "/long": "more than 1 MB"} {
		o, _ := run(t, context.Background(), map[string]any{"url": url + path, "expect_json": map[string]any{"/success": true}}, types.Task{})
		if (o.Run.Outcome == runner.Success) != (want == "") || !strings.Contains(o.Run.Message, want) || (o.Result != nil) != (want == "") {
			t.Errorf("%s: %+v", path, o)
		}
	}
}

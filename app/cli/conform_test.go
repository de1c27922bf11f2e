package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/axsched/ax/worker/protocol"
)

// echoing answers every task with its parameters, and verifies nothing.
func echoing(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var task protocol.ExternalTask
		if json.NewDecoder(r.Body).Decode(&task) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "result": task.Params})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestConformPrintsATable(t *testing.T) {
	t.Parallel()
	url, env := echoing(t), map[string]string{secretVariable: "s"}
	got := ax(t, env, "", "conform", url, "--case", "values,denied")
	if got.code != exitGood || !strings.Contains(got.out, "values  passed") || !strings.Contains(got.out, "1 passed, 0 failed, 1 not applicable") {
		t.Errorf("%s", got)
	}
	if !strings.Contains(got.out, "denied  not applicable  it answers with the outcome (sync)") {
		t.Errorf("%s", got)
	}
	got = ax(t, env, "", "--json", "conform", url, "--case", "name")
	var all conformity
	if err := json.Unmarshal([]byte(got.out), &all); err != nil || got.code != exitFailed || all.Failed != 1 || len(all.Cases) != 1 {
		t.Errorf("%v %s", err, got)
	} else if c := all.Cases[0]; c.Case != "name" || c.Verdict != "failed" || !strings.Contains(c.Reason, "answered with 200, not with 401") {
		t.Errorf("%+v", c)
	}
	if got.err != "" {
		t.Errorf("with --json standard error says %q", got.err)
	}
}

func TestConformRefusesWhatItCannotTest(t *testing.T) {
	t.Parallel()
	env := map[string]string{secretVariable: "s"}
	for _, row := range []struct {
		env  map[string]string
		args []string
		code int
		said string
	}{
		{nil, []string{"conform", "http://127.0.0.1:1"}, exitFailed, "AX_EXECUTOR_SECRET"},
		{env, []string{"conform"}, exitUsage, "URL is missing"},
		{env, []string{"conform", "http://127.0.0.1:1", "--parallel", "0"}, exitUsage, "counts cases"},
		{env, []string{"conform", "127.0.0.1:9000"}, exitFailed, "no http or https URL"},
		{env, []string{"conform", "http://127.0.0.1:1", "--case", "x"}, exitFailed, `no case "x"`},
		{env, []string{"conform", "http://127.0.0.1:1"}, exitFailed, "could not be sent"},
	} {
		if got := ax(t, row.env, "", row.args...); got.code != row.code || !strings.Contains(got.err, row.said) {
			t.Errorf("%v: %s", row.args, got)
		}
	}
}

package cli

import (
	"strings"
	"testing"
)

// A value goes from the standard input to the server and is told nowhere else.
func TestASecretIsReadFromTheStandardInput(t *testing.T) {
	a := newAPI(t)
	a.on("PUT /api/v1/secrets/pay%2Fdb", 200, `{"name":"pay/db","project":"pay","version":3,"jobs":0}`)
	env := map[string]string{"AX_URL": a.url, "AX_TOKEN": token}
	for stdin, want := range map[string]string{"hunter2 'x' 密\n": `hunter2 'x' 密`, "hunter2": "hunter2", "hunter2\r\n": "hunter2", " a\nb \n\n": ` a\nb \n`} {
		got := ax(t, env, stdin, "secret", "set", "pay/db", "--reason", "leaked")
		if got.code != 0 || got.out != "pay/db: version 3\n" || strings.Contains(got.out+got.err, "hunter2") {
			t.Errorf("%q: %+v", stdin, got)
		}
		calls := a.of("PUT /api/v1/secrets/pay%2Fdb")
		if body := calls[len(calls)-1].body; !strings.Contains(body, `"value":"`+want+`"`) || !strings.Contains(body, `"reason":"leaked"`) {
			t.Errorf("%q is sent as %s", stdin, body)
		}
	}
	if got := ax(t, env, "", "secret", "set", "pay/db"); got.code == 0 || !strings.Contains(got.err, "holds no value") {
		t.Errorf("nothing on the standard input: %+v", got)
	}
	if got := ax(t, env, "x", "secret", "set", "db", "hunter2"); got.code != exitUsage {
		t.Errorf("a value as an argument: %+v", got)
	}
}

func TestSecretsAreListedAndDeleted(t *testing.T) {
	a := newAPI(t)
	a.on("GET /api/v1/secrets", 200, `{"secrets":[{"name":"db","project":"default","version":2,"jobs":1,"updatedBy":"ana","updatedAt":"2026-02-03T01:00:00Z"}],"cursor":""}`)
	a.on("DELETE /api/v1/secrets/db", 204, "")
	if got := a.ax(t, "secret", "list"); got.code != 0 || !strings.Contains(got.out, "ana") || !strings.Contains(got.out, "VERSION") {
		t.Errorf("%+v", got)
	}
	if got := a.ax(t, "secret", "rm", "db"); got.code != 0 || got.out != "db: deleted\n" {
		t.Errorf("%+v", got)
	}
}

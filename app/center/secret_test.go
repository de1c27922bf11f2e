package center

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/secret"
	"github.com/axsched/ax/worker/protocol"
)

// grant sends an instance to a worker and lets that claim it: the task, or why there is none.
func (b *bench) grant(id domain.ID) (*protocol.Task, string) {
	b.t.Helper()
	b.n++
	attempts, err := b.lifecycle.Dispatch(b.ctx, []domain.Assignment{{Instance: b.get(id), Attempt: domain.ID(int64(id) + int64(b.n)<<40), Target: "w", Boot: 1, MessageID: "m"}})
	b.must(err)
	if len(attempts) != 1 {
		b.t.Fatalf("%s was not dispatched", b.get(id).Status)
	}
	a := attempts[0].ID
	tasks, denied, err := b.lifecycle.Grant(b.ctx, []domain.Claim{{Attempt: a, Worker: "w", Boot: 1}})
	b.must(err)
	return tasks[a], denied[a]
}

// dump is every row of every table as text.
func (b *bench) dump() string {
	b.t.Helper()
	var tables []string
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if b.db.Dialect() != "sqlite" {
		query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	}
	b.must(b.db.Scan(b.ctx, &tables, query))
	if len(tables) < 20 {
		b.t.Fatalf("only %v", tables)
	}
	var out strings.Builder
	for _, table := range tables {
		var rows []map[string]any
		b.must(b.db.Scan(b.ctx, &rows, "SELECT * FROM `"+table+"`"))
		for _, r := range rows {
			for k, v := range r {
				if text, ok := v.([]byte); ok {
					v = string(text)
				}
				fmt.Fprintf(&out, "%s.%s: %v\n", table, k, v)
			}
		}
	}
	return out.String()
}

const secretJob = `version: v1
job:
  name: load
  timeout: 60
  exec: {type: shell, command: 'psql "$DSN"'}
  env:
    DSN: "host=db password={{secrets.db_password}} token={{secrets.token}}"
`

// A task gets the secrets that its job names, with the list of what to mask, and no row of the database ever holds one.
// (J-G16)
func TestSecretsAreOpenedAtTheGrantAndNowhereElse(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		if id := b.refusal(secretJob); id != "secret.missing" {
			t.Errorf("without the secrets: %s", id)
		}
		set := func(name, value string) {
			t.Helper()
			_, err := b.secrets.Set(b.ctx, secret.Change{Project: "default", Name: name, Value: value}, anybody)
			b.must(err)
		}
		set("db_password", "hunter2 'x'")
		set("token", "s3cr3t{{biz_date}}$(id)")
		b.put(secretJob)
		in := b.fire("load")
		task, why := b.grant(in.ID)
		if task == nil {
			t.Fatal(why)
		}
		if got := task.Env["DSN"]; got != "host=db password=hunter2 'x' token=s3cr3t{{biz_date}}$(id)" {
			t.Errorf("DSN is %q", got)
		}
		if want := []string{"hunter2 'x'", "s3cr3t{{biz_date}}$(id)"}; !slices.Equal(task.Secrets, want) {
			t.Errorf("to be masked: %q, want %q", task.Secrets, want)
		}
		if rows := b.dump(); strings.Contains(rows, "hunter2") || strings.Contains(rows, "s3cr3t") {
			t.Error("a row holds a secret")
		}
		set("token", "another token")
		if task, why := b.grant(b.fire("load").ID); task == nil || !strings.HasSuffix(task.Env["DSN"], "token=another token") {
			t.Errorf("after a new value: %+v %s", task, why)
		}
		key := domain.SecretKey{Project: in.ProjectID, Name: "token"}
		if err := b.secrets.Delete(b.ctx, key, "", anybody); !domain.Is(err, domain.Conflict) || !strings.Contains(err.Error(), "load") {
			t.Errorf("deleted while a job names it: %v", err)
		}
		b.put(strings.ReplaceAll(secretJob, " token={{secrets.token}}", ""))
		b.must(b.secrets.Delete(b.ctx, key, "", anybody))
	})
}

// What cannot be opened at the grant ends the attempt with the name of the secret, and without any value.
func TestASecretThatIsGoneAtTheGrantIsAnError(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		_, err := b.secrets.Set(b.ctx, secret.Change{Project: "default", Name: "db_password", Value: "hunter2"}, anybody)
		b.must(err)
		with := strings.ReplaceAll(secretJob, " token={{secrets.token}}", "")
		b.put(with)
		old, moved := b.fire("load"), b.fire("load")
		b.put(strings.ReplaceAll(with, "{{secrets.db_password}}", "none"))
		_, err = b.db.Exec(b.ctx, "UPDATE secret SET id = id + 1")
		b.must(err)
		if task, why := b.grant(moved.ID); task != nil || !strings.Contains(why, "db_password") || !strings.Contains(why, "damaged, or it belongs to something else") {
			t.Errorf("in another row: %+v %q", task, why)
		}
		b.must(b.secrets.Delete(b.ctx, domain.SecretKey{Project: old.ProjectID, Name: "db_password"}, "", anybody))
		if task, why := b.grant(old.ID); task != nil || !strings.Contains(why, `no secret "db_password"`) {
			t.Errorf("gone: %+v %q", task, why)
		}
		if in := b.get(old.ID); in.State != domain.Failed || !strings.Contains(in.Message, "db_password") {
			t.Errorf("it is %s: %s", in.Status, in.Message)
		}
	})
}

// Where a secret may not stand, with the place in the file.
func TestPlacesWhereASecretMayNotStand(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		_, err := b.secrets.Set(b.ctx, secret.Change{Project: "default", Name: "token", Value: "hunter2"}, anybody)
		b.must(err)
		for text, want := range map[string]string{
			"exec: {type: shell, command: 'x {{secrets.token}}'}":                                                       "template.secret_command",
			"exec: {type: shell, command: \"x '{{secrets.token}}'\"}":                                                   "template.secret_command",
			"exec: {type: http, url: 'http://h/?t={{secrets.token}}'}":                                                  "template.secret_url",
			"exec: {type: noop}\nparams: {t: '{{secrets.token}}'}":                                                      "template.secret_param",
			"exec: {type: noop}\nenv: {T: '{{secrets.tokn}}'}":                                                          "secret.missing",
			"exec: {type: noop}\nenv: {T: '{{secrets.a-b}}'}":                                                           "template.unknown",
			"exec: {type: http, url: 'http://h/', headers: {A: 'Bearer {{secrets.token}}'}, body: '{{secrets.token}}'}": "",
		} {
			file := "version: v1\njob:\n  name: a\n  timeout: 60\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
			if want == "" {
				b.put(file)
				task, why := b.grant(b.fire("a").ID)
				if task == nil || !strings.Contains(string(task.Exec), `"A":"Bearer hunter2"`) || !slices.Equal(task.Secrets, []string{"hunter2"}) {
					t.Errorf("%s: %+v %s", text, task, why)
				}
			} else if id := b.refusal(file); id != want {
				t.Errorf("%s: %s, want %s", text, id, want)
			}
		}
	})
}

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/client"
	"github.com/axsched/ax/modules/domain"
)

func (p *process) instances() *cobra.Command {
	var g page
	var job, date, state, label, trace, pool, place string
	cmd := &cobra.Command{Use: "instances", Short: "list instances, the newest first", Args: cobra.NoArgs, RunE: p.do(func(ctx context.Context, _ []string) error {
		q, err := g.query()
		if err != nil {
			return err
		}
		if date != "" {
			if _, err := domain.ParseBizDate(date); err != nil {
				return usage("--biz-date %s: %v", date, err)
			}
		}
		for name, v := range map[string]string{"job": job, "biz_date": date, "state": state, "label": label, "trace": trace, "pool": pool, "place": place} {
			q.Set(name, v)
		}
		head := []string{"ID", "JOB", "BIZ_DATE", "STATE", "EXPECTED", "TOOK"}
		return p.list(ctx, listing{name: "instances", query: q, head: head, cells: func(r row) []string {
			return []string{r.text("id"), r.name(), r.text("bizDate"), r.status(), p.when(r.moment("expectedTime")),
				took(r.moment("startedAt"), r.moment("finishedAt"))}
		}})
	})}
	g.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&job, "job", "", ofJob)
	f.StringVar(&date, "biz-date", "", "only of this business date, like 2026-02-03")
	f.StringVar(&state, "state", "", "only in this state: running, success, failed, retrying or cancelled")
	f.StringVar(&label, "label", "", "only with this label, such as waiting_deps or timeout")
	f.StringVar(&pool, "pool", "", "only of the pool with this [project/]name")
	f.StringVar(&place, "place", "", "with --pool: holds, only those that have a place; waits, only those that wait for one")
	f.StringVar(&trace, "trace", "", "only the one with this trace id")
	return cmd
}

// find gives the id of the instance that a person named by its id or a trace id.
func find(ctx context.Context, c *client.Client, name string) (string, error) {
	if id, err := domain.ParseID(name); err == nil {
		return id.String(), nil
	}
	if !isTrace(name) {
		return "", usage("%q is neither an instance id (digits) nor a trace id (like a1b2c3d4-e5f6-7890-abcd-ef1234567890)", name)
	}
	doc, err := c.Get(ctx, "/api/v1/instances", url.Values{"trace": {strings.ToLower(name)}, "limit": {"1"}})
	if err != nil {
		return "", err
	}
	answer, err := decode(doc)
	if err != nil {
		return "", err
	}
	for _, r := range answer.rows("instances") {
		if id := r.text("id"); id != "" {
			return id, nil
		}
	}
	return "", fmt.Errorf("there is no instance with the trace id %s, or it is in a project that you have no role in", name)
}

func isTrace(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, r := range s {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (r == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return false
		}
	}
	return true
}

// one runs a command that is about one instance.
func (p *process) one(use, short string, f func(ctx context.Context, c *client.Client, id string) error) *cobra.Command {
	return &cobra.Command{Use: use + " ID", Short: short, Args: cobra.ExactArgs(1), RunE: p.do(func(ctx context.Context, args []string) error {
		c, err := p.connect()
		if err != nil {
			return err
		}
		id, err := find(ctx, c, args[0])
		if err != nil {
			return err
		}
		return f(ctx, c, id)
	})}
}

func (p *process) instance() *cobra.Command {
	return p.one("instance", "show an instance with its attempts; ID is an instance id or a trace id", func(ctx context.Context, c *client.Client, id string) error {
		doc, err := c.Get(ctx, client.Instance(id), nil)
		if err != nil {
			return err
		}
		return p.shown(doc)
	})
}

func (p *process) showInstance(r row) error {
	err := p.facts(
		"id", r.text("id"), "job", r.name(), "version", r.text("version"), "biz_date", r.text("bizDate"),
		"state", r.status(), "why", r.text("why"), "message", r.text("message"), "trigger", r.text("trigger"), "run", r.text("run"),
		"trace id", r.text("traceId"), "expected", p.when(r.moment("expectedTime")), "started", p.when(r.moment("startedAt")),
		"finished", p.when(r.moment("finishedAt")), "took", took(r.moment("startedAt"), r.moment("finishedAt")),
		"params", r.text("params"), "stale", stale(r))
	if err == nil {
		err = p.showDeps(r)
	}
	if err == nil {
		err = p.showShards(r.rows("shards"))
	}
	if err != nil {
		return err
	}
	attempts := r.rows("attempts")
	if len(attempts) == 0 {
		return nil
	}
	rows := make([][]string, len(attempts))
	for i, a := range attempts {
		rows[i] = []string{a.text("run"), a.text("ordinal"), a.text("id"), a.text("target"), a.text("outcome", "state"), a.text("exitCode"),
			p.when(a.moment("dispatchedAt")), p.when(a.moment("startedAt")), p.when(a.moment("finishedAt")), ending(a)}
	}
	if err := p.printf("\n"); err != nil {
		return err
	}
	return p.table([]string{"RUN", "ATTEMPT", "ATTEMPT ID", "TARGET", "OUTCOME", "EXIT", "DISPATCHED", "STARTED", "FINISHED", "MESSAGE"}, rows)
}

// showShards lists the shards of an instance that was split.
func (p *process) showShards(shards []row) error {
	if len(shards) == 0 {
		return nil
	}
	rows := make([][]string, len(shards))
	for i, s := range shards {
		rows[i] = []string{s.text("index"), s.text("id"), s.status(), s.text("target", "worker"), s.text("attempts"), p.when(s.moment("startedAt")),
			p.when(s.moment("finishedAt")), took(s.moment("startedAt"), s.moment("finishedAt")), s.text("message")}
	}
	if err := p.printf("\n"); err != nil {
		return err
	}
	if err := p.table([]string{"SHARD", "ID", "STATE", "TARGET", "ATTEMPTS", "STARTED", "FINISHED", "TOOK", "MESSAGE"}, rows); err != nil {
		return err
	}
	p.note("ax: ax instance ID with the id of a shard shows its attempts\n")
	return nil
}

// ending is an attempt's message, with how long a lost one ran at least, or how long after its end that was reported
// where it was over 5 s.
func ending(a row) string {
	if start, heard := a.moment("startedAt"), a.moment("heardAt"); !heard.IsZero() && !start.IsZero() {
		return strings.TrimPrefix(a.text("message")+"; it ran for at least "+took(start, heard), "; ")
	}
	end, reported := a.moment("finishedAt"), a.moment("reportedAt")
	if end.IsZero() || reported.Sub(end) <= domain.ReportedLate {
		return a.text("message")
	}
	return strings.TrimPrefix(a.text("message")+"; reported "+took(end, reported)+" after its end", "; ")
}

func (p *process) why() *cobra.Command {
	return p.one("why", "say in a sentence why an instance is not running, or what became of it", func(ctx context.Context, c *client.Client, id string) error {
		doc, err := c.Get(ctx, client.Instance(id)+"/why", nil)
		if err != nil {
			return err
		}
		if p.json {
			return p.document(doc)
		}
		r, err := decode(doc)
		if err != nil {
			return err
		}
		if err := p.printf("%s\n", printable(r.text("why"))); err != nil || r.text("label") != string(domain.WaitingDeps) {
			return err
		}
		if doc, err = c.Get(ctx, client.Instance(id), nil); err != nil {
			return err
		}
		if r, err = decode(doc); err != nil {
			return err
		}
		p.noteMissed(r.rows("deps"))
		return nil
	})
}

func (p *process) kill() *cobra.Command {
	var reason string
	cmd := p.one("kill", "stop an instance, wherever it is", func(ctx context.Context, c *client.Client, id string) error {
		return p.act(ctx, c, id, "kill", reason)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "kept in the history")
	return cmd
}

func (p *process) rerun() *cobra.Command {
	var b backfilling
	var onlyFailed bool
	cmd := p.one("rerun", "open a new run of an instance that has ended, or with --dag rerun a business date from a job on", func(ctx context.Context, c *client.Client, id string) error {
		return p.act(ctx, c, id, "rerun", b.reason)
	})
	single := cmd.RunE
	cmd.Use = "rerun ID | rerun --dag JOB DATE"
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		wants := []string{"ID"}
		if b.dag {
			wants = []string{"JOB", "DATE"}
		}
		if len(args) == len(wants) {
			return nil
		}
		return miscounted(cmd.CommandPath(), args, wants)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case b.dag:
			return p.do(func(ctx context.Context, args []string) error {
				return p.rerunDate(ctx, b, args[0], args[1], onlyFailed)
			})(cmd, args)
		case onlyFailed || b.yes:
			return usage("--only-failed and --yes go with --dag")
		}
		return single(cmd, args)
	}
	cmd.Flags().BoolVar(&b.dag, "dag", false, "all jobs that depend on JOB, and itself, on the business date DATE; takes an admin unless --only-failed")
	cmd.Flags().BoolVar(&onlyFailed, "only-failed", false, "with --dag: only what ended without success")
	b.common(cmd)
	return cmd
}

// act asks for a kill or a rerun and shows the instance as it stands after it.
func (p *process) act(ctx context.Context, c *client.Client, id, verb, reason string) error {
	if err := plainText("--reason", reason); err != nil {
		return err
	}
	body := map[string]string{}
	if reason != "" {
		body["reason"] = reason
	}
	doc, err := c.Send(ctx, http.MethodPost, client.Instance(id)+"/"+verb, body)
	if err == nil && doc == nil {
		doc, err = c.Get(ctx, client.Instance(id), nil)
	}
	if err != nil {
		return err
	}
	return p.shown(doc)
}

// shown prints an instance for people or, with --json, as it came.
func (p *process) shown(doc json.RawMessage) error {
	if p.json {
		return p.document(doc)
	}
	r, err := decode(doc)
	if err != nil {
		return err
	}
	return p.showInstance(r)
}

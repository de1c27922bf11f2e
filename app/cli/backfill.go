package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/modules/domain"
)

// backfilling is the flags of a backfill, and of a rerun of a date.
type backfilling struct {
	from, to, dates, only, not string
	since, until               string
	dag, upstream, force       bool
	newest, goOn, yes          bool
	degree                     int
	reason                     string
	params                     []string
}

// askedBackfill is its body.
type askedBackfill struct {
	Job         string            `json:"job"`
	Reach       string            `json:"reach,omitempty"`
	From        string            `json:"from,omitempty"`
	To          string            `json:"to,omitempty"`
	Dates       []string          `json:"dates,omitempty"`
	Since       string            `json:"since,omitempty"`
	Until       string            `json:"until,omitempty"`
	Wanted      string            `json:"wanted,omitempty"`
	Degree      int               `json:"degree,omitempty"`
	NewestFirst bool              `json:"newestFirst,omitempty"`
	GoesOn      bool              `json:"goesOn,omitempty"`
	NotBetween  string            `json:"notBetween,omitempty"`
	Params      map[string]string `json:"params,omitempty"`
	Reason      string            `json:"reason,omitempty"`
	Hash        string            `json:"hash,omitempty"`
}

func (p *process) backfill() *cobra.Command {
	var b backfilling
	cmd := &cobra.Command{Use: "backfill JOB", Short: "make runs for business dates of the past: shows the exact list, and starts it", Args: cobra.ExactArgs(1),
		RunE: p.do(func(ctx context.Context, args []string) error {
			body, err := b.body(args[0])
			if err != nil {
				return err
			}
			return p.previewed(ctx, body, b.yes)
		})}
	f := cmd.Flags()
	f.StringVar(&b.from, "from", "", "the first business date, like 2026-02-03")
	f.StringVar(&b.to, "to", "", "the last business date, counted; else only the first")
	f.StringVar(&b.dates, "dates", "", "single business dates with commas between, instead of --from and --to")
	f.StringVar(&b.since, "since", "", "of these dates only what was planned from this moment on, like 2026-02-03T08:00:00+08:00")
	f.StringVar(&b.until, "until", "", "of these dates only what was planned up to this moment, counted")
	f.BoolVar(&b.dag, "dag", false, "with all jobs that depend on it, step by step")
	f.BoolVar(&b.upstream, "upstream", false, "with all jobs that it depends on")
	f.StringVar(&b.only, "only", "", "missing: what has not succeeded (default); failed: only what ended without success")
	f.BoolVar(&b.force, "force", false, "all of it, also what succeeded; takes an admin")
	f.IntVar(&b.degree, "degree", 1, "how many are under way at a time, up to 100; with --dag and --upstream how many dates")
	f.BoolVar(&b.newest, "newest-first", false, "begin with the newest date")
	f.BoolVar(&b.goOn, "go-on", false, "go on after a failure instead of pausing")
	f.StringVar(&b.not, "not-between", "", "begin nothing in this part of the day, like 08:00-20:00, by the zone of the job's project, which the preview names; not by the job's own")
	f.StringArrayVar(&b.params, "param", nil, "`name=value` for each run; may be given several times")
	b.common(cmd)
	cmd.AddCommand(p.backfills(), p.backfillShow(), p.backfillItems(), p.missed(),
		p.backfillChange("pause", "let nothing more of a backfill begin; what runs goes on"), p.backfillChange("resume", "let a paused backfill go on"), p.backfillStop())
	return cmd
}

func (b *backfilling) common(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.reason, "reason", "", "kept with the backfill and in the audit trail")
	cmd.Flags().BoolVar(&b.yes, "yes", false, "start it without asking")
}

// body judges what can be judged here.
func (b *backfilling) body(job string) (askedBackfill, error) {
	a := askedBackfill{Job: job, From: b.from, To: b.to, Degree: b.degree, NewestFirst: b.newest, GoesOn: b.goOn, NotBetween: b.not, Reason: b.reason, Wanted: b.only}
	if err := jobName(job); err != nil {
		return a, err
	}
	switch {
	case b.from == "" && b.to == "" && b.dates == "":
		return a, usage("say for which business dates: --from 2026-02-01 --to 2026-02-28, or --dates")
	case b.dates != "" && b.from+b.to != "":
		return a, usage("write either --from and --to, or --dates")
	case b.dag && b.upstream:
		return a, usage("write either --dag or --upstream")
	case b.force && b.only != "":
		return a, usage("--force is all of it: leave --only away")
	case b.only != "" && b.only != "missing" && b.only != "failed":
		return a, usage("--only %q: write missing or failed", b.only)
	case b.degree < 1:
		return a, usage("--degree %d: write a number from 1", b.degree)
	}
	for flag, text := range map[string]string{"--from": b.from, "--to": b.to} {
		if _, err := domain.ParseBizDate(text); text != "" && err != nil {
			return a, usage("%s %s: %v", flag, text, err)
		}
	}
	for _, one := range strings.FieldsFunc(b.dates, func(r rune) bool { return r == ',' || r == ' ' }) {
		if _, err := domain.ParseBizDate(one); err != nil {
			return a, usage("--dates %s: %v", one, err)
		}
		a.Dates = append(a.Dates, one)
	}
	if err := b.narrow(&a); err != nil {
		return a, err
	}
	switch {
	case b.dag:
		a.Reach = "downstream"
	case b.upstream:
		a.Reach = "upstream"
	}
	if b.force {
		a.Wanted = "all"
	}
	if err := plainText("--reason", b.reason); err != nil {
		return a, err
	}
	r, err := triggering{params: b.params}.request()
	a.Params = r.Params
	return a, err
}

// narrow reads the moments between which the planned times of the dates lie.
func (b *backfilling) narrow(a *askedBackfill) error {
	if b.since+b.until != "" && (b.dag || b.upstream) {
		return usage("--since and --until are of one job: leave --dag and --upstream away")
	}
	var since, until time.Time
	var err error
	if since, err = moment("--since", b.since); err != nil {
		return err
	}
	if until, err = moment("--until", b.until); err != nil {
		return err
	}
	if _, err := time.Parse(whenForm, b.until); err == nil { // a table shows no parts of a second
		until = until.Truncate(time.Second).Add(time.Second - time.Millisecond)
	}
	if !since.IsZero() && !until.IsZero() && until.Before(since) {
		return usage("--until %s lies before --since %s", b.until, b.since)
	}
	a.Since, a.Until = exact(since), exact(until)
	return nil
}

// moment reads a flag's moment: RFC 3339, or as tables show one. The zero time for "".
func moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339Nano, whenForm} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, usage("%s %q is no moment: write it with its offset, like 2026-02-03T08:00:00+08:00", flag, text)
}

// exact is a moment as flags and bodies carry it; "" for the zero time.
func exact(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func (p *process) backfills() *cobra.Command {
	var g page
	var job, state string
	cmd := &cobra.Command{Use: "list", Short: "list backfills, the newest first", Args: cobra.NoArgs, RunE: p.do(func(ctx context.Context, _ []string) error {
		q, err := g.query()
		if err != nil {
			return err
		}
		q.Set("job", job)
		q.Set("state", state)
		head := []string{"ID", "JOB", "FROM", "TO", "STATE", "DONE", "FAILED", "STARTED", "BY"}
		return p.list(ctx, listing{name: "backfills", query: q, head: head, cells: func(r row) []string {
			return []string{r.text("id"), r.text("job"), r.text("from"), r.text("to"), r.text("state"), r.text("success") + "/" + r.text("runs"),
				r.text("failed"), p.when(r.moment("createdAt")), r.text("createdBy")}
		}})
	})}
	g.flags(cmd)
	cmd.Flags().StringVar(&job, "job", "", "only of this job: [project/]name or id")
	cmd.Flags().StringVar(&state, "state", "", "only in this state: running, paused, stopping, stopped or done")
	return cmd
}

// backfillPath is the path of a backfill's calls.
func backfillPath(id string) (string, error) {
	n, err := domain.ParseID(id)
	if err != nil {
		return "", usage("%q is no id of a backfill", id)
	}
	return "/api/v1/backfills/" + n.String(), nil
}

func (p *process) backfillShow() *cobra.Command {
	return &cobra.Command{Use: "show ID", Short: "show a backfill and how far it is", Args: cobra.ExactArgs(1), RunE: p.do(func(ctx context.Context, args []string) error {
		path, err := backfillPath(args[0])
		if err != nil {
			return err
		}
		c, err := p.connect()
		if err != nil {
			return err
		}
		doc, err := c.Get(ctx, path, nil)
		if err != nil {
			return err
		}
		return p.shownBackfill(doc)
	})}
}

func (p *process) shownBackfill(doc json.RawMessage) error {
	if p.json {
		return p.document(doc)
	}
	r, err := decode(doc)
	if err != nil {
		return err
	}
	state := r.text("state")
	if why := r.text("pause"); why != "" {
		state += " (" + why + ": " + r.text("pauseBy") + ")"
	}
	return p.facts("id", r.text("id"), "job", r.text("job"), "reach", r.text("reach"), "wanted", r.text("wanted"), "dates", r.text("from")+" – "+r.text("to"),
		"state", state, "runs", r.text("runs"), "waiting", r.text("waiting"), "running", r.text("running"), "success", r.text("success"), "failed", r.text("failed"),
		"killed", r.text("killed"), "left alone", r.text("left"), "dropped", r.text("dropped"), "degree", r.text("degree"), "not between", strings.TrimSpace(r.text("notBetween")+" "+zoneOf(r)),
		"reason", r.text("reason"), "started", p.when(r.moment("createdAt"))+" by "+r.text("createdBy"), "finished", p.when(r.moment("finishedAt")))
}

func zoneOf(r row) string {
	if r.text("notBetween") == "" {
		return ""
	}
	return r.text("zone")
}

func (p *process) backfillItems() *cobra.Command {
	var g page
	var state string
	cmd := &cobra.Command{Use: "items ID", Short: "list the items of a backfill, in order", Args: cobra.ExactArgs(1), RunE: p.do(func(ctx context.Context, args []string) error {
		path, err := backfillPath(args[0])
		if err != nil {
			return err
		}
		q, err := g.query()
		if err != nil {
			return err
		}
		q.Set("state", state)
		head := []string{"NO", "STEP", "JOB", "BIZ_DATE", "EXPECTED", "DOES", "STATE", "INSTANCE", "RUN"}
		return p.list(ctx, listing{name: "items", path: strings.TrimPrefix(path, "/api/v1/") + "/items", query: q, head: head, cells: func(r row) []string {
			return []string{r.text("no"), r.text("step"), r.text("job"), r.text("bizDate"), p.when(r.moment("expected")), r.text("act"), r.text("state"), r.text("instance"), r.text("run")}
		}})
	})}
	g.flags(cmd)
	cmd.Flags().StringVar(&state, "state", "", "only in this state: waiting, running, success, failed, killed, left or dropped")
	return cmd
}

func (p *process) backfillChange(verb, short string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{Use: verb + " ID", Short: short, Args: cobra.ExactArgs(1), RunE: p.do(func(ctx context.Context, args []string) error {
		return p.changeBackfill(ctx, args[0], verb, map[string]any{"reason": reason})
	})}
	cmd.Flags().StringVar(&reason, "reason", "", "kept in the audit trail")
	return cmd
}

func (p *process) backfillStop() *cobra.Command {
	var reason string
	var kill bool
	cmd := &cobra.Command{Use: "stop ID", Short: "end a backfill: what has not begun is dropped, what runs goes on to its end", Args: cobra.ExactArgs(1),
		RunE: p.do(func(ctx context.Context, args []string) error {
			return p.changeBackfill(ctx, args[0], "stop", map[string]any{"reason": reason, "kill": kill})
		})}
	cmd.Flags().BoolVar(&kill, "kill", false, "end what runs too")
	cmd.Flags().StringVar(&reason, "reason", "", "kept in the audit trail")
	return cmd
}

func (p *process) changeBackfill(ctx context.Context, id, verb string, body map[string]any) error {
	path, err := backfillPath(id)
	if err != nil {
		return err
	}
	if err := plainText("--reason", fmt.Sprint(body["reason"])); err != nil {
		return err
	}
	c, err := p.connect()
	if err != nil {
		return err
	}
	doc, err := c.Large().Send(ctx, http.MethodPost, path+"/"+verb, body)
	if err != nil {
		return err
	}
	return p.shownBackfill(doc)
}

func (p *process) missed() *cobra.Command {
	var g page
	var job, from, to string
	var skipped bool
	cmd := &cobra.Command{Use: "missed", Short: "list planned fires that made no instance and were not made up, by job and business date", Args: cobra.NoArgs,
		RunE: p.do(func(ctx context.Context, _ []string) error {
			q, err := g.query()
			if err != nil {
				return err
			}
			for name, v := range map[string]string{"job": job, "from": from, "to": to} {
				q.Set(name, v)
			}
			if skipped {
				q.Set("kind", "skipped")
			}
			head := []string{"JOB", "BIZ_DATE", "OPEN", "FIRST", "LAST", "REASON"}
			return p.list(ctx, listing{name: "missed", query: url.Values(q), head: head, beside: p.noteMakeUp, cells: func(r row) []string {
				return []string{r.text("job"), r.text("bizDate"), r.text("open") + "/" + r.text("fires"), p.when(r.moment("first")), p.when(r.moment("last")), r.text("reason")}
			}})
		})}
	g.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&job, "job", "", "only of this job: [project/]name or id")
	f.StringVar(&from, "from", "", "only from this business date on")
	f.StringVar(&to, "to", "", "only up to this business date, counted")
	f.BoolVar(&skipped, "skipped", false, "those that policy passed over, instead of those that nobody was there for")
	return cmd
}

// noteMakeUp says beside missed fires how those of a row are made up.
func (p *process) noteMakeUp(answer map[string]json.RawMessage) {
	var days []json.RawMessage
	if json.Unmarshal(answer["missed"], &days) == nil && len(days) > 0 {
		p.note("ax: to run the open ones of a row: ax backfill JOB --from BIZ_DATE --since \"FIRST\" --until \"LAST\"\n")
	}
}

// rerunDate reruns the jobs of a business date, from one on.
func (p *process) rerunDate(ctx context.Context, b backfilling, job, date string, onlyFailed bool) error {
	b.from, b.dag, b.force, b.degree, b.goOn = date, true, !onlyFailed, 1, true
	if onlyFailed {
		b.only = "failed"
	}
	body, err := b.body(job)
	if err != nil {
		return err
	}
	return p.previewed(ctx, body, b.yes)
}

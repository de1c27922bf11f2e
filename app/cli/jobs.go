package cli

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/client"
	"github.com/axsched/ax/modules/domain"
)

func (p *process) jobs() *cobra.Command {
	var g page
	var project, search string
	cmd := &cobra.Command{Use: "jobs", Short: "list jobs", Args: cobra.NoArgs, RunE: p.do(func(ctx context.Context, _ []string) error {
		q, err := g.query()
		if err != nil {
			return err
		}
		q.Set("project", project)
		q.Set("q", search)
		head := []string{"JOB", "VERSION", "SCHEDULE", "IS", "NEXT FIRE", "LAST STATE"}
		return p.list(ctx, listing{name: "jobs", query: q, head: head, cells: func(r row) []string {
			return []string{r.name(), r.text("version"), schedule(r), enabled(r), p.whenNext(r), r.text("lastState")}
		}})
	})}
	g.flags(cmd)
	cmd.Flags().StringVar(&project, "project", "", "only of this project")
	cmd.Flags().StringVar(&search, "search", "", "only names that hold this text")
	return cmd
}

// schedule is a job's time rule as one text.
// whenNext is when a job is due next; for one that its upstreams start, in words.
func (p *process) whenNext(r row) string {
	if s, _ := r["schedule"].(map[string]any); row(s).text("kind") == string(domain.TriggerUpstream) && r["enabled"] != false {
		return whenUpstreamEnds
	}
	return p.when(r.moment("next"))
}

const whenUpstreamEnds = "when upstream ends"

func schedule(r row) string {
	s, _ := r["schedule"].(map[string]any)
	rule := row(s)
	switch kind := rule.text("kind"); kind {
	case "", "none":
		return ""
	case string(domain.TriggerUpstream):
		return kind
	case "cron":
		return rule.text("expr") + " " + rule.text("timezone")
	default:
		return kind + " " + rule.text("expr")
	}
}

func enabled(r row) string {
	if r["enabled"] == false {
		return "paused"
	}
	return "enabled"
}

// switchJob is pause or resume.
func (p *process) switchJob(verb, short string) *cobra.Command {
	return &cobra.Command{Use: verb + " JOB", Short: short, Args: cobra.ExactArgs(1), RunE: p.do(func(ctx context.Context, args []string) error {
		if err := jobName(args[0]); err != nil {
			return err
		}
		return p.change(ctx, http.MethodPost, client.Job(args[0])+"/"+verb, args[0]+": "+verb+"d\n")
	})}
}

func (p *process) deleteJob() *cobra.Command {
	return &cobra.Command{Use: "delete JOB", Short: "delete a job on which no other depends; its history stays", Args: cobra.ExactArgs(1),
		RunE: p.do(func(ctx context.Context, args []string) error {
			if err := jobName(args[0]); err != nil {
				return err
			}
			return p.change(ctx, http.MethodDelete, client.Job(args[0]), args[0]+": deleted\n")
		})}
}

// jobName judges the name of a job as an argument: whether there is such a job is the
// server's to say, but not of what no address can hold.
func jobName(name string) error {
	if strings.TrimSpace(name) == "" {
		return usage("the name of the job is empty: write [project/]name")
	}
	return plainText("the name of the job", name)
}

// plainText refuses what JSON can't carry: it would arrive changed.
func plainText(what, text string) error {
	if !utf8.ValidString(text) {
		return usage("%s is not UTF-8: %q", what, text)
	}
	return nil
}

// change sends a change without a body and says what came of it: the answer as JSON,
// or the sentence.
func (p *process) change(ctx context.Context, method, path, sentence string) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	var body any
	if method == http.MethodPost {
		body = struct{}{}
	}
	doc, err := c.Send(ctx, method, path, body)
	switch {
	case err != nil:
		return err
	case !p.json:
		return p.printf("%s", sentence)
	case doc == nil:
		return p.value(map[string]bool{"ok": true})
	}
	return p.document(doc)
}

// standing is where a worker stands; of one that refuses for its clock, how far off that
// is and since when.
func (p *process) standing(r row) string {
	state := r.text("state")
	ms, err := strconv.ParseInt(r.text("skewMs"), 10, 64)
	if state != "refusing" || err != nil {
		return state
	}
	off := time.Duration(ms) * time.Millisecond
	said := "refusing: clock " + off.Round(100*time.Millisecond).String() + " off"
	if at := r.moment("refusingAt"); !at.IsZero() {
		said += " since " + p.when(at)
	}
	return said
}

func (p *process) workers() *cobra.Command {
	var g page
	cmd := &cobra.Command{Use: "workers", Short: "list workers", Args: cobra.NoArgs, RunE: p.do(func(ctx context.Context, _ []string) error {
		q, err := g.query()
		if err != nil {
			return err
		}
		head := []string{"WORKER", "BOOT", "STATE", "HOST", "IP", "VERSION", "TYPES", "TAGS", "RUNNING", "LAST SEEN"}
		return p.list(ctx, listing{name: "workers", query: q, head: head, cells: func(r row) []string {
			return []string{r.text("name"), r.text("boot"), p.standing(r), r.text("host"), r.text("ip"), r.text("version"),
				r.text("types"), r.text("tags"), r.text("running"), p.when(r.moment("seenAt"))}
		}})
	})}
	g.flags(cmd)
	return cmd
}

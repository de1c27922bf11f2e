package cli

import (
	"context"
	"encoding/json"
	"fmt"
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

// switchJob is pause or resume. Resuming says first what lies in the pause.
func (p *process) switchJob(verb, short string) *cobra.Command {
	return &cobra.Command{Use: verb + " JOB", Short: short, Args: cobra.ExactArgs(1), RunE: p.do(func(ctx context.Context, args []string) error {
		if err := jobName(args[0]); err != nil {
			return err
		}
		if verb == "resume" {
			if err := p.notePause(ctx, args[0]); err != nil {
				return err
			}
		}
		return p.change(ctx, http.MethodPost, client.Job(args[0])+"/"+verb, args[0]+": "+verb+"d\n")
	})}
}

// sleeping is what the server says of a job and its pause.
type sleeping struct {
	Name  string `json:"name"`
	Pause *struct {
		Since   time.Time `json:"since"`
		Begin   time.Time `json:"begin"` // from where the fires were counted
		Until   time.Time `json:"until"` // and up to where
		Fires   int       `json:"fires"`
		Untaken int       `json:"untaken"` // of them: due before the pause
		More    bool      `json:"more"`
		From    string    `json:"from"`
		To      string    `json:"to"`
	} `json:"pause"`
}

// notePause says how many fires lie in the pause of a job, and that resuming makes none of them up. It says
// nothing of a job that is not paused.
func (p *process) notePause(ctx context.Context, name string) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	doc, err := c.Get(ctx, client.Job(name), nil)
	if err != nil {
		return err
	}
	var job sleeping
	if err := json.Unmarshal(doc, &job); err != nil {
		return fmt.Errorf("the server's answer about job %s can't be read: %w", name, err)
	}
	if job.Pause == nil {
		return nil
	}
	p.note("%s\n", job.said())
	return nil
}

// said tells of the pause in words; Pause must not be nil.
func (s sleeping) said() string {
	pause := s.Pause
	head := s.Name + " has been paused since " + exact(pause.Since)
	const never = "none of them is made up, whatever the misfire policy: the next fire is the next one due from now on"
	switch {
	case pause.More:
		return fmt.Sprintf("%s; more than %d planned fires lie in that time\n%s; ax backfill makes them", head, pause.Fires, never)
	case pause.Fires == 0:
		return head + "; no planned fire lies in that time"
	}
	span, dates := "--from "+pause.From, "business date "+pause.From
	if pause.To != pause.From {
		span, dates = span+" --to "+pause.To, "business dates "+pause.From+" to "+pause.To
	}
	span += " --since " + exact(pause.Begin)
	if !pause.Until.IsZero() {
		span += " --until " + exact(pause.Until)
	}
	if pause.Untaken > 0 {
		dates += fmt.Sprintf("; %d of them due before that, and taken by nobody", pause.Untaken)
	}
	return fmt.Sprintf("%s; planned fires in that time: %d (%s)\n%s; to run them: ax backfill %s %s", head, pause.Fires, dates, never, s.Name, span)
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

// standing is where a worker stands; of one that refuses work, why and since when, of a silent one since when.
func (p *process) standing(r row) string {
	state := r.text("state")
	if state == "silent" {
		return "silent since " + p.when(r.moment("seenAt"))
	}
	ms, err := strconv.ParseInt(r.text("skewMs"), 10, 64)
	if state != "refusing" || err != nil {
		return state
	}
	off := time.Duration(ms) * time.Millisecond
	said := "refusing: clock " + off.Round(100*time.Millisecond).String() + " off"
	if disk := r.text("disk"); disk != "" {
		said = "refusing: " + disk
	}
	if at := r.moment("refusingAt"); !at.IsZero() {
		said += " since " + p.when(at)
	}
	return said
}

// running is how many tasks a worker runs; of a silent one that is what it said last.
func running(r row) string {
	if r.text("state") == "silent" {
		return r.text("running") + " when last heard"
	}
	return r.text("running")
}

// noteDeaf says why no worker is heard.
func (p *process) noteDeaf(answer map[string]json.RawMessage) {
	var deaf struct {
		Since time.Time `json:"since"`
		Said  string    `json:"said"`
	}
	if json.Unmarshal(answer["deaf"], &deaf) == nil && !deaf.Since.IsZero() {
		p.note("no worker can be heard since %s: Redis: %s; they stand here as they were last heard, and none counts as lost for it\n", p.when(deaf.Since), deaf.Said)
	}
}

func (p *process) workers() *cobra.Command {
	var g page
	cmd := &cobra.Command{Use: "workers", Short: "list workers", Args: cobra.NoArgs, RunE: p.do(func(ctx context.Context, _ []string) error {
		q, err := g.query()
		if err != nil {
			return err
		}
		head := []string{"WORKER", "BOOT", "STATE", "HOST", "IP", "VERSION", "TYPES", "TAGS", "RUNNING", "LAST SEEN"}
		return p.list(ctx, listing{name: "workers", query: q, head: head, beside: p.noteDeaf, cells: func(r row) []string {
			p.notePlugins(r)
			return []string{r.text("name"), r.text("boot"), p.standing(r), r.text("host"), r.text("ip"), r.text("version"),
				r.text("types"), r.text("tags"), running(r), p.when(r.moment("seenAt"))}
		}})
	})}
	g.flags(cmd)
	return cmd
}

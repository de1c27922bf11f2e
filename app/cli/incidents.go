package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/modules/domain"
)

func (p *process) incidents() *cobra.Command {
	var g page
	var kind, project string
	var open bool
	cmd := &cobra.Command{Use: "incidents", Short: "list what is wrong and what was, open incidents first", Args: cobra.NoArgs, RunE: p.do(func(ctx context.Context, _ []string) error {
		q, err := g.query()
		if err != nil {
			return err
		}
		if open {
			q.Set("state", "open")
		}
		q.Set("kind", kind)
		q.Set("project", project)
		head := []string{"KIND", "ABOUT", "STATE", "OPENED", "TIMES", "EXAMPLE", "MESSAGE", "ID"}
		return p.list(ctx, listing{name: "incidents", query: q, head: head, beside: p.roads, cells: func(r row) []string {
			state := "open"
			if over := r.text("recovery"); over != "" {
				state = "over: " + over
			}
			if by := r.text("endedBy"); by != "" {
				state = "over: closed by " + by + ": " + r.text("endedWhy")
			}
			return []string{r.text("kind"), r.text("subject"), state, p.when(r.moment("openedAt")), r.text("count"), r.text("example"), r.text("message"), r.text("id")}
		}})
	})}
	g.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&open, "open", false, "only those that are not over")
	f.StringVar(&kind, "kind", "", "only of this kind, such as job_failed or worker_lost")
	f.StringVar(&project, "project", "", "only of this project")
	cmd.AddCommand(p.closeIncident())
	return cmd
}

// roads says beside the list how the notices fare, where they do not arrive.
func (p *process) roads(answer map[string]json.RawMessage) {
	var channels []row
	if json.Unmarshal(answer["channels"], &channels) != nil {
		return
	}
	if len(channels) == 0 && answer["channels"] != nil {
		p.note("ax: nobody is told of incidents: the active broker has no alerts.webhook_url\n")
	}
	for _, c := range channels {
		if since := c.moment("failingAt"); !since.IsZero() {
			p.note("ax: the %s takes no notices since %s: %s; %s wait, next try %s\n", c.text("name"), p.when(since), printable(c.text("fault")), c.text("waiting"), p.when(c.moment("nextAt")))
		}
	}
}

func (p *process) closeIncident() *cobra.Command {
	var body struct {
		Reason string `json:"reason"`
	}
	cmd := &cobra.Command{Use: "close ID", Short: "close an incident by hand; what is still wrong is opened anew", Args: cobra.ExactArgs(1),
		RunE: p.do(func(ctx context.Context, args []string) error {
			id, err := domain.ParseID(args[0])
			if err != nil {
				return usage("%q is no id of an incident: %v", args[0], err)
			}
			if strings.TrimSpace(body.Reason) == "" {
				return usage("incidents close wants a --reason, which is kept")
			}
			if err := plainText("--reason", body.Reason); err != nil {
				return err
			}
			c, err := p.connect()
			if err != nil {
				return err
			}
			doc, err := c.Send(ctx, http.MethodPost, "/api/v1/incidents/"+id.String()+"/close", body)
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
			return p.printf("closed: %s %s\n", r.text("kind"), printable(r.text("subject")))
		})}
	cmd.Flags().StringVar(&body.Reason, "reason", "", "kept with the incident and in the audit trail")
	return cmd
}

package cli

import (
	"context"

	"github.com/spf13/cobra"
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
		head := []string{"KIND", "ABOUT", "STATE", "OPENED", "TIMES", "EXAMPLE", "MESSAGE"}
		return p.list(ctx, listing{name: "incidents", query: q, head: head, cells: func(r row) []string {
			state := "open"
			if over := r.text("recovery"); over != "" {
				state = "over: " + over
			}
			return []string{r.text("kind"), r.text("subject"), state, p.when(r.moment("openedAt")), r.text("count"), r.text("example"), r.text("message")}
		}})
	})}
	g.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&open, "open", false, "only those that are not over")
	f.StringVar(&kind, "kind", "", "only of this kind, such as job_failed or worker_lost")
	f.StringVar(&project, "project", "", "only of this project")
	return cmd
}

package cli

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

func (p *process) pools() *cobra.Command {
	cmd := &cobra.Command{Use: "pools", Short: "list pools, the limits on how many instances run at once over several jobs", Args: cobra.NoArgs}
	list := func(cmd *cobra.Command) *cobra.Command {
		var project string
		cmd.Flags().StringVar(&project, "project", "", "only of this project")
		cmd.RunE = p.do(func(ctx context.Context, _ []string) error {
			head := []string{"POOL", "LIMIT", "USED", "WAITING", "JOBS", "TITLE"}
			return p.list(ctx, listing{name: "pools", query: url.Values{"project": {project}}, head: head, cells: func(r row) []string {
				return []string{r.text("name"), poolLimit(r), r.text("used"), r.text("waiting"), r.text("jobs"), r.text("title")}
			}})
		})
		return cmd
	}
	list(cmd)
	cmd.AddCommand(list(&cobra.Command{Use: "list", Short: "list pools", Args: cobra.NoArgs}), p.setPool(), p.deletePool())
	return cmd
}

// poolLimit is the limit of a pool; 0 in words.
func poolLimit(r row) string {
	if n := r.text("limit"); n != "0" {
		return n
	}
	return "0 (paused)"
}

func poolPath(name string) string { return "/api/v1/pools/" + url.PathEscape(name) }

func (p *process) setPool() *cobra.Command {
	var title, reason string
	cmd := &cobra.Command{Use: "set POOL LIMIT", Short: "make a pool, or change its limit; 0 pauses it", Args: cobra.ExactArgs(2),
		Long: `Makes a pool, or changes its limit. POOL is [project/]name. The limit counts at once: what runs goes on when it is
lowered, and nothing more starts until there is room under it. 0 pauses the pool.`}
	cmd.Flags().StringVar(&title, "title", "", "one line of description")
	cmd.Flags().StringVar(&reason, "reason", "", "kept in the audit trail")
	cmd.RunE = p.do(func(ctx context.Context, args []string) error {
		limit, err := strconv.Atoi(args[1])
		if err != nil || limit < 0 {
			return usage("%q is no limit: write a whole number, 0 pauses the pool", args[1])
		}
		for what, text := range map[string]string{"the name of the pool": args[0], "--title": title, "--reason": reason} {
			if err := plainText(what, text); err != nil {
				return err
			}
		}
		body := map[string]any{"limit": limit, "reason": reason}
		if cmd.Flags().Changed("title") {
			body["title"] = title
		}
		c, err := p.connect()
		if err != nil {
			return err
		}
		doc, err := c.Send(ctx, http.MethodPut, poolPath(args[0]), body)
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
		return p.printf("%s: limit %s, %s taken, %s waiting\n", printable(r.text("name")), poolLimit(r), r.text("used"), r.text("waiting"))
	})
	return cmd
}

func (p *process) deletePool() *cobra.Command {
	return &cobra.Command{Use: "delete POOL", Short: "delete a pool that no job names and no instance is in", Args: cobra.ExactArgs(1),
		RunE: p.do(func(ctx context.Context, args []string) error {
			if strings.TrimSpace(args[0]) == "" {
				return usage("the name of the pool is empty: write [project/]name")
			}
			if err := plainText("the name of the pool", args[0]); err != nil {
				return err
			}
			return p.change(ctx, http.MethodDelete, poolPath(args[0]), args[0]+": deleted\n")
		})}
}

package cli

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

func (p *process) projects() *cobra.Command {
	cmd := &cobra.Command{Use: "projects", Short: "list projects and the private networks that their tasks may reach", Args: cobra.NoArgs}
	list := func(cmd *cobra.Command) *cobra.Command {
		cmd.RunE = p.do(func(ctx context.Context, _ []string) error {
			return p.list(ctx, listing{name: "projects", query: url.Values{}, head: []string{"PROJECT", "NETWORKS", "TITLE"}, cells: func(r row) []string {
				return []string{r.text("name"), networksOf(r), r.text("title")}
			}})
		})
		return cmd
	}
	list(cmd)
	cmd.AddCommand(list(&cobra.Command{Use: "list", Short: "list projects", Args: cobra.NoArgs}), p.allowNetworks())
	return cmd
}

// networksOf names what a project may reach beside the public network.
func networksOf(r row) string {
	return strings.ReplaceAll(r.text("networks"), ", ", " ")
}

func (p *process) allowNetworks() *cobra.Command {
	var none bool
	cmd := &cobra.Command{Use: "allow PROJECT [NETWORK…]", Short: "say which private networks tasks of a project may connect to", Args: cobra.MinimumNArgs(1),
		Long: `Says which private networks and loopback addresses the tasks of a project may connect to by a URL. It is the whole list:
what stood in it before is replaced. NETWORK is an address, a network such as 10.1.0.0/16, or one of the words loopback (the
worker's own machine) and private (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7). The public network is open to every
project; link-local addresses, those where clouds serve credentials, and AX's own stores are refused always.`}
	cmd.Flags().BoolVar(&none, "none", false, "empty the list: the public network only")
	cmd.RunE = p.do(func(ctx context.Context, args []string) error {
		if (len(args) == 1) != none {
			return usage("write the networks behind the project, or --none for the public network only")
		}
		for _, text := range args {
			if err := plainText("the name or network", text); err != nil {
				return err
			}
		}
		c, err := p.connect()
		if err != nil {
			return err
		}
		doc, err := c.Send(ctx, http.MethodPut, "/api/v1/projects/"+url.PathEscape(args[0])+"/networks", map[string]any{"networks": append([]string{}, args[1:]...)})
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
		return p.printf("%s: its tasks may reach the public network and %s\n", printable(r.text("name")), printable(cmp.Or(networksOf(r), "no other")))
	})
	return cmd
}

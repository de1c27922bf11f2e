package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/client"
	"github.com/axsched/ax/modules/domain"
)

func (p *process) orphans() *cobra.Command {
	var g page
	var job string
	cmd := &cobra.Command{Use: "orphans", Short: "list instances whose worker was lost and which wait for a person", Args: cobra.NoArgs,
		RunE: p.do(func(ctx context.Context, _ []string) error {
			q, err := g.query()
			if err != nil {
				return err
			}
			q.Set("job", job)
			head := []string{"ID.ATTEMPT", "JOB", "BIZ_DATE", "RUN", "TARGET", "STARTED", "LAST HEARD", "LOST", "KNOWN"}
			return p.list(ctx, listing{name: "orphans", query: q, head: head, cells: func(r row) []string {
				return []string{r.text("id") + "." + r.text("attempt"), r.name(), r.text("bizDate"), r.text("run"), r.text("target"),
					p.when(r.moment("startedAt")), p.when(r.moment("heardAt")), p.when(r.moment("lostAt")), r.text("evidence")}
			}})
		})}
	g.flags(cmd)
	cmd.Flags().StringVar(&job, "job", "", "only of this job, [project/]name")
	return cmd
}

// verdicts are what a person may say of an orphan.
var verdicts = []string{"success", "failed", "rerun"}

// settling is the body of settling orphans.
type settling struct {
	Instances []pick `json:"instances"`
	As        string `json:"as"`
	Reason    string `json:"reason"`
}

type pick struct {
	ID      string `json:"id"`
	Attempt string `json:"attempt,omitempty"`
}

func (p *process) settle() *cobra.Command {
	var body settling
	cmd := &cobra.Command{Use: "settle ID… --as success|failed|rerun --reason TEXT", Short: "say what became of orphans", Args: cobra.MinimumNArgs(1),
		Long: `Says what became of orphans: success, it ran (an admin's word); failed; or rerun, it did not run and goes to a worker again.
ID is an instance's id, a trace id, or ID.ATTEMPT as orphans prints it: settled only while that attempt is the lost one.
Each is settled by itself. Exit 1 when one was left as it is, because it is no orphan any more.`,
		RunE: p.do(func(ctx context.Context, args []string) error {
			switch {
			case !slices.Contains(verdicts, body.As):
				return usage("--as %q: write success, failed or rerun", body.As)
			case strings.TrimSpace(body.Reason) == "":
				return usage("settle wants a --reason, which is kept")
			}
			if err := plainText("--reason", body.Reason); err != nil {
				return err
			}
			c, err := p.connect()
			if err != nil {
				return err
			}
			for _, arg := range args {
				one, err := pickOf(ctx, c, arg)
				if err != nil {
					return err
				}
				body.Instances = append(body.Instances, one)
			}
			return p.settleAll(ctx, c, body)
		})}
	cmd.Flags().StringVar(&body.As, "as", "", "success, failed or rerun")
	cmd.Flags().StringVar(&body.Reason, "reason", "", "kept in the history and the audit trail")
	return cmd
}

// pickOf reads ID, ID.ATTEMPT or a trace id.
func pickOf(ctx context.Context, c *client.Client, arg string) (pick, error) {
	name, attempt, pinned := strings.Cut(arg, ".")
	if pinned {
		if _, err := domain.ParseID(attempt); err != nil {
			return pick{}, usage("%q is no ID.ATTEMPT: %v", arg, err)
		}
	}
	id, err := find(ctx, c, name)
	return pick{ID: id, Attempt: attempt}, err
}

func (p *process) settleAll(ctx context.Context, c *client.Client, body settling) error {
	doc, err := c.Large().Send(ctx, http.MethodPost, "/api/v1/orphans/settle", body)
	if err != nil {
		return err
	}
	r, err := decode(doc)
	if err != nil {
		return err
	}
	left := 0
	results := r.rows("results")
	rows := make([][]string, len(results))
	for i, one := range results {
		became := "settled"
		if why := one.text("error"); why != "" {
			left++
			became = "left alone: " + why
		}
		rows[i] = []string{one.text("id"), one.status(), became}
	}
	if p.json {
		err = p.document(doc)
	} else {
		err = p.table([]string{"ID", "STATE", "RESULT"}, rows)
	}
	if err != nil || left == 0 {
		return err
	}
	p.note("ax: %d of %d were left as they are\n", left, len(results))
	return &failure{code: exitFailed, told: true, err: errors.New(fmt.Sprint(left, " were left as they are"))}
}

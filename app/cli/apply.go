package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/client"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/scheduler"
)

// applied is what apply shows of the server's answer.
type applied struct {
	Results []struct {
		Job      string           `json:"job"`
		Change   string           `json:"change"`
		Version  int              `json:"version"`
		Kind     string           `json:"kind"`
		Next     []string         `json:"next"`
		NextWas  string           `json:"nextWas"`
		Warnings []client.Problem `json:"warnings"`
	} `json:"results"`
}

func (p *process) apply() *cobra.Command {
	var names []string
	var dry bool
	cmd := &cobra.Command{Use: "apply -f FILE|DIR", Short: "put job files into force, all or none of them",
		Long: `Puts job files into force, all or none of them and in any order; a job whose meaning did not change gets no new
version. FILE may hold several jobs parted by lines of ---; of a folder every *.yaml and *.yml below it is taken;
- is the standard input.`,
		Args: cobra.NoArgs, RunE: p.do(func(ctx context.Context, _ []string) error {
			if len(names) == 0 {
				return usage("apply wants -f FILE or -f DIR")
			}
			return p.put(ctx, names, dry)
		})}
	cmd.Flags().StringArrayVarP(&names, "file", "f", nil, "a `file`, a folder or -; may be given several times")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "judge on the server and tell what would change; change nothing")
	return cmd
}

func (p *process) put(ctx context.Context, names []string, dry bool) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	files, err := p.files(names)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.unsendable() {
			r, err := judgeFiles([]file{f}, nil, job.Options{Now: p.now(), Schedules: scheduler.Times{}})
			if err != nil {
				return err
			}
			return p.report(r)
		}
	}
	doc, err := c.Large().Send(ctx, http.MethodPost, "/api/v1/apply", map[string]any{"files": files, "dryRun": dry})
	if err != nil {
		return err
	}
	if p.json {
		return p.document(doc)
	}
	var answer applied
	if err := json.Unmarshal(doc, &answer); err != nil {
		return fmt.Errorf("the server's answer to apply can't be read: %w", err)
	}
	return p.showApplied(answer, dry)
}

func (p *process) showApplied(a applied, dry bool) error {
	rows := make([][]string, len(a.Results))
	for i, r := range a.Results {
		if _, err := io.WriteString(p.err, renderProblems(r.Warnings)); err != nil {
			return err
		}
		next := ""
		if len(r.Next) > 0 {
			next = r.Next[0]
		}
		if r.Kind == string(domain.TriggerUpstream) {
			next = whenUpstreamEnds
		}
		if r.NextWas != "" {
			next = cmp.Or(next, "none") + " (was " + r.NextWas + ")"
		}
		rows[i] = []string{r.Job, r.Change, fmt.Sprint(r.Version), next}
	}
	if dry {
		p.note("dry run: nothing was changed\n")
	}
	return p.table([]string{"JOB", "CHANGE", "VERSION", "NEXT FIRE"}, rows)
}

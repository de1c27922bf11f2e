package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/conform"
)

// secretVariable holds an executor's secret, so that it stands in no list of processes.
const secretVariable = "AX_EXECUTOR_SECRET"

func (p *process) conform() *cobra.Command {
	var o conform.Options
	cmd := &cobra.Command{Use: "conform URL", Short: "play a center against an executor and tell where it does not keep the protocol",
		Long: `Sends tasks to the executor at URL and listens for its calls, as docs/protocol.md has them; needs no server.
The executor must offer a type echo that returns its parameters as its result, and takes as many seconds as a parameter sleep says.
Cases: ` + strings.Join(conform.Names(), ", ") + `.
Exit 1 when a case failed.`,
		Args: cobra.ExactArgs(1), RunE: p.do(func(ctx context.Context, args []string) error {
			o.URL = args[0]
			if o.Secret == "" {
				o.Secret = p.env(secretVariable)
			}
			return p.conforms(ctx, o)
		})}
	f := cmd.Flags()
	f.StringVar(&o.Secret, "secret", "", "the secret that the executor has (else from "+secretVariable+")")
	f.StringVar(&o.Executor, "executor", "default/echo", "the name that the executor goes by, project/name")
	f.StringVar(&o.Type, "type", "echo", "the type that returns its parameters")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:0", "where the executor's calls are awaited")
	f.StringVar(&o.Callback, "callback", "", "the URL by which the executor reaches that, when it is another machine or container")
	f.IntVar(&o.PID, "pid", 0, "the executor's process on this machine: it is sent SIGTERM at the end, to see it drain")
	f.StringSliceVar(&o.Only, "case", nil, "only these `cases`, with commas between")
	f.IntVar(&o.Parallel, "parallel", 4, "cases at a time")
	return cmd
}

// conformity is what ax conform --json prints.
type conformity struct {
	Passed        int           `json:"passed"`
	Failed        int           `json:"failed"`
	NotApplicable int           `json:"notApplicable"`
	Cases         []conform.Row `json:"cases"`
}

func (p *process) conforms(ctx context.Context, o conform.Options) error {
	if o.Secret == "" {
		return fmt.Errorf("there is no secret: export %s, or give --secret", secretVariable)
	}
	if o.Parallel < 1 {
		return usage("--parallel is %d; it counts cases", o.Parallel)
	}
	o.Tell = func(r conform.Row) {
		if !p.json {
			p.note("%s: %s\n", r.Case, r.Verdict)
		}
	}
	rows, err := conform.Run(ctx, o)
	if err != nil {
		return err
	}
	return p.verdicts(rows)
}

// verdicts prints the rows and fails when a case did.
func (p *process) verdicts(rows []conform.Row) error {
	all := conformity{Cases: rows}
	var cells [][]string
	for _, r := range rows {
		switch r.Verdict {
		case conform.Passed:
			all.Passed++
		case conform.Failed:
			all.Failed++
		default:
			all.NotApplicable++
		}
		told := r.Reason
		if told == "" {
			told = r.About
		}
		cells = append(cells, []string{r.Case, r.Verdict, told})
	}
	var err error
	if p.json {
		err = p.value(all)
	} else if err = p.table([]string{"CASE", "VERDICT", "WHAT"}, cells); err == nil {
		err = p.printf("%d passed, %d failed, %d not applicable\n", all.Passed, all.Failed, all.NotApplicable)
	}
	if err != nil {
		return err
	}
	if all.Failed > 0 {
		return &failure{code: exitFailed, err: errors.New("the executor does not keep the protocol"), told: true}
	}
	return nil
}

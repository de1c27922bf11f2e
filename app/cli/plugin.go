package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types/plugin"
	"github.com/axsched/ax/worker/types/program"
)

func (p *process) plugin() *cobra.Command {
	cmd := &cobra.Command{Use: "plugin", Short: "look at plug-ins", Args: cobra.NoArgs}
	cmd.AddCommand(p.checkPlugin())
	return cmd
}

func (p *process) checkPlugin() *cobra.Command {
	var execs []string
	var limit time.Duration
	cmd := &cobra.Command{Use: "check FOLDER", Short: "load a plug-in as a worker would, offline, and run each of its types once", Args: cobra.ExactArgs(1),
		Long: `Looks at the manifest, makes the virtual environment in a folder of its own that is removed again, starts a process,
asks it what it takes, and runs each type once: with its defaults and a made-up value for each parameter that must be
there, or with the settings of --exec. Nothing is asked of a server.`}
	cmd.Flags().StringArrayVar(&execs, "exec", nil, "settings of a trial run, `TYPE=JSON`; may be given several times")
	cmd.Flags().DurationVar(&limit, "limit", time.Minute, "how long each trial run may take")
	cmd.RunE = p.do(func(ctx context.Context, args []string) error {
		given := map[string]json.RawMessage{}
		for _, one := range execs {
			kind, text, ok := strings.Cut(one, "=")
			if !ok || !json.Valid([]byte(text)) {
				return usage("--exec %q: write TYPE={…}", one)
			}
			given[kind] = json.RawMessage(text)
		}
		return p.tryPlugin(ctx, args[0], given, limit)
	})
	return cmd
}

// tryPlugin checks one folder and prints what was found.
func (p *process) tryPlugin(ctx context.Context, folder string, execs map[string]json.RawMessage, limit time.Duration) error {
	home, err := os.MkdirTemp("", "ax-plugin-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(home) }()
	r, err := runner.New(runner.Config{Marker: runner.Marker{UID: filepath.Base(home), Boot: 1}})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	spool, err := runner.OpenSpool(filepath.Join(home, "logs"), runner.Limits{})
	if err != nil {
		return err
	}
	var found []plugin.Finding
	well := plugin.Check(ctx, folder, plugin.Trial{Spool: spool, Exec: execs, Limit: limit,
		Options: plugin.Options{Home: home, Runner: r, Env: program.BaseEnv(), Log: slog.New(slog.DiscardHandler), Taken: domain.BuiltInTypes()}},
		func(f plugin.Finding) { found = append(found, f) })
	if err := p.printFindings(well, found); err != nil || well {
		return err
	}
	return &failure{code: exitFailed, told: true, err: fmt.Errorf("the plug-in does not work")}
}

func (p *process) printFindings(well bool, found []plugin.Finding) error {
	if p.json {
		return p.value(map[string]any{"ok": well, "findings": found})
	}
	rows := make([][]string, len(found))
	for i, f := range found {
		said := "good"
		if !f.OK {
			said = "WRONG"
		}
		rows[i] = []string{f.What, said, f.Took.Round(time.Millisecond).String(), f.Note}
	}
	return p.table([]string{"WHAT", "", "TOOK", "FOUND"}, rows)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/client"
)

// The exit codes.
const (
	exitGood      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitNoSuccess = 3 // the awaited instance ended without success
)

// IsCommand reports whether arguments are a command of this package; else they are
// flags of the server. What is neither a flag nor a known word is a command too, so
// that it is refused as one.
func IsCommand(args []string) bool {
	if len(args) == 0 {
		return false
	}
	switch args[0] {
	case "-h", "--help", "-v", "--version", "--json", "--json=true", "--json=false":
		return true
	}
	return !strings.HasPrefix(args[0], "-")
}

// Main runs one command and gives the process' exit code: 0 good, 1 failed, 2 wrong
// usage, 3 an awaited instance ended without success. It reads AX_URL and AX_TOKEN.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, version string) int {
	return run(ctx, args, &process{in: stdin, out: stdout, err: stderr, env: os.Getenv, now: time.Now, zone: time.Local, version: version, wide: terminalWidth(stdout)})
}

// process is what a command may touch of the world.
type process struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	now      func() time.Time
	zone     *time.Location // of the times that people read
	version  string
	wide     int // of the terminal that the output goes to; 0: it is none, or not known
	json     bool
}

// failure is an error with its exit code.
type failure struct {
	code int
	err  error
	told bool // standard output and error have it already
}

// Error is the cause's.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap gives the cause.
func (f *failure) Unwrap() error { return f.err }

func usage(format string, args ...any) error {
	return &failure{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// run builds the commands, runs one and tells its error.
func run(ctx context.Context, args []string, p *process) int {
	p.err = &serial{w: p.err} // the client tells from goroutines of its own
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitGood
	}
	if _, rest, lost := root.Find(args); lost != nil {
		err = unknown(root, firstWord(rest))
		p.json = p.json || wantsJSON(args)
	}
	var f *failure
	if !errors.As(err, &f) { // cobra's own: an unknown flag
		f = &failure{code: exitUsage, err: err}
		p.json = p.json || wantsJSON(args) // the flag at fault may stand before --json
	}
	if !f.told {
		p.tell(f)
	}
	if f.code == exitUsage && cmd.HasParent() {
		p.note("usage: %s\n", cmd.UseLine())
		if first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n"); first != "" {
			p.note("for example: %s\n", first)
		}
		p.note("%q shows more\n", cmd.CommandPath()+" --help")
	}
	return f.code
}

// wantsJSON reports whether --json is among the flags.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// plainFlagError says what a flag wants instead of how a parser failed.
func plainFlagError(_ *cobra.Command, err error) error {
	cause := errors.Unwrap(err)
	if cause == nil {
		return err
	}
	wants := ""
	var number *strconv.NumError
	switch {
	case errors.As(cause, &number) && number.Func == "ParseBool":
		wants = "write true or false"
	case errors.As(cause, &number):
		wants = "write a whole number"
	case strings.HasPrefix(cause.Error(), "time: "):
		wants = "write a span of time such as 90s or 10m"
	default:
		return err
	}
	return usage("%s%s", strings.TrimSuffix(err.Error(), cause.Error()), wants)
}

// tell prints an error for people and, with --json, for programs.
func (p *process) tell(f *failure) {
	var said *client.Error
	if p.json {
		doc := map[string]any{"error": map[string]string{"message": f.Error()}}
		if errors.As(f.err, &said) && said.Document != nil {
			_ = p.document(said.Document)
		} else {
			_ = p.value(doc)
		}
	}
	if errors.As(f.err, &said) && len(said.Problems) > 0 {
		_, _ = io.WriteString(p.err, renderProblems(said.Problems))
	}
	_, _ = fmt.Fprintf(p.err, "ax: %s\n", printable(f.Error()))
}

func (p *process) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ax",
		Short: "AX runs the right task, at the right time, in the right order, once",
		Long: `AX runs the right task, at the right time, in the right order, once.

Without a command ax is the server: ax [--mode=MODE] [--data DIR] [--listen HOST:PORT] [--config FILE] [--demo],
where MODE is all, center, web, scheduler, broker or worker.

Commands that ask a server read its address from AX_URL and an API token from AX_TOKEN.
Exit codes: 0 good, 1 failed, 2 wrong usage, 3 the awaited instance ended without success.`,
		Version:           p.version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetFlagErrorFunc(plainFlagError)
	root.SetVersionTemplate("ax {{.Version}}\n")
	root.PersistentFlags().BoolVar(&p.json, "json", false, "print one JSON document")
	root.AddCommand(p.validate(), p.apply(), p.jobs(), p.switchJob("pause", "stop a job's schedule until it is resumed"),
		p.switchJob("resume", "let a paused job's schedule go on; what was due meanwhile is not made up"), p.deleteJob(),
		p.trigger(), p.instances(), p.instance(), p.logs(), p.why(), p.kill(), p.rerun(), p.release(), p.backfill(), p.orphans(), p.settle(), p.pools(), p.projects(), p.secrets(), p.workers(), p.types(), p.plugin(), p.incidents(), p.calendars(), p.next(), p.ledger(),
		p.conform(),
		&cobra.Command{Use: "version", Short: "print the version of this binary", Args: cobra.NoArgs, RunE: p.do(func(context.Context, []string) error {
			if p.json {
				return p.value(map[string]string{"version": p.version})
			}
			return p.printf("ax %s\n", p.version)
		})})
	root.SetHelpCommand(helping(root))
	explain(root)
	return root
}

// do makes every error of a command that is not about usage a failure.
func (p *process) do(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := f(cmd.Context(), args)
		var own *failure
		switch {
		case err == nil || errors.As(err, &own):
			return err
		case cmd.Context().Err() != nil:
			err = errors.New("interrupted; what was asked of the server stands")
		}
		return &failure{code: exitFailed, err: err}
	}
}

// connect makes the client that the environment describes.
func (p *process) connect() (*client.Client, error) {
	address, token := p.env("AX_URL"), strings.TrimSpace(p.env("AX_TOKEN"))
	if address == "" {
		return nil, usage("AX_URL is not set: export AX_URL=http://127.0.0.1:8080, or wherever AX is")
	}
	if token == "" {
		return nil, usage("AX_TOKEN is not set: export an API token of this AX, such as the AX_BOOTSTRAP_TOKEN that it was first started with")
	}
	c, err := client.New(address, token, p.version)
	if err != nil {
		return nil, fmt.Errorf("AX_URL and AX_TOKEN: %w", err)
	}
	c.Tell = func(text string) { p.note("ax: %s\n", printable(text)) }
	return c, nil
}

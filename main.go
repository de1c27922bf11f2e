// AX is one binary: without a command it serves the roles of --mode, with one it
// is the command line of AX.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // the image has no zoneinfo; schedules use their own copy

	"github.com/axsched/ax/app/all"
	"github.com/axsched/ax/app/center"
	"github.com/axsched/ax/app/cli"
	"github.com/axsched/ax/app/node"
	"github.com/axsched/ax/app/wall"
	"github.com/axsched/ax/config"
)

// version is set by the linker for releases.
var version = "dev"

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == node.WatchdogCommand {
		os.Exit(node.Watchdog(args[1:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if cli.IsCommand(args) {
		os.Exit(cli.Main(ctx, args, os.Stdin, os.Stdout, os.Stderr, version))
	}
	if err := serve(ctx, args); err != nil {
		fmt.Fprintln(os.Stderr, "ax:", err)
		os.Exit(1)
	}
}

// serve reads the set-up and carries the roles of its mode until it is stopped.
func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("ax", flag.ExitOnError)
	file := flags.String("config", "", "the configuration `file` (config/example.yaml documents each key)")
	withDemo := flags.Bool("demo", false, "install the demo project (mode all)")
	show := flags.Bool("print-config", false, "print the set-up with the source of each value, secrets as stars, and end")
	for _, key := range []string{"mode", "data", "listen"} {
		flags.String(key, "", "as the key "+key+" of the configuration")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no command; ax help lists them", flags.Arg(0))
	}
	given := map[string]string{}
	flags.Visit(func(f *flag.Flag) {
		if f.Name == "mode" || f.Name == "data" || f.Name == "listen" {
			given[f.Name] = f.Value.String()
		}
	})
	c, err := config.Load(*file, os.Environ(), given)
	if err != nil {
		return err
	}
	if *show {
		fmt.Print(c.Redacted())
		return nil
	}
	if err := c.Validate(c.Mode); err != nil {
		return err
	}
	slog.SetDefault(logger(c.Log))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	now, err := wall.Clock(ctx, os.Getenv(wall.Variable), slog.Default())
	if err != nil {
		return err
	}
	switch c.Mode {
	case config.ModeAll:
		return all.Run(ctx, all.Options{Config: c, Version: version, Demo: *withDemo, Now: now})
	case config.ModeWorker:
		return node.Main(ctx, c, version, now)
	}
	return center.Main(ctx, c, version, now)
}

// gcPercent is how much garbage may stand beside what is in use. AX keeps little in
// memory and makes much for a moment: at the runtime's 100 a fifth of a loaded center
// is spent on collecting. GOGC sets another.
const gcPercent = 400

// logger writes the process' own log to standard error.
func logger(l config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // validated
	o := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, o))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, o))
}

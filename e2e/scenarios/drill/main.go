// Command drill breaks a running AX and prints what it cost.
//
// It starts private stores, two centers and three workers, puts 1,000 fires a minute on them, breaks one thing,
// and compares three accounts: the fires that it planned itself, AX's rows and ledger, and a diary that the tasks
// write outside AX. It owns everything that it starts and leaves nothing behind, also after ^C. With -soak it breaks
// something at random again and again instead. Its exit code is 1 when work was lost or doubled or a state was wrong, 2
// when it could not tell.
//
//	go run ./e2e/scenarios/drill [-only KEY,…] [-long] [-brief] [-lasts D] [-soak 30m [-seed N] [-each 20s]] [-json FILE] [-keep DIR]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// options are the flags.
type options struct {
	only  string
	long  bool
	brief bool
	lasts time.Duration
	soak  time.Duration
	seed  uint64
	each  time.Duration
	json  string
	keep  string
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("drill", flag.ContinueOnError)
	f.StringVar(&o.only, "only", "", "hold these drills only, by key: "+strings.Join(keys(), ", "))
	f.BoolVar(&o.long, "long", false, "also hold the drills of ten minutes and more")
	f.BoolVar(&o.brief, "brief", false, "shorter faults and less load time, for a first look")
	f.DurationVar(&o.lasts, "lasts", 0, "let each fault that has an end last this long")
	f.DurationVar(&o.soak, "soak", 0, "instead of drills, break something at random again and again for this long")
	f.DurationVar(&o.each, "each", 20*time.Second, "from one fault of the soak to the next")
	f.Uint64Var(&o.seed, "seed", rand.Uint64N(1_000_000), "of the random faults; printed")
	f.StringVar(&o.json, "json", "", "also write everything as JSON to this file")
	f.StringVar(&o.keep, "keep", "", "copy logs, diary and rows of drills that found something below this folder")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.soak < 0 || o.lasts < 0 || o.each <= 0 {
		return o, fmt.Errorf("no arguments are taken, -soak and -lasts are not negative and -each is positive")
	}
	_, err := o.chosen()
	return o, err
}

func keys() []string {
	var out []string
	for _, f := range faults(options{}) {
		out = append(out, f.key)
	}
	return out
}

// chosen are the drills to hold.
func (o options) chosen() ([]fault, error) {
	all := faults(o)
	if o.only == "" {
		return slices.DeleteFunc(all, func(f fault) bool { return f.long && !o.long }), nil
	}
	var out []fault
	for key := range strings.SplitSeq(o.only, ",") {
		i := slices.IndexFunc(all, func(f fault) bool { return f.key == strings.TrimSpace(key) })
		if i < 0 {
			return nil, fmt.Errorf("-only: there is no drill %q", key)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// pace is how long the load runs before a fault and after its end.
func (o options) pace() (warm, after time.Duration) {
	if o.brief {
		return 5 * time.Second, 9 * time.Second
	}
	return 20 * time.Second, time.Minute
}

// longest is how long the longest tasks take.
func (o options) longest() time.Duration {
	if o.brief {
		return 6 * time.Second
	}
	return 45 * time.Second
}

const (
	exitHarm    = 1
	exitUnknown = 2
)

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnknown)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second ^C ends at once; children and stores go with their owner
	os.Exit(run(ctx, o))
}

// run holds the drills or the soak, prints, and returns the exit code.
func run(ctx context.Context, o options) int {
	defer setup.Clean()
	out := &Report{At: time.Now().UTC().Format(time.RFC3339), Commit: commit()}
	fmt.Printf("Drills of %s at commit %s.\n", out.At, out.Commit)
	if err := program(ctx).Do(func() { setup.Binary(program(ctx)) }); err != nil {
		fmt.Fprintln(os.Stderr, "drill:", err)
		return exitUnknown
	}
	var err error
	if o.soak > 0 {
		out.Soak, err = soak(ctx, o)
	} else {
		out.Drills, err = drills(ctx, o)
	}
	fmt.Print(out.text())
	if o.json != "" {
		err = errors.Join(err, out.write(o.json))
	}
	switch {
	case out.harm():
		return exitHarm
	case err != nil:
		fmt.Fprintln(os.Stderr, "drill:", err)
		return exitUnknown
	}
	return 0
}

// program is one piece of work, told of on standard error.
func program(ctx context.Context) *setup.Program { return setup.NewProgram(ctx, "drill", os.Stderr) }

// drills holds those that are chosen, each on servers of its own. One that could not be held does not hinder the next.
func drills(ctx context.Context, o options) ([]*Result, error) {
	chosen, err := o.chosen()
	if err != nil {
		return nil, err
	}
	var out []*Result
	var errs []error
	for _, f := range chosen {
		if ctx.Err() != nil {
			break
		}
		r, err := hold(program(ctx), o, f)
		if err != nil {
			errs = append(errs, fmt.Errorf("drill %s: %w", f.key, err))
		}
		if r != nil {
			out = append(out, r)
			fmt.Print("\n" + table([]*Result{r}) + bullets(r.Findings))
		}
	}
	return out, errors.Join(errs...)
}

// text is the whole report as Markdown.
func (r *Report) text() string {
	text := ""
	if len(r.Drills) > 1 {
		text += "\n" + table(r.Drills)
	}
	for _, d := range r.Drills {
		if len(d.Findings) > 0 {
			text += "\n" + d.Fault + ":\n" + bullets(d.Findings)
		}
	}
	if r.Soak != nil {
		text += "\n" + r.Soak.text()
	}
	return text
}

func bullets(lines []string) (text string) {
	for _, l := range lines {
		text += "- " + l + "\n"
	}
	return text
}

// commit names the source tree; "unknown" outside one.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

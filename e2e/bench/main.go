// Command bench prints how fast AX is on this machine, and whether that meets its aims.
//
// It starts private stores, centers and workers, drives them from outside (command line, HTTP, job files) and reads
// the figures from the tables and from /proc. It owns everything that it starts and leaves nothing behind, also after
// ^C. It judges by exit code only what may never happen: 1 when work was lost or done twice, 2 when it could not
// measure. A figure that was not measured is absent.
//
//	go run ./e2e/bench [-parts a,b,c,d,e,f,g] [-runs 3] [-quick] [-rate 4500] [-salvos noop_100,noop_1000] [-json FILE]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// options are the flags.
type options struct {
	parts string
	json  string
	quick bool
	runs  int
	rate  int // instances due a second in part b
	// salvos are the firings of part a, as noop_100; empty: all.
	salvos string
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.parts, "parts", "a,b,c,d,e,f,g", "which parts, in this order: "+strings.Join(summaries(), "; "))
	f.StringVar(&o.json, "json", "", "also write everything as JSON to this file")
	f.BoolVar(&o.quick, "quick", false, "fewer and shorter rounds, and rougher figures")
	f.IntVar(&o.runs, "runs", 1, "repeat everything and print the medians too")
	f.IntVar(&o.rate, "rate", 4500, "instances due a second in part b")
	f.StringVar(&o.salvos, "salvos", "", "of part a only these, such as noop_100,noop_1000")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.runs < 1 || o.rate < 1 {
		return o, fmt.Errorf("no arguments are taken, and -runs and -rate are at least 1")
	}
	if err := o.checkSalvos(); err != nil {
		return o, err
	}
	_, err := o.chosen()
	return o, err
}

// pick is the full measure, or the one of -quick.
func pick[N time.Duration | int](o options, full, short N) N {
	if o.quick {
		return short
	}
	return full
}

// part is one of the things that are measured.
type part struct {
	key, summary string
	measure      func(b *bench) *Part
}

func allParts() []part {
	return []part{
		{"a", "lateness of jobs due in the same second", (*bench).latenessPart},
		{"b", "sustained instances a second, beside the bare floor", (*bench).sustainedPart},
		{"c", "a center with many idle jobs", (*bench).idlePart},
		{"d", "a and b on the embedded stores", (*bench).embeddedPart},
		{"e", "single steps", (*bench).stepsPart},
		{"f", "growth with millions of instances of history", (*bench).growthPart},
		{"g", "very many instances ready at once", (*bench).pressurePart},
		{"h", "very many instances behind a pool (only when chosen: 4 min)", (*bench).poolPart},
	}
}

func summaries() []string {
	var out []string
	for _, p := range allParts() {
		out = append(out, p.key+" "+p.summary)
	}
	return out
}

// chosen are the parts named by -parts.
func (o options) chosen() ([]part, error) {
	var out []part
	for key := range strings.SplitSeq(o.parts, ",") {
		found := false
		for _, p := range allParts() {
			if p.key == strings.TrimSpace(key) {
				out, found = append(out, p), true
			}
		}
		if !found {
			return nil, fmt.Errorf("-parts: there is no part %q", key)
		}
	}
	return out, nil
}

const (
	exitLost       = 1
	exitUnmeasured = 2
)

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnmeasured)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second ^C ends at once; children and stores go with their owner
	os.Exit(measure(ctx, o))
}

func measure(ctx context.Context, o options) int {
	defer setup.Clean()
	parts, err := o.chosen()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUnmeasured
	}
	out := &Report{Machine: machine(), Quick: o.quick}
	fmt.Print(out.Machine.Text(o.quick))
	if err := build(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return exitUnmeasured
	}
	code := 0
	for n := range o.runs {
		if o.runs > 1 {
			fmt.Printf("\n# Run %d of %d\n", n+1, o.runs)
		}
		result, err := runParts(ctx, o, parts)
		out.Runs = append(out.Runs, result)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			code = exitUnmeasured
			break
		}
	}
	if len(out.Runs) > 1 {
		out.Medians = medians(out.Runs)
		fmt.Printf("\n# Medians of %d runs\n", len(out.Runs))
		for _, p := range out.Medians.Parts {
			fmt.Print(p.Text())
		}
	}
	if lost, doubled := out.harm(); lost+doubled > 0 {
		fmt.Printf("\nWork was lost (%d) or done twice (%d).\n", lost, doubled)
		code = exitLost
	}
	if o.json != "" {
		if err := out.Write(o.json); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitUnmeasured
		}
	}
	return code
}

// build builds AX before anything is measured, so that no part's time has it.
func build(ctx context.Context, o options) error {
	b := &bench{options: o, ctx: ctx, began: time.Now()}
	_, err := b.part(part{"0", "building ax", func(b *bench) *Part {
		setup.Binary(b)
		return &Part{}
	}})
	return err
}

// runParts measures each part once, on servers of its own, and prints it when it is done.
func runParts(ctx context.Context, o options, parts []part) (Result, error) {
	var out Result
	for _, p := range parts {
		got, err := (&bench{options: o, ctx: ctx, began: time.Now()}).part(p)
		if got != nil {
			out.Parts = append(out.Parts, got)
			fmt.Print(got.Text())
		}
		if err != nil {
			return out, fmt.Errorf("part %s: %w", p.key, err)
		}
	}
	return out, nil
}

// Command echo is a whole executor: its one type, echo, returns its parameters as its result. `ax conform` knows it.
//
//	AX_EXECUTOR=default/echo AX_EXECUTOR_SECRET=… go run ./worker/sdk/samples/echo -listen :9000
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/axsched/ax/worker/sdk"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9000", "where the center reaches this executor")
	journal := flag.String("journal", "echo.journal", "a file that only this executor uses")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := sdk.Serve(ctx, sdk.Config{
		Executor: os.Getenv("AX_EXECUTOR"), Secrets: []string{os.Getenv("AX_EXECUTOR_SECRET")},
		Listen: *listen, Journal: *journal,
	}, map[string]sdk.Handler{"echo": echo})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// echo takes as many seconds as the parameter sleep says, telling how far it is, and ends at once when it should stop.
func echo(ctx context.Context, task *sdk.Task) (any, error) {
	task.Logf("echo of %d parameters for %s", len(task.Params), task.BizDate)
	seconds, _ := strconv.ParseFloat(task.Params["sleep"], 64) // none: at once
	const steps = 10
	for i := range steps {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(seconds / steps * float64(time.Second))):
		}
		task.Progress((i+1)*100/steps, "asleep")
	}
	return task.Params, nil
}

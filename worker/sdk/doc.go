// Package sdk makes a Go service an external executor of AX. The author writes a function for each type of task; the
// package keeps docs/protocol.md: it verifies what comes, acknowledges, claims, beats, ships progress and log lines,
// writes every step to a journal on disk before it acts on it, reports until the center has the outcome, and drains.
//
//	err := sdk.Serve(ctx, sdk.Config{
//		Executor: "default/billing", Secrets: []string{os.Getenv("AX_EXECUTOR_SECRET")},
//		Listen: ":9000", Journal: "billing.journal",
//	}, map[string]sdk.Handler{"bill": bill})
//
// What it promises: a task that was not granted is not run; one that was granted is run once by this process, and never
// again after a crash; its outcome reaches the center also over a cut network and a restart. What it cannot promise
// is that your business code does nothing twice: a retry is another attempt with the same Task.TraceID, and
// docs/executor-guide.md begins with how to make that harmless.
//
// It imports the standard library and worker/protocol only. Everything here may be used by any number of goroutines.
package sdk

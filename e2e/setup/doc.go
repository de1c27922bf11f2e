// Package setup starts AX for end-to-end tests as its users do: the built binary, real processes, real stores.
//
// It owns what a test must not care about: one build per run, free loopback ports, data folders, waiting for
// readiness, logs that are shown when a test fails, and the end of every process with its test. It drives the
// product only from outside, over the command line and HTTP. It refuses to be imported by the product, and to
// touch a process or a store that it did not start. The scenarios and the measuring program drive it.
package setup

import "context"

// T is what setup needs of a test; *testing.T has it, and so has the measuring program's own.
type T interface {
	Helper()
	Name() string
	Context() context.Context
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

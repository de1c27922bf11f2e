// Package worker is a replica that runs tasks: the Node.
//
// It owns the way of an attempt on this machine: received → claimed → granted → journalled as started → run in a
// thread of its lane → outcome journalled → reported until confirmed. Its promises: an attempt starts at most once, and
// only on an answer to its newest claim; an outcome is never forgotten before the center has it in its database; what
// an earlier life left behind is killed and settled before anything is received.
//
// It refuses to know the database, why a task is due or what happens after its outcome. It talks to Redis only, through
// worker/transport, and goes on with what it runs while Redis is away. It runs on Linux.
//
// The rules are in book.go, a value without clock and I/O; the loops beside it carry out what it decides.
package worker

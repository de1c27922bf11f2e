// Package fleet knows the workers: who is there, who has gone silent, what each
// offers, and who is to take no more.
//
// It reads the heartbeats in the registry and keeps the table worker for pages.
// It judges silence on a monotonic clock that runs only while the registry
// answers: an outage makes nobody lost. The active broker drives it.
package fleet

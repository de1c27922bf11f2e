// Package domain is the vocabulary of AX: job, instance, attempt, business
// date, the states and the only moves between them, and the few error kinds.
//
// It owns meaning, not storage or transport: it imports the standard library
// only, reads no clock and does no I/O. Every module, the worker's contract and
// every page speak in these types. The words are those of docs/terms.md.
package domain

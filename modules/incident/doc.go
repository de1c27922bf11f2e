// Package incident knows what is wrong, from when until when, and tells it once.
//
// It owns the incidents (one row per kind and subject while it is open), their
// recovery, and the notices that go out by the web-hook. It derives them from what is
// committed: the history of instances, the rows of workers and triggers, what waits;
// nothing in the way of an ordinary success writes for it. It refuses to decide
// anything about instances, and never holds up who does: its loops end no term and a
// receiver that hangs holds up notices alone.
//
// The active broker drives the Keeper and the Sender under its fence, so that one
// process tells. What did not happen (fires that nobody takes) is looked for by every
// process with a database pool, the Lookout; it is told when a broker is active.
package incident

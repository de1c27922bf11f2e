// Package dag decides when what an instance waits for has happened, and what
// becomes of it when that can no longer happen.
//
// It owns the dependency rows of instances. Each side looks after its own commit,
// in a new snapshot: a new instance looks for outcomes of its upstreams, an ended
// one for rows that wait for it; whoever commits second sees the other. A sweeper
// repeats both looks, so that a look that died with its process is only late. A
// flip of rows, the lowered in-degree and the release are one transaction under
// the lock of the waiting instance. It refuses cycles nowhere: definitions are
// checked where they are applied.
package dag

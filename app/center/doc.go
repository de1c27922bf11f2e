// Package center is the composition root of web, scheduler and broker: it opens
// the stores, builds the modules of each role over that role's own pool, wires
// their ports, starts the loops and stops them in order. It is the only place
// that knows every module: the system on one page.
//
// A life of the center stands on one lease. When that is lost (the process was
// frozen, or cut off for long) everything that stands on it ends, and a new life
// is built in the same process.
package center

// Package journal is a worker's memory on disk: which attempts were started, how they ended, and which of those
// outcomes the center has confirmed to be in its database.
//
// It owns three files in the worker's data directory: lock (one worker per directory), identity (a random uid that
// never changes, the boot number, raised at each Open, and which lock file that boot held, which tells a copy) and journal.log (append-only, checksummed records). Started
// and Ended return only once their records are on stable storage; many callers share one fsync. The log is rewritten
// when most of it is confirmed, so its size follows what is open, not what has ever run.
//
// It refuses to guess: a torn tail is cut and told, damage inside the file is told and kept aside, and after a failed
// write or fsync, as on a full disk, every further append fails, because the kernel may have dropped what it could not
// write. Outcomes are kept in memory then, and Resume begins a new log with them once the disk takes it.
// It does not know what an outcome means, nor does it send anything; the Node does both.
package journal

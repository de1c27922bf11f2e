// Package lease says which process holds which node number, which processes
// have frozen, and who is the active one of a kind.
//
// It owns the tables lease and epoch and nothing else. Every process with a
// database pool takes a Lease before it opens the pool and gives the pool the
// lease's hooks, so that the row lists each connection before its first use.
// The composition root drives Lease.Run for as long as any pool is open, and
// Office.Run for as long as it may be the active one.
//
// The rules:
//   - The owner raises its row's counter each 500 ms over a connection outside
//     the pools, always as "if the row is mine still". Peers read all rows each
//     500 ms. A counter that stood still for 3 s on the watcher's own monotonic
//     clock is condemned: the row stops being renewable, its connections are
//     killed, then the node number is given up. Each step is one statement that
//     another peer may repeat or finish. A watcher judges only while it reaches
//     the database itself: after an outage, or after its own freeze, its clocks
//     start anew, so an outage never makes everyone kill everyone.
//   - A lost lease never comes back. Lost is closed, Run returns ErrLost, and the
//     hooks refuse every new connection, so the process can write nothing more.
//     The root then ends all that stands on the lease (loops, pools), and builds
//     itself anew from Take, in the same process: there may be no supervisor.
//   - Not reaching the database is no loss: nothing can be written meanwhile, and
//     the first renewal afterwards tells whether the row is still ours.
//   - A number that was given up rests for a minute before it is taken again, as
//     the next holder's clock may be behind: ids never repeat.
//   - A row that somebody deletes is a lease that is lost, and an office that is
//     made anew: its next epoch is beyond all that there were.
//   - SQLite knows no connections to kill. It is meant for one process; a second
//     one on the same file gets another number and the office changes hands, but
//     a process frozen inside a transaction blocks the file until it ends.
//
// It refuses to decide what the active one does, and to guard against clocks
// that are wrong: see the clock rules of the scheduler and the broker.
package lease

// Package instance owns the life of an instance: its birth, every move of its
// state, its runs and attempts, the grant, and what a report does.
//
// One function makes all moves (batch.move), from the table in domain.Moves; each
// is a compare-and-set on a row that was locked and read again in the same
// transaction. Decisions (decide*.go) are functions of facts; the use cases here
// lock, decide, save, and say after the commit what happened. The broker drives
// assignment, grants, reports and time; the scheduler makes instances; the dag
// releases and cancels them; pages and the API ask for kill and rerun. Nothing
// here sends, waits or keeps state in memory. Safe for concurrent use.
package instance

// Package scheduler owns the time that makes jobs due: the trigger row of each job,
// the record of which schedule was in force when, and the taking of due fires.
//
// Every node's scheduler is active. [Scheduler] keeps the near future in a wheel and
// takes what is due in one guarded transaction; a planned fire becomes an instance
// once, or is noted as skipped or missed with the reason. [Triggers] changes rows
// inside the job module's transaction, [Plans] answers what was and is planned and
// balances the books, [Times] judges schedules for whoever saves one. Decisions are
// in package plan, SQL in store. It refuses to know what a task does, who runs it,
// and any clock but the database's: a node whose own clock is off takes nothing.
package scheduler

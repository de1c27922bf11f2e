// Package backfill makes runs for business dates of the past.
//
// It owns the plan, a frozen list of what is made, what is run again and what is left
// alone, each with the reason; the rows of the list; and the pump that works it off in
// order, a few at a time, behind live work. A rerun of the jobs of a date is the same
// thing. What was previewed is what runs: a start plans again and is refused when the
// list has changed since. It refuses to know how an instance lives or when a
// schedule is due; app/center hands both in. The decisions (planner.go, flow.go) are functions
// of facts; the pump is driven in the term of the active broker and writes under its
// fence. Safe for concurrent use.
package backfill

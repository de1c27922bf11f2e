// Package calendar owns calendars of working days: which days of which years are off or
// worked against the week's rhythm, how people bring them in (YAML, CSV, ICS), their versions,
// and which jobs live by them.
//
// A version never changes; a change makes the next one, with its line of the audit trail, and in
// the same transaction the schedules of the jobs that live by the calendar go over to it. What that
// does to their fires can be asked before. What a file says is read whole or refused with line and
// column. It decides no fire: that is the scheduler's, which it gives the days. It refuses to
// guess: years that a calendar does not name follow the weekly rest days alone, and everybody is
// told so ahead.
package calendar

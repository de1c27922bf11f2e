// Package plan owns what a schedule asks for: when a job is due, about which
// business date, and what becomes of fires that nobody took in time.
//
// All of it is decisions: functions of facts and an instant, without store, clock
// or effect. The taking of due fires, the dependencies' "all planned fires of that
// day" and the ledger all expand the same spans with the same code, so they can't
// disagree. It refuses to know instances: a fire becomes one elsewhere.
package plan

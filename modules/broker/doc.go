// Package broker gives ready instances to targets and applies what comes back.
//
// One broker is active: it holds the epoch, and every transaction that it begins
// passes the fence of that epoch. It alone assigns, grants, applies reports,
// decides starts by the overlap policy, and runs time. What it keeps in memory
// (who has room, what is in flight) is built from committed rows at take-over,
// follows the changes it makes itself, and is checked against the rows where
// others may have changed them. It learns of rows that others committed by a
// nudge and, as the truth, by a poll each 250 ms. It knows no SQL and no Redis:
// app/center hands it the lifecycle, the mail and the fleet.
package broker

// Package plan decides what a backfill does: which fires are made, run again or left
// alone, in which order, and what of it may begin now. It is functions of facts; it reads
// no store and no clock.
package plan

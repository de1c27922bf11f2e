// Package board keeps the figures that pages show and reads them back.
//
// It owns the table counter (15-minute UTC buckets), which is written in the
// transaction of the change that it counts, once per batch; no page counts rows. A
// figure belongs to the bucket in which its instance was made, so that it can be
// taken back when a rerun opens what had failed.
package board

// Package pool owns the pools: named limits on how many instances may be with workers at
// once, over all jobs of a project that name one.
//
// It makes, changes and deletes them and tells how they are used. It counts nobody in or
// out: who has a place is read from the instances, and the active broker decides who gets
// the next one. It refuses to delete a pool that a job names. Pages and the API drive it.
package pool

package web

import (
	"time"

	"github.com/axsched/ax/modules/domain"
)

// ran is where and how long an instance runs or ran, as far as that is known of the attempt that is in force or ended
// it: what was lost before is told in the record of its attempts.
type ran struct {
	target  string        // "": it is nowhere
	took    time.Duration // 0: it did not run
	atLeast bool          // nobody knows when it ended, or whether it did
}

// ranOf judges an instance by the attempt that it names; nil: it names none, or that is not known.
func ranOf(now time.Time, in domain.Instance, a *domain.Attempt) ran {
	var r ran
	if a != nil && isOf(in, *a) {
		r.target = a.Target
	}
	until := in.FinishedAt
	switch {
	case in.Label == domain.Orphan && a != nil:
		heard, lost := a.Lost()
		if until = heard; heard.IsZero() {
			until = lost
		}
	case until.IsZero() && in.State == domain.Running:
		until = now
	}
	if in.StartedAt.IsZero() || until.IsZero() {
		return r
	}
	r.took = max(until.Sub(in.StartedAt), 0)
	r.atLeast = a != nil && a.State == domain.AttemptLost
	return r
}

// isOf reports whether an instance is with the attempt that it names, or ended by it: one that waits, or ended while it
// waited, has left it behind.
func isOf(in domain.Instance, a domain.Attempt) bool {
	switch in.Label {
	case domain.WaitingDeps, domain.WaitingApproval, domain.HeldOverlap, domain.HeldPool, domain.Queued,
		domain.QueueTimeout, domain.DepsTimeout, domain.UpstreamFailed, domain.Skipped:
		return false
	case domain.Killed:
		return !in.StartedAt.IsZero() || a.Outcome == domain.OutcomeKilled
	}
	return true
}

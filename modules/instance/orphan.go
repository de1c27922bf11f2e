package instance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Verdict is what a person says became of an orphan.
type Verdict string

// The verdicts.
const (
	VerdictSuccess Verdict = "success" // it ran and did its work
	VerdictFailed  Verdict = "failed"  // it ran and did not do its work
	VerdictRerun   Verdict = "rerun"   // it did not run: the same run goes to a worker again
)

// Verdicts lists them, the least far-reaching first.
var Verdicts = []Verdict{VerdictRerun, VerdictFailed, VerdictSuccess}

// Valid reports whether v is one of the three.
func (v Verdict) Valid() bool { return slices.Contains(Verdicts, v) }

// SettleAction is the right that a verdict needs: until approvals exist, marking
// success, which releases downstream on a person's word alone, is an admin's.
func SettleAction(v Verdict) domain.Action {
	if v == VerdictSuccess {
		return domain.ActOrphanSucceed
	}
	return domain.ActOrphanSettle
}

// Pick names an orphan that is to be settled, by its instance and the lost attempt
// that the person judged. Attempt 0: whichever it is by now.
type Pick struct {
	ID      domain.ID
	Attempt domain.ID
}

// MaxPicks is how many orphans one call settles.
const MaxPicks = 200

// Settled is what became of one pick. Err is nil when it was settled. Else nothing was
// done to it, and Err says why: Conflict, it had changed meanwhile or is being changed
// right now; NotFound; or what allow said. Instance is how it stands; zero where it is
// not there or may not be seen.
type Settled struct {
	ID       domain.ID
	Instance domain.Instance
	Err      error
}

// Settle settles orphans on a person's word. Each is judged by itself, under its own
// lock and as it then stands; what is not settled is told and left as it is. allow is
// asked for each. What was settled of one project is one entry of the trail, in the same
// transaction. Invalid without a reason, with an unknown verdict, or with more picks than
// MaxPicks. The answers stand in the order of the picks, each instance once.
func (r *Requests) Settle(ctx context.Context, picks []Pick, v Verdict, reason string, allow func(domain.Instance) error) ([]Settled, error) {
	if err := checkSettle(picks, v, reason); err != nil {
		return nil, err
	}
	var out []Settled
	err := r.Lifecycle.Store.Tx(ctx, func(ctx context.Context) error {
		s := settling{verdict: v, reason: reason, allow: allow, b: r.Lifecycle.batch(domain.ActorOf(ctx), len(picks))}
		if err := s.run(ctx, once(picks)); err != nil {
			return err
		}
		out = s.out
		return r.recordSettled(ctx, s)
	})
	return out, err
}

// SettleOne settles one orphan like Settle; whatever keeps it from that is the error.
func (r *Requests) SettleOne(ctx context.Context, p Pick, v Verdict, reason string, allow func(domain.Instance) error) (domain.Instance, error) {
	out, err := r.Settle(ctx, []Pick{p}, v, reason, allow)
	if err != nil {
		return domain.Instance{}, err
	}
	return out[0].Instance, out[0].Err
}

func checkSettle(picks []Pick, v Verdict, reason string) error {
	switch {
	case !v.Valid():
		return domain.Fail(domain.Invalid, "an orphan is settled as success, failed or rerun, not as %q", v).At("as").Coded("orphan.no_verdict", "as", string(v))
	case strings.TrimSpace(reason) == "":
		return domain.Fail(domain.Invalid, "say why: the reason is kept").At("reason").Coded("orphan.no_reason")
	case len(picks) == 0:
		return domain.Fail(domain.Invalid, "no orphan is named").At("instances").Coded("orphan.none_picked")
	case len(picks) > MaxPicks:
		return domain.Fail(domain.Invalid, "%d orphans at once are more than %d", len(picks), MaxPicks).At("instances").
			Coded("orphan.too_many", "n", fmt.Sprint(len(picks)), "max", fmt.Sprint(MaxPicks))
	}
	return checkReason(reason)
}

// once is the picks without those of an instance named before.
func once(picks []Pick) []Pick {
	seen := map[domain.ID]bool{}
	return slices.DeleteFunc(slices.Clone(picks), func(p Pick) bool {
		again := seen[p.ID]
		seen[p.ID] = true
		return again
	})
}

// settling is one call of Settle in the making.
type settling struct {
	b       *batch
	verdict Verdict
	reason  string
	allow   func(domain.Instance) error
	was     []domain.Instance // of those settled, as they stood
	out     []Settled
}

func (s *settling) run(ctx context.Context, picks []Pick) error {
	ids := make([]domain.ID, len(picks))
	for i, p := range picks {
		ids[i] = p.ID
	}
	seen, err := s.b.l.Store.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	locked, err := s.b.lockFree(ctx, ids)
	if err != nil {
		return err
	}
	for _, p := range picks {
		in, free := locked[p.ID]
		if !free {
			in = seen[p.ID]
		}
		is, err := s.one(ctx, p, in, free)
		if err != nil {
			return err
		}
		s.out = append(s.out, is)
	}
	return s.b.flush(ctx, s.b.l.Store.Save)
}

// one judges one pick and moves its instance if it may. Free says that it is locked.
func (s *settling) one(ctx context.Context, p Pick, in domain.Instance, free bool) (Settled, error) {
	if in.ID == 0 {
		return Settled{ID: p.ID, Err: domain.Fail(domain.NotFound, "there is no instance %s", p.ID).Coded("error.no_instance", "id", p.ID.String())}, nil
	}
	if err := s.allow(in); err != nil {
		if domain.Is(err, domain.NotFound) {
			in = domain.Instance{}
		}
		return Settled{ID: p.ID, Instance: in, Err: err}, nil
	}
	if err := standsAsJudged(p, in, free); err != nil {
		return Settled{ID: p.ID, Instance: in, Err: err}, nil
	}
	is, err := s.b.settle(ctx, in, s.verdict, s.reason)
	if err == nil {
		s.was = append(s.was, in)
	}
	return Settled{ID: p.ID, Instance: is}, err
}

// standsAsJudged refuses what is no longer the orphan that the person looked at.
func standsAsJudged(p Pick, in domain.Instance, free bool) error {
	switch {
	case !free:
		return domain.Fail(domain.Conflict, "instance %s is being changed right now", in.ID).WithHint("look again").Coded("orphan.busy")
	case in.IsSplit():
		return domain.Fail(domain.Conflict, "instance %s was split into shards: each orphan of them is settled by itself", in.ID).Coded("orphan.of_shards")
	case in.Label != domain.Orphan:
		return domain.Fail(domain.Conflict, "instance %s is no orphan: it is %s", in.ID, in.Status).Coded("orphan.changed", "status", in.Status.String())
	case p.Attempt != 0 && p.Attempt != in.AttemptID:
		return domain.Fail(domain.Conflict, "instance %s is an orphan of another attempt than the one that was named", in.ID).WithHint("look again").Coded("orphan.lost_again")
	}
	return nil
}

// lockFree locks and reads those of the instances that nobody else has locked.
func (b *batch) lockFree(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error) {
	locked, err := b.l.Store.LockFree(ctx, ids)
	b.stand(locked)
	return locked, err
}

// settle moves an orphan as the person said.
func (b *batch) settle(ctx context.Context, in domain.Instance, v Verdict, reason string) (domain.Instance, error) {
	if v != VerdictRerun {
		a, ok, err := b.inForce(ctx, in)
		if err != nil {
			return in, err
		}
		if ok {
			in.FinishedAt = a.FinishedAt // when it was last heard of: how long a person took is no time of its own
		}
	}
	switch v {
	case VerdictSuccess:
		return b.move(in, domain.MoveSettle, domain.Status{State: domain.Success}, reason)
	case VerdictFailed:
		return b.move(in, domain.MoveSettle, failed(domain.WorkerLost), reason)
	}
	spec, err := b.l.Specs.Spec(ctx, in.JobID, in.Version)
	if err != nil {
		return in, err
	}
	in.WakeAt = queueLimit(spec, b.now)
	return b.move(in, domain.MoveSettle, running(domain.Queued), reason)
}

// recordSettled writes what was settled into the trail, one entry a project.
func (r *Requests) recordSettled(ctx context.Context, s settling) error {
	was := map[domain.ID][]domain.Instance{} // by project
	for _, in := range s.was {
		was[in.ProjectID] = append(was[in.ProjectID], in)
	}
	for _, project := range inOrder(was) {
		if err := r.recordProject(ctx, s, project, was[project]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Requests) recordProject(ctx context.Context, s settling, project domain.ID, was []domain.Instance) error {
	action := string(SettleAction(s.verdict))
	if len(was) == 1 {
		in := was[0]
		return r.Audit.Changed(ctx, project, action, object(in), standing(in, ""), standing(*s.b.moved[in.ID], s.reason))
	}
	var before, after strings.Builder
	fmt.Fprintf(&after, "reason: %q", s.reason)
	for i, in := range was {
		if i > 0 {
			before.WriteString("\n")
		}
		before.WriteString(line(in))
		after.WriteString("\n" + line(*s.b.moved[in.ID]))
	}
	return r.Audit.Changed(ctx, project, action, fmt.Sprintf("%d orphans", len(was)), before.String(), after.String())
}

// line is how an instance stands, as one line of a list.
func line(in domain.Instance) string {
	return fmt.Sprintf("instance %s: %s %s, run %d: %s", in.ID, in.JobName, in.BizDate, in.RunNo, in.Status)
}

// orphaned reports whether a is the lost attempt that waits for a person.
func orphaned(in domain.Instance, a domain.Attempt) bool {
	return in.Label == domain.Orphan && in.AttemptID == a.ID && (a.State == domain.AttemptGranted || a.State == domain.AttemptLost)
}

// decideOrphan decides what a late report of the lost worker that is no success does:
// who knows the truth settles it. A failure ends it, with no retry, since a person has
// been asked already; what was never started goes elsewhere; a worker that does not know
// either leaves it to the person.
func decideOrphan(in domain.Instance, spec domain.JobSpec, r Outcome, now time.Time) step {
	spec.Retry = domain.Retry{}
	switch r.Outcome {
	case domain.OutcomeWorkerLost:
		return step{Late: "its worker does not know either how it ended"}
	case domain.OutcomeRefused:
		return handBack(in, r.Message)
	case domain.OutcomeTimeout:
		return decideFailure(in, spec, domain.Timeout, r.Message, now)
	case domain.OutcomeKilled:
		return decideFailure(in, spec, domain.ErrorLabel, "the worker killed it: "+r.Message, now)
	}
	return decideFailure(in, spec, domain.ErrorLabel, r.Message, now)
}

package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
)

// Outcome is a report as a decision needs it.
type Outcome struct {
	domain.Outcome
	Message string
}

// Apply puts starts and outcomes into the database, in one transaction, in id
// order. Every report is answered, whatever it does: when Apply returns nil, all
// can be confirmed. One that the database rejects is applied without its texts, or set
// aside with a note on its attempt, so that it never blocks the others; Unavailable and
// Conflict mean: try all again.
func (l *Lifecycle) Apply(ctx context.Context, in []protocol.Uplink) error {
	err := l.apply(ctx, in)
	if domain.Is(err, domain.Conflict) {
		err = l.apply(ctx, in)
	}
	if err == nil || passes(ctx, err) {
		return err
	}
	slog.Warn("a batch of reports was rejected, applying one by one", "error", err)
	for _, one := range in {
		for _, s := range one.Started {
			err := l.apply(ctx, []protocol.Uplink{{Worker: one.Worker, Started: []protocol.Started{s}}})
			if passes(ctx, err) {
				return err
			} else if err != nil {
				slog.Error("a start could not be noted", "attempt", s.Attempt, "error", err)
			}
		}
		for _, r := range one.Reports {
			if err := l.applyAlone(ctx, one.Worker, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// passes reports whether an error is not about what was to be written, so that the same
// may succeed later.
func passes(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, context.Canceled) || domain.Is(err, domain.Unavailable) || domain.Is(err, domain.Conflict))
}

func (l *Lifecycle) applyAlone(ctx context.Context, worker string, r protocol.Report) error {
	err := l.apply(ctx, []protocol.Uplink{{Worker: worker, Reports: []protocol.Report{r}}})
	if err == nil || passes(ctx, err) {
		return err
	}
	slog.Error("a report was rejected by the database, its texts are dropped", "attempt", r.Attempt, "error", err)
	bare := r
	bare.Message, bare.Result = "the message was rejected by the database: "+err.Error(), nil
	err = l.apply(ctx, []protocol.Uplink{{Worker: worker, Reports: []protocol.Report{bare}}})
	if err == nil || passes(ctx, err) {
		return err
	}
	return l.setAside(ctx, worker, r, err)
}

// setAside notes on its attempt a report that the database rejects without its texts
// too. Its instance stays as it is: its worker no longer names the attempt, and so it is
// settled as lost.
func (l *Lifecycle) setAside(ctx context.Context, worker string, r protocol.Report, why error) error {
	slog.Error("a report was set aside", "attempt", r.Attempt, "outcome", r.Outcome, "error", why)
	err := l.attempts(ctx, "broker", []domain.ID{domain.ID(r.Attempt)}, func(_ context.Context, b *batch, _ domain.Instance, a domain.Attempt) error {
		if a.Target == worker {
			a.Late = CutMessage(fmt.Sprintf("reported at %s as %s, which the database rejected: %v", b.now.Format(time.RFC3339), short(r.Outcome), why))
			b.attempt(a)
		}
		return nil
	})
	if passes(ctx, err) {
		return err
	} else if err != nil {
		slog.Error("the note of a report that was set aside was rejected too", "attempt", r.Attempt, "error", err)
	}
	return nil
}

// said is what came for one attempt.
type said struct {
	worker  string
	started int64
	report  *protocol.Report
}

func (l *Lifecycle) apply(ctx context.Context, in []protocol.Uplink) error {
	all := map[domain.ID]said{}
	var ids []domain.ID
	note := func(id domain.ID, worker string) said {
		s, ok := all[id]
		if !ok {
			ids = append(ids, id)
			s.worker = worker
		}
		return s
	}
	for _, one := range in {
		for _, st := range one.Started {
			s := note(domain.ID(st.Attempt), one.Worker)
			if plausible(st.At) {
				s.started = st.At
			}
			all[domain.ID(st.Attempt)] = s
		}
		for i := range one.Reports {
			id := domain.ID(one.Reports[i].Attempt)
			s := note(id, one.Worker)
			if s.report == nil {
				r := fit(one.Reports[i])
				s.report = &r
			}
			all[id] = s
		}
	}
	return l.attempts(ctx, "broker", ids, func(ctx context.Context, b *batch, in domain.Instance, a domain.Attempt) error {
		s := all[a.ID]
		if s.worker != a.Target {
			slog.Warn("a foreign report was ignored", "attempt", a.ID, "target", a.Target, "from", s.worker)
			return nil
		}
		if s.report == nil {
			return b.start(in, a, domain.FromMillis(s.started))
		}
		spec, err := l.Specs.Spec(ctx, in.JobID, in.Version)
		if err != nil {
			return err
		}
		current, err := b.currentAttempt(ctx, in, a)
		if err != nil {
			return err
		}
		return b.apply(in, a, current, spec, *s.report)
	})
}

// currentAttempt reads the attempt in force when it is another than a, which is
// rare: a late report.
func (b *batch) currentAttempt(ctx context.Context, in domain.Instance, a domain.Attempt) (*domain.Attempt, error) {
	if in.AttemptID == a.ID || in.AttemptID == 0 {
		return nil, nil
	}
	m, err := b.read(ctx, []domain.ID{in.AttemptID})
	if err != nil {
		return nil, err
	}
	if cur, ok := m[in.AttemptID]; ok {
		return &cur, nil
	}
	return nil, nil
}

// start notes in the instance that its attempt in force runs; the attempt's own row
// gets the moment at its end, which saves a write.
func (b *batch) start(in domain.Instance, a domain.Attempt, at time.Time) error {
	if a.State != domain.AttemptGranted || in.AttemptID != a.ID || in.Label != domain.Dispatched {
		return nil
	}
	in.StartedAt = inBounds(at, a.GrantedAt, b.now)
	_, err := b.move(in, domain.MoveStart, running(domain.Executing), "")
	return err
}

// apply does to the attempt and its instance what the report means.
func (b *batch) apply(in domain.Instance, a domain.Attempt, current *domain.Attempt, spec domain.JobSpec, r protocol.Report) error {
	out := Outcome{Outcome: domain.Outcome(r.Outcome), Message: CutMessage(r.Message)}
	s := decideReport(in, a, current, spec, out, b.now)
	if s.Late != "" {
		if a.State != domain.AttemptEnded { // a repeated report leaves no trace
			a.Late = CutMessage(fmt.Sprintf("%s reported at %s: %s. %s", r.Outcome, b.now.Format(time.RFC3339Nano), s.Late, out.Message))
			b.attempt(a)
		}
		return nil
	}
	a.StartedAt = StartOf(in, a)
	a = ended(a, r, out, b.now)
	b.attempt(a)
	if in.AttemptID == a.ID {
		in.StartedAt = a.StartedAt
	}
	if s.To.State.Terminal() {
		in.FinishedAt = a.FinishedAt
	}
	if s.Move == domain.MoveSucceed {
		if current != nil && current.State == domain.AttemptSent {
			c := *current
			c.State, c.Outcome, c.FinishedAt, c.Message = domain.AttemptWithdrawn, domain.OutcomeRefused, b.now, "an earlier attempt's success arrived"
			b.attempt(c)
		}
		in.AttemptID, in.StartedAt, s.Note = a.ID, a.StartedAt, out.Message
	}
	return b.step(in, s, spec)
}

// step makes the move that a decision asks for.
func (b *batch) step(in domain.Instance, s step, spec domain.JobSpec) error {
	if s.Move == "" {
		return nil
	}
	if s.Spent {
		in.RetriesUsed++
	}
	if s.Lost {
		in.LostCount++
	}
	in.WakeAt = s.Wake
	if s.To.Label == domain.Queued {
		in.WakeAt = queueLimit(spec, readySince(in, s.Move, b.now))
	}
	_, err := b.move(in, s.Move, s.To, s.Note)
	return err
}

// StartOf is when an attempt started; while it runs, the instance knows. Zero: it
// has not.
func StartOf(in domain.Instance, a domain.Attempt) time.Time {
	if a.StartedAt.IsZero() && in.AttemptID == a.ID {
		return in.StartedAt
	}
	return a.StartedAt
}

func ended(a domain.Attempt, r protocol.Report, out Outcome, now time.Time) domain.Attempt {
	a.State, a.Outcome, a.Message, a.ExitCode, a.LogLines = domain.AttemptEnded, out.Outcome, out.Message, r.ExitCode, max(r.LogLines, 0)
	a.FinishedAt, a.ReportedAt = now, now
	switch {
	case r.Started > 0 && r.Finished > 0:
		a.StartedAt, a.FinishedAt = placed(a, r, now)
	case r.Started > 0:
		a.StartedAt = inBounds(domain.FromMillis(r.Started), a.GrantedAt, now)
	case r.Finished > 0:
		a.FinishedAt = inBounds(domain.FromMillis(r.Finished), a.GrantedAt, now)
	}
	if len(r.Result) > 0 {
		a.Result = r.Result
	}
	return a
}

// placed is when a run began and ended, on the center's clock. How long it took is the
// worker's word; the worker's clock may be off, but nothing runs before its grant nor ends
// after it was reported.
func placed(a domain.Attempt, r protocol.Report, now time.Time) (start, end time.Time) {
	took := time.Duration(max(r.Finished-r.Started, 0)) * time.Millisecond
	start = inBounds(domain.FromMillis(r.Started), a.GrantedAt, now.Add(-took))
	end = start.Add(took)
	if end.After(now) { // it says that it took longer than since its grant
		end = now
	}
	return start, end
}

// inBounds is the moment nearest to at that is not after last, and above all not before
// first.
func inBounds(at, first, last time.Time) time.Time {
	if at.After(last) {
		at = last
	}
	if at.Before(first) {
		at = first
	}
	return at
}

// CutMessage makes a message fit to store: valid UTF-8 without NUL, at most
// protocol.MaxMessage bytes, with a note when it was cut.
func CutMessage(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\\0")
	if len(s) <= protocol.MaxMessage {
		return s
	}
	note := fmt.Sprintf("… (cut, %d bytes in all)", len(s))
	end := protocol.MaxMessage - len(note)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + note
}

// Lost decides for granted attempts whose worker is lost, or knows nothing of
// them; what was only sent is withdrawn. note says what was seen, and heard is when anything was heard of
// them for the last time, zero where that is not known: so long they ran at least.
func (l *Lifecycle) Lost(ctx context.Context, ids []domain.ID, note string, heard time.Time) error {
	return l.attempts(ctx, "broker", ids, func(ctx context.Context, b *batch, in domain.Instance, a domain.Attempt) error {
		spec, ok, err := l.readable(ctx, in)
		if err != nil {
			return err
		}
		if !ok { // nobody knows whether it may run twice: a person is asked
			spec.OnWorkerLost = domain.LossHold
		}
		switch a.State {
		case domain.AttemptSent:
			a.State = domain.AttemptWithdrawn
		case domain.AttemptGranted:
			a.State = domain.AttemptLost
		default:
			return nil
		}
		sent := a.State == domain.AttemptWithdrawn
		a.Outcome, a.FinishedAt, a.Message, a.StartedAt = domain.OutcomeWorkerLost, b.now, CutMessage(note), StartOf(in, a)
		if !sent {
			a.FinishedAt, a.ReportedAt = lastHeard(a, heard, b.now), b.now
		}
		b.attempt(a)
		if in.AttemptID != a.ID || in.RunID != a.RunID {
			return nil
		}
		if sent {
			if in.Label != domain.Dispatched {
				return nil
			}
			return b.step(in, step{Move: domain.MoveWithdraw, To: running(domain.Queued), Note: note}, spec)
		}
		s := decideLoss(in, spec, note)
		if s.To.State.Terminal() {
			in.FinishedAt = a.FinishedAt // how long it was waited for is no time of its own
		}
		return b.step(in, s, spec)
	})
}

// lastHeard is the last moment at which anything was heard of a lost attempt: that of its worker's last heartbeat, or
// what was heard of the attempt itself since.
func lastHeard(a domain.Attempt, heard, now time.Time) time.Time {
	first := a.GrantedAt
	if a.StartedAt.After(first) {
		first = a.StartedAt
	}
	return inBounds(heard, first, now)
}

// Wake moves instances whose wake time has come: back-off over, limit passed. It
// returns how many it looked at, at most limit.
func (l *Lifecycle) Wake(ctx context.Context, limit int) (int, error) {
	due, err := l.Store.Due(ctx, l.Now(), limit)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	ids := make([]domain.ID, len(due))
	for i, in := range due {
		ids[i] = in.ID
	}
	crash.At("wake.found")
	return len(due), l.change(ctx, "broker", ids, func(ctx context.Context, b *batch, in domain.Instance) error {
		if in.IsSplit() {
			return b.gather(ctx, in)
		}
		spec, ok, err := l.readable(ctx, in)
		if err != nil {
			return err
		}
		if in.Label == domain.Stopping && !in.WakeAt.IsZero() && !in.WakeAt.After(b.now) {
			return b.giveUp(ctx, in)
		}
		if !ok {
			in.WakeAt = b.now.Add(unreadablePause)
			b.keep(in)
			return nil
		}
		s := decideWake(in, spec, b.now)
		if s.Move == domain.MoveDepsTimeout {
			missing, err := l.Deps.Waiting(ctx, in.ID)
			if err != nil {
				return err
			}
			s.Note += notMet(missing)
		}
		if s.Move == "" && !in.WakeAt.IsZero() && !in.WakeAt.After(b.now) {
			in.WakeAt = time.Time{} // nothing waits for it any more
			b.keep(in)
			return nil
		}
		return b.step(in, s, spec)
	})
}

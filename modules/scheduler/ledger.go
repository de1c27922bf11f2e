package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// FireState is what became of a planned fire.
type FireState string

// The states of a planned fire.
const (
	FireFired   FireState = "fired"   // has an instance
	FireSkipped FireState = "skipped" // policy or the calendar said no, or the instance was cancelled as skipped
	FireMissed  FireState = "missed"  // nobody was alive
	FirePending FireState = "pending" // not due yet, or for less than a minute and not settled
	FireAbsent  FireState = "absent"  // due, and neither an instance nor a reason: a fault
)

// FireStates lists them.
var FireStates = []FireState{FireFired, FireSkipped, FireMissed, FirePending, FireAbsent}

// shownAbsent is how many absent fires an account lists.
const shownAbsent = 100

// The bounds of one reading of the ledger.
const (
	// MaxAccounts is the most jobs that one page may have.
	MaxAccounts = 500
	// maxLooked is how many jobs a search for those that do not balance looks at.
	maxLooked = 1000
	// maxWork is how many planned fires one page expands, give or take one job's.
	maxWork = 3 * plan.MaxFires
	// accountChunk is how many jobs' spans and gaps are read at a time.
	accountChunk = 50
)

// Account balances one job's planned fires of a stretch of time:
// Planned = Fired + Skipped + Missed + Pending + Absent.
type Account struct {
	Job     domain.ID
	Planned int
	Fired   int
	Skipped int
	Missed  int
	Pending int
	Absent  int // must be 0
	// Unplanned instances were born of a schedule that was not in force, as backfills
	// from before it are. They do not count in the balance.
	Unplanned   int
	Reasons     []Reason    // of the skipped and missed, the most frequent first
	AbsentFires []time.Time // the first 100
	// Untaken says of absent fires that no scheduler has come to them yet; else they were
	// passed and their instances are gone.
	Untaken bool
	// Refused is why this job could not be balanced; then no figure counts.
	Refused error
}

// Reason counts fires that made no instance for the same reason.
type Reason struct {
	Kind   plan.GapKind
	Reason string
	Fires  int
}

// Balanced tells whether every planned fire is accounted for.
func (a Account) Balanced() bool { return a.Refused == nil && a.Absent == 0 }

// LedgerQuery asks for accounts of the fires of [From, To), which must not be empty.
type LedgerQuery struct {
	Projects []domain.ID // nil: all
	Job      domain.ID   // 0: all jobs of the projects that had a schedule in force then
	From, To time.Time
	// Without Job: jobs of larger ids only, at most Limit accounts (0 = MaxAccounts),
	// and with Unbalanced only those that do not balance.
	After      domain.ID
	Limit      int
	Unbalanced bool
}

// Ledger is one page of accounts, by the ids of their jobs.
type Ledger struct {
	From, To time.Time // [From, To)
	Now      time.Time // the database's clock, as of which pending was judged
	Jobs     []Account
	Balanced bool // all on this page
	// Next is After of the next page; 0 at the end. A page may be short before, when
	// much was looked at.
	Next domain.ID
}

// Ledger balances planned fires against what became of them, from the spans that were in
// force. The work of one page is bounded. A job with more than plan.MaxFires planned
// fires is refused as TooLarge: in its account, or as the error when it alone was asked
// for.
func (p *Plans) Ledger(ctx context.Context, q LedgerQuery) (Ledger, error) {
	out := Ledger{From: q.From, To: q.To, Balanced: true}
	if !q.From.Before(q.To) {
		return out, domain.Fail(domain.Invalid, "the ledger's time ends at %s, before it begins", q.To.Format(time.RFC3339)).At("to").Coded("ledger.backwards")
	}
	var err error
	if out.Now, err = p.clock(ctx); err != nil {
		return out, err
	}
	if q.Job == 0 {
		return out, p.page(ctx, q, &out)
	}
	accounts, err := p.accounts(ctx, []domain.ID{q.Job}, q, out.Now)
	if err == nil {
		err = accounts[0].Refused
	}
	if err != nil {
		return out, err
	}
	out.Jobs, out.Balanced = accounts, accounts[0].Balanced()
	return out, nil
}

// page gathers accounts until the page is full, its work is done, or no job is left.
func (p *Plans) page(ctx context.Context, q LedgerQuery, out *Ledger) error {
	if q.Limit <= 0 || q.Limit > MaxAccounts {
		q.Limit = MaxAccounts
	}
	looked, work, after := 0, 0, q.After
	for {
		jobs, err := p.Store.Jobs(ctx, q.Projects, q.From, q.To, after, accountChunk)
		if err != nil {
			return err
		}
		accounts, err := p.accounts(ctx, jobs, q, out.Now)
		if err != nil {
			return err
		}
		for _, a := range accounts {
			if len(out.Jobs) == q.Limit || looked >= maxLooked || work >= maxWork {
				out.Next = after
				return nil
			}
			after = a.Job
			looked, work = looked+1, work+a.work()
			out.Balanced = out.Balanced && a.Balanced()
			if !q.Unbalanced || !a.Balanced() {
				out.Jobs = append(out.Jobs, a)
			}
		}
		if len(jobs) < accountChunk {
			return nil
		}
	}
}

// work is how many planned fires were expanded for the account.
func (a Account) work() int {
	if domain.Is(a.Refused, domain.TooLarge) {
		return plan.MaxFires
	}
	return a.Planned
}

// accounts balances some jobs, in their order. Whatever concerns one job only is in its
// account.
func (p *Plans) accounts(ctx context.Context, jobs []domain.ID, q LedgerQuery, now time.Time) ([]Account, error) {
	spans, broken, err := readSpans(ctx, p.Store, p.Calendars, jobs, q.From)
	if err != nil {
		return nil, err
	}
	gaps, err := p.Store.GapsOf(ctx, jobs, q.From, q.To)
	if err != nil {
		return nil, err
	}
	out := make([]Account, len(jobs))
	for i, job := range jobs {
		if broken[job] != nil {
			out[i] = Account{Job: job, Refused: broken[job]}
			continue
		}
		if out[i], err = p.account(ctx, job, books{spans: spans[job], gaps: gaps[job]}, q, now); err != nil {
			return nil, fmt.Errorf("the ledger of job %s: %w", job, err)
		}
	}
	return out, nil
}

// books is what one job's account is made of.
type books struct {
	spans []plan.Span
	gaps  []plan.Gap
}

func (p *Plans) account(ctx context.Context, job domain.ID, b books, q LedgerQuery, now time.Time) (Account, error) {
	a, err := p.balance(ctx, job, b, q, now)
	if err != nil || a.Absent == 0 {
		return a, err
	}
	// It may have been settled between two of the readings.
	if b, err = p.read(ctx, job, q.From, q.To); err != nil {
		return a, err
	}
	if a, err = p.balance(ctx, job, b, q, now); err != nil || a.Absent == 0 {
		return a, err
	}
	next, err := p.Store.Of(ctx, []domain.ID{job})
	at := next[job].Next
	a.Untaken = !at.IsZero() && !at.After(a.AbsentFires[0])
	return a, err
}

func (p *Plans) read(ctx context.Context, job domain.ID, from, to time.Time) (books, error) {
	spans, err := p.spans(ctx, job, from)
	if err != nil {
		return books{}, err
	}
	gaps, err := p.Gaps(ctx, job, from, to)
	return books{spans, gaps}, err
}

// balance counts what became of each planned fire of one job.
func (p *Plans) balance(ctx context.Context, job domain.ID, b books, q LedgerQuery, now time.Time) (Account, error) {
	a := Account{Job: job}
	planned, err := plan.Asked(b.spans, q.From, q.To)
	if err != nil { // too many, or a schedule that can't be read: this job's alone
		a.Refused = err
		return a, nil
	}
	made, err := p.Fired.Planned(ctx, job, q.From, q.To)
	if err != nil {
		return a, err
	}
	reasons := map[Reason]int{}
	a.Unplanned = settle(planned, made, b.gaps, now, func(f FireRow) {
		a.count(f)
		if f.State == FireSkipped || f.State == FireMissed {
			reasons[Reason{Kind: plan.GapKind(f.State), Reason: f.Reason}]++
		}
	})
	for r, n := range reasons {
		r.Fires = n
		a.Reasons = append(a.Reasons, r)
	}
	slices.SortFunc(a.Reasons, func(x, y Reason) int {
		return cmp.Or(cmp.Compare(y.Fires, x.Fires), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Reason, y.Reason))
	})
	return a, nil
}

func (a *Account) count(f FireRow) {
	a.Planned++
	switch f.State {
	case FireFired:
		a.Fired++
	case FireSkipped:
		a.Skipped++
	case FireMissed:
		a.Missed++
	case FirePending:
		a.Pending++
	default:
		a.Absent++
		if len(a.AbsentFires) < shownAbsent {
			a.AbsentFires = append(a.AbsentFires, f.Expected)
		}
	}
}

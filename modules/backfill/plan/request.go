package plan

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
)

// Reach is which jobs a backfill is about, from the one that it names.
type Reach string

// The reaches: the job alone, it and all that depends on it, it and all that it depends on.
const (
	Alone      Reach = "alone"
	Downstream Reach = "downstream"
	Upstream   Reach = "upstream"
)

// Wanted is which of the fires are worked on.
type Wanted string

// What can be wanted: what has not succeeded (the default), only what ended without
// success, or all, which runs successes again and is forced.
const (
	Missing Wanted = "missing"
	Failed  Wanted = "failed"
	All     Wanted = "all"
)

const (
	// MaxItems is how many items one backfill has at most.
	MaxItems = 10_000
	// MaxDegree is how many steps may be under way at a time.
	MaxDegree = 100
	// MaxReason is how many characters a reason may have.
	MaxReason = 1000
)

// Request is what is asked for. The business dates are those of Dates, or From to To, both
// counted.
type Request struct {
	Job      domain.ID
	Reach    Reach
	From, To domain.BizDate
	Dates    []domain.BizDate
	// Fires narrows the dates to single planned moments of the job, Since and Until to those from
	// the one to the other, both counted; then the reach is Alone.
	Fires        []time.Time
	Since, Until time.Time
	Wanted       Wanted
	Degree       int // steps under way at a time; 0 = 1
	// NewestFirst begins with the newest date.
	NewestFirst bool
	// GoesOn goes on after a failure; else the backfill pauses.
	GoesOn bool
	Not    Window
	Params map[string]string // of each run, over those of its job
	Reason string
	// Seen are the projects that the asker may see: jobs of others are not reached.
	Seen domain.ProjectSet
}

// Forced reports whether successes are run again.
func (r Request) Forced() bool { return r.Wanted == All }

// Action is the right that the request needs in every project that it touches.
func (r Request) Action() domain.Action {
	switch r.Wanted {
	case All:
		return domain.ActInstanceRerunDone
	case Failed:
		return domain.ActInstanceRerun
	}
	return domain.ActBackfillStart
}

// Read fills defaults in and judges what can be judged without a look at the job. It
// gives the dates in order, none twice.
func (r *Request) Read() ([]domain.BizDate, error) {
	r.Reach, r.Wanted = orElse(r.Reach, Alone), orElse(r.Wanted, Missing)
	r.Degree = max(r.Degree, 0)
	if r.Degree == 0 {
		r.Degree = 1
	}
	switch {
	case !slices.Contains([]Reach{Alone, Downstream, Upstream}, r.Reach):
		return nil, wrong("reach", "backfill.bad_choice", "there is no reach %q: write alone, downstream or upstream", r.Reach)
	case !slices.Contains([]Wanted{Missing, Failed, All}, r.Wanted):
		return nil, wrong("wanted", "backfill.bad_choice", "there is no %q: write missing, failed or all", r.Wanted)
	case r.Degree > MaxDegree:
		return nil, wrong("degree", "backfill.bad_degree", "the degree is %d and %d is the most", r.Degree, MaxDegree)
	case utf8.RuneCountInString(r.Reason) > MaxReason:
		return nil, wrong("reason", "error.reason_long", "the reason is longer than %d characters", MaxReason)
	case r.narrow() && r.Reach != Alone:
		return nil, wrong("reach", "backfill.fires_alone", "single fires are those of one job; leave reach away")
	}
	return r.dates()
}

// narrow reports whether only some of the fires of the dates are meant.
func (r Request) narrow() bool { return len(r.Fires) > 0 || !r.Since.IsZero() || !r.Until.IsZero() }

// Past is how the fires of the dates are asked for.
func (r Request) Past(dates []domain.BizDate) domain.PastQuery {
	return domain.PastQuery{Dates: dates, Since: r.Since, Until: r.Until, Limit: MaxItems}
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// wrong is a fault of the request. The catalog's text may use max and given.
func wrong(field, id, format string, args ...any) error {
	e := domain.Fail(domain.Invalid, format, args...).At(field)
	pairs := []string{}
	if len(args) > 0 {
		pairs = append(pairs, "given", fmt.Sprint(args[0]), "max", fmt.Sprint(args[len(args)-1]))
	}
	return e.Coded(id, pairs...)
}

// dates are the business dates that are asked for, in order.
func (r *Request) dates() ([]domain.BizDate, error) {
	listed, ranged := len(r.Dates) > 0, !r.From.IsZero() || !r.To.IsZero()
	switch {
	case listed && ranged:
		return nil, wrong("dates", "backfill.two_dates", "give either from and to, or a list of dates")
	case !listed && !ranged:
		return nil, wrong("from", "backfill.no_dates", "say for which business dates: from and to, or a list of dates")
	case len(r.Fires) > MaxItems || len(r.Dates) > MaxItems:
		return nil, TooMany()
	case listed:
		return slices.Compact(slices.SortedFunc(slices.Values(r.Dates), domain.BizDate.Compare)), nil
	}
	r.From, r.To = orElse(r.From, r.To), orElse(r.To, r.From)
	if r.To.Before(r.From) {
		return nil, wrong("to", "backfill.backwards", "the last date %s lies before the first, %s", r.To, r.From)
	}
	var out []domain.BizDate
	for d := r.From; !r.To.Before(d); d = d.AddDays(1) {
		if len(out) == MaxItems {
			return nil, TooMany()
		}
		out = append(out, d)
	}
	return out, nil
}

// TooMany says that more than MaxItems items are asked for.
func TooMany() error {
	return domain.Fail(domain.TooLarge, "a backfill has at most %d items, and this asks for more", MaxItems).
		WithHint("take fewer dates or fewer jobs at a time").Coded("backfill.too_many", "max", fmt.Sprint(MaxItems))
}

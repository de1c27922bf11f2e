package ui

import (
	"context"

	"github.com/axsched/ax/modules/kit/i18n"
)

// DepRule is what a dependency waits for. Set is day, week, month or workday; the date of it
// lies N days d, weeks w, months m or years y on (back below 0). Check is success, done or failed,
// Require all, any or latest.
type DepRule struct {
	Set            string
	N              int
	Unit           string
	Check, Require string
}

// In says it in the reader's language.
func (r DepRule) In(ctx context.Context) string {
	return i18n.T(ctx, "dep.rule", "dates", r.dates(ctx), "check", i18n.T(ctx, "dep.check."+r.Check), "require", i18n.T(ctx, "dep.require."+r.Require))
}

func (r DepRule) dates(ctx context.Context) string {
	of := ""
	switch {
	case r.Set == "workday":
		return i18n.T(ctx, "dep.dates.workday")
	case r.N < 0:
		of = i18n.T(ctx, "dep.dates.back."+r.Unit, "n", -r.N)
	case r.N > 0:
		of = i18n.T(ctx, "dep.dates.on."+r.Unit, "n", r.N)
	}
	switch {
	case r.Set == "week" && of == "":
		return i18n.T(ctx, "dep.dates.week")
	case r.Set == "week":
		return i18n.T(ctx, "dep.dates.week_of", "of", of)
	case r.Set == "month" && of == "":
		return i18n.T(ctx, "dep.dates.month")
	case r.Set == "month":
		return i18n.T(ctx, "dep.dates.month_of", "of", of)
	case of == "":
		return i18n.T(ctx, "dep.dates.current")
	}
	return of
}

package httpx

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/kit/i18n"
)

// Outage is a store that answers wait for and that does not answer. The zero value: none is known of.
type Outage struct {
	Store string    // database
	Since time.Time // when it answered last, as far as this process knows
	// Locked says that it answers, and that other transactions hold what is asked of it locked; Since is zero then.
	Locked bool
}

// lostNothing is what holds while the database is away, for programs.
const lostNothing = "nothing is lost: what runs goes on and its outcome is written down when the database answers, " +
	"and fires that fall due meanwhile are made good or listed as missed, as each job's misfire policy says"

// words says it to programs, in English.
func (o Outage) words() string {
	switch {
	case o.Locked:
		return "what this needs in the database is locked by another transaction, and was not let go in time; try again"
	case o.Store == "":
		return "the database is away or does not answer in time; " + lostNothing + "; try again"
	}
	return "the database has not answered since " + o.Since.UTC().Format(time.RFC3339) + "; " + lostNothing
}

// page says it to a person.
func (o Outage) page(ctx context.Context) string {
	switch {
	case o.Locked:
		return i18n.T(ctx, "http.locked")
	case o.Store == "":
		return i18n.T(ctx, "failure.503.database")
	}
	return i18n.T(ctx, "failure.503.database_since", "at", i18n.DateTime(ctx, o.Since)+" "+i18n.Offset(o.Since.In(i18n.Zone(ctx))))
}

// outage is what is known of a store that does not answer.
func (r *Router) outage() Outage {
	if r.o.Outage == nil {
		return Outage{}
	}
	return r.o.Outage()
}

package incident

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

// Audit records a change in the transaction of ctx.
type Audit interface {
	Changed(ctx context.Context, project domain.ID, action, object, before, after string) error
}

// Closer ends incidents on a person's word. What is still found wrong is opened anew as
// an incident of its own; a worker stays closed until it is lost again. Both fields must
// be set. Safe for concurrent use.
type Closer struct {
	Store *store.Store
	Audit Audit
}

// MaxReason is how many characters a reason may have.
const MaxReason = 1000

// Close ends one incident and gives it as it stands then. allow is asked first. Invalid
// without a reason, NotFound if there is none, Conflict if it is over already or waits
// for orphans, which a person settles one by one.
func (c *Closer) Close(ctx context.Context, id domain.ID, reason string, allow func(domain.Incident) error) (domain.Incident, error) {
	var out domain.Incident
	err := c.Store.Tx(ctx, func(ctx context.Context) error {
		i, err := c.Store.Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := allow(i); err != nil {
			return err
		}
		if err := closes(i, reason); err != nil {
			return err
		}
		now, err := c.Store.Now(ctx)
		if err != nil {
			return err
		}
		who := domain.PrincipalOf(ctx).Name
		if err := c.Store.CloseByHand(ctx, id, now, who, reason); err != nil {
			return err
		}
		if out, err = c.Store.Lock(ctx, id); err != nil {
			return err
		}
		about := fmt.Sprintf("kind: %s\nsubject: %s\nstate: ", i.Kind, i.Name)
		return c.Audit.Changed(ctx, i.ProjectID, "incident.close", "incident/"+id.String(), about+"open", about+"over\nreason: "+reason)
	})
	return out, err
}

// closes judges whether an incident may be ended by hand, for this reason.
func closes(i domain.Incident, reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return domain.Fail(domain.Invalid, "say why: the reason is kept").At("reason").Coded("incident.no_reason")
	case utf8.RuneCountInString(reason) > MaxReason || strings.ContainsRune(reason, 0) || !utf8.ValidString(reason):
		return domain.Fail(domain.Invalid, "a reason is text of at most %d characters", MaxReason).At("reason").Coded("incident.long_reason", "max", fmt.Sprint(MaxReason))
	case !i.Open():
		return domain.Fail(domain.Conflict, "incident %s is over already", i.ID).Coded("incident.over_already", "id", i.ID.String())
	case i.Kind == domain.IncidentOrphan:
		return domain.Fail(domain.Conflict, "incident %s is over when its orphans are settled", i.ID).WithHint("see /orphans or ax orphans").Coded("incident.settle_first")
	}
	return nil
}

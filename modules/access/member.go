package access

import (
	"context"
	"slices"

	"github.com/axsched/ax/modules/domain"
)

// Grant gives an account a role in a project; "" means in every project.
func (a *Access) Grant(ctx context.Context, account, project string, role Role) error {
	return a.setRole(ctx, account, project, role, true)
}

// Revoke takes a role away. The last admin of everything stays.
func (a *Access) Revoke(ctx context.Context, account, project string, role Role) error {
	return a.setRole(ctx, account, project, role, false)
}

func (a *Access) setRole(ctx context.Context, account, project string, role Role, grant bool) error {
	if !slices.Contains(Roles, role) {
		return domain.Fail(domain.Invalid, "there is no role %q", role).At("role").WithHint("viewer, operator, editor, approver or admin")
	}
	return a.store.Tx(ctx, func(ctx context.Context) error {
		acc, err := a.named(ctx, account)
		if err != nil {
			return err
		}
		m := Membership{UserID: acc.ID, Role: role}
		if project != "" {
			p, err := a.ProjectByName(ctx, project)
			if err != nil {
				return err
			}
			m.ProjectID = p.ID
		}
		e := Entry{ProjectID: m.ProjectID, Object: "account/" + account, Allowed: true}
		fact := map[string]any{"role": role, "project": project}
		if grant {
			e.Action, e.After = "role.grant", fact
			err = a.store.InsertMembership(ctx, m)
		} else {
			e.Action, e.Before = "role.revoke", fact
			err = a.takeAway(ctx, m)
		}
		if err != nil {
			return err
		}
		a.store.AfterCommit(ctx, a.rights.Invalidate)
		return a.Record(ctx, e)
	})
}

func (a *Access) takeAway(ctx context.Context, m Membership) error {
	if err := a.keepAnAdmin(ctx, func(o Membership) bool { return o == m }); err != nil {
		return err
	}
	return a.store.DeleteMembership(ctx, m)
}

// keepAnAdmin refuses to lose the last enabled admin of everything. gone tells
// which memberships are about to stop counting.
func (a *Access) keepAnAdmin(ctx context.Context, gone func(Membership) bool) error {
	all, err := a.store.Memberships(ctx)
	if err != nil {
		return err
	}
	lost := false
	for _, m := range all {
		if m.ProjectID != domain.EveryProject || m.Role != Admin {
			continue
		}
		if gone(m) {
			lost = true
			continue
		}
		acc, err := a.store.AccountByID(ctx, m.UserID)
		if err != nil && !domain.Is(err, domain.NotFound) {
			return err
		}
		if err == nil && !acc.Disabled {
			return nil
		}
	}
	if lost {
		return domain.Fail(domain.Conflict, "this is the last admin of every project").WithHint("make somebody else admin first").Coded("access.last_admin")
	}
	return nil
}

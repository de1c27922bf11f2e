package policy

import (
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

type grant struct {
	role   access.Role
	action domain.Action
}

// looking is what every role may do.
var looking = []domain.Action{domain.ActProjectRead, domain.ActJobRead, domain.ActInstanceRead, domain.ActLogRead, domain.ActWorkerRead, domain.ActPoolRead, domain.ActSecretRead}

// operating is the daily work with what exists. Re-executing what succeeded and marking
// an orphan as success are not in it: until approvals exist only an admin may.
var operating = []domain.Action{domain.ActJobPause, domain.ActInstanceTrigger, domain.ActInstanceKill, domain.ActInstanceRerun, domain.ActBackfillControl, domain.ActOrphanSettle, domain.ActWorkerDrain,
	domain.ActIncidentClose, domain.ActPoolLimit}

var editing = []domain.Action{domain.ActJobWrite, domain.ActJobDelete, domain.ActCalendarWrite, domain.ActProjectCreate, domain.ActBackfillStart, domain.ActInstanceRelease, domain.ActPoolWrite, domain.ActSecretUse}

var administering = []domain.Action{domain.ActInstanceRerunDone, domain.ActOrphanSucceed, domain.ActAuditRead, domain.ActUserAdmin,
	domain.ActProjectNetworks, domain.ActSecretWrite}

// grants is the whole table.
var grants = table(map[access.Role][][]domain.Action{
	access.Viewer:   {looking},
	access.Operator: {looking, operating},
	access.Editor:   {looking, operating, editing},
	access.Approver: {looking, {domain.ActAuditRead}},
	access.Admin:    {looking, operating, editing, administering},
})

func table(m map[access.Role][][]domain.Action) []grant {
	var all []grant
	for _, role := range access.Roles {
		for _, set := range m[role] {
			for _, action := range set {
				all = append(all, grant{role, action})
			}
		}
	}
	return all
}

package access

import (
	"context"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
)

// Project is a team's space and the domain of rights.
type Project struct {
	ID       domain.ID
	Name     string
	Title    string
	Timezone string
	// Networks are the private networks and loopback addresses that its tasks may connect to, as typed; see netguard.ParseAllow.
	Networks  []string
	CreatedAt time.Time
}

// projectName allows letters and digits of any script, so that a name can be said
// in the team's own language.
var projectName = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}._-]*$`)

// ProjectByName finds a project.
func (a *Access) ProjectByName(ctx context.Context, name string) (Project, error) {
	p, err := a.store.ProjectByName(ctx, name)
	if domain.Is(err, domain.NotFound) {
		return p, domain.Fail(domain.NotFound, "there is no project %q", name).At("project").Coded("access.no_project", "name", name)
	}
	return p, err
}

// ProjectByID finds a project.
func (a *Access) ProjectByID(ctx context.Context, id domain.ID) (Project, error) {
	p, err := a.store.ProjectByID(ctx, id)
	if domain.Is(err, domain.NotFound) {
		return p, domain.Fail(domain.NotFound, "there is no project %s", id).At("project")
	}
	return p, err
}

// Projects lists the projects in the set, by name.
func (a *Access) Projects(ctx context.Context, seen domain.ProjectSet) ([]Project, error) {
	all, err := a.store.Projects(ctx)
	var out []Project
	for _, p := range all {
		if seen.Has(p.ID) {
			out = append(out, p)
		}
	}
	return out, err
}

// EnsureProject finds a project or makes it, in the transaction of ctx. Making
// asks that the caller may do project.create everywhere; AX itself may. Whoever
// lacks that is told that there is no such project.
func (a *Access) EnsureProject(ctx context.Context, name string) (Project, error) {
	p, err := a.ProjectByName(ctx, name)
	if !domain.Is(err, domain.NotFound) {
		return p, err
	}
	who := domain.PrincipalOf(ctx)
	if who.Kind != domain.PrincipalSystem && !a.rights.Allowed(ctx, who.ID, domain.EveryProject, domain.ActProjectCreate) {
		return p, err
	}
	if !projectName.MatchString(name) || utf8.RuneCountInString(name) > 100 {
		return p, domain.Fail(domain.Invalid, "a project's name has 1 to 100 letters, digits, dots, dashes or underscores").At("project")
	}
	p = Project{ID: a.ids(), Name: name, CreatedAt: a.now()}
	if err := a.store.InsertProject(ctx, p); err != nil {
		return p, err
	}
	return p, a.Record(ctx, Entry{ProjectID: p.ID, Action: "project.create", Object: "project/" + name, After: map[string]any{"name": name}, Allowed: true})
}

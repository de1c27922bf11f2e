package store

import (
	"context"
	"strings"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

type projectRow struct {
	ID        domain.ID
	Name      string
	Title     string
	Timezone  string
	Networks  string // separated by blanks
	CreatedAt int64
}

// TableName names the table.
func (projectRow) TableName() string { return "project" }

func (r projectRow) project() access.Project {
	return access.Project{ID: r.ID, Name: r.Name, Title: r.Title, Timezone: r.Timezone, Networks: strings.Fields(r.Networks), CreatedAt: instant(r.CreatedAt)}
}

const projectCols = "SELECT id, name, title, timezone, networks, created_at FROM project "

// ProjectByID reads a project.
func (s *Store) ProjectByID(ctx context.Context, id domain.ID) (access.Project, error) {
	r, err := one[projectRow](ctx, s.db, projectCols+"WHERE id = ?", id)
	return r.project(), err
}

// ProjectByName reads a project.
func (s *Store) ProjectByName(ctx context.Context, name string) (access.Project, error) {
	r, err := one[projectRow](ctx, s.db, projectCols+"WHERE name = ?", name)
	return r.project(), err
}

// Projects reads all projects by name.
func (s *Store) Projects(ctx context.Context) ([]access.Project, error) {
	var rows []projectRow
	err := s.db.Scan(ctx, &rows, projectCols+"ORDER BY name")
	out := make([]access.Project, len(rows))
	for i, r := range rows {
		out[i] = r.project()
	}
	return out, err
}

// InsertProject writes a new project.
func (s *Store) InsertProject(ctx context.Context, p access.Project) error {
	return s.db.Insert(ctx, &projectRow{p.ID, p.Name, p.Title, p.Timezone, strings.Join(p.Networks, " "), millis(p.CreatedAt)})
}

// LockProject reads a project and locks its row to the end of the transaction in ctx.
func (s *Store) LockProject(ctx context.Context, id domain.ID) (access.Project, error) {
	r, err := one[projectRow](ctx, s.db, projectCols+"WHERE id = ?"+s.db.ForUpdate(), id)
	return r.project(), err
}

// SetNetworks writes the allow-list of a project.
func (s *Store) SetNetworks(ctx context.Context, project domain.ID, networks []string) error {
	_, err := s.db.Exec(ctx, "UPDATE project SET networks = ? WHERE id = ?", strings.Join(networks, " "), project)
	return err
}

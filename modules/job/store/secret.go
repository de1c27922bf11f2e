package store

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// SetSecrets notes which secrets of its project the newest version of a job names.
func (s *Store) SetSecrets(ctx context.Context, job, project domain.ID, names []string) error {
	if _, err := s.db.Exec(ctx, "DELETE FROM job_secret WHERE job_id = ?", job); err != nil {
		return err
	}
	rows := make([][]any, len(names))
	for i, name := range names {
		rows[i] = []any{job, name, project}
	}
	return s.db.Upsert(ctx, "job_secret", []string{"job_id", "name"}, []string{"job_id", "name", "project_id"}, "project_id = NEW(project_id)", rows)
}

// SecretJobs counts the jobs that name each secret of the projects.
func (s *Store) SecretJobs(ctx context.Context, projects []domain.ID) (map[domain.SecretKey]int, error) {
	out := map[domain.SecretKey]int{}
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var project int64
		var name string
		var n int
		err := scan(&project, &name, &n)
		out[domain.SecretKey{Project: domain.ID(project), Name: name}] = n
		return err
	}, "SELECT project_id, name, COUNT(*) FROM job_secret WHERE project_id IN ? GROUP BY project_id, name", append([]domain.ID{0}, projects...))
	return out, err
}

// NameSecret lists jobs that name a secret, by name, at most limit.
func (s *Store) NameSecret(ctx context.Context, key domain.SecretKey, limit int) ([]string, error) {
	var names []string
	err := s.db.Scan(ctx, &names, "SELECT j.name FROM job_secret s JOIN job j ON j.id = s.job_id WHERE s.project_id = ? AND s.name = ? AND j.deleted_at = 0 ORDER BY j.name LIMIT ?",
		key.Project, key.Name, limit)
	return names, err
}

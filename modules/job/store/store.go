// Package store is the SQL of definitions: jobs, their versions, and the edges
// between them. It decides nothing.
package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Store reads and writes the tables job, job_version, job_dep and graph.
type Store struct {
	db    *dbx.DB
	jobs  remembered[map[domain.ID]int64]
	edges remembered[Edges]

	starts remembered[[]domain.StartEdge]
}

// New is a store over the pool.
func New(db *dbx.DB) *Store { return &Store{db: db} }

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

// AfterCommit calls f once the transaction in ctx has committed.
func (s *Store) AfterCommit(ctx context.Context, f func()) { s.db.AfterCommit(ctx, f) }

// LockGraph locks the one graph row: applies and deletes follow one another.
func (s *Store) LockGraph(ctx context.Context) error {
	var ver int64
	if err := s.db.Scan(ctx, &ver, "SELECT ver FROM graph WHERE id = 1"+s.db.ForUpdate()); err != nil {
		return err
	}
	_, err := s.db.Exec(ctx, "UPDATE graph SET ver = ver + 1 WHERE id = 1")
	return err
}

type row struct {
	ID        int64
	ProjectID int64
	Name      string
	Title     string
	Owner     string
	Version   int
	Enabled   bool
	Ver       int64
	CreatedAt int64
	UpdatedAt int64
	DeletedAt int64
	Pool      string
	Spec      string `gorm:"->;-:migration"`
	Source    string `gorm:"->;-:migration"`
}

// TableName is gorm's.
func (row) TableName() string { return "job" }

func (r row) job() domain.Job {
	j := domain.Job{ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), Name: r.Name, Title: r.Title, Owner: r.Owner, Version: r.Version,
		Enabled: r.Enabled, Ver: r.Ver, CreatedAt: domain.FromMillis(r.CreatedAt), UpdatedAt: domain.FromMillis(r.UpdatedAt),
		DeletedAt: domain.FromMillis(r.DeletedAt), Source: r.Source}
	if r.Spec != "" {
		_ = json.Unmarshal([]byte(r.Spec), &j.Spec) // written by us only
	}
	return j
}

func jobs(rows []row) []domain.Job {
	out := make([]domain.Job, len(rows))
	for i, r := range rows {
		out[i] = r.job()
	}
	return out
}

// columns of a job with its definition in force.
const columns = "SELECT j.*, v.spec, v.source FROM job j JOIN job_version v ON v.job_id = j.id AND v.version = j.version "

// ByID reads a job, also a deleted one; NotFound if there is none.
func (s *Store) ByID(ctx context.Context, id domain.ID) (domain.Job, error) {
	return s.one(ctx, id.String(), columns+"WHERE j.id = ?", id)
}

// ByName reads a job of a project that is not deleted; NotFound if there is none.
func (s *Store) ByName(ctx context.Context, project domain.ID, name string) (domain.Job, error) {
	return s.one(ctx, name, columns+"WHERE j.project_id = ? AND j.name = ? AND j.deleted_at = 0", project, name)
}

func (s *Store) one(ctx context.Context, said, query string, args ...any) (domain.Job, error) {
	var rows []row
	if err := s.db.Scan(ctx, &rows, query, args...); err != nil {
		return domain.Job{}, err
	}
	if len(rows) == 0 {
		return domain.Job{}, domain.Fail(domain.NotFound, "there is no job %q", said).Coded("error.no_job", "job", said)
	}
	return rows[0].job(), nil
}

// Lock locks a job's row and reads it again.
func (s *Store) Lock(ctx context.Context, id domain.ID) (domain.Job, error) {
	var ver []int64
	if err := s.db.Scan(ctx, &ver, "SELECT ver FROM job WHERE id = ?"+s.db.ForUpdate(), id); err != nil {
		return domain.Job{}, err
	}
	return s.ByID(ctx, id)
}

// Insert writes a new job.
func (s *Store) Insert(ctx context.Context, j domain.Job) error {
	r := row{ID: int64(j.ID), ProjectID: int64(j.ProjectID), Name: j.Name, Title: j.Title, Owner: j.Owner, Version: j.Version, Enabled: j.Enabled, Ver: 1,
		CreatedAt: domain.Millis(j.CreatedAt), UpdatedAt: domain.Millis(j.UpdatedAt), Pool: j.Spec.Pool}
	return s.db.Insert(ctx, &r)
}

// Update writes a job back if its ver is still the one read; else Conflict.
func (s *Store) Update(ctx context.Context, j domain.Job) error {
	n, err := s.db.Exec(ctx, "UPDATE job SET title = ?, owner = ?, version = ?, enabled = ?, updated_at = ?, deleted_at = ?, pool = ?, ver = ver + 1 WHERE id = ? AND ver = ?",
		j.Title, j.Owner, j.Version, j.Enabled, domain.Millis(j.UpdatedAt), domain.Millis(j.DeletedAt), j.Spec.Pool, j.ID, j.Ver)
	if err == nil && n == 0 {
		err = domain.Fail(domain.Conflict, "job %s was changed by somebody else meanwhile", j.Name).WithHint("look at it again and repeat").Coded("error.job_changed", "job", j.Name)
	}
	return err
}

// Version is one version of a job.
type Version struct {
	JobID     domain.ID
	Version   int
	ProjectID domain.ID
	Source    string
	Spec      domain.JobSpec
	CreatedBy string
	CreatedAt time.Time
}

type versionRow struct {
	JobID     int64
	Version   int
	ProjectID int64
	Source    string
	Spec      string
	Digest    string
	CreatedBy string
	CreatedAt int64
}

// TableName is gorm's.
func (versionRow) TableName() string { return "job_version" }

// InsertVersion writes a version.
func (s *Store) InsertVersion(ctx context.Context, v Version) error {
	spec, err := json.Marshal(v.Spec)
	if err != nil {
		return fmt.Errorf("encoding the definition of %s: %w", v.Spec.Name, err)
	}
	r := versionRow{JobID: int64(v.JobID), Version: v.Version, ProjectID: int64(v.ProjectID), Source: v.Source, Spec: string(spec), Digest: v.Spec.Digest(),
		CreatedBy: v.CreatedBy, CreatedAt: domain.Millis(v.CreatedAt)}
	return s.db.Insert(ctx, &r)
}

// SetSource keeps the text of a version whose meaning did not change.
func (s *Store) SetSource(ctx context.Context, job domain.ID, version int, source string) error {
	_, err := s.db.Exec(ctx, "UPDATE job_version SET source = ? WHERE job_id = ? AND version = ? AND source <> ?", source, job, version, source)
	return err
}

// Versions reads a job's versions, newest first.
func (s *Store) Versions(ctx context.Context, job domain.ID, limit int) ([]Version, error) {
	var rows []versionRow
	err := s.db.Scan(ctx, &rows, "SELECT * FROM job_version WHERE job_id = ? ORDER BY version DESC LIMIT ?", job, limit)
	out := make([]Version, len(rows))
	for i, r := range rows {
		out[i] = r.version()
	}
	return out, err
}

func (r versionRow) version() Version {
	v := Version{JobID: domain.ID(r.JobID), Version: r.Version, ProjectID: domain.ID(r.ProjectID), Source: r.Source, CreatedBy: r.CreatedBy, CreatedAt: domain.FromMillis(r.CreatedAt)}
	_ = json.Unmarshal([]byte(r.Spec), &v.Spec) // written by us only
	return v
}

// Version reads one version; NotFound if there is none.
func (s *Store) Version(ctx context.Context, job domain.ID, version int) (Version, error) {
	var rows []versionRow
	if err := s.db.Scan(ctx, &rows, "SELECT * FROM job_version WHERE job_id = ? AND version = ?", job, version); err != nil {
		return Version{}, err
	}
	if len(rows) == 0 {
		return Version{}, domain.Fail(domain.NotFound, "job %s has no version %d", job, version)
	}
	return rows[0].version(), nil
}

// EachVersion reads versions in batches; those that are not there are passed over.
func (s *Store) EachVersion(ctx context.Context, wanted []domain.JobVersion, one func(domain.JobVersion, domain.JobSpec)) error {
	for part := range slices.Chunk(wanted, 200) {
		args := make([]any, 0, 2*len(part))
		for _, w := range part {
			args = append(args, w.JobID, w.Version)
		}
		where := strings.TrimSuffix(strings.Repeat("(job_id = ? AND version = ?) OR ", len(part)), " OR ")
		var rows []struct {
			JobID   int64
			Version int
			Spec    string
		}
		if err := s.db.Scan(ctx, &rows, "SELECT job_id, version, spec FROM job_version WHERE "+where, args...); err != nil {
			return err
		}
		for _, r := range rows {
			var spec domain.JobSpec
			_ = json.Unmarshal([]byte(r.Spec), &spec) // written by us only
			one(domain.JobVersion{JobID: domain.ID(r.JobID), Version: r.Version}, spec)
		}
	}
	return nil
}

// Edge is one dependency of the definitions in force.
type Edge struct {
	JobID, Upstream, ProjectID domain.ID
	Dep                        domain.Dep
	Starts                     bool // an end of the upstream starts the job
}

// SetEdges replaces a job's edges.
func (s *Store) SetEdges(ctx context.Context, job domain.ID, edges []Edge) error {
	if _, err := s.db.Exec(ctx, "DELETE FROM job_dep WHERE job_id = ?", job); err != nil {
		return err
	}
	rows := make([][]any, len(edges))
	for i, e := range edges {
		starts := 0
		if e.Starts {
			starts = 1
		}
		rows[i] = []any{job, e.Upstream, i, e.ProjectID, string(e.Dep.BizDate), e.Dep.Require, e.Dep.Check, e.Dep.FirstDate.String(), starts}
	}
	return s.db.Upsert(ctx, "job_dep", []string{"job_id", "upstream_job_id", "no"},
		[]string{"job_id", "upstream_job_id", "no", "project_id", "biz_date", "required", "outcome", "first_date", "starts"}, "biz_date = NEW(biz_date)", rows)
}

// Link is an edge by ids.
type Link struct {
	Job, On domain.ID
	Dates   domain.DepDates
}

// Links reads all edges.
func (s *Store) Links(ctx context.Context) ([]Link, error) {
	var out []Link
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var job, on int64
		var dates string
		err := scan(&job, &on, &dates)
		out = append(out, Link{domain.ID(job), domain.ID(on), domain.DepDates(dates)})
		return err
	}, "SELECT job_id, upstream_job_id, biz_date FROM job_dep")
	return out, err
}

// Name is a job without its definition.
type Name struct {
	ID, ProjectID domain.ID
	Name, Title   string
	DeletedAt     time.Time // zero: it is there
}

// Names reads the names of all jobs that are not deleted, by id.
func (s *Store) Names(ctx context.Context) ([]Name, error) {
	return s.names(ctx, "SELECT "+nameColumns+" FROM job WHERE deleted_at = 0 ORDER BY id")
}

// FirstNames reads the names of the first jobs by name, at most limit, of the projects (nil: all).
func (s *Store) FirstNames(ctx context.Context, projects []domain.ID, limit int) ([]Name, error) {
	query, args := "SELECT "+nameColumns+" FROM job WHERE deleted_at = 0", []any{}
	if projects != nil {
		query, args = query+" AND project_id IN ?", append(args, append([]domain.ID{0}, projects...))
	}
	return s.names(ctx, query+" ORDER BY name, id LIMIT ?", append(args, limit)...)
}

const nameColumns = "id, project_id, name, title, deleted_at"

func (s *Store) names(ctx context.Context, query string, args ...any) ([]Name, error) {
	var out []Name
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var id, project, deleted int64
		var n Name
		err := scan(&id, &project, &n.Name, &n.Title, &deleted)
		n.ID, n.ProjectID, n.DeletedAt = domain.ID(id), domain.ID(project), domain.FromMillis(deleted)
		out = append(out, n)
		return err
	}, query, args...)
	return out, err
}

// Resolve finds jobs of a project by name; those that are not there are absent.
func (s *Store) Resolve(ctx context.Context, project domain.ID, names []string) (map[string]domain.ID, error) {
	out := map[string]domain.ID{}
	for part := range slices.Chunk(names, 500) {
		var rows []struct {
			ID   int64
			Name string
		}
		if err := s.db.Scan(ctx, &rows, "SELECT id, name FROM job WHERE project_id = ? AND deleted_at = 0 AND name IN ?", project, part); err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[r.Name] = domain.ID(r.ID)
		}
	}
	return out, nil
}

// Filter chooses jobs; zero fields do not filter. Order is by name, then id.
type Filter struct {
	Projects  []domain.ID // nil: all
	IDs       []domain.ID // nil: all
	Text      string      // part of name, title or owner, whatever its case
	Enabled   *bool
	AfterName string
	AfterID   domain.ID
	Limit     int
}

// List reads one page of jobs with their definitions. Which they are is found in an index alone; rows are read of
// those of the page.
func (s *Store) List(ctx context.Context, f Filter) ([]domain.Job, error) {
	where, args := []string{"deleted_at = 0"}, []any{}
	add := func(cond string, a ...any) { where, args = append(where, cond), append(args, a...) }
	if f.Projects != nil {
		add("project_id IN ?", append([]domain.ID{0}, f.Projects...))
	}
	if f.IDs != nil {
		add("id IN ?", append([]domain.ID{0}, f.IDs...))
	}
	if f.Text != "" {
		like := "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(f.Text)) + "%"
		add("(LOWER(name) LIKE ? ESCAPE '!' OR LOWER(title) LIKE ? ESCAPE '!' OR LOWER(owner) LIKE ? ESCAPE '!')", like, like, like)
	}
	if f.Enabled != nil {
		add("enabled = ?", *f.Enabled)
	}
	if f.AfterID != 0 { // the first condition is where the walk along the index begins
		add("name >= ? AND (name > ? OR id > ?)", f.AfterName, f.AfterName, f.AfterID)
	}
	var rows []row
	err := s.db.Scan(ctx, &rows, "SELECT j.*, v.spec, v.source FROM (SELECT id FROM job WHERE "+strings.Join(where, " AND ")+" ORDER BY name, id LIMIT ?) page "+
		"JOIN job j ON j.id = page.id JOIN job_version v ON v.job_id = j.id AND v.version = j.version ORDER BY j.name, j.id", append(args, f.Limit)...)
	return jobs(rows), err
}

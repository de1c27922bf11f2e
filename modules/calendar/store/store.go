// Package store is the SQL of the tables calendar, calendar_version and calendar_use.
package store

import (
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Store reads and writes calendars. Safe for concurrent use.
type Store struct {
	db *dbx.DB
}

// New is a store over the pool.
func New(db *dbx.DB) *Store { return &Store{db} }

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

// Row is one calendar as it stands.
type Row struct {
	ID        domain.ID
	ProjectID domain.ID
	Name      string
	Title     string
	Version   int
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt time.Time // zero: it is there
}

// Version is one version. Body is the whole calendar as YAML.
type Version struct {
	Calendar  domain.ID
	Version   int
	ProjectID domain.ID
	Body      string
	Note      string
	CreatedBy string
	CreatedAt time.Time
}

type calendarRow struct {
	ID, ProjectID                   int64
	Name, Title                     string
	Version                         int
	CreatedAt, UpdatedAt, DeletedAt int64
}

// TableName is gorm's.
func (calendarRow) TableName() string { return "calendar" }

func (r calendarRow) row() Row {
	return Row{ID: domain.ID(r.ID), ProjectID: domain.ID(r.ProjectID), Name: r.Name, Title: r.Title, Version: r.Version,
		CreatedAt: domain.FromMillis(r.CreatedAt), UpdatedAt: domain.FromMillis(r.UpdatedAt), DeletedAt: domain.FromMillis(r.DeletedAt)}
}

type versionRow struct {
	CalendarID, ProjectID int64
	Version               int
	Body, Note, CreatedBy string
	CreatedAt             int64
}

// TableName is gorm's.
func (versionRow) TableName() string { return "calendar_version" }

func (r versionRow) version() Version {
	return Version{Calendar: domain.ID(r.CalendarID), ProjectID: domain.ID(r.ProjectID), Version: r.Version, Body: r.Body, Note: r.Note,
		CreatedBy: r.CreatedBy, CreatedAt: domain.FromMillis(r.CreatedAt)}
}

// List reads the calendars that are there, by name; projects nil means all.
func (s *Store) List(ctx context.Context, projects []domain.ID) ([]Row, error) {
	query, args := "SELECT * FROM calendar WHERE deleted_at = 0", []any{}
	if projects != nil {
		query, args = query+" AND project_id IN ?", []any{ints(projects)}
	}
	var rows []calendarRow
	err := s.db.Scan(ctx, &rows, query+" ORDER BY name, id", args...)
	out := make([]Row, len(rows))
	for i, r := range rows {
		out[i] = r.row()
	}
	return out, err
}

// ByName reads a calendar that is there; NotFound if there is none.
func (s *Store) ByName(ctx context.Context, project domain.ID, name string) (Row, error) {
	return s.one(ctx, "project_id = ? AND name = ? AND deleted_at = 0", project, name)
}

// ByID reads a calendar, also one that was deleted; NotFound if there never was one.
func (s *Store) ByID(ctx context.Context, id domain.ID) (Row, error) { return s.one(ctx, "id = ?", id) }

// Lock locks and reads a calendar.
func (s *Store) Lock(ctx context.Context, id domain.ID) (Row, error) {
	return s.one(ctx, "id = ?"+s.db.ForUpdate(), id)
}

// LockShared reads a calendar that nobody changes until the transaction of ctx has ended.
func (s *Store) LockShared(ctx context.Context, id domain.ID) (Row, error) {
	return s.one(ctx, "id = ?"+s.db.ForShare(), id)
}

func (s *Store) one(ctx context.Context, where string, args ...any) (Row, error) {
	var rows []calendarRow
	if err := s.db.Scan(ctx, &rows, "SELECT * FROM calendar WHERE "+where, args...); err != nil {
		return Row{}, err
	}
	if len(rows) == 0 {
		return Row{}, domain.Fail(domain.NotFound, "there is no such calendar")
	}
	return rows[0].row(), nil
}

// Insert writes a new calendar; Exists if the project has one of the name.
func (s *Store) Insert(ctx context.Context, r Row) error {
	return s.db.Insert(ctx, &calendarRow{ID: int64(r.ID), ProjectID: int64(r.ProjectID), Name: r.Name, Title: r.Title, Version: r.Version,
		CreatedAt: domain.Millis(r.CreatedAt), UpdatedAt: domain.Millis(r.UpdatedAt)})
}

// Save writes a locked calendar back.
func (s *Store) Save(ctx context.Context, r Row) error {
	_, err := s.db.Exec(ctx, "UPDATE calendar SET title = ?, version = ?, updated_at = ?, deleted_at = ? WHERE id = ?",
		r.Title, r.Version, domain.Millis(r.UpdatedAt), domain.Millis(r.DeletedAt), r.ID)
	return err
}

// InsertVersion writes a version; it never changes.
func (s *Store) InsertVersion(ctx context.Context, v Version) error {
	return s.db.Insert(ctx, &versionRow{CalendarID: int64(v.Calendar), Version: v.Version, ProjectID: int64(v.ProjectID), Body: v.Body, Note: v.Note,
		CreatedBy: v.CreatedBy, CreatedAt: domain.Millis(v.CreatedAt)})
}

// Version reads one version; NotFound if there is none.
func (s *Store) Version(ctx context.Context, calendar domain.ID, version int) (Version, error) {
	var rows []versionRow
	if err := s.db.Scan(ctx, &rows, "SELECT * FROM calendar_version WHERE calendar_id = ? AND version = ?", calendar, version); err != nil {
		return Version{}, err
	}
	if len(rows) == 0 {
		return Version{}, domain.Fail(domain.NotFound, "calendar %s has no version %d", calendar, version)
	}
	return rows[0].version(), nil
}

// Versions reads the newest versions of a calendar, at most n, without their bodies.
func (s *Store) Versions(ctx context.Context, calendar domain.ID, n int) ([]Version, error) {
	var rows []versionRow
	err := s.db.Scan(ctx, &rows, "SELECT calendar_id, version, project_id, '' AS body, note, created_by, created_at FROM calendar_version WHERE calendar_id = ? ORDER BY version DESC LIMIT ?", calendar, n)
	out := make([]Version, len(rows))
	for i, r := range rows {
		out[i] = r.version()
	}
	return out, err
}

// Use notes that a job lives by a calendar and no other; 0: by none.
func (s *Store) Use(ctx context.Context, project, job, calendar domain.ID) error {
	if calendar == 0 {
		_, err := s.db.Exec(ctx, "DELETE FROM calendar_use WHERE job_id = ?", job)
		return err
	}
	return s.db.Upsert(ctx, "calendar_use", []string{"job_id"}, []string{"job_id", "calendar_id", "project_id"}, "calendar_id = NEW(calendar_id), project_id = NEW(project_id)",
		[][]any{{int64(job), int64(calendar), int64(project)}})
}

// Users lists the jobs that live by a calendar, by id.
func (s *Store) Users(ctx context.Context, calendar domain.ID) ([]domain.ID, error) {
	var ids []domain.ID
	err := s.db.Scan(ctx, &ids, "SELECT job_id FROM calendar_use WHERE calendar_id = ? ORDER BY job_id", calendar)
	return ids, err
}

// UserCounts counts the jobs that live by each calendar; those without any are absent.
func (s *Store) UserCounts(ctx context.Context, calendars []domain.ID) (map[domain.ID]int, error) {
	out := map[domain.ID]int{}
	for part := range slices.Chunk(calendars, 500) {
		var rows []struct {
			CalendarID int64
			N          int
		}
		if err := s.db.Scan(ctx, &rows, "SELECT calendar_id, COUNT(*) AS n FROM calendar_use WHERE calendar_id IN ? GROUP BY calendar_id", ints(part)); err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[domain.ID(r.CalendarID)] = r.N
		}
	}
	return out, nil
}

func ints(ids []domain.ID) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}

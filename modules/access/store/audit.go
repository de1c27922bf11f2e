package store

import (
	"context"
	"strings"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

type auditRow struct {
	ID         domain.ID
	ProjectID  domain.ID
	Actor      string
	Via        string
	Remote     string
	Action     string
	Object     string
	Allowed    bool
	BeforeText string
	AfterText  string
	At         int64
}

// TableName names the table.
func (auditRow) TableName() string { return "audit" }

// InsertAudit writes a line of the trail.
func (s *Store) InsertAudit(ctx context.Context, r access.AuditRow) error {
	return s.db.Insert(ctx, &auditRow{r.ID, r.ProjectID, r.Actor, r.Via, r.Remote, r.Action, r.Object, r.Allowed, r.Before, r.After, millis(r.At)})
}

// AuditRows reads the trail, newest first.
func (s *Store) AuditRows(ctx context.Context, q access.AuditQuery) ([]access.AuditRow, error) {
	where, args := []string{"1 = 1"}, []any{}
	add := func(when bool, cond string, arg any) {
		if when {
			where, args = append(where, cond), append(args, arg)
		}
	}
	add(!q.Projects.All, "project_id IN ?", q.Projects.IDs)
	add(q.Who != "", "actor LIKE ? ESCAPE '!'", likeHead(q.Who))
	add(q.Action != "", "action = ?", q.Action)
	add(q.Object != "", "object LIKE ? ESCAPE '!'", likeHead(q.Object))
	add(!q.From.IsZero(), "at >= ?", millis(q.From))
	add(!q.To.IsZero(), "at < ?", millis(q.To))
	add(q.Before != 0, "id < ?", q.Before)
	var rows []auditRow
	err := s.db.Scan(ctx, &rows, "SELECT id, project_id, actor, via, remote, action, object, allowed, before_text, after_text, at FROM audit WHERE "+
		strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT ?", append(args, q.Limit)...)
	out := make([]access.AuditRow, len(rows))
	for i, r := range rows {
		out[i] = access.AuditRow{ID: r.ID, ProjectID: r.ProjectID, Actor: r.Actor, Via: r.Via, Remote: r.Remote, Action: r.Action, Object: r.Object,
			Allowed: r.Allowed, Before: r.BeforeText, After: r.AfterText, At: instant(r.At)}
	}
	return out, err
}

// likeHead is the LIKE pattern of texts that begin with s.
func likeHead(s string) string {
	return strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(s) + "%"
}

package store

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// LogChunk is a piece of an attempt's output: Body is a JSON array of lines
// [number, ms, stream, text], First and Last the numbers of its ends.
type LogChunk struct {
	AttemptID domain.ID
	ProjectID domain.ID
	First     int64
	Last      int64
	Body      string
}

type logRow struct {
	AttemptID int64
	FirstLine int64
	LastLine  int64
	ProjectID int64
	Body      string
	CreatedAt int64
}

// TableName is gorm's.
func (logRow) TableName() string { return "log_chunk" }

// InsertLogs writes pieces of output; a piece that is there already is passed over.
func (s *Store) InsertLogs(ctx context.Context, chunks []LogChunk, now time.Time) error {
	if len(chunks) == 0 {
		return nil
	}
	rows := make([]logRow, len(chunks))
	for i, c := range chunks {
		rows[i] = logRow{AttemptID: int64(c.AttemptID), FirstLine: c.First, LastLine: c.Last, ProjectID: int64(c.ProjectID), Body: c.Body, CreatedAt: domain.Millis(now)}
	}
	_, err := s.db.InsertNew(ctx, &rows)
	return err
}

// Logs reads pieces of an attempt's output that end after the line, in order.
func (s *Store) Logs(ctx context.Context, attempt domain.ID, after int64, limit int) ([]LogChunk, error) {
	var rows []logRow
	err := s.db.Scan(ctx, &rows, "SELECT * FROM log_chunk WHERE attempt_id = ? AND last_line > ? ORDER BY first_line LIMIT ?", attempt, after, limit)
	return chunks(rows), err
}

// LastLine is the number of the last line stored; 0 = none.
func (s *Store) LastLine(ctx context.Context, attempt domain.ID) (int64, error) {
	var n int64
	err := s.db.Scan(ctx, &n, "SELECT COALESCE(MAX(last_line), 0) FROM log_chunk WHERE attempt_id = ?", attempt)
	return n, err
}

func chunks(rows []logRow) []LogChunk {
	out := make([]LogChunk, len(rows))
	for i, r := range rows {
		out[i] = LogChunk{AttemptID: domain.ID(r.AttemptID), ProjectID: domain.ID(r.ProjectID), First: r.FirstLine, Last: r.LastLine, Body: r.Body}
	}
	return out
}

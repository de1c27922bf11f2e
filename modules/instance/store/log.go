package store

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// LogChunk is a piece of an attempt's output: Body is a JSON array of lines as they
// were shipped, First and Last the places of its ends, from 1 without a gap.
type LogChunk struct {
	AttemptID domain.ID
	ProjectID domain.ID
	First     int64
	Last      int64
	Body      string
	CreatedAt time.Time
}

// LogGap says that the line at a place stands for output that was not kept.
type LogGap struct {
	Place int64
	Lines int64 // how many lines that was
}

// LogSpan is the places of one stored piece.
type LogSpan struct{ First, Last int64 }

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

// maxLogInsert bounds the text of one statement, in bytes.
const maxLogInsert = 1 << 20

// InsertLogs writes pieces of output; Exists if one begins where another does.
func (s *Store) InsertLogs(ctx context.Context, chunks []LogChunk, now time.Time) error {
	var rows []logRow
	size := 0
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		err := s.db.Insert(ctx, &rows)
		rows, size = nil, 0
		return err
	}
	for _, c := range chunks {
		if size += len(c.Body); size > maxLogInsert {
			if err := flush(); err != nil {
				return err
			}
			size = len(c.Body)
		}
		rows = append(rows, logRow{AttemptID: int64(c.AttemptID), FirstLine: c.First, LastLine: c.Last, ProjectID: int64(c.ProjectID), Body: c.Body, CreatedAt: domain.Millis(now)})
	}
	return flush()
}

// InsertLogGaps notes gaps; those noted already are passed over.
func (s *Store) InsertLogGaps(ctx context.Context, attempt, project domain.ID, gaps []LogGap, now time.Time) error {
	if len(gaps) == 0 {
		return nil
	}
	rows := make([]logRow, len(gaps))
	for i, g := range gaps {
		rows[i] = logRow{AttemptID: int64(attempt), FirstLine: -g.Place, LastLine: -g.Place, ProjectID: int64(project),
			Body: strconv.FormatInt(g.Lines, 10), CreatedAt: domain.Millis(now)}
	}
	_, err := s.db.InsertNew(ctx, &rows)
	return err
}

// LogGaps reads the gaps of an attempt's output, in order.
func (s *Store) LogGaps(ctx context.Context, attempt domain.ID) ([]LogGap, error) {
	var rows []logRow
	err := s.db.Scan(ctx, &rows, "SELECT first_line, body FROM log_chunk WHERE attempt_id = ? AND first_line < 0 ORDER BY first_line DESC", attempt)
	out := make([]LogGap, len(rows))
	for i, r := range rows {
		out[i].Place = -r.FirstLine
		out[i].Lines, _ = strconv.ParseInt(r.Body, 10, 64) // written by us only
	}
	return out, err
}

// LogSpans reads which places of an attempt's output are stored, in order: the
// pieces that touch the places from first to last.
func (s *Store) LogSpans(ctx context.Context, attempt domain.ID, first, last int64) ([]LogSpan, error) {
	var rows []logRow // stored pieces do not overlap, so only the one that begins before first may reach into it
	err := s.db.Scan(ctx, &rows, "SELECT attempt_id, first_line, last_line FROM log_chunk WHERE attempt_id = ? AND first_line <= ? AND first_line >= "+
		"(SELECT COALESCE(MAX(first_line), 1) FROM log_chunk WHERE attempt_id = ? AND first_line > 0 AND first_line <= ?) ORDER BY first_line",
		attempt, last, attempt, first)
	return spans(rows), err
}

// LastLogSpans reads the last pieces, at most limit, that begin at a place up to
// last, in order.
func (s *Store) LastLogSpans(ctx context.Context, attempt domain.ID, last int64, limit int) ([]LogSpan, error) {
	var rows []logRow
	err := s.db.Scan(ctx, &rows, "SELECT attempt_id, first_line, last_line FROM log_chunk WHERE attempt_id = ? AND first_line > 0 AND first_line <= ? ORDER BY first_line DESC LIMIT ?",
		attempt, last, limit)
	slices.Reverse(rows)
	return spans(rows), err
}

func spans(rows []logRow) []LogSpan {
	out := make([]LogSpan, len(rows))
	for i, r := range rows {
		out[i] = LogSpan{r.FirstLine, r.LastLine}
	}
	return out
}

// Logs reads pieces of an attempt's output that end after the place, in order.
func (s *Store) Logs(ctx context.Context, attempt domain.ID, after int64, limit int) ([]LogChunk, error) {
	var rows []logRow
	err := s.db.Scan(ctx, &rows, "SELECT * FROM log_chunk WHERE attempt_id = ? AND first_line > 0 AND last_line > ? ORDER BY first_line LIMIT ?", attempt, max(after, 0), limit)
	return chunks(rows), err
}

// LogEnd reads the last piece of an attempt's output without its text; zero when
// there is none.
func (s *Store) LogEnd(ctx context.Context, attempt domain.ID) (LogChunk, error) {
	var rows []logRow
	err := s.db.Scan(ctx, &rows, "SELECT attempt_id, first_line, last_line, created_at FROM log_chunk WHERE attempt_id = ? AND first_line > 0 ORDER BY first_line DESC LIMIT 1", attempt)
	if err != nil || len(rows) == 0 {
		return LogChunk{}, err
	}
	return chunks(rows)[0], nil
}

func chunks(rows []logRow) []LogChunk {
	out := make([]LogChunk, len(rows))
	for i, r := range rows {
		out[i] = LogChunk{AttemptID: domain.ID(r.AttemptID), ProjectID: domain.ID(r.ProjectID), First: r.FirstLine, Last: r.LastLine, Body: r.Body, CreatedAt: domain.FromMillis(r.CreatedAt)}
	}
	return out
}

package instance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/worker/protocol"
)

// LogLine is one line of an attempt's output. No rises strictly from 1; it counts
// lines that were not kept too, so that it is the line's place in the whole output,
// but for lines that came in pieces: each piece counts as one.
type LogLine struct {
	No     int64
	At     time.Time
	Stream string // one of protocol's
	Text   string
	Cont   bool // its text goes on from the line before with the same Number
	Number int64
}

// Lost says, of a line that stands for output which was not kept, how much that was.
func (l LogLine) Lost() (lines, bytes int64) {
	if l.Stream == protocol.StreamGap {
		_, _ = fmt.Sscanf(l.Text, "%d %d", &lines, &bytes) // zeros are answer enough
	}
	return max(lines, 0), max(bytes, 0)
}

// readLine reads [number, ms, stream, text] or [number, ms, stream, text, true].
func readLine(raw json.RawMessage) (LogLine, error) {
	var l LogLine
	var ms int64
	fields := []any{&l.Number, &ms, &l.Stream, &l.Text, &l.Cont}
	n := len(fields)
	if err := json.Unmarshal(raw, &fields); err != nil {
		return l, fmt.Errorf("a line is not [number, ms, stream, text]: %w", err)
	}
	if len(fields) < n-1 || len(fields) > n {
		return l, fmt.Errorf("a line has %d fields, wanted are %d or %d", len(fields), n-1, n)
	}
	l.At = domain.FromMillis(ms)
	l.Text = strings.ReplaceAll(l.Text, "\x00", "\u2400")
	return l, nil
}

// numbering turns places into line numbers and back.
type numbering []store.LogGap

// no is the number of the line at a place.
func (g numbering) no(place int64) int64 {
	no := place
	for _, gap := range g {
		if gap.Place < place {
			no += max(gap.Lines-1, 0)
		}
	}
	return no
}

// place is the last place whose number is at most no; 0 if there is none.
func (g numbering) place(no int64) int64 {
	shift := int64(0)
	for _, gap := range g {
		lost := max(gap.Lines-1, 0)
		if no < gap.Place+shift {
			break
		}
		if no <= gap.Place+shift+lost {
			return gap.Place
		}
		shift += lost
	}
	return max(no-shift, 0)
}

// LogPage is a stretch of an attempt's output.
type LogPage struct {
	Lines []LogLine
	Last  int64 // number of the last line stored; 0 = none yet
	// Complete says that nothing more will come: the attempt has ended and all its
	// output is stored, or was lost with its worker.
	Complete bool
	Ended    bool // the attempt has ended; its output may still be on its way
}

// Limits of one read of output.
const (
	MaxLogLines = 5000
	logPieces   = 50      // pieces read at a time
	logBytes    = 1 << 20 // of text in one page
	logHole     = 10 * time.Second
	logQuiet    = 500 * time.Millisecond
	logGone     = 10 * time.Second
	logGiveUp   = time.Minute
)

// LogAfter reads at most limit lines of the attempt that come after line number
// after. Fewer may come while more is there: a page has a limit of bytes too.
func (r *Records) LogAfter(ctx context.Context, a domain.Attempt, after int64, limit int) (LogPage, error) {
	gaps, end, err := r.logEnds(ctx, a.ID)
	if err != nil {
		return LogPage{}, err
	}
	return r.logPage(ctx, a, gaps, end, gaps.place(after), limit)
}

// LogTail reads the last lines of the attempt, at most limit.
func (r *Records) LogTail(ctx context.Context, a domain.Attempt, limit int) (LogPage, error) {
	gaps, end, err := r.logEnds(ctx, a.ID)
	if err != nil {
		return LogPage{}, err
	}
	return r.logPage(ctx, a, gaps, end, max(end.Last-int64(limit), 0), limit)
}

// LogBefore reads the last lines that come before line number before.
func (r *Records) LogBefore(ctx context.Context, a domain.Attempt, before int64, limit int) (LogPage, error) {
	gaps, end, err := r.logEnds(ctx, a.ID)
	if err != nil {
		return LogPage{}, err
	}
	last := gaps.place(before - 1)
	from := max(last-int64(limit), 0)
	return r.logPage(ctx, a, gaps, end, from, int(last-from))
}

func (r *Records) logEnds(ctx context.Context, attempt domain.ID) (numbering, store.LogChunk, error) {
	gaps, err := r.Store.LogGaps(ctx, attempt)
	if err != nil {
		return nil, store.LogChunk{}, err
	}
	end, err := r.Store.LogEnd(ctx, attempt)
	return gaps, end, err
}

func (r *Records) logPage(ctx context.Context, a domain.Attempt, gaps numbering, end store.LogChunk, place int64, limit int) (LogPage, error) {
	p := LogPage{Last: gaps.no(end.Last), Ended: a.State != domain.AttemptSent && a.State != domain.AttemptGranted}
	p.Complete = logComplete(a, p.Last, end.CreatedAt, r.Now())
	size := 0
	for len(p.Lines) < limit && size < logBytes && place < end.Last {
		chunks, err := r.Store.Logs(ctx, a.ID, place, logPieces)
		if err != nil || len(chunks) == 0 {
			return p, err
		}
		for _, c := range chunks {
			if c.First > place+1 && r.Now().Sub(c.CreatedAt) < logHole {
				return p, nil // what is before it is on its way
			}
			var raws []json.RawMessage
			if err := json.Unmarshal([]byte(c.Body), &raws); err != nil {
				return p, fmt.Errorf("output of attempt %s at place %d: %w", a.ID, c.First, err)
			}
			for i, raw := range raws {
				at := c.First + int64(i)
				if at <= place {
					continue
				}
				line, err := readLine(raw)
				if err != nil {
					return p, fmt.Errorf("output of attempt %s at place %d: %w", a.ID, at, err)
				}
				line.No, place = gaps.no(at), at
				p.Lines = append(p.Lines, line)
				if size += len(line.Text); len(p.Lines) >= limit || size >= logBytes {
					return p, nil
				}
			}
		}
	}
	return p, nil
}

// logComplete decides whether all output of an attempt is stored, up to line last,
// which was stored at the moment given.
func logComplete(a domain.Attempt, last int64, stored, now time.Time) bool {
	since := a.FinishedAt
	for _, later := range []time.Time{a.ReportedAt, stored} {
		if later.After(since) {
			since = later
		}
	}
	quiet := now.Sub(since)
	switch {
	case a.State == domain.AttemptSent || a.State == domain.AttemptGranted:
		return false
	case a.State == domain.AttemptWithdrawn:
		return true
	case a.State == domain.AttemptLost || a.Outcome == domain.OutcomeWorkerLost:
		return quiet > logGone // nobody says how much there was
	case a.LogLines == 0 && last == 0:
		return true
	case last < a.LogLines:
		return quiet > logGiveUp
	}
	return now.Sub(stored) > logQuiet // the last line may have come in pieces
}

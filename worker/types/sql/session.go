package sql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/axsched/ax/worker/protocol/sqltext"
	"github.com/axsched/ax/worker/runner"
)

// session is one task on its own connection.
type session struct {
	src      *source
	all      []sqltext.Statement
	whole    bool // all statements stand or none
	deadline time.Time
	out      *runner.Capture

	at    int             // the statement under way, from 0
	done  int             // how many have ended well
	phase atomic.Int32    // what is under way
	ended error           // why the connection could not be ended in the server; nil: it was, or had not to be
	first json.RawMessage // the first row of the last statement with rows
}

// The phases of a session.
const (
	connecting int32 = iota
	running
	committing
)

// serverSlack is how much later than this process the server ends what runs.
const serverSlack = 10 * time.Second

// run connects and runs all statements. When ctx ends, what runs is ended in the server.
func (s *session) run(ctx context.Context) error {
	db := s.src.open()
	defer func() { _ = db.Close() }() // what was not committed is undone by the server
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	limit := time.Duration(0)
	if !s.deadline.IsZero() {
		limit = max(time.Until(s.deadline), 0) + serverSlack
	}
	id, err := s.src.prepare(ctx, conn, limit)
	if err != nil {
		return err
	}
	s.phase.Store(running)
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-over:
		case <-ctx.Done():
			s.ended = s.src.end(id)
			stop()
		}
	}()
	err = s.statements(work, conn)
	close(over)
	<-watched
	stop()
	return err
}

// statements runs them, in a transaction or each by itself.
func (s *session) statements(ctx context.Context, conn *sql.Conn) error {
	if !s.whole {
		return s.each(ctx, conn)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := s.each(ctx, tx); err != nil {
		_ = tx.Rollback() // where the connection is gone the server has undone it
		return err
	}
	s.phase.Store(committing)
	return tx.Commit()
}

// doer is a connection or a transaction.
type doer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (s *session) each(ctx context.Context, d doer) error {
	for i, st := range s.all {
		s.at = i
		began := time.Now()
		said, err := s.one(ctx, d, st)
		if err != nil {
			return err
		}
		s.done++
		s.out.Log(time.Now(), fmt.Sprintf("statement %d of %d, line %d: %s in %v", i+1, len(s.all), st.Line, said, time.Since(began).Round(time.Millisecond)))
	}
	return nil
}

// one runs one statement and says what it did.
func (s *session) one(ctx context.Context, d doer, st sqltext.Statement) (string, error) {
	query, args := st.Bind(s.src.dialect)
	if st.Rows() {
		rows, err := d.QueryContext(ctx, query, args...)
		if err != nil {
			return "", err
		}
		return s.read(rows)
	}
	res, err := d.ExecContext(ctx, query, args...)
	if err != nil {
		return "", err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return "done", nil // the driver does not say how many
	}
	return plural(n) + " changed", nil
}

func plural(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

// told says what failed and what stands of the work.
func (s *session) told(err error) string {
	phase := s.phase.Load()
	text := "no connection to the data source: " + err.Error()
	switch {
	case phase == committing:
		text = "the commit was under way, and it is not known whether it took place: " + err.Error()
	case phase == running && s.whole:
		text = fmt.Sprintf("statement %d of %d, line %d: %v; all was rolled back", s.at+1, len(s.all), s.all[s.at].Line, err)
	case phase == running:
		text = fmt.Sprintf("statement %d of %d, line %d: %v; what ended before it stands: %d", s.at+1, len(s.all), s.all[s.at].Line, err, s.done)
	}
	if s.ended != nil {
		text += "; the server could not be made to end it: " + s.ended.Error()
	}
	return text
}

// Package sql is the executor type that runs SQL statements on a database which the worker's set-up names.
//
// It owns the connection of a task, what becomes of its transaction, and that nothing of it goes on in the server when the task
// is over. A value is a bound parameter, never text. It knows the databases of a team, never AX's own; the drivers are
// database/sql's. One connection per task, which nobody else uses before or after: what a task sets in its session ends
// with it.
package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/worker/protocol/sqltext"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// Executor is the sql type.
type Executor struct {
	sources map[string]*source
}

var _ types.Executor = (*Executor)(nil)

// New makes the type over data sources, name → URL. The error names the source whose URL cannot be used, without the URL.
func New(sources map[string]string) (*Executor, error) {
	e := &Executor{sources: map[string]*source{}}
	for name, text := range sources {
		s, err := newSource(text)
		if err != nil {
			return nil, fmt.Errorf("data source %s: %w", name, err)
		}
		e.sources[name] = s
	}
	return e, nil
}

// Type is "sql".
func (e *Executor) Type() string { return "sql" }

// Sources are the names of the data sources, sorted.
func (e *Executor) Sources() []string { return slices.Sorted(maps.Keys(e.sources)) }

// Describe says what an sql job can set.
func (e *Executor) Describe() types.Description {
	return types.Description{Type: "sql", Version: "1", Params: []types.Param{
		{Name: "source", Kind: "text", Required: true, About: "a data source of the worker's set-up (worker.sources)"},
		{Name: "sql", Kind: "text", Required: true, About: "statements parted by semicolons, or a list in which each is one; a value becomes a bound parameter"},
		{Name: "transaction", Kind: "text", Default: "true", Choices: []string{"true", "false"}, About: "all statements or none; false: each by itself"},
	}}
}

// settings are the keys of exec as the center renders them: sql in pieces, values beside the text.
type settings struct {
	Source      string            `json:"source"`
	Transaction *bool             `json:"transaction"`
	Scripts     [][]sqltext.Piece `json:"scripts"`
	Split       bool              `json:"split"` // the only script holds several statements
}

// whole reports whether all statements stand or none.
func (s settings) whole() bool { return s.Transaction == nil || *s.Transaction }

// statements parts the scripts as the dialect reads them.
func (s settings) statements(d sqltext.Dialect) ([]sqltext.Statement, error) {
	var out []sqltext.Statement
	for i, script := range s.Scripts {
		if s.Split {
			return sqltext.Split(d, script)
		}
		one, err := sqltext.One(d, script)
		if err != nil {
			return nil, fmt.Errorf("statement %d: %w", i+1, err)
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no statement")
	}
	return out, nil
}

// Run runs the statements one after the other. At the deadline or a kill the server ends what runs, and whatever was not
// committed is undone.
func (e *Executor) Run(ctx context.Context, t types.Task, out *runner.Capture) types.Outcome {
	started := time.Now()
	var s settings
	if err := types.DecodeExec(t.Exec, &s); err != nil {
		return types.Failure(started, err.Error())
	}
	src := e.sources[s.Source]
	if src == nil {
		return types.Failure(started, fmt.Sprintf("exec.source: this worker has no data source %q; it has %s (worker.sources)", s.Source, orNone(e.Sources())))
	}
	all, err := s.statements(src.dialect)
	if err == nil && s.whole() {
		err = noCommit(all)
	}
	if err != nil {
		return types.Failure(started, "exec.sql: "+err.Error()+"; nothing was sent")
	}
	if !t.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, t.Deadline)
		defer cancel()
	}
	ses := &session{src: src, all: all, whole: s.whole(), deadline: t.Deadline, out: out}
	err = ses.run(ctx)
	return ses.outcome(ctx, started, err)
}

// noCommit refuses statements that would end the transaction which surrounds them.
func noCommit(all []sqltext.Statement) error {
	for _, s := range all {
		if s.Ends() {
			return &sqltext.Fault{Line: s.Line, Kind: sqltext.Commits}
		}
	}
	return nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// outcome says how the statements ended. Work that was done before a time-out or kill came is a success: it stands in the
// database.
func (s *session) outcome(ctx context.Context, started time.Time, err error) types.Outcome {
	now := time.Now()
	if err == nil {
		var result json.RawMessage
		if result = s.first; len(result) > types.ResultMax {
			s.out.Log(now, fmt.Sprintf("the first row is no result: it has %d bytes, more than %d", len(result), types.ResultMax))
			result = nil
		}
		return types.Outcome{Run: types.Ended(runner.Success, started, now, ""), Result: result}
	}
	message := s.told(err)
	if ctx.Err() == nil {
		return types.Outcome{Run: types.Ended(runner.Failed, started, now, message)}
	}
	o := runner.OutcomeOf(ctx)
	why := context.Cause(ctx).Error()
	if o == runner.Timeout {
		why = "timed out after " + now.Sub(started).Round(time.Millisecond).String()
	}
	return types.Outcome{Run: types.Ended(o, started, now, why+"; "+message)}
}

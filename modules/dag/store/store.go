// Package store is the SQL of dependency rows and of the marks of stale instances. It
// decides nothing; whoever flips a row holds the lock of its instance.
package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Store reads and writes the tables dep and stale.
type Store struct {
	db *dbx.DB
}

// New is a store over the pool.
func New(db *dbx.DB) *Store { return &Store{db} }

// Tx runs fn in a transaction, or in the one that ctx carries.
func (s *Store) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Tx(ctx, fn)
}

type row struct {
	InstanceID    int64
	UpstreamJobID int64
	No            int
	ProjectID     int64
	UpstreamName  string
	Rule          string
	BizDate       string
	BizDateTo     string // "" = the set is one date
	Required      string
	Outcome       string
	OnFailure     string
	State         string
	ByInstance    int64
	ChangedAt     int64
}

// columns of a row, the key first.
var columns = []string{"instance_id", "upstream_job_id", "no", "project_id", "upstream_name", "rule", "biz_date", "biz_date_to", "required", "outcome",
	"on_failure", "state", "by_instance", "changed_at"}

const (
	selected = "SELECT instance_id, upstream_job_id, no, project_id, upstream_name, rule, biz_date, biz_date_to, required, outcome, on_failure, state, by_instance, changed_at FROM dep "
	inOrder  = " ORDER BY instance_id, upstream_job_id, no"
	chunk    = 500
)

func (s *Store) read(ctx context.Context, query string, args ...any) ([]domain.InstanceDep, error) {
	var rows []row
	if err := s.db.Scan(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	out := make([]domain.InstanceDep, len(rows))
	for i, r := range rows {
		first, _ := domain.ParseBizDate(r.BizDate) // written by us only
		last := first
		if r.BizDateTo != "" {
			last, _ = domain.ParseBizDate(r.BizDateTo)
		}
		out[i] = domain.InstanceDep{InstanceID: domain.ID(r.InstanceID), No: r.No, ProjectID: domain.ID(r.ProjectID), Upstream: domain.ID(r.UpstreamJobID),
			Name: r.UpstreamName, Rule: cmp.Or(domain.DepDates(r.Rule), domain.DepCurrent), BizDate: first, To: last, Require: r.Required, Check: r.Outcome,
			OnFailure: cmp.Or(domain.FailurePolicy(r.OnFailure), domain.FailureCancel), State: domain.DepState(r.State), By: domain.ID(r.ByInstance), ChangedAt: domain.FromMillis(r.ChangedAt)}
	}
	return out, nil
}

func lastDate(d domain.InstanceDep) string {
	if d.Several() {
		return d.To.String()
	}
	return ""
}

// Put inserts rows, or sets those that are there to what is given.
func (s *Store) Put(ctx context.Context, ds []domain.InstanceDep) error {
	rows := make([][]any, len(ds))
	for i, d := range ds {
		rows[i] = []any{d.InstanceID, d.Upstream, d.No, d.ProjectID, d.Name, string(d.Rule), d.BizDate.String(), lastDate(d), d.Require, d.Check,
			string(d.OnFailure), string(d.State), d.By, domain.Millis(d.ChangedAt)}
	}
	return s.db.Upsert(ctx, "dep", columns[:3], columns,
		"rule = NEW(rule), biz_date = NEW(biz_date), biz_date_to = NEW(biz_date_to), required = NEW(required), outcome = NEW(outcome), "+
			"on_failure = NEW(on_failure), state = NEW(state), by_instance = NEW(by_instance), changed_at = NEW(changed_at)", rows)
}

// Set writes the State and the By of rows.
func (s *Store) Set(ctx context.Context, ds []domain.InstanceDep, now time.Time) error {
	if len(ds) == 0 {
		return nil
	}
	ds = slices.SortedFunc(slices.Values(ds), byKey)
	u := dbx.Update{Table: "dep", Keys: columns[:3], Cols: []string{"state", "by_instance", "changed_at"}}
	for _, d := range ds {
		u.Rows = append(u.Rows, []any{d.InstanceID, d.Upstream, d.No, string(d.State), d.By, domain.Millis(now)})
	}
	_, err := s.db.UpdateRows(ctx, u)
	return err
}

// Date is one job on one business date.
type Date struct {
	Job domain.ID
	Day domain.BizDate
}

// Covering reads the rows of these states that are about one of the dates, in order of their
// key. Rows about one date and rows about several lie apart in the index.
func (s *Store) Covering(ctx context.Context, dates []Date, states ...domain.DepState) ([]domain.InstanceDep, error) {
	byDay := map[domain.BizDate][]domain.ID{} // nearly always one
	for _, d := range dates {
		byDay[d.Day] = append(byDay[d.Day], d.Job)
	}
	words := make([]string, len(states))
	for i, st := range states {
		words[i] = string(st)
	}
	var out []domain.InstanceDep
	for day, jobs := range byDay {
		slices.Sort(jobs)
		for part := range slices.Chunk(slices.Compact(jobs), chunk) {
			rows, err := s.read(ctx, covering, part, words, day.String(), part, words, day.String(), day.String())
			if err != nil {
				return nil, err
			}
			out = append(out, rows...)
		}
	}
	slices.SortFunc(out, byKey)
	return out, nil
}

func byKey(a, b domain.InstanceDep) int {
	return cmp.Or(cmp.Compare(a.InstanceID, b.InstanceID), cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.No, b.No))
}

// covering gives no order: for the order of the key SQLite would go through all rows of a state.
const covering = selected + "WHERE upstream_job_id IN ? AND state IN ? AND biz_date_to = '' AND biz_date = ? UNION ALL " +
	selected + "WHERE upstream_job_id IN ? AND state IN ? AND biz_date_to >= ? AND biz_date <= ?"

// About reads the first rows, of whatever state, that are about a job on a business date.
func (s *Store) About(ctx context.Context, job domain.ID, day domain.BizDate, limit int) ([]domain.InstanceDep, error) {
	states := []string{string(domain.DepWaiting), string(domain.DepMet), string(domain.DepFailed), string(domain.DepVoid), string(domain.DepPassed), string(domain.DepWaived)}
	return s.read(ctx, "SELECT * FROM ("+covering+") found ORDER BY instance_id + 0, upstream_job_id, no LIMIT ?", []domain.ID{job}, states, day.String(), []domain.ID{job}, states, day.String(), day.String(), limit)
}

// WaitingOf reads the waiting rows of the instances.
func (s *Store) WaitingOf(ctx context.Context, ids []domain.ID) ([]domain.InstanceDep, error) {
	return s.ofInstances(ctx, ids, " AND state = 'waiting'")
}

// OfAll reads all rows of the instances, whatever their state.
func (s *Store) OfAll(ctx context.Context, ids []domain.ID) ([]domain.InstanceDep, error) {
	return s.ofInstances(ctx, ids, "")
}

func (s *Store) ofInstances(ctx context.Context, ids []domain.ID, further string) ([]domain.InstanceDep, error) {
	var out []domain.InstanceDep
	for part := range slices.Chunk(ids, chunk) {
		rows, err := s.read(ctx, selected+"WHERE instance_id IN ?"+further+inOrder, part)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// StillWaiting reads those of the rows, at most chunk of them, that wait, in order of their key, and maybe
// others of their instances: a join of a thousand upstreams is not read whole for each that ends.
func (s *Store) StillWaiting(ctx context.Context, rows []domain.InstanceDep) ([]domain.InstanceDep, error) {
	var ids, ups []domain.ID
	for _, r := range rows {
		ids, ups = append(ids, r.InstanceID), append(ups, r.Upstream)
	}
	slices.Sort(ids)
	slices.Sort(ups)
	ids, ups = slices.Compact(ids), slices.Compact(ups)
	if len(ids)*len(ups) > chunk {
		return s.WaitingOf(ctx, ids)
	}
	return s.read(ctx, selected+"WHERE instance_id IN ? AND upstream_job_id IN ? AND state = 'waiting'"+inOrder, ids, ups)
}

// Waiting pages all waiting rows by their key, strictly after the one given.
func (s *Store) Waiting(ctx context.Context, after domain.InstanceDep, limit int) ([]domain.InstanceDep, error) {
	// The rest of the instance, and then those behind it: in one question the index would be
	// walked through from the first.
	var rest []domain.InstanceDep
	if after.InstanceID != 0 {
		var err error
		rest, err = s.read(ctx, selected+"WHERE state = 'waiting' AND instance_id = ? AND (upstream_job_id > ? OR upstream_job_id = ? AND no > ?)"+inOrder+" LIMIT ?",
			after.InstanceID, after.Upstream, after.Upstream, after.No, limit)
		if err != nil || len(rest) == limit {
			return rest, err
		}
	}
	more, err := s.read(ctx, selected+"WHERE state = 'waiting' AND instance_id > ?"+inOrder+" LIMIT ?", after.InstanceID, limit-len(rest))
	return append(rest, more...), err
}

// Of reads all rows of an instance, those that wait first.
func (s *Store) Of(ctx context.Context, instance domain.ID) ([]domain.InstanceDep, error) {
	return s.read(ctx, selected+"WHERE instance_id = ? ORDER BY CASE state WHEN 'waiting' THEN 0 ELSE 1 END, upstream_name, no", instance)
}

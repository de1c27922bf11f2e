package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Filter chooses instances; zero fields do not filter. With Job the order is
// biz_date and id falling, else id falling. Of one that was split, the label orphan alone
// chooses its shards that are, since each is settled by itself; and with Pool and labels of a place
// or of the wait for one, its shards that have or want one.
type Filter struct {
	Projects []domain.ID // nil: all
	Job      domain.ID
	BizDate  domain.BizDate
	State    domain.State
	Labels   []domain.Label
	Pool     domain.PoolKey
	// MadeFrom and MadeTo choose by when an instance was made, [MadeFrom, MadeTo).
	MadeFrom, MadeTo time.Time
	After            Place // the last row of the page before, or where its search stopped
	Limit            int
}

// Place is where a row stands in the order of a list. Date matters with Filter.Job.
type Place struct {
	ID   domain.ID
	Date domain.BizDate
}

// MaxLooked is how many rows one page may look at before it is content with what it has.
const MaxLooked = 10_000

// windows are how many rows are looked at at a time, so that a page that fills soon costs
// little; together MaxLooked.
var windows = []int{500, 2500, 7000}

// List reads one page. When it has looked at MaxLooked rows and the page is not full,
// stopped is the last of them, and the next page goes on from there; else it is zero.
func (s *Store) List(ctx context.Context, f Filter) (ins []domain.Instance, stopped Place, err error) {
	w, rest, err := s.walk(ctx, f)
	if err != nil || w.empty {
		return nil, Place{}, err
	}
	if len(rest.conds) == 0 {
		t := w.from()
		t.add(f.rows())
		ins, err = s.read(ctx, "SELECT "+columns+" FROM instance"+t.where()+w.order()+" LIMIT ?", append(t.args, f.Limit)...)
		return ins, Place{}, err
	}
	rest.add(f.rows())
	for _, size := range windows {
		end, err := s.skip(ctx, w, size)
		if err != nil {
			return nil, Place{}, err
		}
		found, err := s.window(ctx, w, rest, size, f.Limit-len(ins))
		if ins = append(ins, found...); err != nil || len(ins) >= f.Limit || end.ID == 0 {
			return ins, Place{}, err
		}
		w.after = end
	}
	return ins, w.after, nil
}

// rows is which rows a list is of: those of instances, or those that can be an orphan
// themselves.
func (f Filter) rows() string {
	if len(f.Labels) == 1 && f.Labels[0] == domain.Orphan || f.Pool.Name != "" && len(f.Labels) > 0 {
		return "(part_of > 0 OR shards = 0)"
	}
	return "part_of = 0"
}

// terms are conditions that hold together.
type terms struct {
	conds []string
	args  []any
}

func (t *terms) add(cond string, args ...any) {
	t.conds, t.args = append(t.conds, cond), append(t.args, args...)
}

// walk is the way along one index: the rows that its conditions leave stand there side by
// side in the order of the list.
type walk struct {
	terms
	after  Place
	byDate bool // the order is biz_date and id, else id
	empty  bool // there is nothing on it
}

// walk chooses the index for a filter. What it can't judge is in rest: whole rows have to
// be looked at.
func (s *Store) walk(ctx context.Context, f Filter) (w walk, rest terms, err error) {
	w.after = f.After
	if f.State == "" {
		f.State = stateOf(f.Labels)
	}
	switch {
	case f.Job != 0:
		w.add("job_id = ?", f.Job)
		if w.byDate = f.BizDate.IsZero(); !w.byDate {
			w.add("biz_date = ?", f.BizDate.String())
		}
		if f.State != "" {
			rest.add("state = ?", string(f.State))
		}
	case f.State != "":
		w.add("state = ?", string(f.State))
		if !f.BizDate.IsZero() {
			rest.add("biz_date = ?", f.BizDate.String())
			err = s.within(ctx, &w, f.BizDate)
		}
	case !f.BizDate.IsZero():
		w.add("biz_date = ?", f.BizDate.String())
	}
	if f.Projects != nil {
		rest.add("project_id IN ?", append([]domain.ID{0}, f.Projects...))
	}
	if f.Pool.Name != "" {
		rest.add("project_id = ? AND pool = ?", f.Pool.Project, f.Pool.Name)
	}
	if len(f.Labels) > 0 {
		rest.add("label IN ?", f.Labels)
	}
	f.made(&w, &rest)
	return w, rest, err
}

// made adds when the instances were made. Ids are made with the clock or a little ahead of
// it, so they say it but for the edges; a walk in the order of dates can't be cut by them.
func (f Filter) made(w *walk, rest *terms) {
	ids := &w.terms
	if w.byDate {
		ids = rest
	}
	if !f.MadeFrom.IsZero() {
		ids.add("id >= ?", domain.IDAt(f.MadeFrom))
		rest.add("created_at >= ?", domain.Millis(f.MadeFrom))
	}
	if !f.MadeTo.IsZero() {
		ids.add("id < ?", domain.IDAt(f.MadeTo.Add(time.Minute)))
		rest.add("created_at < ?", domain.Millis(f.MadeTo))
	}
}

// stateOf is the state that all the labels belong to; "" when there are none or several.
func stateOf(labels []domain.Label) domain.State {
	for _, state := range domain.States {
		if len(labels) > 0 && !slices.ContainsFunc(labels, func(l domain.Label) bool { return !slices.Contains(domain.Labels[state], l) }) {
			return state
		}
	}
	return ""
}

// within cuts a walk in the order of ids to those that a business date has.
func (s *Store) within(ctx context.Context, w *walk, date domain.BizDate) error {
	first, last, err := s.span(ctx, date)
	w.empty = last == 0
	w.add("id >= ? AND id <= ?", first, last)
	return err
}

// span is the first and the last id of a business date; 0 when it has none.
func (s *Store) span(ctx context.Context, date domain.BizDate) (first, last domain.ID, err error) {
	var ends struct{ First, Last int64 }
	err = s.db.Scan(ctx, &ends, "SELECT COALESCE((SELECT MIN(id) FROM instance WHERE biz_date = ?), 0) AS first, COALESCE((SELECT MAX(id) FROM instance WHERE biz_date = ?), 0) AS last",
		date.String(), date.String())
	return domain.ID(ends.First), domain.ID(ends.Last), err
}

// order is the list's.
func (w walk) order() string {
	if w.byDate {
		return " ORDER BY biz_date DESC, id DESC"
	}
	return " ORDER BY id DESC"
}

// from is the walk without what it has passed.
func (w walk) from() terms {
	t := terms{slices.Clone(w.conds), slices.Clone(w.args)}
	switch date := w.after.Date.String(); {
	case w.after.ID == 0:
	case w.byDate:
		t.add("biz_date <= ? AND (biz_date < ? OR id < ?)", date, date, w.after.ID)
	default:
		t.add("id < ?", w.after.ID)
	}
	return t
}

// skip finds the n-th row of the walk from where it stands, in the index alone; zero when
// there are fewer.
func (s *Store) skip(ctx context.Context, w walk, n int) (Place, error) {
	t := w.from()
	var end Place
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var id int64
		var date string
		if !w.byDate {
			err := scan(&id)
			end.ID = domain.ID(id)
			return err
		}
		err := scan(&id, &date)
		end.ID = domain.ID(id)
		end.Date, _ = domain.ParseBizDate(date) // written by us only
		return err
	}, "SELECT "+w.key()+" FROM instance"+t.where()+w.order()+" LIMIT 1 OFFSET ?", append(t.args, n-1)...)
	return end, err
}

func (w walk) key() string {
	if w.byDate {
		return "id, biz_date"
	}
	return "id"
}

// window looks at the next size rows of the walk and reads those that rest leaves.
func (s *Store) window(ctx context.Context, w walk, rest terms, size, limit int) ([]domain.Instance, error) {
	t := w.from()
	args := append(append(append(t.args, size), rest.args...), limit)
	return s.read(ctx, "SELECT "+columns+" FROM (SELECT id AS looked FROM instance"+t.where()+w.order()+" LIMIT ?) w JOIN instance ON id = looked"+
		rest.where()+w.order()+" LIMIT ?", args...)
}

func (t terms) where() string {
	if len(t.conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(t.conds, " AND ")
}

// ByTrace finds the instance one of whose runs carries the trace id; 0 if there is
// none.
func (s *Store) ByTrace(ctx context.Context, trace string) (domain.ID, error) {
	run, ok := domain.RunOfTrace(trace)
	if !ok {
		return 0, nil
	}
	var rows []struct{ ID int64 }
	err := s.db.Scan(ctx, &rows, "SELECT id FROM instance WHERE id = ? AND trace_id = ?"+
		" UNION SELECT instance_id FROM run WHERE id = ? AND trace_id = ?", run, trace, run, trace)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return domain.ID(rows[0].ID), nil
}

// begun are the labels of an instance that is in the way of others of its job.
var begun = []domain.Label{domain.HeldPool, domain.Dispatched, domain.Executing, domain.Stopping, domain.Orphan}

// Begun reads the instances of a job that were sent to a target, or wait for their pool, and have not ended,
// oldest first.
func (s *Store) Begun(ctx context.Context, job domain.ID, limit int) ([]domain.Instance, error) {
	return s.read(ctx, "SELECT "+columns+" FROM instance WHERE state = 'running' AND label IN ? AND job_id = ? AND part_of = 0 ORDER BY id LIMIT ?", begun, job, limit)
}

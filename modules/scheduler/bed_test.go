package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/modules/scheduler/store"
	"github.com/axsched/ax/worker/protocol"
)

// bed is one database with jobs, and a clock that stands where the test puts it. It
// plays the modules around the scheduler: definitions, and instances as real rows.
type bed struct {
	t    *testing.T
	url  string
	db   *dbx.DB
	st   *store.Store
	ids  *domain.IDs
	time atomic.Int64 // Unix milliseconds, of the database and of all nodes

	mu     sync.Mutex
	specs  map[domain.ID]map[int]domain.JobSpec
	broken map[domain.ID]error // jobs whose definition can't be read
	bad    map[domain.ID]error // jobs whose instances can't be made
	nudges atomic.Int64
}

const project = domain.ID(7)

func eachBed(t *testing.T, start string, fn func(t *testing.T, b *bed)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, url string) { fn(t, newBed(t, url, start)) })
}

func newBed(t *testing.T, url, start string) *bed {
	t.Helper()
	db, err := dbx.Open(t.Context(), url, dbx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ids, err := domain.NewIDs(1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, url: url, db: db, st: store.New(db), ids: ids, specs: map[domain.ID]map[int]domain.JobSpec{},
		broken: map[domain.ID]error{}, bad: map[domain.ID]error{}}
	b.set(instant(t, start))
	return b
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v.UTC()
}

func (b *bed) now() time.Time                               { return time.UnixMilli(b.time.Load()).UTC() }
func (b *bed) dbNow(ctx context.Context) (time.Time, error) { return b.now(), ctx.Err() }
func (b *bed) set(at time.Time)                             { b.time.Store(at.UnixMilli()) }
func (b *bed) pass(d time.Duration)                         { b.time.Add(d.Milliseconds()) }

func (b *bed) Nudge(protocol.Nudge) { b.nudges.Add(1) }

func (b *bed) Spec(_ context.Context, job domain.ID, version int) (domain.JobSpec, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.broken[job]; err != nil {
		return domain.JobSpec{}, err
	}
	s, ok := b.specs[job][version]
	if !ok {
		return s, domain.Fail(domain.NotFound, "job %s has no version %d", job, version)
	}
	return s, nil
}

func (b *bed) Create(ctx context.Context, news []domain.NewInstance) ([]domain.Instance, error) {
	for some := range slices.Chunk(news, 50) {
		var args []any
		for _, n := range some {
			b.mu.Lock()
			err := b.bad[n.JobID]
			b.mu.Unlock()
			if err != nil {
				return nil, err
			}
			id := b.ids.Next()
			args = append(args, id, n.ProjectID, n.JobID, n.JobName, n.FireKey, string(n.Trigger), n.BizDate.String(), domain.Millis(n.Expected), id, n.Version, n.Reason, domain.Millis(b.now()))
		}
		const row = ", (?, ?, ?, ?, ?, ?, ?, ?, 'running', 'queued', 1, ?, 1, '', ?, '', ?, 'default', ?, '')"
		if _, err := b.db.Exec(ctx, "INSERT INTO instance (id, project_id, job_id, job_name, fire_key, trigger_kind, biz_date, expected_at, state, label, ver, "+
			"run_id, run_no, trace_id, version, params, reason, lane, created_at, message) VALUES "+strings.TrimPrefix(strings.Repeat(row, len(some)), ", "), args...); err != nil {
			return nil, err
		}
	}
	return make([]domain.Instance, len(news)), nil
}

func (b *bed) Fired(ctx context.Context, job domain.ID, keys []string) (map[string]domain.ID, error) {
	all, err := b.instances(ctx, "job_id = ? AND fire_key IN ?", job, keys)
	out := map[string]domain.ID{}
	for _, in := range all {
		out[in.FireKey] = in.ID
	}
	return out, err
}

func (b *bed) Planned(ctx context.Context, job domain.ID, from, to time.Time) ([]domain.FireOutcome, error) {
	all, err := b.instances(ctx, "job_id = ? AND fire_key >= ? AND fire_key < ?", job, domain.ScheduleFireKey(from), domain.ScheduleFireKey(to))
	out := make([]domain.FireOutcome, len(all))
	for i, in := range all {
		out[i] = domain.FireOutcome{FireKey: in.FireKey, Instance: in.ID}
	}
	return out, err
}

func (b *bed) instances(ctx context.Context, where string, args ...any) ([]domain.Instance, error) {
	var rows []struct {
		ID, JobID, ExpectedAt                          int64
		FireKey, BizDate, Reason, JobName, TriggerKind string
		Version                                        int
	}
	err := b.db.Scan(ctx, &rows, "SELECT id, job_id, expected_at, fire_key, biz_date, reason, version, job_name, trigger_kind FROM instance WHERE "+where+" ORDER BY expected_at, id", args...)
	out := make([]domain.Instance, len(rows))
	for i, r := range rows {
		date, bad := domain.ParseBizDate(r.BizDate)
		err = errors.Join(err, bad)
		out[i] = domain.Instance{ID: domain.ID(r.ID), JobID: domain.ID(r.JobID), FireKey: r.FireKey, BizDate: date, Expected: domain.FromMillis(r.ExpectedAt),
			Reason: r.Reason, Version: r.Version, JobName: r.JobName, Trigger: domain.TriggerKind(r.TriggerKind)}
	}
	return out, err
}

func (b *bed) triggers() *Triggers { return &Triggers{Store: b.st, IDs: b.ids, Nudge: b, now: b.dbNow} }
func (b *bed) plans() *Plans       { return &Plans{Store: b.st, Fired: b, now: b.dbNow} }

// node is one scheduler's taker, with or without a fast path.
func (b *bed) node(path FastPath) *taker {
	return &taker{store: b.st, ids: b.ids, specs: b, maker: b, fired: b, fast: &fast{path: path, clock: b.now},
		clock: &dbClock{own: b.now, db: b.dbNow}, marks: &marks{of: map[domain.ID]*mark{}}}
}

// put saves a version of a job's schedule.
func (b *bed) put(job domain.ID, version int, spec domain.JobSpec, enabled bool) error {
	return b.putIn(b.t.Context(), job, version, spec, enabled)
}

// putIn does so in the transaction of ctx.
func (b *bed) putIn(ctx context.Context, job domain.ID, version int, spec domain.JobSpec, enabled bool) error {
	spec.Name = fmt.Sprintf("job_%d", job)
	b.mu.Lock()
	if b.specs[job] == nil {
		b.specs[job] = map[int]domain.JobSpec{}
	}
	b.specs[job][version] = spec
	b.mu.Unlock()
	return b.triggers().Put(ctx, project, job, version, spec, enabled)
}

func (b *bed) mustPut(job domain.ID, version int, spec domain.JobSpec) {
	b.t.Helper()
	if err := b.put(job, version, spec, true); err != nil {
		b.t.Fatal(err)
	}
}

func cronSpec(expr string) domain.JobSpec {
	return domain.JobSpec{Timezone: "UTC", BizDate: domain.BizDateT, Misfire: domain.MisfireOnce,
		Schedule: domain.Schedule{Kind: domain.ScheduleCron, Expr: expr, Dialect: "unix"}}
}

func everySpec(d time.Duration) domain.JobSpec {
	s := cronSpec("")
	s.Schedule = domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: d.Milliseconds()}
	return s
}

// due is what a node's wheel would give out now.
func (b *bed) due() []plan.Due {
	b.t.Helper()
	rows, err := b.st.Due(context.Background(), b.now(), 10_000)
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

// drain takes what is due until nothing is.
func (b *bed) drain(n *taker) {
	b.t.Helper()
	for tries := 0; len(b.due()) > 0; tries++ {
		if tries > 1000 {
			b.t.Fatal("something stays due for ever")
		}
		n.take(b.t.Context(), b.due())
	}
}

// fires lists a job's instances as times of day with their business dates.
func (b *bed) fires(job domain.ID) []string {
	b.t.Helper()
	all, err := b.instances(b.t.Context(), "job_id = ?", job)
	if err != nil {
		b.t.Fatal(err)
	}
	out := make([]string, len(all))
	for i, in := range all {
		out[i] = in.Expected.Format("02T15:04:05") + " " + in.BizDate.String()
	}
	return out
}

func (b *bed) trigger(job domain.ID) plan.Trigger {
	b.t.Helper()
	tr, err := b.st.LockOf(b.t.Context(), job)
	if err != nil {
		b.t.Fatal(err)
	}
	return tr
}

// account is a job's ledger up to now and a day on.
func (b *bed) account(job domain.ID, from time.Time) Account {
	b.t.Helper()
	l, err := b.plans().Ledger(b.t.Context(), LedgerQuery{Job: job, From: from, To: b.now().Add(24 * time.Hour)})
	if err != nil {
		b.t.Fatal(err)
	}
	a := l.Jobs[0]
	if a.Planned != a.Fired+a.Skipped+a.Missed+a.Pending+a.Absent {
		b.t.Fatalf("the account does not add up: %+v", a)
	}
	return a
}

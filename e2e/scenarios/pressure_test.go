package scenarios

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/modules/broker"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// What a system under pressure owes to everybody else.
const (
	oldestBeat  = 5 * time.Second
	slowestPage = 2 * time.Second
)

// Five thousand wait for a target when the only worker comes. All end, each once, and meanwhile the worker is heard of,
// the broker keeps its office and pages answer. (J-B3)
func TestManyReadyAtOnceStarveNobody(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		const jobs, fires = 1000, 5
		center := s.Center(t, setup.Opts{})
		c := s.Client(t, center)
		db := tables(t, s.DatabaseURL(center))
		began := time.Now()
		c.Apply(burst(began.AddDate(0, 6, 0), jobs, fires))
		lead := 6*time.Second + 2*time.Since(began) // what applying takes is the machine's business
		c.Apply(burst(time.Now().Add(lead), jobs, fires))
		setup.Until(t, lead+awaited, "all are ready", func() bool {
			return db.number("SELECT COUNT(*) FROM instance WHERE label = 'queued'") == jobs*fires
		}, func() string { return center.Tail(10) })
		epoch := db.number("SELECT epoch FROM epoch WHERE name = 'broker'")

		redis, err := transport.Open(t.Context(), s.Redis)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = redis.Close() })
		s.Worker(t, setup.Opts{})
		began = time.Now()
		pages := []string{"/", "/jobs", "/instances", "/workers"}
		for asked := 0; db.number("SELECT EXISTS (SELECT 1 FROM instance WHERE state IN ('running', 'retrying'))") == 1; asked++ {
			if time.Since(began) > awaited {
				t.Fatalf("%d of %d have not ended", db.number("SELECT COUNT(*) FROM instance WHERE state = 'running'"), jobs*fires)
			}
			beats, now, err := transport.Workers(t.Context(), redis)
			if err != nil || len(beats) != 1 {
				t.Fatalf("%d workers are in the registry: %v", len(beats), err)
			}
			if age := now.Sub(time.UnixMilli(beats[0].Stamp)); age > oldestBeat {
				t.Errorf("the worker was last heard of %s ago", age)
			}
			answered(t, c, pages[asked%len(pages)])
		}
		t.Logf("%d ended in %s", jobs*fires, time.Since(began).Round(10*time.Millisecond))
		if now := db.number("SELECT epoch FROM epoch WHERE name = 'broker'"); now != epoch {
			t.Errorf("the broker's epoch went from %d to %d", epoch, now)
		}
		if n := db.number("SELECT COUNT(*) FROM instance WHERE state = 'success' AND attempts = 1 AND finished_at > 0"); n != jobs*fires {
			t.Errorf("%d of %d ended well at the first sending", n, jobs*fires)
		}
		if n := db.number("SELECT COUNT(DISTINCT instance_id) FROM attempt WHERE granted_at > 0 AND state = 'ended'"); n != jobs*fires {
			t.Errorf("%d of %d have an attempt that was granted and ended", n, jobs*fires)
		}
		if n := db.number("SELECT COUNT(*) FROM attempt"); n != jobs*fires {
			t.Errorf("%d attempts for %d instances", n, jobs*fires)
		}
	})
}

// burst is the file of so many jobs that fire in each of some seconds from about first on, and not again within the year.
func burst(first time.Time, jobs, fires int) string {
	first = first.UTC()
	if first.Second()+fires > 60 {
		first = first.Truncate(time.Minute).Add(time.Minute)
	}
	cron := fmt.Sprintf("%d-%d %d %d %d %d *", first.Second(), first.Second()+fires-1, first.Minute(), first.Hour(), first.Day(), first.Month())
	docs := make([]string, jobs)
	for i := range docs {
		docs[i] = fmt.Sprintf("version: v1\njob:\n  name: burst_%04d\n  cron: %q\n  dialect: seconds\n  timezone: UTC\n  overlap: allow\n  misfire: fire_all\n  exec: {type: noop}\n", i, cron)
	}
	return strings.Join(docs, "---\n")
}

// answered asks for a page, which must come in time.
func answered(t *testing.T, c *setup.Client, page string) {
	t.Helper()
	began := time.Now()
	a, err := c.Call(http.MethodGet, page, "", "Accept", "text/html")
	if err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, "</html>") {
		t.Fatalf("GET %s: %v %d", page, err, a.Status)
	}
	if took := time.Since(began); took > slowestPage {
		t.Errorf("%s took %s", page, took)
	}
}

// inside is a view of a site's tables.
type inside struct {
	t  *testing.T
	db *dbx.DB
}

func tables(t *testing.T, url string) inside {
	t.Helper()
	db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return inside{t, db}
}

// number runs a query whose answer is one number.
func (in inside) number(query string) (n int64) {
	in.t.Helper()
	if err := in.db.SQL().QueryRowContext(in.t.Context(), query).Scan(&n); err != nil {
		in.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// What no target can run stands in lane default by the thousand. The broker reads it once and then a page now and then:
// what comes meanwhile, in lane high and behind it in its own lane, is not served at the price of all that waits.
func TestWhatNobodyCanRunIsReadOnce(t *testing.T) {
	const waiting, rounds = 5000, 50
	dbtest.Each(t, func(t *testing.T, url string) {
		y := newYard(t, url)
		exotic := y.job(domain.JobSpec{Priority: domain.LaneDefault, Overlap: domain.OverlapAllow, Exec: domain.Exec{Type: "cobol"}})
		plain := y.job(domain.JobSpec{Priority: domain.LaneDefault, Overlap: domain.OverlapAllow, Exec: domain.Exec{Type: "shell"}})
		high := y.job(domain.JobSpec{Priority: domain.LaneHigh, Overlap: domain.OverlapAllow, Exec: domain.Exec{Type: "shell"}})
		for range waiting / 500 {
			y.fire(exotic, domain.TriggerManual, 500)
		}
		y.begin()
		setup.Until(t, awaited, "all that waits was looked at", func() bool { return y.full[domain.LaneDefault].Load() >= waiting/500 }, func() string { return "" })
		y.full[domain.LaneDefault].Store(0)
		began := time.Now()
		for i := 1; i <= rounds; i++ {
			y.fire(high, domain.TriggerManual, 1)
			y.fire(plain, domain.TriggerManual, 1)
			y.await(2 * i)
		}
		// A look each 5 s and a patrol of a page each 250 ms, and as much again for the beginning.
		took := time.Since(began)
		most := waiting/500*(2+int64(took/(5*time.Second))) + 2 + int64(took/(250*time.Millisecond))
		n := y.full[domain.LaneDefault].Load()
		t.Logf("%d rounds in %s read %d full pages of lane default", rounds, took.Round(time.Millisecond), n)
		if n > most {
			t.Errorf("%d rounds in %s read %d full pages of lane default, more than %d", rounds, took, n, most)
		}
	})
}

// Forty instances of one job, each of which takes no time, are held behind each other. They go at the speed of the
// pipeline: by the broker's poll of 250 ms alone they would take ten seconds.
func TestHeldOnesGoOneAfterTheOtherAtOnce(t *testing.T) {
	const n = 40
	dbtest.Each(t, func(t *testing.T, url string) {
		y := newYard(t, url)
		queues := y.job(domain.JobSpec{Priority: domain.LaneDefault, Overlap: domain.OverlapQueue, Exec: domain.Exec{Type: "shell"}})
		y.fire(queues, domain.TriggerBackfill, n)
		y.begin()
		y.await(n)
		var granted []int64
		if err := y.db.Scan(t.Context(), &granted, "SELECT granted_at FROM attempt ORDER BY granted_at"); err != nil {
			t.Fatal(err)
		}
		apart := make([]int64, len(granted)-1)
		for i := range apart {
			apart[i] = granted[i+1] - granted[i]
		}
		slices.Sort(apart)
		t.Logf("ms from one grant to the next: %v", apart)
		if fast := apart[len(apart)/5]; fast > 200 { // a busy machine makes most of them slow, the poll alone all of them
			t.Errorf("%d held ones followed each other after %v ms", n, apart)
		}
		y.mu.Lock()
		defer y.mu.Unlock()
		if y.together > 1 {
			t.Errorf("%d ran at once", y.together)
		}
	})
}

// yard is a broker over a real database with a worker that claims what it is sent and reports its success at once.
type yard struct {
	t    *testing.T
	db   *dbx.DB
	st   *store.Store
	life *instance.Lifecycle
	b    *broker.Broker
	ids  *domain.IDs

	specs    map[domain.ID]domain.JobSpec
	full     map[domain.Lane]*atomic.Int64 // full pages of ready instances that were read
	said     chan broker.Letter
	letters  atomic.Int64
	ended    atomic.Int64
	mu       sync.Mutex
	running  int
	together int // the most that ran at once
}

func newYard(t *testing.T, url string) *yard {
	db, err := dbx.Open(t.Context(), url, dbx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{t: t, db: db, st: store.New(db), specs: map[domain.ID]domain.JobSpec{}, full: map[domain.Lane]*atomic.Int64{}, said: make(chan broker.Letter, 10_000)}
	for _, l := range domain.Lanes {
		y.full[l] = &atomic.Int64{}
	}
	now := func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
	if y.ids, err = domain.NewIDs(1, now); err != nil {
		t.Fatal(err)
	}
	y.life = &instance.Lifecycle{Store: y.st, IDs: y.ids, Now: now, Specs: y, Renderer: y, Deps: y, Tally: y, Listener: y}
	y.b = broker.New(&broker.Broker{Queue: y, Judge: y.life, Overlaps: y.life, Clock: y.life, Rows: y.st, Specs: y, Mail: y, Sender: y, Fleet: y, IDs: y.ids, Mono: time.Now})
	t.Cleanup(func() { _ = db.Close() })
	return y
}

func (y *yard) job(spec domain.JobSpec) domain.ID {
	spec.Name, spec.TimeoutSec = fmt.Sprint("job", len(y.specs)), 60
	id := y.ids.Next()
	y.specs[id] = spec
	return id
}

// fire makes instances of a job, each of another business date.
func (y *yard) fire(job domain.ID, by domain.TriggerKind, n int) {
	y.t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	news := make([]domain.NewInstance, n)
	for i := range news {
		news[i] = domain.NewInstance{ProjectID: 7, JobID: job, JobName: y.specs[job].Name, Version: 1, Trigger: by, BizDate: domain.BizDateOf(now.AddDate(0, 0, -i), time.UTC), Expected: now}
	}
	if _, err := y.life.Create(y.t.Context(), news); err != nil {
		y.t.Fatal(err)
	}
}

// begin lets the broker work until the test ends.
func (y *yard) begin() {
	ctx, stop := context.WithCancel(y.t.Context())
	over := make(chan error, 1)
	go func() { over <- y.b.Term(ctx, 1) }()
	y.t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			y.t.Error(err)
		}
	})
}

func (y *yard) await(n int) {
	y.t.Helper()
	for began := time.Now(); y.ended.Load() < int64(n); time.Sleep(time.Millisecond) {
		if time.Since(began) > awaited {
			y.t.Fatalf("%d of %d have ended", y.ended.Load(), n)
		}
	}
}

// Ready pages from the database and counts.
func (y *yard) Ready(ctx context.Context, lane domain.Lane, after domain.Instance, limit int) ([]domain.Instance, error) {
	page, err := y.st.Ready(ctx, lane, after, limit)
	if len(page) >= 500 {
		y.full[lane].Add(1)
	}
	return page, err
}

// Dispatch commits attempts.
func (y *yard) Dispatch(ctx context.Context, as []domain.Assignment) ([]domain.Attempt, error) {
	return y.life.Dispatch(ctx, as)
}

// Withdraw takes attempts back.
func (y *yard) Withdraw(ctx context.Context, ids []domain.ID, outcome domain.Outcome, note string) ([]domain.ID, error) {
	return y.life.Withdraw(ctx, ids, outcome, note)
}

// Spec is the definition of a job.
func (y *yard) Spec(_ context.Context, job domain.ID, _ int) (domain.JobSpec, error) {
	return y.specs[job], nil
}

// Render fills nothing in.
func (y *yard) Render(_ context.Context, spec domain.JobSpec, _ domain.Instance, _ domain.Attempt) (instance.Rendered, error) {
	return instance.Rendered{Exec: spec.Exec.Spec}, nil
}

// Attach knows no dependencies.
func (y *yard) Attach(context.Context, []domain.Instance) (map[domain.ID]int, error) { return nil, nil }

// Reopened opens nothing.
func (y *yard) Reopened(context.Context, []domain.Instance) error { return nil }

// Waiting are none.
func (y *yard) Waiting(context.Context, domain.ID) ([]domain.InstanceDep, error) { return nil, nil }

// Waive waives nothing.
func (y *yard) Waive(context.Context, domain.ID) error { return nil }

// Record keeps no figures.
func (y *yard) Record(context.Context, []domain.Change) error { return nil }

// Changed hands committed changes to the broker and counts.
func (y *yard) Changed(changes []domain.Change) {
	y.b.Changed(changes)
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, c := range changes {
		switch {
		case c.Instance.Label == domain.Dispatched:
			y.running++
			y.together = max(y.together, y.running)
		case c.Instance.State == domain.Success:
			y.running--
			y.ended.Add(1)
		}
	}
}

// Send lets the worker claim what it is sent.
func (y *yard) Send(_ context.Context, worker string, boot int64, _ string, m protocol.Message) error {
	y.say(protocol.Uplink{Worker: worker, Boot: boot, Claim: &protocol.Claim{Message: m.ID, Nonce: m.ID, IDs: m.IDs}})
	return nil
}

func (y *yard) say(u protocol.Uplink) {
	y.said <- broker.Letter{ID: fmt.Sprint(y.letters.Add(1)), Said: u}
}

// Post lets the worker report the success of what it is granted.
func (y *yard) Post(_ context.Context, out []broker.Outgoing) error {
	for _, o := range out {
		if o.Down.Answer == nil {
			continue
		}
		var rs []protocol.Report
		for _, task := range o.Down.Answer.Grants {
			now := time.Now().UnixMilli()
			rs = append(rs, protocol.Report{Attempt: task.Attempt, Outcome: protocol.OutcomeSuccess, Started: now, Finished: now})
		}
		if len(rs) > 0 {
			y.say(protocol.Uplink{Worker: o.Worker, Boot: o.Boot, Reports: rs})
		}
	}
	return nil
}

// Read hands out what the worker said.
func (y *yard) Read(ctx context.Context, limit int) ([]broker.Letter, error) {
	var out []broker.Letter
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(200 * time.Millisecond):
		return nil, nil
	case l := <-y.said:
		out = append(out, l)
	}
	for len(out) < limit {
		select {
		case l := <-y.said:
			out = append(out, l)
		default:
			return out, nil
		}
	}
	return out, nil
}

// Remove has nothing to remove: what was read is gone.
func (y *yard) Remove(context.Context, []string) error { return nil }

// Look tells of one worker.
func (y *yard) Look(context.Context) (domain.FleetView, error) {
	return domain.FleetView{Workers: []domain.Worker{{Name: "w", Boot: 1, State: domain.WorkerAvailable, Types: []string{"shell"}, Cores: 2,
		Lanes: map[domain.Lane]int{domain.LaneHigh: 4, domain.LaneDefault: 4, domain.LaneLow: 4}}}}, nil
}

// Expect is told of lives that hold attempts.
func (y *yard) Expect([]domain.Boot) {}

// Bury buries nobody.
func (y *yard) Bury(context.Context, domain.Boot) error { return nil }

package scenarios

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/e2e/setup/wire"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/redistest"
)

// answerWithin is how long anybody waits for a page, whatever the stores do.
const answerWithin = 5 * time.Second

// brokenDB is a database that may be broken, since nobody else is on its server.
type brokenDB struct {
	t      *testing.T
	server *stores.Server
	disk   *stores.Disk // nil: that of the machine
	root   *sql.DB      // its administrator
	url    string
}

const ownDatabase = "ax_faults"

// smallServer are options that keep a private server small.
var smallServer = []string{"--innodb-buffer-pool-size=24M", "--innodb-log-file-size=8M"}

func ownDB(t *testing.T) *brokenDB {
	t.Helper()
	if !stores.HasMariaDB() {
		t.Skip("MariaDB is not installed; e2e/setup/install.sh brings it")
	}
	server, err := stores.MariaDBWith("", smallServer...)
	if err != nil {
		t.Fatal(err)
	}
	return ownedDB(t, server)
}

func ownedDB(t *testing.T, server *stores.Server) *brokenDB {
	t.Helper()
	t.Cleanup(server.Stop)
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.Logger = "root", "unix", server.Dir+"/s", &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	b := &brokenDB{t: t, server: server, root: sql.OpenDB(connector), url: server.URL + ownDatabase}
	t.Cleanup(func() { _ = b.root.Close() })
	b.do("CREATE DATABASE " + ownDatabase + " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
	return b
}

// do is a deed of the administrator.
func (b *brokenDB) do(statement string) {
	b.t.Helper()
	if _, err := b.root.ExecContext(b.t.Context(), statement); err != nil {
		b.t.Fatalf("%s: %v", statement, err)
	}
}

// killAll ends every connection of AX.
func (b *brokenDB) killAll() { b.do("KILL CONNECTION USER ax") }

// lock holds locks by a statement in a session of somebody else, until the returned function is called.
func (b *brokenDB) lock(statements ...string) (release func()) {
	b.t.Helper()
	conn, err := b.root.Conn(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, s := range append([]string{"USE " + ownDatabase}, statements...) {
		if _, err := conn.ExecContext(b.t.Context(), s); err != nil {
			b.t.Fatalf("%s: %v", s, err)
		}
	}
	return func() {
		for _, s := range []string{"ROLLBACK", "UNLOCK TABLES"} {
			if _, err := conn.ExecContext(context.WithoutCancel(b.t.Context()), s); err != nil {
				b.t.Errorf("%s: %v", s, err)
			}
		}
		_ = conn.Close()
	}
}

// fault is one way in which the database fails all of AX at once.
type fault struct {
	name  string
	lasts time.Duration
	begin func(t *testing.T, b *brokenDB)
	end   func(t *testing.T, b *brokenDB)
	// reads says that what only looks still works; some, that some changes do too.
	reads, some bool
	// said is what readiness says of the database meanwhile.
	said string
	// kind is the incident that tells of it afterwards.
	kind domain.IncidentKind
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var faults = []fault{
	{
		name: "killed and back", lasts: 20 * time.Second, said: "refused", kind: domain.IncidentDatabaseAway,
		begin: func(t *testing.T, b *brokenDB) { must(t, b.server.Kill()) },
		end:   func(t *testing.T, b *brokenDB) { must(t, b.server.Restart()) },
	}, {
		name: "frozen", lasts: 15 * time.Second, said: "", kind: domain.IncidentDatabaseAway,
		begin: func(t *testing.T, b *brokenDB) { must(t, b.server.Freeze()) },
		end:   func(t *testing.T, b *brokenDB) { must(t, b.server.Thaw()) },
	}, {
		name: "read only", lasts: 20 * time.Second, reads: true, said: "read", kind: domain.IncidentDatabaseRefuses,
		begin: func(_ *testing.T, b *brokenDB) { b.do("SET GLOBAL read_only = 1") },
		end:   func(_ *testing.T, b *brokenDB) { b.do("SET GLOBAL read_only = 0") },
	}, {
		name: "full disk", lasts: 15 * time.Second, reads: true, some: true, said: "full", kind: domain.IncidentDatabaseRefuses,
		begin: func(t *testing.T, b *brokenDB) { must(t, b.disk.Fill()) },
		end:   func(t *testing.T, b *brokenDB) { must(t, b.disk.Clear()) },
	},
}

// The database is away for a while in each of the ways that it has. Scheduler and worker stay alive, what runs ends and
// is booked afterwards, the fires of the gap are made good, and meanwhile people are told within seconds.
func TestABrokenDatabaseCostsLatencyOnly(t *testing.T) {
	t.Parallel()
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		t.Run("redis", func(t *testing.T) {
			for _, f := range faults {
				t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) {
					t.Parallel()
					f.strike(t)
				})
			}
		})
	})
}

func (f fault) strike(t *testing.T) {
	b := f.database(t)
	s := setup.NewSite(t, b.url, redistest.Redis(t))
	p := newPager(t)
	center := s.Center(t, setup.Opts{Name: "center", Env: p.env()})
	worker := s.Worker(t, setup.Opts{Name: "w"})
	life, c := center.PID(), s.Client(t, center)
	reader := login(t, center.URL)
	d, open := s.Diary(t), c.Path("open")
	c.Apply(files(shellJob("long", d.Command("long", "while ! test -e "+open+"; do sleep 0.1; done"), "timeout: 300"),
		shellJob("extra", "true", "overlap: allow")))
	long := c.Trigger("long")
	c.Await(long.ID, "running/executing")

	var began, healed time.Time
	loads := prove(t, s, c, load{jobs: 8, cron: "*/2 * * * * *", period: 2 * time.Second, lasts: 2*f.lasts + 6*time.Second}, func() {
		began = time.Now()
		f.begin(t, b)
		if !f.some { // there, the first fires take what room is left
			f.told(t, c, reader)
		}
		must(t, touch(open)) // it ends while its outcome cannot be booked
		setup.Until(t, 10*time.Second, "the running task ends", func() bool { return len(d.Of("end", long.TraceID)) == 1 }, func() string { return "" })
		until(began.Add(f.lasts / 3))
		if !f.reads {
			f.since(t, c, reader, long.ID, began)
		}
		for time.Since(began) < f.lasts {
			f.told(t, c, reader)
			until(time.Now().Add(300 * time.Millisecond))
			if !worker.Answers() {
				t.Errorf("the worker is not ready, although it needs no database")
			}
		}
		f.end(t, b)
		healed = time.Now()
		center.Ready()
		t.Logf("%s: ready again %s after it was mended", f.name, time.Since(healed).Round(10*time.Millisecond))
	})
	if done := c.Await(long.ID, "success"); len(done.Attempts) != 1 {
		t.Errorf("the task that ran over the fault should have one attempt: %v", done)
	}
	if !center.Alive() || center.PID() != life {
		t.Error("the center ended")
	}
	f.caughtUp(t, loads, healed)
	p.wants(t, string(f.kind), "the database, the database over")
	f.toldAfterwards(t, c, began, healed)
}

// toldAfterwards expects that one incident tells of the fault, with its beginning and its end.
func (f fault) toldAfterwards(t *testing.T, c *setup.Client, began, healed time.Time) {
	t.Helper()
	var all struct {
		Incidents []struct {
			Message              string
			OpenedAt, ResolvedAt time.Time
		}
	}
	must(t, c.Get("/api/v1/incidents?kind="+string(f.kind), &all))
	if len(all.Incidents) != 1 {
		t.Fatalf("%d incidents tell of one fault: %+v", len(all.Incidents), all.Incidents)
	}
	i, slack := all.Incidents[0], 5*time.Second
	if f.some { // it refuses what needs more room than it has
		slack *= 2
	}
	if i.OpenedAt.Sub(began).Abs() > slack || i.ResolvedAt.Sub(healed).Abs() > slack || !strings.Contains(i.Message, "center ") {
		t.Errorf("of a fault from %s to %s is told: %+v", began.UTC(), healed.UTC(), i)
	}
}

// since expects that page, API and command name the database and since when it is away.
func (f fault) since(t *testing.T, c *setup.Client, reader *reader, id string, began time.Time) {
	t.Helper()
	a, err := c.Call(http.MethodGet, "/api/v1/instances/"+id+"/why", "")
	var said struct {
		Error struct {
			Store, Message string
			Since          time.Time
		}
	}
	if err != nil || json.Unmarshal([]byte(a.Body), &said) != nil || said.Error.Store != "database" || said.Error.Since.Sub(began).Abs() > 4*time.Second {
		t.Errorf("of a fault since %s a program is told: %d %s (%v)", began, a.Status, a.Body, err)
	}
	at := said.Error.Since.UTC()
	if p := reader.get("/instances/"+id, "en"); !strings.Contains(p.Body, "The database has not answered since "+at.Format("2006-01-02")) || !strings.Contains(p.Body, "Nothing is lost") {
		t.Errorf("the page says: %.2000s", p.Body)
	}
	if r := c.Run("why", id); r.Code != 1 || !strings.Contains(r.Err, "the database has not answered since "+at.Format("2006-01-02T15:04")) || !strings.Contains(r.Err, "nothing is lost") {
		t.Errorf("the command says: %+v", r)
	}
}

func (f fault) database(t *testing.T) *brokenDB {
	t.Helper()
	if f.name != "full disk" {
		return ownDB(t)
	}
	if !stores.HasMariaDB() || !stores.HasDisk() {
		t.Skip("a full disk takes MariaDB, and root with the right to mount: nothing was tested of it")
	}
	server, disk, err := stores.MariaDBOnDisk("", 160<<20, smallServer...)
	if err != nil {
		t.Fatal(err)
	}
	b := ownedDB(t, server)
	b.disk = disk
	return b
}

// told expects that the process lives, that readiness names the database, and that people and programs get an answer
// in time that says what is the matter.
func (f fault) told(t *testing.T, c *setup.Client, reader *reader) {
	t.Helper()
	if a := reader.get("/healthz", "en"); a.Status != http.StatusOK {
		t.Errorf("/healthz: %d", a.Status)
	}
	for lang, words := range map[string]string{"en": "Not available right now", "zh-CN": "暂时不可用"} {
		for _, page := range []string{"/", "/jobs", "/instances"} {
			a := reader.get(page, lang)
			switch {
			case f.reads && a.Status == http.StatusOK:
			case a.Status != http.StatusServiceUnavailable || a.RetryAfter == "" || !strings.Contains(a.Body, words):
				t.Errorf("%s in %s: %d, Retry-After %q: %.300s", page, lang, a.Status, a.RetryAfter, a.Body)
			}
		}
	}
	began := time.Now()
	a, err := c.Call(http.MethodPost, "/api/v1/jobs/extra/trigger", "{}")
	refused := a.Status == http.StatusServiceUnavailable || f.some && a.Status == http.StatusCreated
	if took := time.Since(began); err != nil || !refused || took > answerWithin {
		t.Errorf("a change by a program: after %s %d %s (%v)", took, a.Status, a.Body, err)
	}
	if !f.reads && !strings.Contains(a.Body, "nothing is lost") {
		t.Errorf("a program is not told that nothing is lost: %s", a.Body)
	}
	if p := database(t, reader); p.OK || !strings.Contains(p.Note, f.said) {
		t.Errorf("readiness says of the database: %+v", p)
	}
}

// caughtUp says how long after the mending the last fire of the gap began.
func (f fault) caughtUp(t *testing.T, d *setup.Diary, healed time.Time) {
	t.Helper()
	var last time.Duration
	for _, e := range d.Of("start", "") {
		if at, err := time.Parse(time.RFC3339, e.Expect); err == nil && at.Before(healed) && e.At.After(healed) {
			last = max(last, e.At.Sub(healed))
		}
	}
	t.Logf("%s: the last fire of the gap began %s after it was mended", f.name, last.Round(10*time.Millisecond))
	if last > 20*time.Second {
		t.Errorf("%s: the gap took %s to be made good", f.name, last)
	}
}

// database is what readiness says of it.
func database(t *testing.T, r *reader) (p struct {
	OK   bool
	Note string
}) {
	t.Helper()
	var ready struct {
		Parts map[string]struct {
			OK   bool
			Note string
		}
	}
	if a := r.get("/readyz", "en"); json.Unmarshal([]byte(a.Body), &ready) != nil {
		t.Errorf("/readyz: %d %s", a.Status, a.Body)
	}
	return ready.Parts["database"]
}

// All connections of AX are ended at once, again and again.
func TestKilledConnectionsLoseNothing(t *testing.T) {
	t.Parallel()
	onOwnDB(t, func(t *testing.T, b *brokenDB) {
		s := setup.NewSite(t, b.url, redistest.Redis(t))
		center := s.Center(t, setup.Opts{})
		s.Worker(t, setup.Opts{})
		prove(t, s, s.Client(t, center), load{jobs: 20, cron: "*/2 * * * * *", period: 2 * time.Second, lasts: 20 * time.Second}, func() {
			for range 10 {
				b.killAll()
				until(time.Now().Add(700 * time.Millisecond))
			}
		})
		center.Ready()
	})
}

// The network breaks behind every third commit: it is done, and nobody knows.
func TestCommitsWhoseAnswerIsLostLoseNothing(t *testing.T) {
	t.Parallel()
	onOwnDB(t, func(t *testing.T, b *brokenDB) {
		w, url := wire.Through(t, b.url)
		s := setup.NewSite(t, url, redistest.Redis(t))
		center := s.Center(t, setup.Opts{})
		s.Worker(t, setup.Opts{})
		prove(t, s, s.Client(t, center), load{jobs: 20, cron: "*/2 * * * * *", period: 2 * time.Second, lasts: 24 * time.Second}, func() {
			commits, lost := make(chan int, 1), 0
			commits <- 0
			w.Judge(func(sql string) wire.Deed {
				if sql != "COMMIT" {
					return wire.Pass
				}
				n := <-commits + 1
				commits <- n
				if n%3 == 0 {
					lost++
					return wire.LoseAnswer
				}
				return wire.Pass
			})
			until(time.Now().Add(10 * time.Second))
			w.Judge(nil)
			<-commits
			t.Logf("%d commits were done whose answer was lost", lost)
			if lost == 0 {
				t.Error("no commit lost its answer: nothing was tested")
			}
		})
		center.Ready()
	})
}

// One taking hangs with all that it has locked. Its owner gives the connection up, the server does not hear of that, and
// ends the transaction that nobody goes on with. (G-B10)
func TestAHangingTakingHoldsOthersUpForAWhileOnly(t *testing.T) {
	t.Parallel()
	onOwnDB(t, func(t *testing.T, b *brokenDB) {
		w, url := wire.Through(t, b.url)
		s := setup.NewSite(t, url, redistest.Redis(t))
		center := s.Center(t, setup.Opts{})
		s.Worker(t, setup.Opts{})
		prove(t, s, s.Client(t, center), load{jobs: 20, cron: "*/2 * * * * *", period: 2 * time.Second, lasts: 30 * time.Second}, func() {
			hung := make(chan struct{}, 1)
			hung <- struct{}{}
			w.Judge(func(sql string) wire.Deed {
				if strings.HasPrefix(sql, "UPDATE `trigger`") {
					select {
					case <-hung:
						return wire.Hold
					default:
					}
				}
				return wire.Pass
			})
			setup.Until(t, 10*time.Second, "a taking hangs", func() bool { return len(hung) == 0 }, func() string { return "" })
		})
		center.Ready()
	})
}

// Somebody who is none of us holds the rows of all triggers for over a minute. Nothing of it is lost without a trace, and
// it is told while it lasts. (J-B2)
func TestTriggersLockedForAMinuteAreLateByPolicyAndNoneIsLost(t *testing.T) {
	t.Parallel()
	onOwnDB(t, func(t *testing.T, b *brokenDB) {
		s := setup.NewSite(t, b.url, redistest.Redis(t))
		center := s.Center(t, setup.Opts{})
		s.Worker(t, setup.Opts{})
		c, d := s.Client(t, center), s.Diary(t)
		file := func(enabled bool) string {
			var jobs []string
			for i := range 10 {
				name := fmt.Sprintf("minutely_%d", i)
				jobs = append(jobs, shellJob(name, d.Command(name, ""), fmt.Sprintf("cron: \"0 * * * * *\"\ndialect: seconds\nenabled: %v", enabled)))
			}
			jobs = append(jobs,
				shellJob("often", d.Command("often", ""), fmt.Sprintf("every: 2s\noverlap: allow\nenabled: %v", enabled)),
				shellJob("all", d.Command("all", ""), fmt.Sprintf("every: 10s\noverlap: allow\nmisfire: fire_all\nenabled: %v", enabled)))
			return files(jobs...)
		}
		c.Apply(file(true))
		from := time.Now().Truncate(time.Second)
		setup.Until(t, awaited, "fires come", func() bool { return len(d.Of("end", "")) > 0 }, func() string { return "" })
		release := b.lock("BEGIN", "SELECT COUNT(*) FROM `trigger` FOR UPDATE")
		locked := time.Now()
		until(locked.Add(4 * time.Second)) // what had been taken before ends
		before := len(d.Of("start", ""))
		if r := c.Run("pause", "often"); r.Code != 1 || !strings.Contains(r.Err, "locked by another transaction") || !strings.Contains(r.Err, "; tried ") || strings.Contains(r.Err, "away") {
			t.Errorf("a command that waits for a lock says: %+v", r)
		}
		until(locked.Add(64 * time.Second))
		if after := len(d.Of("start", "")); after != before {
			t.Errorf("%d tasks began although all triggers were locked", after-before)
		}
		if tail := center.Tail(500); !strings.Contains(tail, "alert=trigger_locked") {
			t.Errorf("nobody was told that the rows are locked:\n%s", tail)
		}
		release()
		freed := time.Now()
		setup.Until(t, awaited, "the locks are told", func() bool { return strings.Contains(c.Must("incidents"), "database_locked") }, func() string { return c.Must("incidents") })
		to := freed.Add(6 * time.Second).Truncate(time.Second)
		until(to.Add(time.Second))
		c.Apply(file(false))

		var a account
		setup.Until(t, awaited, "the books balance", func() bool {
			a = ledgerOf(c, from, to)
			return a.Balanced
		}, func() string { return fmt.Sprintf("%+v", a) })
		for _, j := range a.Jobs {
			switch {
			case strings.HasPrefix(j.Job, "minutely") && (j.Fired != j.Planned || j.Planned == 0):
				t.Errorf("a minute within the lock must be made good: %+v", j)
			case j.Job == "all" && j.Fired != j.Planned:
				t.Errorf("fire_all makes all good: %+v", j)
			case j.Job == "often" && (j.Missed == 0 || j.Fired+j.Missed != j.Planned):
				t.Errorf("what is over a minute late is fired once, and the others are listed: %+v", j)
			}
		}
		setup.Until(t, awaited, "all have ended", func() bool { return len(c.Instances("--state", "running")) == 0 }, func() string { return "" })
		once := map[string]int{}
		for _, e := range within(d.Of("start", ""), from, to) {
			once[e.Job+e.Expect]++
		}
		for key, n := range once {
			if n != 1 {
				t.Errorf("%s began %d times", key, n)
			}
		}
	})
}

// All connections that pages have wait for locks. The scheduler and the broker have their own.
func TestPagesCannotStarveTheScheduler(t *testing.T) {
	t.Parallel()
	onOwnDB(t, func(t *testing.T, b *brokenDB) {
		s := setup.NewSite(t, b.url, redistest.Redis(t))
		center := s.Center(t, setup.Opts{})
		s.Worker(t, setup.Opts{})
		c, d := s.Client(t, center), s.Diary(t)
		c.Apply(shellJob("tick", d.Command("tick", ""), eachSecond, "overlap: allow"))
		reader := login(t, center.URL)
		setup.Until(t, awaited, "it fires", func() bool { return len(d.Of("end", "")) > 2 }, func() string { return "" })
		release := b.lock("LOCK TABLES audit WRITE, idempotency WRITE")
		defer release()
		from := time.Now().Add(time.Second)
		stop := make(chan struct{})
		tally := make(chan int, 60)
		for range 60 { // the pool of pages has 16
			go func() {
				n := 0
				for {
					select {
					case <-stop:
						tally <- n
						return
					default:
						n += reader.patient("/audit")
					}
				}
			}()
		}
		until(from.Add(15 * time.Second))
		close(stop)
		slow := 0
		for range 60 {
			slow += <-tally
		}
		to := time.Now().Add(-time.Second)
		if slow < 60 {
			t.Errorf("only %d pages waited: the pool was not taken", slow)
		}
		var worst time.Duration
		var fires int
		for _, e := range within(d.Of("start", ""), from, to) {
			at := instant(t, e.Expect)
			worst = max(worst, e.At.Sub(at))
			fires++
		}
		t.Logf("%d pages failed in %s after waiting; %d fires meanwhile, the latest %s late", slow, to.Sub(from).Round(time.Second), fires, worst)
		if planned := int(to.Sub(from) / time.Second); fires < planned-1 || worst > 2*time.Second {
			t.Errorf("%d of %d fires while pages waited for the database, the latest %s late", fires, planned, worst)
		}
	})
}

// onOwnDB runs fn as the subtest mariadb/redis with a database server of its own.
func onOwnDB(t *testing.T, fn func(t *testing.T, b *brokenDB)) {
	t.Helper()
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		t.Run("redis", func(t *testing.T) { fn(t, ownDB(t)) })
	})
}

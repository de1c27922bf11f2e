package center

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/pool"
	"github.com/axsched/ax/worker/protocol"
)

func eachPool(t *testing.T, fn func(t *testing.T, p *past)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.pools.Nudge = func() {}
		fn(t, &past{bench: b})
	})
}

func anybody(context.Context, domain.ID, domain.Action) error { return nil }

// limit makes a pool of the default project or changes its limit.
func (p *past) limit(name string, n int) domain.Pool {
	p.t.Helper()
	made, err := p.pools.Set(p.ctx, pool.Change{Project: domain.DefaultProject, Name: name, Limit: &n}, anybody)
	p.must(err)
	return made
}

func (p *past) pool(name string) domain.PoolKey {
	p.t.Helper()
	id, err := p.access.ProjectByName(p.ctx, domain.DefaultProject)
	p.must(err)
	return domain.PoolKey{Project: id.ID, Name: name}
}

// problems are what is wrong with a job file, in English.
func (p *past) problems(text string) string {
	p.t.Helper()
	_, problems, err := p.jobs.Apply(p.ctx, []job.File{{Name: "a.yaml", Text: "version: v1\njob:\n" + text}}, false, func(context.Context, domain.ID) error { return nil })
	p.must(err)
	var ids []string
	for _, one := range problems.Errors() {
		ids = append(ids, fmt.Sprintf("%d:%s %s %s", one.Line, one.ID, one.Hint, one.Args["suggestion"]))
	}
	return strings.Join(ids, "; ")
}

func TestAJobNamesAPoolThatIsThere(t *testing.T) {
	eachPool(t, func(t *testing.T, p *past) {
		const text = "  name: a\n  timeout: 5\n  pool: POOL\n  exec: {type: noop}\n"
		in := func(name string) string { return strings.Replace(text, "POOL", name, 1) }
		p.apply([]string{"b"})
		if got := p.problems(in("db")); got != "5:pool.missing pool_missing " {
			t.Errorf("unknown: %q", got)
		}
		p.limit("warehouse", 3)
		if got := p.problems(in("warehuose")); got != "5:pool.missing did_you_mean warehouse" {
			t.Errorf("nearly: %q", got)
		}
		if got := p.problems(in("warehouse")); got != "" {
			t.Errorf("known: %q", got)
		}
		err := p.pools.Delete(p.ctx, p.pool("warehouse"), "", anybody)
		if !domain.Is(err, domain.Conflict) || !strings.Contains(err.Error(), "name it: a") {
			t.Errorf("deleted while a job names it: %v", err)
		}
		p.files("  name: a\n  timeout: 6\n  exec: {type: noop}\n")
		p.must(p.pools.Delete(p.ctx, p.pool("warehouse"), "", anybody))
		p.limit("warehouse", 1)
		p.files(in("warehouse"))
		p.must(p.jobs.Delete(p.ctx, p.past("a")))
		p.must(p.pools.Delete(p.ctx, p.pool("warehouse"), "", anybody))
	})
}

func (p *past) past(name string) domain.ID { return p.job(name).ID }

// A pool is not deleted between the check of a job that names it and its commit: whoever is first has it.
func TestAPoolIsNotDeletedUnderAJobThatIsBeingSaved(t *testing.T) {
	eachPool(t, func(t *testing.T, p *past) {
		p.apply([]string{"b"})
		for i := range 6 {
			name := fmt.Sprint("p", i)
			p.limit(name, 1)
			deleted, saved := make(chan error, 1), make(chan string, 1)
			go func() { deleted <- p.pools.Delete(p.ctx, p.pool(name), "", anybody) }()
			go func() {
				_, problems, err := p.jobs.Apply(p.ctx, []job.File{{Name: "a.yaml", Text: "version: v1\njob:\n  name: a" + name + "\n  timeout: 5\n  pool: " + name + "\n  exec: {type: noop}\n"}}, false,
					func(context.Context, domain.ID) error { return nil })
				saved <- fmt.Sprint(len(problems.Errors()), err)
			}()
			err, said := <-deleted, <-saved
			if gone, there := err == nil, said == "0 <nil>"; gone == there {
				t.Errorf("deleted: %v; saved: %s", err, said)
			}
		}
	})
}

// ready fires so many instances of a job that names a pool.
func (p *past) fires(name string, n int) []domain.Instance {
	p.t.Helper()
	var out []domain.Instance
	for range n {
		out = append(out, p.fire(name))
	}
	return out
}

func (p *past) send(in domain.Instance, seen domain.Pool) (domain.Attempt, bool) {
	p.t.Helper()
	as, err := p.lifecycle.Dispatch(p.ctx, []domain.Assignment{{Instance: p.get(in.ID), Attempt: p.lifecycle.IDs.Next(), Target: "w", Boot: 1, MessageID: "m", Pool: domain.PoolSeen{ID: seen.ID, Ver: seen.Ver}}})
	p.must(err)
	if len(as) == 0 {
		return domain.Attempt{}, false
	}
	return as[0], true
}

func (p *past) use(name string) domain.PoolUse {
	p.t.Helper()
	v, err := p.pools.Get(p.ctx, p.pool(name))
	p.must(err)
	return v.PoolUse
}

func TestWhatWasDecidedByAnotherLimitIsNotCommitted(t *testing.T) {
	eachPool(t, func(t *testing.T, p *past) {
		db := p.limit("db", 2)
		p.files("  name: a\n  timeout: 5\n  pool: db\n  overlap: allow\n  exec: {type: noop}\n")
		ins := p.fires("a", 4)
		if ins[0].Pool != "db" || p.get(ins[0].ID).Pool != "db" {
			t.Fatalf("its pool is %q", p.get(ins[0].ID).Pool)
		}
		if _, ok := p.send(ins[0], db); !ok {
			t.Fatal("not sent although nothing changed")
		}
		paused := p.limit("db", 0)
		if _, ok := p.send(ins[1], db); ok {
			t.Error("sent by the limit before")
		}
		p.want(ins[1].ID, "running/queued")
		if _, ok := p.send(ins[1], paused); !ok { // what the limit allows is the broker's to say
			t.Error("not sent although it was decided by the pool as it is")
		}
		p.must(p.lifecycle.HoldPool(p.ctx, []domain.ID{ins[2].ID, ins[3].ID, ins[0].ID}))
		p.want(ins[2].ID, "running/held_pool")
		p.want(ins[0].ID, "running/dispatched")
		if got, want := p.use("db"), (domain.PoolUse{Used: 2, Waiting: 2, Jobs: 1}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		moved, err := p.lifecycle.UnholdPool(p.ctx, []domain.ID{ins[0].ID, ins[2].ID})
		if p.must(err); len(moved) != 1 || moved[0] != ins[2].ID {
			t.Errorf("%v were made ready", moved)
		}
		if err := p.pools.Delete(p.ctx, p.pool("db"), "", anybody); !domain.Is(err, domain.Conflict) {
			t.Errorf("deleted while in use: %v", err)
		}
		gone, err := p.pools.Store.Changed(p.ctx, []domain.PoolSeen{{ID: 99, Ver: 1}, {ID: paused.ID, Ver: paused.Ver}})
		if p.must(err); !gone[99] || gone[paused.ID] || len(gone) != 1 {
			t.Errorf("changed: %v", gone)
		}
	})
}

// Whatever end an attempt comes to, its place is free after it; an orphan's only once it is settled. (J-F9)
func TestNoEndKeepsAPlace(t *testing.T) {
	eachPool(t, func(t *testing.T, p *past) {
		db := p.limit("db", 10)
		p.files("  name: plain\n  timeout: 5\n  pool: db\n  overlap: allow\n  retry: {times: 1, interval: 60}\n  exec: {type: noop}\n",
			"  name: held\n  timeout: 5\n  pool: db\n  overlap: allow\n  on_worker_lost: hold\n  exec: {type: noop}\n")
		report := func(a domain.Attempt, o domain.Outcome) {
			p.must(p.lifecycle.Apply(p.ctx, []protocol.Uplink{{Worker: "w", Boot: 1, Reports: []protocol.Report{{Attempt: int64(a.ID), Outcome: string(o)}}}}))
		}
		grant := func(a domain.Attempt) {
			_, denied, err := p.lifecycle.Grant(p.ctx, []domain.Claim{{Attempt: a.ID, Worker: "w", Boot: 1}})
			if p.must(err); len(denied) > 0 {
				t.Fatal(denied)
			}
		}
		kill := func(in domain.Instance, _ domain.Attempt) {
			_, err := p.lifecycle.Kill(p.ctx, in.ID, "me", "")
			p.must(err)
		}
		settle := func(v string) func(domain.Instance, domain.Attempt) {
			return func(in domain.Instance, a domain.Attempt) {
				p.must(p.lifecycle.Lost(p.ctx, []domain.ID{a.ID}, "silent", time.Time{}))
				p.want(in.ID, "running/orphan")
				if n := p.use("db").Used; n != 1 {
					t.Errorf("an orphan has %d places", n)
				}
				report(a, map[string]domain.Outcome{"success": domain.OutcomeSuccess, "failed": domain.OutcomeError}[v])
			}
		}
		for _, c := range []struct {
			name, job string
			granted   bool
			end       func(in domain.Instance, a domain.Attempt)
			want      string
		}{
			{"success", "plain", true, func(_ domain.Instance, a domain.Attempt) { report(a, domain.OutcomeSuccess) }, "success"},
			{"retry", "plain", true, func(_ domain.Instance, a domain.Attempt) { report(a, domain.OutcomeError) }, "retrying/backoff"},
			{"error", "held", true, func(_ domain.Instance, a domain.Attempt) { report(a, domain.OutcomeTimeout) }, "failed/timeout"},
			{"refused", "plain", true, func(_ domain.Instance, a domain.Attempt) { report(a, domain.OutcomeRefused) }, "running/queued"},
			{"lost", "plain", true, func(_ domain.Instance, a domain.Attempt) {
				p.must(p.lifecycle.Lost(p.ctx, []domain.ID{a.ID}, "silent", time.Time{}))
			}, "running/queued"},
			{"no ack", "plain", false, func(_ domain.Instance, a domain.Attempt) {
				_, err := p.lifecycle.Withdraw(p.ctx, []domain.ID{a.ID}, domain.OutcomeNoAck, "silent")
				p.must(err)
			}, "running/queued"},
			{"killed before its grant", "plain", false, kill, "cancelled/killed"},
			{"killed", "plain", true, func(in domain.Instance, a domain.Attempt) {
				kill(in, a)
				if n := p.use("db").Used; n != 1 {
					t.Errorf("one that stops has %d places", n)
				}
				report(a, domain.OutcomeKilled)
			}, "cancelled/killed"},
			{"orphan, success", "held", true, settle("success"), "success"},
			{"orphan, failed", "held", true, settle("failed"), "failed/error"},
		} {
			in := p.fire(c.job)
			a, ok := p.send(in, db)
			if !ok {
				t.Fatalf("%s: not sent", c.name)
			}
			if c.granted {
				grant(a)
			}
			if n := p.use("db").Used; n != 1 {
				t.Errorf("%s: %d places taken while it runs", c.name, n)
			}
			c.end(in, a)
			p.want(in.ID, c.want)
			if n := p.use("db").Used; n != 0 {
				t.Errorf("%s: %d places taken after it", c.name, n)
			}
		}
	})
}

// A true success that arrives while its instance waits for the pool again ends it.
func TestALateSuccessEndsOneThatWaitsForItsPool(t *testing.T) {
	eachPool(t, func(t *testing.T, p *past) {
		db := p.limit("db", 1)
		p.files("  name: a\n  timeout: 5\n  pool: db\n  overlap: allow\n  exec: {type: noop}\n")
		in := p.fire("a")
		a, _ := p.send(in, db)
		_, _, err := p.lifecycle.Grant(p.ctx, []domain.Claim{{Attempt: a.ID, Worker: "w", Boot: 1}})
		p.must(err)
		p.must(p.lifecycle.Lost(p.ctx, []domain.ID{a.ID}, "silent", time.Time{}))
		p.must(p.lifecycle.HoldPool(p.ctx, []domain.ID{in.ID}))
		p.want(in.ID, "running/held_pool")
		p.must(p.lifecycle.Apply(p.ctx, []protocol.Uplink{{Worker: "w", Boot: 1, Reports: []protocol.Report{{Attempt: int64(a.ID), Outcome: protocol.OutcomeSuccess, Finished: time.Now().UnixMilli()}}}}))
		p.want(in.ID, "success")
	})
}

// Files of very many jobs that name a pool are saved in one transaction: it holds up no change of the pool's limit.
func TestALimitIsChangedWhileManyJobsOfThePoolAreSaved(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) { // SQLite has one writer at a time, whatever it writes
		b := newBench(t, dbtest.MariaDB(t))
		b.pools.Nudge = func() {}
		p := &past{bench: b}
		p.limit("db", 1)
		const jobs = 1500
		files := make([]job.File, jobs)
		for i := range files {
			files[i] = job.File{Name: fmt.Sprint(i), Text: fmt.Sprintf("version: v1\njob:\n  name: many_%d\n  timeout: 5\n  pool: db\n  exec: {type: noop}\n", i)}
		}
		saved := make(chan string, 1)
		began := time.Now()
		go func() {
			_, problems, err := p.jobs.Apply(p.ctx, files, false, func(context.Context, domain.ID) error { return nil })
			saved <- fmt.Sprint(len(problems.Errors()), " ", err)
		}()
		var slowest time.Duration
		for n := 2; ; n++ {
			select {
			case said := <-saved:
				t.Logf("%d jobs were saved in %s; of %d changes meanwhile the slowest took %s", jobs, time.Since(began), n-2, slowest)
				if said != "0 <nil>" || n < 4 || slowest > time.Since(began)/4 {
					t.Errorf("saved: %s; %d changes, the slowest took %s of %s", said, n-2, slowest, time.Since(began))
				}
				return
			default:
				at := time.Now()
				p.limit("db", n)
				slowest = max(slowest, time.Since(at))
			}
		}
	})
}

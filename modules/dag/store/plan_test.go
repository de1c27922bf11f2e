package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

const (
	upstream  = domain.ID(1) // on which everything waits
	oldRows   = 40_000       // met, one instance each, 400 on a date; and 40 of them on the month around it
	waiting   = 5            // on the day that is looked at
	joined    = 900          // upstreams of one instance
	joinOwner = domain.ID(9_000_000)
)

// TestLooksStayOnTheirIndex: whatever has been met before, a look reads the rows that it is about. What is
// not read is counted where the server counts, and its plan is asked on both.
func TestLooksStayOnTheirIndex(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		p := &planner{t: t, db: db, ctx: t.Context()}
		p.fill()
		p.listen()
		today, s := domain.NewBizDate(2026, 5, 1), New(db)
		looks := []struct {
			name  string
			index string // or several; PRIMARY is the primary key
			rows  int    // that it finds
			look  func(ctx context.Context) ([]domain.InstanceDep, error)
		}{
			{"who waits for a date", "dep_upstream", waiting + 1, func(ctx context.Context) ([]domain.InstanceDep, error) {
				return s.Covering(ctx, []Date{{upstream, today}}, domain.DepWaiting)
			}},
			{"who waits for a date, or failed for it", "dep_upstream", waiting + 1, func(ctx context.Context) ([]domain.InstanceDep, error) {
				return s.Covering(ctx, []Date{{upstream, today}, {7, today}}, domain.DepWaiting, domain.DepFailed)
			}},
			{"who met it", "dep_upstream", 400, func(ctx context.Context) ([]domain.InstanceDep, error) {
				return s.Covering(ctx, []Date{{upstream, today.AddDays(-90)}}, domain.DepMet)
			}},
			{"the first that are about a date", "dep_upstream", 1, func(ctx context.Context) ([]domain.InstanceDep, error) {
				return s.About(ctx, upstream, today.AddDays(1), 3)
			}},
			{"what waits of an instance", "PRIMARY", joined, func(ctx context.Context) ([]domain.InstanceDep, error) {
				return s.WaitingOf(ctx, []domain.ID{joinOwner})
			}},
			{"whether a row still waits", "PRIMARY", 1, func(ctx context.Context) ([]domain.InstanceDep, error) {
				return s.StillWaiting(ctx, []domain.InstanceDep{{InstanceID: joinOwner, Upstream: 2_000_100}})
			}},
			{"all of an instance", "PRIMARY", 1, func(ctx context.Context) ([]domain.InstanceDep, error) { return s.Of(ctx, 5_000_000) }},
			{"the sweeper's first page", "dep_waiting", 100, func(ctx context.Context) ([]domain.InstanceDep, error) {
				return s.Waiting(ctx, domain.InstanceDep{}, 100)
			}},
			{"its next page", "dep_waiting PRIMARY", 100, func(ctx context.Context) ([]domain.InstanceDep, error) {
				return s.Waiting(ctx, domain.InstanceDep{InstanceID: joinOwner, Upstream: 2_000_100}, 100)
			}},
		}
		for _, l := range looks {
			p.look(l.name, l.index, l.rows, l.look)
		}
	})
}

// planner asks the database how it answers what is asked of it.
type planner struct {
	t     *testing.T
	db    *dbx.DB
	ctx   context.Context
	deaf  bool
	asked []string
}

func (p *planner) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// fill writes a hundred days of instances that were met, a month that was, and what waits.
func (p *planner) fill() {
	p.t.Helper()
	first := domain.NewBizDate(2026, 1, 22)
	var all []domain.InstanceDep
	add := func(instance, up domain.ID, state domain.DepState, from, to domain.BizDate) {
		all = append(all, domain.InstanceDep{InstanceID: instance, Upstream: up, ProjectID: 1, Name: "up", Rule: domain.DepCurrent, BizDate: from, To: to,
			Require: domain.RequireAll, Check: domain.CheckSuccess, OnFailure: domain.FailureCancel, State: state, ChangedAt: time.UnixMilli(1)})
	}
	for i := range oldRows {
		day := first.AddDays(i / 400)
		add(domain.ID(5_000_000+i), upstream, domain.DepMet, day, day)
	}
	today := domain.NewBizDate(2026, 5, 1)
	for i := range 40 {
		add(domain.ID(6_000_000+i), upstream, domain.DepMet, today.AddDays(-60), today.AddDays(-30))
	}
	add(7_000_000, upstream, domain.DepWaiting, today, today.AddDays(30))
	for i := range waiting {
		add(domain.ID(8_000_000+i), upstream, domain.DepWaiting, today, today)
	}
	for i := range joined {
		add(joinOwner, domain.ID(2_000_000+i), domain.DepWaiting, today, today)
	}
	p.ok(p.db.Tx(p.ctx, func(ctx context.Context) error { return New(p.db).Put(ctx, all) }))
	if p.db.Dialect() == dbx.SQLite {
		return
	}
	var said []map[string]any
	p.ok(p.db.Scan(p.ctx, &said, "ANALYZE TABLE dep"))
}

// listen notes each statement that reads, with its values written in.
func (p *planner) listen() {
	hear := func(g *gorm.DB) {
		if !p.deaf {
			p.asked = append(p.asked, g.Dialector.Explain(g.Statement.SQL.String(), g.Statement.Vars...))
		}
	}
	p.ok(p.db.Q(p.ctx).Callback().Row().After("gorm:row").Register("test:hear", hear))
	p.ok(p.db.Q(p.ctx).Callback().Query().After("gorm:query").Register("test:hear", hear))
}

func (p *planner) look(name, index string, want int, look func(ctx context.Context) ([]domain.InstanceDep, error)) {
	p.t.Helper()
	p.asked = nil
	before := p.read()
	found, err := look(p.ctx)
	p.ok(err)
	if read := p.read() - before; p.db.Dialect() != dbx.SQLite && read > 3*want+50 { // each row in the index, in the table, in order
		p.t.Errorf("%s: %d rows were read for %d", name, read, want)
	}
	if len(found) != want {
		p.t.Errorf("%s: %d rows, want %d", name, len(found), want)
	}
	if len(p.asked) == 0 {
		p.t.Fatalf("%s: no statement was heard", name)
	}
	for _, query := range p.asked {
		if said := p.plan(query); !onIndex(said, index) {
			p.t.Errorf("%s is not on its index %q:\n%s\n%s", name, index, query, strings.Join(said, "\n"))
		}
	}
}

// read is how many rows this connection has read so far, by any way; 0 where that is not counted.
func (p *planner) read() int {
	p.t.Helper()
	if p.db.Dialect() == dbx.SQLite {
		return 0
	}
	p.deaf = true
	defer func() { p.deaf = false }()
	sum := 0
	p.ok(p.db.Each(p.ctx, func(scan func(...any) error) error {
		var name string
		var n int
		err := scan(&name, &n)
		sum += n
		return err
	}, "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd', 'Handler_read_rnd_next')"))
	return sum
}

// plan is a line for each step that touches the table dep.
func (p *planner) plan(query string) []string {
	p.t.Helper()
	p.deaf = true
	defer func() { p.deaf = false }()
	word := "EXPLAIN "
	if p.db.Dialect() == dbx.SQLite {
		word = "EXPLAIN QUERY PLAN "
	}
	var rows []map[string]any
	p.ok(p.db.Scan(p.ctx, &rows, strings.ReplaceAll(word+query, "?", "")))
	var out []string
	for _, r := range rows {
		switch {
		case p.db.Dialect() == dbx.SQLite && strings.Contains(fmt.Sprint(r["detail"]), " dep"):
			out = append(out, fmt.Sprint(r["detail"]))
		case p.db.Dialect() != dbx.SQLite && fmt.Sprint(r["table"]) == "dep":
			out = append(out, fmt.Sprintf("%s by %s", r["type"], r["key"]))
		}
	}
	return out
}

// onIndex tells whether each step goes by one of the indexes: MariaDB says the way and the key, SQLite a sentence.
func onIndex(said []string, indexes string) bool {
	for _, s := range said {
		keyed := false
		for _, index := range strings.Fields(indexes) {
			keyed = keyed || strings.HasSuffix(s, "by "+index) || strings.Contains(s, "INDEX "+strings.ReplaceAll(index, "PRIMARY", "sqlite_autoindex_dep_1")+" (")
		}
		if !keyed || strings.HasPrefix(s, "ALL") || strings.HasPrefix(s, "index ") || strings.HasPrefix(s, "SCAN") {
			return false
		}
	}
	return len(said) > 0
}

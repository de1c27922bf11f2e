package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

const (
	crowd  = 20_000 // wait for a place
	placed = 5      // have one
)

// behindAPool are the rows of a crowd, those before it, and one that is ready behind it.
func behindAPool() (ins []domain.Instance) {
	add := func(n int, label domain.Label, pool string) {
		in := made(n, 2, first, domain.Status{State: domain.Running, Label: label})
		in.Pool, in.ReadyAt = pool, in.Expected
		ins = append(ins, in)
	}
	for n := range placed {
		add(n, domain.Executing, "db")
	}
	for n := range crowd {
		add(placed+n, domain.HeldPool, "db")
	}
	add(placed+crowd, domain.Queued, "")
	return ins
}

// TestWhoWaitsForAPoolIsNotRead: whatever the broker does again and again while very many wait for a place, and whatever
// moves one of them, reads the rows that it is about, and not those that wait. What was read is counted where the server
// counts, and the plan is asked on both.
func TestWhoWaitsForAPoolIsNotRead(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		st := store.New(db)
		ins := behindAPool()
		insert(t, st, ins)
		p := &poolReads{t: t, db: db}
		p.must(p.count(func() error {
			if db.Dialect() == dbx.SQLite {
				return nil
			}
			var said []map[string]any
			return db.Scan(t.Context(), &said, "ANALYZE TABLE instance")
		}))
		p.listen()
		one, places := []domain.ID{ins[placed].ID}, make([]domain.ID, placed)
		for i := range places {
			places[i] = ins[i].ID
		}
		for _, c := range []struct {
			name, index string
			most        int // rows read
			look        func(ctx context.Context) (int, error)
			found       int
		}{
			{"what is ready", "instance_ready", 20, func(ctx context.Context) (int, error) {
				found, err := st.Ready(ctx, domain.LaneDefault, domain.Instance{}, 500)
				return len(found), err
			}, 1},
			{"what is due", "instance_wake", 20, func(ctx context.Context) (int, error) {
				found, err := st.Due(ctx, noon.Add(24*time.Hour), 500)
				return len(found), err
			}, 0},
			{"what is to be told to stop", "instance_ready", 20, func(ctx context.Context) (int, error) {
				found, err := st.Stopping(ctx, 0, 500)
				return len(found), err
			}, 0},
			{"who has a place, by the broker", "PRIMARY", 20, func(ctx context.Context) (int, error) {
				found, err := st.ByIDs(ctx, places)
				return len(found), err
			}, placed},
			{"the next of them", "PRIMARY", 20, func(ctx context.Context) (int, error) {
				found, err := st.Lock(ctx, one)
				return len(found), err
			}, 1},
		} {
			p.look(c.name, c.index, c.most, c.found, c.look)
		}
	})
}

// poolReads hears what is asked of the one connection, and asks how that is answered.
type poolReads struct {
	t     *testing.T
	db    *dbx.DB
	deaf  bool
	asked []string
}

func (p *poolReads) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// count runs what is not to be heard.
func (p *poolReads) count(f func() error) error {
	p.deaf = true
	defer func() { p.deaf = false }()
	return f()
}

func (p *poolReads) listen() {
	hear := func(g *gorm.DB) {
		if !p.deaf {
			p.asked = append(p.asked, g.Dialector.Explain(g.Statement.SQL.String(), g.Statement.Vars...))
		}
	}
	p.must(p.db.Q(p.t.Context()).Callback().Row().After("gorm:row").Register("test:hear", hear))
	p.must(p.db.Q(p.t.Context()).Callback().Query().After("gorm:query").Register("test:hear", hear))
}

func (p *poolReads) look(name, index string, most, want int, look func(context.Context) (int, error)) {
	p.t.Helper()
	p.asked = nil
	before := p.read()
	found, err := look(p.t.Context())
	p.must(err)
	if n := p.read() - before; n > most {
		p.t.Errorf("%s: %d rows were read", name, n)
	}
	if found != want || len(p.asked) == 0 {
		p.t.Errorf("%s: found %d, want %d; %d statements were heard", name, found, want, len(p.asked))
	}
	for _, query := range p.asked {
		for _, way := range p.plan(query) {
			if !strings.HasSuffix(way, " by "+index) && !strings.HasPrefix(way, "SEARCH instance USING INDEX "+strings.ReplaceAll(index, "PRIMARY", "sqlite_autoindex_instance_1")+" (") {
				p.t.Errorf("%s is not on its index %s: %s\n%s", name, index, way, query)
			}
		}
	}
}

// read is how many rows the connection has read; always 0 where that is not counted.
func (p *poolReads) read() (sum int) {
	p.t.Helper()
	if p.db.Dialect() == dbx.SQLite {
		return 0
	}
	p.must(p.count(func() error {
		return p.db.Each(p.t.Context(), func(scan func(...any) error) error {
			var name string
			var n int
			err := scan(&name, &n)
			sum += n
			return err
		}, "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd', 'Handler_read_rnd_next')")
	}))
	return sum
}

// plan is a line for each way by which a statement comes to its rows.
func (p *poolReads) plan(query string) (ways []string) {
	p.t.Helper()
	word := "EXPLAIN "
	if p.db.Dialect() == dbx.SQLite {
		word = "EXPLAIN QUERY PLAN "
	}
	var rows []map[string]any
	p.must(p.count(func() error { return p.db.Scan(p.t.Context(), &rows, strings.ReplaceAll(word+query, "?", "")) }))
	for _, r := range rows {
		switch {
		case p.db.Dialect() != dbx.SQLite && r["type"] != nil:
			ways = append(ways, fmt.Sprintf("%s by %s", r["type"], r["key"]))
		case p.db.Dialect() == dbx.SQLite && strings.Contains(fmt.Sprint(r["detail"]), "instance"):
			ways = append(ways, fmt.Sprint(r["detail"]))
		}
	}
	return ways
}

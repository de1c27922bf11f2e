package center

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/board"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
)

var allProjects = domain.ProjectSet{All: true}

func (b *bench) pictures() *board.Reader {
	return &board.Reader{Store: b.board, Instances: b.instances, Jobs: b.jobs, Deps: b.graph, Plans: b.plans, Zone: time.UTC}
}

// drawn is the graph of a date in one line: edges, then jobs of another version than today's, as then/now, and what is new today.
func (b *bench) drawn(c board.Choice, date domain.BizDate) string {
	b.t.Helper()
	g, err := b.pictures().Graph(b.ctx, c, date, domain.BizDateOf(b.now(), time.UTC), allProjects)
	b.must(err)
	names, err := b.jobs.NamesOf(b.ctx, func() (ids []domain.ID) {
		for _, e := range slices.Concat(g.Edges, g.Since.NewEdges) {
			ids = append(ids, e.Up, e.Down)
		}
		return append(ids, slices.Collect(maps.Keys(g.Since.Versions))...)
	}())
	b.must(err)
	line := func(edges []domain.JobEdge) string {
		var out []string
		for _, e := range edges {
			out = append(out, names[e.Up].Key.Name+">"+names[e.Down].Key.Name)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	var versions []string
	for id, v := range g.Since.Versions {
		versions = append(versions, fmt.Sprintf("%s%d/%d", names[id].Key.Name, v.Then, v.Now))
	}
	slices.Sort(versions)
	return fmt.Sprintf("%s | %s | %s", line(g.Edges), strings.Join(versions, " "), line(g.Since.NewEdges))
}

func (b *bench) draws(date domain.BizDate, want string) {
	b.t.Helper()
	if got := b.drawn(board.Choice{}, date); got != want {
		b.t.Errorf("on %s it draws\n%s, want\n%s", date, got, want)
	}
}

// A date is drawn as its instances were: c ran, was edited the day after, and renamed since. (G-D9)
func TestAGraphIsThatOfTheInstancesOfItsDate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		day, _ := domain.ParseBizDate("2026-03-08")
		wall := day.Start(time.UTC).Add(time.Hour)
		b := newBenchAt(t, url, func() time.Time { return wall })
		b.put(noop("a"), noop("b"), noop("c", "deps: [{name: a}]"), noop("d", "title: Then", "deps: [{name: c}, {name: self, biz_date: current-1d, first_date: 2026-03-08}]"))
		up, ran, last := b.on("a", day), b.on("c", day), b.on("d", day)
		b.end(up.ID, domain.OutcomeSuccess)
		b.sweep()

		wall = wall.AddDate(0, 0, 1) // on 03-09 c is edited, so it had two versions
		b.put(noop("c", "deps: [{name: a}, {name: b}]"))
		b.draws(day, "a>c c>d | c1/2 | b>c")
		b.draws(day.AddDays(1), "a>c b>c c>d |  | ")

		wall = wall.AddDate(0, 0, 1) // on 03-10 it is renamed: made anew, and its old self deleted
		b.put(noop("c2", "deps: [{name: b}]"), noop("d", "title: Now", "deps: [{name: c2}]"))
		old, err := b.jobs.Find(b.ctx, "c")
		b.must(err)
		b.must(b.jobs.Delete(b.ctx, old.ID))
		b.draws(day, "a>c c>d | c1/0 d1/2 | b>c2 c2>d")
		b.draws(day.AddDays(1), "a>c b>c c>d | c2/0 d1/2 | b>c2 c2>d")
		b.draws(day.AddDays(2), "b>c2 c2>d |  | ")
		b.draws(day.AddDays(500), "b>c2 c2>d |  | ")
		b.draws(day.AddDays(-1), " |  | b>c2 c2>d")
		if got, want := b.drawn(board.Choice{Named: true, Around: domain.ParseJobKey("c")}, day), "a>c c>d | c1/0 d1/2 | "; got != want {
			t.Errorf("around the one that is gone it draws\n%s, want\n%s", got, want)
		}
		g, err := b.pictures().Graph(b.ctx, board.Choice{}, day, day, allProjects)
		b.must(err)
		for _, j := range g.Jobs {
			if j.Key.Name == "d" && j.Title != "Then" {
				t.Errorf("the title of d is %q", j.Title)
			}
		}
		if g.Days[ran.JobID].Instance != ran.ID || g.Days[last.JobID].Version != 1 || g.Days[up.JobID].State != domain.Success {
			t.Errorf("states: %+v", g.Days)
		}

		// What is made for an old date today is drawn as it runs today, beside what ran then; its rerun keeps that.
		late := b.on("d", day.AddDays(-1))
		b.draws(day.AddDays(-1), "c2>d | c20/1 | b>c2")
		middle := b.on("c2", day.AddDays(-1))
		for _, id := range []domain.ID{b.on("b", day.AddDays(-1)).ID, middle.ID} {
			b.end(id, domain.OutcomeSuccess)
			b.sweep()
		}
		b.end(late.ID, domain.OutcomeError)
		b.rerun(late.ID)
		b.draws(day.AddDays(-1), "b>c2 c2>d |  | ")
	})
}

// One, 1,200 and one: the graph of a date on which all of them were of another version, and the present one. How long each took is logged.
func TestAWideGraphOfThenIsReadWhole(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		const wide = 1200
		day, _ := domain.ParseBizDate("2026-03-08")
		wall := day.Start(time.UTC).Add(time.Hour)
		b := newBenchAt(t, url, func() time.Time { return wall })
		middle := func(title string, n int) string {
			texts := []string{noop("first")}
			deps := "deps:"
			for i := range wide {
				name := fmt.Sprintf("m%04d", i)
				deps += "\n  - name: " + name
				if i < n {
					texts = append(texts, noop(name, "title: "+title, "deps: [{name: first}]"))
				}
			}
			return strings.Join(append(texts, noop("last", "title: "+title, deps)), "---\n")
		}
		b.put(middle("then", wide))
		first := b.on("first", day)
		b.end(first.ID, domain.OutcomeSuccess)
		for i := range wide / 12 {
			b.on(fmt.Sprintf("m%04d", i), day)
		}
		wall = wall.AddDate(0, 0, 3)
		b.put(middle("now", wide))
		r := b.pictures()
		for _, date := range []domain.BizDate{day, day.AddDays(10)} {
			_, err := r.Graph(b.ctx, board.Choice{}, date, day, allProjects)
			b.must(err)
			began := time.Now()
			g, err := r.Graph(b.ctx, board.Choice{}, date, day, allProjects)
			b.must(err)
			took := time.Since(began)
			t.Logf("%s: %d jobs, %d edges, %d of other versions in %s", date, len(g.Jobs), len(g.Edges), len(g.Since.Versions), took)
			if len(g.Jobs) != wide+2 || len(g.Edges) != 2*wide {
				t.Errorf("%d jobs and %d edges", len(g.Jobs), len(g.Edges))
			}
		}
	})
}

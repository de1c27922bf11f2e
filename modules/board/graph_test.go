package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// pictured is jobs and instances that a test makes up: edges like "a>b", and on dates
// states like "a=failed".
type pictured struct {
	jobs  []domain.JobName
	edges []domain.JobEdge
	days  map[domain.BizDate]map[domain.ID]domain.State
	// then is what is told of how jobs stood, whatever the date.
	then   []domain.JobThen
	shapes map[domain.ID]domain.JobShape
	used   map[domain.ID]int // versions of instances; 1 where none is named
	waited []domain.InstanceDep
	absent map[domain.ID]domain.Absence
	starts []domain.StartEdge
}

func picture(edges string) *pictured {
	p := &pictured{days: map[domain.BizDate]map[domain.ID]domain.State{}}
	for _, e := range strings.Fields(edges) {
		if up, down, linked := strings.Cut(e, ">"); linked {
			p.edges = append(p.edges, domain.JobEdge{Up: p.id(up), Down: p.id(down)})
		} else {
			p.id(up)
		}
	}
	return p
}

func (p *pictured) id(name string) domain.ID {
	for _, j := range p.jobs {
		if j.Key.Name == name {
			return j.ID
		}
	}
	j := domain.JobName{ID: domain.ID(len(p.jobs) + 1), ProjectID: 1, Key: key(name)}
	p.jobs = append(p.jobs, j)
	return j.ID
}

func key(name string) domain.JobKey {
	return domain.JobKey{Project: domain.DefaultProject, Name: name}
}

// on gives jobs their states on a date.
func (p *pictured) on(date domain.BizDate, states string) *pictured {
	p.days[date] = map[domain.ID]domain.State{}
	for _, s := range strings.Fields(states) {
		name, state, _ := strings.Cut(s, "=")
		p.days[date][p.id(name)] = domain.State(state)
	}
	return p
}

func (p *pictured) reader() *Reader {
	return &Reader{Instances: p, Jobs: p, Deps: p, Plans: p, Zone: time.UTC}
}

func (p *pictured) Otherwise(context.Context, domain.ProjectSet, time.Time, time.Time) ([]domain.JobThen, error) {
	return p.then, nil
}

func (p *pictured) Shapes(_ context.Context, versions []domain.JobVersion, _ time.Time) (map[domain.ID]domain.JobShape, error) {
	out := map[domain.ID]domain.JobShape{}
	for _, v := range versions {
		out[v.JobID] = p.shapes[v.JobID]
	}
	return out, nil
}

func (p *pictured) Starts(context.Context) ([]domain.StartEdge, error) { return p.starts, nil }

func (p *pictured) WaitedFor(_ context.Context, instances []domain.ID) (out []domain.InstanceDep, _ error) {
	for _, row := range p.waited {
		if slices.Contains(instances, row.InstanceID) {
			out = append(out, row)
		}
	}
	return out, nil
}

func (p *pictured) Absences(_ context.Context, jobs []domain.ID, _ domain.BizDate) (map[domain.ID]domain.Absence, error) {
	out := map[domain.ID]domain.Absence{}
	for _, id := range jobs {
		if a, known := p.absent[id]; known {
			out[id] = a
		}
	}
	return out, nil
}

func (p *pictured) ByIDs(context.Context, []domain.ID) (map[domain.ID]domain.Instance, error) {
	return nil, nil
}

func (p *pictured) LatestDays(context.Context, []domain.ID, int) (map[domain.ID][]domain.JobDay, error) {
	return nil, nil
}

func (p *pictured) Dependents(context.Context, []domain.ID) (map[domain.ID]int, error) {
	return nil, nil
}

func (p *pictured) FirstNames(context.Context, domain.ProjectSet, int) ([]domain.JobName, error) {
	return nil, nil
}

func (p *pictured) OnDate(_ context.Context, jobs []domain.ID, date domain.BizDate) (out []domain.JobDay, _ error) {
	for job, state := range p.days[date] {
		if slices.Contains(jobs, job) {
			out = append(out, domain.JobDay{Job: job, BizDate: date, Instance: 1000 + job, Version: max(p.used[job], 1), Status: domain.Status{State: state}})
		}
	}
	return out, nil
}

func (p *pictured) LastDate(_ context.Context, jobs []domain.ID, from, to domain.BizDate) (last domain.BizDate, _ error) {
	for date, states := range p.days {
		for job := range states {
			if slices.Contains(jobs, job) && !date.Before(from) && !to.Before(date) && last.Before(date) {
				last = date
			}
		}
	}
	return last, nil
}

func (p *pictured) FailedOn(_ context.Context, _ domain.ProjectSet, date domain.BizDate, limit int) (out []domain.ID, _ error) {
	for job, state := range p.days[date] {
		if state == domain.Failed && len(out) < limit {
			out = append(out, job)
		}
	}
	return out, nil
}

func (p *pictured) NamesOf(_ context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error) {
	out := map[domain.ID]domain.JobName{}
	for _, j := range p.jobs {
		if slices.Contains(jobs, j.ID) {
			out[j.ID] = j
		}
	}
	return out, nil
}

func (p *pictured) Edges(context.Context, domain.ProjectSet) (byUp, byDown []domain.JobEdge, _ error) {
	byUp = slices.SortedFunc(slices.Values(p.edges), func(a, b domain.JobEdge) int { return cmp.Or(cmp.Compare(a.Up, b.Up), cmp.Compare(a.Down, b.Down)) })
	byDown = slices.SortedFunc(slices.Values(p.edges), func(a, b domain.JobEdge) int { return cmp.Or(cmp.Compare(a.Down, b.Down), cmp.Compare(a.Up, b.Up)) })
	return byUp, byDown, nil
}

func (p *pictured) Resolve(_ context.Context, keys []domain.JobKey) (map[domain.JobKey]domain.ID, error) {
	out := map[domain.JobKey]domain.ID{}
	for _, j := range p.jobs {
		if slices.Contains(keys, j.Key) {
			out[j.Key] = j.ID
		}
	}
	return out, nil
}

func (g Graph) names() string {
	var out []string
	for _, j := range g.Jobs {
		out = append(out, j.Key.Name)
	}
	return strings.Join(out, " ")
}

var everything = domain.ProjectSet{All: true}

func TestThePartOfAGraphThatIsWanted(t *testing.T) {
	r := picture("a>b b>c c>d d>e x>c lonely").on(march, "b=failed lonely=failed a=success d=success").reader()
	around := func(name string) Choice { return Choice{Named: true, Around: key(name)} }
	for _, c := range []struct {
		choice Choice
		want   string
		edges  int
	}{
		{Choice{}, "a b c d e x", 5}, {around("c"), "a b c d e x", 5}, {around("a"), "a b c", 2}, {around("e"), "c d e", 2}, {around("nosuch"), "", 0},
		{around("lonely"), "lonely", 0}, {Choice{Failing: true}, "b c d e lonely", 3}, {Choice{Failing: true, Named: true, Around: key("a")}, "b c", 1},
	} {
		got, err := r.Graph(t.Context(), c.choice, march, march, everything)
		if err != nil || got.names() != c.want || len(got.Edges) != c.edges || got.Wanted != len(got.Jobs) {
			t.Errorf("%+v: %q with %d edges, want %q with %d; %v", c.choice, got.names(), len(got.Edges), c.want, c.edges, err)
		}
	}
	day, err := r.Graph(t.Context(), Choice{}, march, march, everything)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok, err := r.Node(t.Context(), day, key("b"), everything); err != nil || !ok || len(n.WaitingFor) != 1 || n.WaitingFor[0].Key.Name != "c" || n.Day.State != domain.Failed {
		t.Errorf("c waits for b, got %+v, %v", n, err)
	}
	if n, ok, err := r.Node(t.Context(), day, key("c"), everything); err != nil || !ok || len(n.WaitingFor) != 0 || n.Day.State != "" {
		t.Errorf("d has succeeded, yet waits: %+v, %v", n, err)
	}
	if _, ok, err := r.Node(t.Context(), day, key("b"), domain.ProjectSet{IDs: []domain.ID{2}}); ok || err != nil {
		t.Errorf("a job of a project out of sight is shown, %v", err)
	}
	ring := picture("a>b b>a").on(march, "a=failed").reader()
	if got, err := ring.Graph(t.Context(), Choice{Failing: true}, march, march, everything); got.names() != "a b" || err != nil {
		t.Errorf("a ring: %q, %v", got.names(), err)
	}
}

func TestTheDateOfAGraphThatWasAskedForNone(t *testing.T) {
	p := picture("a>b lonely").on(march, "lonely=success").on(march.AddDays(-1), "lonely=failed").on(march.AddDays(-3), "b=success").on(march.AddDays(-9), "a=success")
	for _, c := range []struct {
		choice Choice
		today  domain.BizDate
		want   domain.BizDate
	}{
		{Choice{}, march, march.AddDays(-3)}, // what has no edge is not in the picture
		{Choice{Failing: true}, march, march.AddDays(-1)},
		{Choice{Named: true, Around: key("lonely")}, march, march},
		{Choice{}, march.AddDays(-4), march.AddDays(-9)},
		{Choice{}, march.AddDays(30), march.AddDays(30)}, // nothing for a week
	} {
		got, err := p.reader().Graph(t.Context(), c.choice, domain.BizDate{}, c.today, everything)
		if err != nil || got.Date != c.want {
			t.Errorf("%+v on %s: %s, want %s; %v", c.choice, c.today, got.Date, c.want, err)
		}
	}
}

// MostDrawn jobs are drawn; of more it is only said how many they are, unless a part is chosen.
func TestAGraphThatNobodyCouldRead(t *testing.T) {
	chains := func(n int) *pictured {
		p := &pictured{days: map[domain.BizDate]map[domain.ID]domain.State{march: {1: domain.Failed}}}
		for i := 1; i <= n; i++ {
			p.jobs = append(p.jobs, domain.JobName{ID: domain.ID(i), ProjectID: 1, Key: key(fmt.Sprintf("j%05d", i))})
			if i%10 != 1 {
				p.edges = append(p.edges, domain.JobEdge{Up: domain.ID(i - 1), Down: domain.ID(i)})
			}
		}
		return p
	}
	whole, err := chains(MostDrawn).reader().Graph(t.Context(), Choice{}, march, march, everything)
	if err != nil || len(whole.Jobs) != MostDrawn || len(whole.Edges) != MostDrawn*9/10 || whole.Wanted != MostDrawn || whole.Days[1].State != domain.Failed {
		t.Errorf("%d of %d jobs with %d edges, %v", len(whole.Jobs), whole.Wanted, len(whole.Edges), err)
	}
	large := chains(20 * MostDrawn).reader()
	if g, err := large.Graph(t.Context(), Choice{}, domain.BizDate{}, march, everything); err != nil || g.Wanted != 20*MostDrawn || len(g.Jobs)+len(g.Edges) != 0 || g.Date != march {
		t.Errorf("%d jobs of %d on %s, %v", len(g.Jobs), g.Wanted, g.Date, err)
	}
	if g, err := large.Graph(t.Context(), Choice{Failing: true}, domain.BizDate{}, march, everything); err != nil || len(g.Jobs) != 10 || len(g.Edges) != 9 {
		t.Errorf("failing: %d jobs with %d edges, %v", len(g.Jobs), len(g.Edges), err)
	}
	if g, err := large.Graph(t.Context(), Choice{Named: true, Around: key("j00005")}, march, march, everything); err != nil || len(g.Jobs) != 5 || len(g.Edges) != 4 {
		t.Errorf("around one: %d jobs with %d edges, %v", len(g.Jobs), len(g.Edges), err)
	}
}

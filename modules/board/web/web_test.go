package web_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/board"
	"github.com/axsched/ax/modules/board/store"
	"github.com/axsched/ax/modules/board/web"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/httpx"
)

// world is figures over real tables, with jobs and instances that a test makes up.
type world struct {
	*edge.World
	tally     board.Tally
	now       time.Time
	zone      *time.Location
	instances map[domain.ID]domain.Instance
	names     map[domain.ID]domain.JobName
	edges     []domain.JobEdge
	then      []domain.JobThen
	shapes    map[domain.ID]domain.JobShape
	absent    map[domain.ID]domain.Absence
	noWrites  string    // why the database takes none
	unreached time.Time // since when the broker reaches no worker
	workers   []domain.Worker
	noBroker  bool
	untaken   time.Time // since when a fire is due that nobody takes
	away      bool      // what is not in the counters can't be read
}

// fleet is the workers of a world.
type fleet struct{ w *world }

func (f fleet) List(context.Context) ([]domain.Worker, error) { return f.w.workers, nil }

func (f fleet) Present(context.Context) (bool, error) { return !f.w.noBroker, nil }

var errAway = errors.New("away")

func (w *world) ByIDs(_ context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error) {
	if w.away {
		return nil, errAway
	}
	out := map[domain.ID]domain.Instance{}
	for _, id := range ids {
		if in, ok := w.instances[id]; ok {
			out[id] = in
		}
	}
	return out, nil
}

func (w *world) NamesOf(context.Context, []domain.ID) (map[domain.ID]domain.JobName, error) {
	if w.away {
		return nil, errAway
	}
	return w.names, nil
}

func (w *world) Dependents(_ context.Context, jobs []domain.ID) (map[domain.ID]int, error) {
	out := map[domain.ID]int{}
	for _, e := range w.edges {
		out[e.Up]++
	}
	return out, nil
}

func (w *world) Edges(context.Context, domain.ProjectSet) (byUp, byDown []domain.JobEdge, err error) {
	return w.edges, w.edges, nil // a chain of rising ids: both orders are one
}

func (w *world) Otherwise(context.Context, domain.ProjectSet, time.Time, time.Time) ([]domain.JobThen, error) {
	return w.then, nil
}

func (w *world) Shapes(context.Context, []domain.JobVersion, time.Time) (map[domain.ID]domain.JobShape, error) {
	return w.shapes, nil
}

func (w *world) Starts(context.Context) ([]domain.StartEdge, error) { return nil, nil }

func (w *world) Absences(_ context.Context, jobs []domain.ID, _ domain.BizDate) (map[domain.ID]domain.Absence, error) {
	return w.absent, nil
}

func (w *world) Resolve(_ context.Context, keys []domain.JobKey) (map[domain.JobKey]domain.ID, error) {
	out := map[domain.JobKey]domain.ID{}
	for id, n := range w.names {
		if slices.Contains(keys, n.Key) {
			out[n.Key] = id
		}
	}
	return out, nil
}

func (w *world) FirstNames(context.Context, domain.ProjectSet, int) ([]domain.JobName, error) {
	return slices.Collect(maps.Values(w.names)), nil
}

func (w *world) LastDate(_ context.Context, jobs []domain.ID, from, to domain.BizDate) (domain.BizDate, error) {
	for _, d := range w.days(jobs) { // newest first
		if !d.BizDate.Before(from) && !to.Before(d.BizDate) {
			return d.BizDate, nil
		}
	}
	return domain.BizDate{}, nil
}

func (w *world) FailedOn(_ context.Context, _ domain.ProjectSet, date domain.BizDate, limit int) (out []domain.ID, _ error) {
	for _, d := range w.days(slices.Collect(maps.Keys(w.names))) {
		if d.BizDate == date && d.State == domain.Failed && len(out) < limit {
			out = append(out, d.Job)
		}
	}
	return out, nil
}

// days are the latest instances of jobs by business date, newest first.
func (w *world) days(jobs []domain.ID) []domain.JobDay {
	latest := map[[2]any]domain.Instance{}
	for id, in := range w.instances {
		if k := [2]any{in.JobID, in.BizDate}; slices.Contains(jobs, in.JobID) && id > latest[k].ID {
			latest[k] = in
		}
	}
	var out []domain.JobDay
	for _, in := range latest {
		out = append(out, domain.JobDay{Job: in.JobID, BizDate: in.BizDate, Instance: in.ID, Version: max(in.Version, 1), Status: in.Status, Started: in.StartedAt, Finished: in.FinishedAt})
	}
	slices.SortFunc(out, func(a, b domain.JobDay) int { return b.BizDate.Compare(a.BizDate) })
	return out
}

func (w *world) LatestDays(_ context.Context, jobs []domain.ID, n int) (map[domain.ID][]domain.JobDay, error) {
	out := map[domain.ID][]domain.JobDay{}
	for _, d := range w.days(jobs) {
		if len(out[d.Job]) < n {
			out[d.Job] = append(out[d.Job], d)
		}
	}
	return out, nil
}

func (w *world) OnDate(_ context.Context, jobs []domain.ID, date domain.BizDate) ([]domain.JobDay, error) {
	return slices.DeleteFunc(w.days(jobs), func(d domain.JobDay) bool { return d.BizDate != date }), nil
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		zone, err := time.LoadLocation("Asia/Shanghai")
		if err != nil {
			t.Fatal(err)
		}
		w := &world{zone: zone, now: time.Date(2026, 2, 3, 15, 30, 0, 0, zone), instances: map[domain.ID]domain.Instance{}, names: map[domain.ID]domain.JobName{}}
		w.workers = []domain.Worker{{Name: "w", State: domain.WorkerAvailable, SeenAt: w.now.AddDate(1, 0, 0)}}
		w.World = edge.New(t, url, func(e *edge.World) []httpx.Route {
			st := store.New(e.DB)
			w.tally = board.Tally{Store: st}
			reader := &board.Reader{Store: st, Instances: w, Jobs: w, Plans: w, Zone: zone}
			return (&web.Handlers{Reader: reader, Search: &board.Search{Jobs: w, Instances: w, Workers: w}, Now: func() time.Time { return w.now },
				NoWrites: func() string { return w.noWrites }, Workers: fleet{w}, Broker: fleet{w}, Untaken: func(context.Context) (time.Time, error) { return w.untaken, nil },
				Unreached: func(context.Context) (time.Time, string, error) { return w.unreached, "connection refused", nil }}).Routes()
		})
		for i, name := range []string{"alpha", "beta", "gamma"} {
			w.names[domain.ID(i+1)] = domain.JobName{ID: domain.ID(i + 1), ProjectID: 7, Key: domain.JobKey{Project: domain.DefaultProject, Name: name}, Title: "<" + name + ">"}
		}
		w.edges = []domain.JobEdge{{Up: 1, Down: 2}, {Up: 2, Down: 3}}
		fn(t, w)
	})
}

func (w *world) record(changes ...domain.Change) {
	w.T.Helper()
	if err := w.tally.Record(w.T.Context(), changes); err != nil {
		w.T.Fatal(err)
	}
	for _, c := range changes {
		w.instances[c.Instance.ID] = c.Instance
	}
}

// born makes an instance of a job, queued.
func (w *world) born(job domain.ID, at time.Time) domain.Instance {
	w.T.Helper()
	in := domain.Instance{ID: domain.ID(1000 + len(w.instances)), ProjectID: 7, JobID: job, BizDate: domain.BizDateOf(at, w.zone), Expected: at.Add(-time.Second),
		CreatedAt: at.UTC(), RunNo: 1, Status: domain.Status{State: domain.Running, Label: domain.Queued}}
	w.record(domain.Change{Instance: in})
	return in
}

func (w *world) move(in domain.Instance, name domain.MoveName, to domain.Status) domain.Instance {
	w.T.Helper()
	from := in.Status
	in.Status = to
	w.record(domain.Change{Move: name, From: from, Instance: in})
	return in
}

func (w *world) starts(in domain.Instance, at time.Time) domain.Instance {
	in = w.move(in, domain.MoveDispatch, domain.Status{State: domain.Running, Label: domain.Dispatched})
	in.Attempts, in.StartedAt = in.Attempts+1, at
	return w.move(in, domain.MoveStart, domain.Status{State: domain.Running, Label: domain.Executing})
}

func (w *world) ends(in domain.Instance, at time.Time, state domain.State) domain.Instance {
	in.FinishedAt = at
	if state == domain.Failed {
		return w.move(in, domain.MoveFail, domain.Status{State: domain.Failed, Label: domain.ErrorLabel})
	}
	return w.move(in, domain.MoveSucceed, domain.Status{State: domain.Success})
}

// figures are the API's.
type figures struct {
	Day, Zone string
	From, To  time.Time
	Instances *struct {
		Total, Waiting, Queued, Executing, Retrying int64
		Hours                                       []struct{ Made, Failed int64 }
	}
	Failures *struct {
		Total int64
		Rate  float64
	}
	Delay   *struct{ MeanMs, Starts int64 }
	Longest []struct {
		Instance, Job string
		DurationMs    int64
	}
	TopFailing []struct {
		ID, Job string
		Failed  int64
		Blocks  int
	}
}

func (w *world) figures(token string) figures {
	w.T.Helper()
	var f figures
	a := w.API(token, "GET", "/api/v1/dashboard", "")
	if a.Status != 200 {
		w.T.Fatalf("%d %s", a.Status, a.Body)
	}
	a.JSON(w.T, &f)
	return f
}

func TestTheFiguresAreThoseOfTheInstancesMadeToday(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		morning := time.Date(2026, 2, 3, 0, 0, 0, 0, w.zone)
		w.ends(w.starts(w.born(1, morning.Add(-time.Minute)), morning), morning.Add(time.Hour), domain.Failed) // yesterday's, though it ran today
		first := w.ends(w.starts(w.born(1, morning), morning.Add(3*time.Second)), morning.Add(time.Minute), domain.Failed)
		w.ends(w.starts(w.born(2, morning.Add(8*time.Hour)), morning.Add(8*time.Hour+time.Second)), morning.Add(9*time.Hour), domain.Success)
		w.born(3, morning.Add(15*time.Hour))
		w.starts(w.born(3, morning.Add(15*time.Hour)), morning.Add(15*time.Hour))
		f := w.figures(edge.AdminToken)
		if f.Day != "2026-02-03" || f.Zone != "Asia/Shanghai" || !f.From.Equal(morning) || len(f.Instances.Hours) != 24 {
			t.Errorf("the day: %+v", f)
		}
		if m := f.Instances; m.Total != 4 || m.Queued != 1 || m.Executing != 1 || m.Waiting != 0 || m.Hours[0].Made != 1 || m.Hours[0].Failed != 1 || m.Hours[15].Made != 2 {
			t.Errorf("instances: %+v", *m)
		}
		if f.Failures.Total != 1 || f.Failures.Rate != 0.5 {
			t.Errorf("failures: %+v", *f.Failures)
		}
		// Delays of 4 s, 2 s and 1 s.
		if f.Delay.Starts != 3 || f.Delay.MeanMs != 2333 {
			t.Errorf("delay: %+v", *f.Delay)
		}
		if len(f.Longest) != 2 || f.Longest[0].Job != "beta" || f.Longest[0].DurationMs != 3_599_000 {
			t.Errorf("longest: %+v", f.Longest)
		}
		if len(f.TopFailing) != 1 || f.TopFailing[0].Job != "alpha" || f.TopFailing[0].Failed != 1 || f.TopFailing[0].Blocks != 1 {
			t.Errorf("top: %+v", f.TopFailing)
		}
		w.move(first, domain.MoveRerun, domain.Status{State: domain.Running, Label: domain.Queued})
		if f := w.figures(edge.AdminToken); f.Failures.Total != 0 || f.Instances.Queued != 2 || f.Instances.Total != 4 || len(f.TopFailing) != 0 {
			t.Errorf("after the rerun of what failed: %+v %+v", f.Failures, *f.Instances)
		}
	})
}

// TestFiguresAddUp plays random lives and compares the figures with a count of the
// instances themselves.
func TestFiguresAddUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rnd := rand.New(rand.NewPCG(1, 2))
		morning := time.Date(2026, 2, 3, 0, 0, 0, 0, w.zone)
		for range 60 {
			at := morning.Add(time.Duration(rnd.IntN(15*3600)) * time.Second)
			in := w.born(domain.ID(1+rnd.IntN(3)), at)
			for range rnd.IntN(4) {
				switch rnd.IntN(4) {
				case 0:
					in = w.move(in, domain.MoveHold, domain.Status{State: domain.Running, Label: domain.HeldOverlap})
				case 1:
					in = w.starts(in, at.Add(time.Second))
				case 2:
					in = w.move(in, domain.MoveRetry, domain.Status{State: domain.Retrying, Label: domain.Backoff})
				case 3:
					in = w.ends(in, at.Add(time.Minute), []domain.State{domain.Failed, domain.Success}[rnd.IntN(2)])
				}
			}
		}
		var total, waiting, queued, executing, retrying, failed int64
		for _, in := range w.instances {
			total++
			switch {
			case in.State == domain.Failed:
				failed++
			case in.State == domain.Retrying:
				retrying++
			case in.Phase() == "waiting":
				waiting++
			case in.Phase() == "queued":
				queued++
			case in.Phase() == "executing":
				executing++
			}
		}
		f := w.figures(edge.AdminToken)
		if m := f.Instances; m.Total != total || m.Waiting != waiting || m.Queued != queued || m.Executing != executing || m.Retrying != retrying || f.Failures.Total != failed {
			t.Errorf("figures %+v, %d failed; there are %d: %d waiting, %d queued, %d executing, %d retrying, %d failed",
				*f.Instances, f.Failures.Total, total, waiting, queued, executing, retrying, failed)
		}
		var made, top int64
		for _, h := range f.Instances.Hours {
			made += h.Made
		}
		for _, j := range f.TopFailing {
			top += j.Failed
		}
		if made != total || top != failed {
			t.Errorf("hours add up to %d of %d, jobs to %d of %d", made, total, top, failed)
		}
	})
}

func TestTheDashboardShowsFiveFiguresAndTheRestWhenOneIsAway(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.Browser("admin", edge.AdminPassword)
		if page := b.Get("/"); page.Status != 200 || !strings.Contains(page.Body, "No instances yet") || !strings.Contains(page.Body, "/jobs/new") {
			t.Errorf("the first day: %d", page.Status)
		}
		at := time.Date(2026, 2, 3, 9, 0, 0, 0, w.zone)
		w.ends(w.starts(w.born(1, at), at), at.Add(time.Minute), domain.Failed)
		for _, lang := range []string{"en", "zh-CN"} {
			page := b.Get("/", "Accept-Language", lang)
			if page.Status != 200 || strings.Contains(page.Body, "⟦") || strings.Contains(page.Body, "<alpha>") || len(figureNames(page.Body)) != 5 {
				t.Errorf("%s: %d, figures %v", lang, page.Status, figureNames(page.Body))
			}
			if !strings.Contains(page.Body, "state=failed") || !strings.Contains(page.Body, "made_from=2026-02-03T00%3A00%3A00%2B08%3A00") || !strings.Contains(page.Body, "/dag?failing=1") {
				t.Errorf("%s: figures lead nowhere", lang)
			}
		}
		w.away = true
		page := b.Get("/")
		if page.Status != 200 || strings.Count(page.Body, "could not be read") != 2 {
			t.Errorf("with jobs and instances away: %d, %d unread", page.Status, strings.Count(page.Body, "could not be read"))
		}
		if f := w.figures(edge.AdminToken); f.Longest != nil || f.TopFailing != nil || f.Instances == nil || f.Instances.Total != 1 {
			t.Errorf("with jobs and instances away: %+v", f)
		}
	})
}

// figureNames are the figures of a page, each once.
func figureNames(page string) map[string]bool {
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`\bfig-(instances|failures|delay|longest|top)\b`).FindAllStringSubmatch(page, -1) {
		names[m[1]] = true
	}
	return names
}

// The overview says first that the database takes no writes, and why.
func TestTheOverviewNamesADatabaseThatTakesNoWrites(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.Browser("admin", edge.AdminPassword)
		w.born(1, w.now.Add(-time.Minute))
		const words = "The database answers and takes no writes: it is read-only."
		if page := b.Get("/", "Accept-Language", "en"); strings.Contains(page.Body, words) {
			t.Errorf("it takes writes: %s", page.Body)
		}
		w.noWrites = "it is read-only"
		if page := b.Get("/", "Accept-Language", "en"); page.Status != 200 || !strings.Contains(page.Body, words) {
			t.Errorf("%d %s", page.Status, page.Body)
		}
	})
}

func TestFiguresAreOfTheProjectsThatTheCallerSees(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Project("mine")
		w.born(1, w.now.Add(-time.Minute))
		if f := w.figures(w.As("other", access.Viewer, "mine")); f.Instances.Total != 0 {
			t.Errorf("another project's instances are counted: %+v", *f.Instances)
		}
		if a := w.API(w.As("none", "", ""), "GET", "/api/v1/dashboard", ""); a.Status != 403 {
			t.Errorf("without a role: %d", a.Status)
		}
		if a := w.API("", "GET", "/api/v1/dashboard", ""); a.Status != 401 {
			t.Errorf("nobody: %d", a.Status)
		}
	})
}

package incident

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/i18n"
)

// world is a keeper over a real database; what it reads of other modules is the test's.
type world struct {
	t     *testing.T
	url   string
	db    *dbx.DB
	ids   *domain.IDs
	store *store.Store
	k     *Keeper

	events   []domain.Event
	ins      map[domain.ID]domain.Instance
	specs    map[domain.ID]domain.JobSpec
	deleted  map[domain.ID]bool
	workers  []domain.Worker
	untaken  int
	skew     time.Duration
	locked   int64
	projects map[domain.ID]string
	silent   error     // why nothing can be said of why
	reads    int       // of the history
	last     time.Time // of what happened
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, url string) {
		db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		ids, err := domain.NewIDs(1, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, url: url, db: db, ids: ids, store: store.New(db, ids.Next), ins: map[domain.ID]domain.Instance{}, specs: map[domain.ID]domain.JobSpec{},
			deleted: map[domain.ID]bool{}, projects: map[domain.ID]string{7: "pay"}}
		w.begin(nil)
		fn(t, w)
	})
}

// begin is a term of another process, which remembers nothing.
func (w *world) begin(hook Hook) {
	w.k = NewKeeper(&Keeper{Store: w.store, IDs: w.ids.Next, History: w, Instances: w, Jobs: w, Workers: fleet{w}, Projects: w, Hook: hook,
		PagesURL: "https://ax.example.com"})
	w.k.open, w.k.done = map[domain.ID]openJob{}, map[domain.ID]time.Time{}
	w.k.term = &term{leaving: map[string]bool{}, last: map[string]time.Time{}}
	w.k.active.Store(true)
}

// EventsAfter is the history.
func (w *world) EventsAfter(_ context.Context, after domain.ID, limit int) ([]domain.Event, error) {
	w.reads++
	slices.SortFunc(w.events, func(a, b domain.Event) int { return cmp.Compare(a.ID, b.ID) })
	at, _ := slices.BinarySearchFunc(w.events, after+1, func(e domain.Event, id domain.ID) int { return cmp.Compare(e.ID, id) })
	return w.events[at:min(len(w.events), at+limit)], nil
}

// ByIDs reads instances.
func (w *world) ByIDs(_ context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error) {
	out := map[domain.ID]domain.Instance{}
	for _, id := range ids {
		if in, ok := w.ins[id]; ok {
			out[id] = in
		}
	}
	return out, nil
}

// Latest reads the newest instances of a job.
func (w *world) Latest(_ context.Context, job domain.ID, limit int) ([]domain.Instance, error) {
	var out []domain.Instance
	for _, in := range w.ins {
		if in.JobID == job {
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(a, b domain.Instance) int { return cmp.Compare(b.ID, a.ID) })
	return out[:min(len(out), limit)], nil
}

// Ready reads what waits.
func (w *world) Ready(_ context.Context, lane domain.Lane, limit int) ([]domain.Instance, error) {
	var out []domain.Instance
	for _, in := range w.ins {
		if in.Lane == lane && in.Label == domain.Queued {
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(a, b domain.Instance) int { return a.ReadyAt.Compare(b.ReadyAt) })
	return out[:min(len(out), limit)], nil
}

// Held reads what is held.
func (w *world) Held(_ context.Context, ready time.Time, limit int) ([]domain.Instance, error) {
	var out []domain.Instance
	for _, in := range w.ins {
		if (in.Label == domain.HeldOverlap || in.Label == domain.HeldPool) && !in.ReadyAt.After(ready) {
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(a, b domain.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return out[:min(len(out), limit)], nil
}

// Why is why it waits, in two languages.
func (w *world) Why(_ context.Context, in domain.Instance) (map[string]string, error) {
	if w.silent != nil {
		return nil, w.silent
	}
	return map[string]string{i18n.English: fmt.Sprintf("Why %s waits: w1 is lost.", in.JobName), i18n.Chinese: fmt.Sprintf("%s 在等待：w1 失联。", in.JobName)}, nil
}

// WaitingDeps reads what waits for its dependencies.
func (w *world) WaitingDeps(_ context.Context, made time.Time, limit int) ([]domain.Instance, error) {
	var out []domain.Instance
	for _, in := range w.ins {
		if in.Label == domain.WaitingDeps && in.CreatedAt.Before(made) {
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(a, b domain.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return out[:min(len(out), limit)], nil
}

// Events reads the history of an instance.
func (w *world) Events(_ context.Context, id domain.ID) ([]domain.Event, error) {
	return slices.DeleteFunc(slices.Clone(w.events), func(e domain.Event) bool { return e.InstanceID != id }), nil
}

// Spec reads a definition.
func (w *world) Spec(_ context.Context, job domain.ID, _ int) (domain.JobSpec, error) {
	return w.specs[job], nil
}

// NamesOf names jobs.
func (w *world) NamesOf(_ context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error) {
	out := map[domain.ID]domain.JobName{}
	for _, j := range jobs {
		out[j] = domain.JobName{ID: j, Key: domain.JobKey{Project: "pay", Name: fmt.Sprintf("job%d", j)}}
	}
	return out, nil
}

// Deleted tells which jobs are gone.
func (w *world) Deleted(_ context.Context, jobs []domain.ID) ([]domain.ID, error) {
	return slices.DeleteFunc(slices.Clone(jobs), func(j domain.ID) bool { return !w.deleted[j] }), nil
}

type fleet struct{ w *world }

// List lists the workers.
func (f fleet) List(context.Context) ([]domain.Worker, error) { return f.w.workers, nil }

// Untaken is the schedule.
func (w *world) Untaken(context.Context, time.Time, int) (int, time.Time, error) {
	return w.untaken, time.Unix(1_790_000_000, 0), nil
}

// Names names the projects.
func (w *world) Names(context.Context) (map[domain.ID]string, error) { return w.projects, nil }

// Skew is the scheduler's.
func (w *world) Skew() (time.Duration, bool) { return w.skew, w.skew.Abs() > time.Second }

// LockedLong is the scheduler's.
func (w *world) LockedLong() int64 { return w.locked }

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// instance makes one of a job in project 7.
func (w *world) instance(job domain.ID, s domain.Status) domain.Instance {
	in := domain.Instance{ID: w.ids.Next(), ProjectID: 7, JobID: job, JobName: fmt.Sprintf("job%d", job), Status: s, Lane: domain.LaneDefault}
	w.ins[in.ID] = in
	return in
}

var failed = domain.Status{State: domain.Failed, Label: domain.ErrorLabel}

// next is a moment after all that happened: within a millisecond nobody could say what came first.
func (w *world) next() time.Time {
	at := now()
	if !at.After(w.last) {
		at = w.last.Add(time.Millisecond)
	}
	w.last = at
	return at
}

// happen lets an instance make a move that is in the history.
func (w *world) happen(in domain.Instance, move domain.MoveName, to domain.Status, note string) domain.Instance {
	at := w.next()
	in.Status = to
	if to.State.Terminal() {
		in.FinishedAt = at
	}
	w.ins[in.ID] = in
	w.events = append(w.events, domain.Event{ID: w.ids.Next(), ProjectID: 7, InstanceID: in.ID, Move: move, To: to.String(), Note: note, At: at})
	w.k.Changed([]domain.Change{{Move: move, Instance: in}})
	return in
}

func (w *world) fail(job domain.ID) domain.Instance {
	return w.happen(w.instance(job, domain.Status{State: domain.Running, Label: domain.Executing}), domain.MoveFail, failed, "exit code 3")
}

// succeed is an ordinary move: the history has nothing of it. heard: this process
// committed it.
func (w *world) succeed(job domain.ID, heard bool) {
	in := w.instance(job, domain.Status{State: domain.Success})
	in.FinishedAt = w.next()
	w.ins[in.ID] = in
	if heard {
		w.k.Changed([]domain.Change{{Move: domain.MoveSucceed, Instance: in}})
	}
}

// round is a round in which everything is due.
func (w *world) round() {
	w.t.Helper()
	clear(w.k.term.last)
	if err := w.k.Round(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// standing is every incident, in the order of the list: kind name×count or kind name→recovery.
func (w *world) standing() string {
	w.t.Helper()
	all, err := w.store.List(w.t.Context(), store.Filter{Seen: domain.ProjectSet{All: true}, Limit: 10_000})
	if err != nil {
		w.t.Fatal(err)
	}
	lines := make([]string, len(all))
	for i, in := range all {
		lines[i] = fmt.Sprintf("%s %s×%d", in.Kind, Subject(w.t.Context(), in), in.Count)
		if !in.Open() {
			lines[i] += "→" + string(in.Recovery)
		}
	}
	return strings.Join(lines, "; ")
}

func (w *world) want(want string) {
	w.t.Helper()
	if got := w.standing(); got != want {
		w.t.Fatalf("the incidents are %q, want %q", got, want)
	}
}

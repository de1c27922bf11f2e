package web

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/modules/kit/httpx"
)

// filter is a list's filter as it stands in an address.
type filter struct {
	State   string // a state, or a phase of running
	Label   string
	Job     string
	BizDate string
	Trace   string
	// Pool is [project/]name, and Place, "holds" or "waits", chooses those that have a place in it or
	// wait for one.
	Pool  string
	Place string
	// When the instance was made, RFC 3339: the figures of a day link here.
	MadeFrom string
	MadeTo   string
	Cursor   string
}

func readFilter(q url.Values) filter {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return filter{State: get("state"), Label: get("label"), Job: get("job"), BizDate: get("biz_date"), Trace: get("trace"), Pool: get("pool"), Place: get("place"),
		MadeFrom: get("made_from"), MadeTo: get("made_to"), Cursor: q.Get("cursor")}
}

// query is the filter in an address again, without its cursor.
func (f filter) query() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"state": f.State, "label": f.Label, "job": f.Job, "biz_date": f.BizDate, "trace": f.Trace, "pool": f.Pool, "place": f.Place,
		"made_from": f.MadeFrom, "made_to": f.MadeTo} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return q
}

// phases are the three into which running falls apart, in order.
var phases = []string{"waiting", "queued", "executing"}

// labelsOf are the labels of running in a phase.
func labelsOf(phase string) []domain.Label {
	var out []domain.Label
	for _, l := range domain.Labels[domain.Running] {
		if (domain.Status{State: domain.Running, Label: l}).Phase() == phase {
			out = append(out, l)
		}
	}
	return out
}

// place is where a page ended, as a cursor carries it.
type place struct {
	ID   domain.ID      `json:"id"`
	Date domain.BizDate `json:"date"`
}

// plan turns the filter into a query of the store, but for the job and the trace.
// What is not known is Invalid and named with what is.
func (f filter) plan(ctx context.Context, limit int) (store.Filter, error) {
	q := store.Filter{Limit: limit}
	if seen := httpx.Visible(ctx, domain.ActInstanceRead); !seen.All {
		q.Projects = append([]domain.ID{}, seen.IDs...)
	}
	if err := f.planStatus(&q); err != nil {
		return q, err
	}
	if f.BizDate != "" {
		d, err := domain.ParseBizDate(f.BizDate)
		if err != nil {
			return q, domain.Fail(domain.Invalid, "%v", err).At("biz_date").Coded("inst.bad_biz_date", "date", f.BizDate)
		}
		q.BizDate = d
	}
	var err error
	if q.MadeFrom, err = moment("made_from", f.MadeFrom); err != nil {
		return q, err
	}
	if q.MadeTo, err = moment("made_to", f.MadeTo); err != nil {
		return q, err
	}
	var after place
	if _, err := httpx.ReadCursor(f.Cursor, &after); err != nil {
		return q, err
	}
	q.After = store.Place(after)
	return q, nil
}

// moment reads an instant; the empty text is none. A plus that was sent as it is
// arrives as a blank.
func moment(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, strings.Replace(text, " ", "+", 1))
	if err != nil {
		return t, domain.Fail(domain.Invalid, "%q is no moment", text).At(field).WithHint("write it like 2026-02-03T00:00:00+08:00").
			Coded("inst.bad_moment", "text", text)
	}
	return t, nil
}

func (f filter) planStatus(q *store.Filter) error {
	state := domain.State(f.State)
	switch {
	case f.State == "":
	case slices.Contains(phases, f.State):
		q.State, q.Labels = domain.Running, labelsOf(f.State)
	case state.Valid():
		q.State = state
	default:
		return domain.Fail(domain.Invalid, "there is no state %q", f.State).At("state").
			WithHint("one of "+join(domain.States)+", or of running's phases "+strings.Join(phases, ", ")).
			Coded("inst.no_state", "state", f.State, "states", join(domain.States), "phases", strings.Join(phases, ", "))
	}
	if f.Label == "" {
		return nil
	}
	var all []domain.Label
	for _, s := range domain.States {
		all = append(all, domain.Labels[s]...)
	}
	if !slices.Contains(all, domain.Label(f.Label)) {
		return domain.Fail(domain.Invalid, "there is no label %q", f.Label).At("label").WithHint("one of "+join(all)).
			Coded("inst.no_label", "label", f.Label, "labels", join(all))
	}
	if len(q.Labels) > 0 && !slices.Contains(q.Labels, domain.Label(f.Label)) {
		q.Labels = []domain.Label{"-"} // no such instance: the label is of another phase
		return nil
	}
	q.Labels = []domain.Label{domain.Label(f.Label)}
	return nil
}

// planPool asks for the instances of a pool that the caller may see.
func (h *Handlers) planPool(ctx context.Context, f filter, q *store.Filter) error {
	switch {
	case f.Place != "" && f.Place != "holds" && f.Place != "waits":
		return domain.Fail(domain.Invalid, "%q is no place in a pool", f.Place).At("place").WithHint("holds or waits").Coded("inst.no_place", "place", f.Place)
	case f.Place != "" && f.Pool == "":
		return domain.Fail(domain.Invalid, "a place is one in a pool").At("pool").WithHint("say pool=NAME").Coded("inst.place_of_none")
	case f.Pool == "":
		return nil
	}
	key := domain.ParseJobKey(f.Pool)
	project, err := h.Projects.ByName(ctx, key.Project)
	if err == nil {
		err = httpx.Allow(ctx, project, domain.ActInstanceRead)
	}
	if domain.Is(err, domain.NotFound) {
		return domain.Fail(domain.NotFound, "there is no pool %q in a project %q that you may see", key.Name, key.Project).Coded("pool.none", "name", key.Name)
	}
	if err != nil {
		return err
	}
	q.Pool = domain.PoolKey{Project: project, Name: key.Name}
	if f.Place == "" {
		return nil
	}
	labels := domain.PlaceLabels()
	if f.Place == "waits" {
		labels = []domain.Label{domain.HeldPool}
	}
	if len(q.Labels) > 0 {
		labels = slices.DeleteFunc(labels, func(l domain.Label) bool { return !slices.Contains(q.Labels, l) })
	}
	if q.Labels = labels; len(labels) == 0 || q.State != "" && q.State != domain.Running {
		q.Labels = []domain.Label{"-"} // no such instance
		return nil
	}
	q.State = domain.Running
	return nil
}

func join[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, w := range all {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// found is one page. next is the cursor of the page after it, "" at the end. stopped is
// where the search for more of this page was left off, for it had looked at enough.
type found struct {
	ins     []domain.Instance
	next    string
	stopped store.Place
	// others are the further jobs of the name that the filter has.
	others []domain.JobName
}

// list reads one page.
func (h *Handlers) list(ctx context.Context, f filter, limit int) (p found, err error) {
	q, err := f.plan(ctx, limit+1)
	if err != nil {
		return p, err
	}
	if err := h.planPool(ctx, f, &q); err != nil {
		return p, err
	}
	if f.Job != "" {
		j, others, err := h.Jobs.InHistory(ctx, f.Job)
		if err == nil {
			err = httpx.Allow(ctx, j.ProjectID, domain.ActInstanceRead)
		}
		if err != nil {
			return p, err
		}
		q.Job, p.others = j.ID, others
	}
	if f.Trace != "" {
		p.ins, err = h.byTrace(ctx, f.Trace, q)
		return p, err
	}
	if p.ins, p.stopped, err = h.Records.Store.List(ctx, q); err != nil {
		return p, err
	}
	at := p.stopped
	if len(p.ins) > limit {
		p.ins = p.ins[:limit]
		at = store.Place{ID: p.ins[limit-1].ID, Date: p.ins[limit-1].BizDate}
	}
	if at.ID != 0 {
		p.next, err = httpx.Cursor(place(at))
	}
	return p, err
}

// byTrace is the one instance whose run carries the trace id, if the rest of the
// filter lets it pass and the caller may see it.
func (h *Handlers) byTrace(ctx context.Context, trace string, q store.Filter) ([]domain.Instance, error) {
	id, err := h.Records.Store.ByTrace(ctx, strings.ToLower(trace))
	if err != nil || id == 0 {
		return nil, err
	}
	in, err := h.Records.Store.Get(ctx, id)
	if domain.Is(err, domain.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	passes := (q.Projects == nil || slices.Contains(q.Projects, in.ProjectID)) && (q.Job == 0 || q.Job == in.JobID) &&
		(q.BizDate.IsZero() || q.BizDate == in.BizDate) && (q.State == "" || q.State == in.State) &&
		(q.Pool.Name == "" || q.Pool == in.PoolKey()) && (len(q.Labels) == 0 || slices.Contains(q.Labels, in.Label)) && !in.CreatedAt.Before(q.MadeFrom) &&
		(q.MadeTo.IsZero() || in.CreatedAt.Before(q.MadeTo))
	if !passes {
		return nil, nil
	}
	return []domain.Instance{in}, nil
}

package web

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/instances"
	"github.com/axsched/ax/views/ui"
)

const pageSize = 50

// chips are the quick filters, in the order in which pages show them.
var chips = []string{"waiting", "queued", "executing", "retrying", "failed", "success", "cancelled"}

func (h *Handlers) listPage(c echo.Context) error {
	ctx := c.Request().Context()
	f := readFilter(c.QueryParams())
	p := instances.ListPage{Shell: httpx.Shell(c), ClearURL: "/instances",
		Filter: instances.Filter{State: f.State, Label: f.Label, Job: f.Job, BizDate: f.BizDate, Trace: f.Trace}}
	p.Filter.Pool, p.Filter.Place = f.Pool, f.Place
	p.Filter.MadeFrom, p.Filter.MadeTo, p.Filter.Made = f.MadeFrom, f.MadeTo, madeWords(ctx, f)
	p.Chips, p.Labels = chipsOf(f), labelOptions(ctx, f.State)
	found, err := h.list(ctx, f, pageSize)
	if err != nil {
		status, text, ok := httpx.Explain(c, err)
		if !ok {
			return err
		}
		p.Error = text
		return httpx.Render(c, status, instances.List(p))
	}
	p.Namesakes = namesakes(f, found.others)
	names, err := h.namesOf(ctx, found.ins...)
	if err != nil {
		return err
	}
	targets, err := h.targets(ctx, found.ins)
	if err != nil {
		return err
	}
	marks, err := h.stales(ctx, found.ins)
	if err != nil {
		return err
	}
	for _, in := range found.ins {
		row := rowOf(ctx, in, names, targets)
		row.Stale = staleText(ctx, marks[in.ID])
		p.Rows = append(p.Rows, row)
	}
	if found.next != "" {
		p.Pager.NextURL = address(f, found.next)
	}
	if found.stopped.ID != 0 {
		p.Pager.PartialUntil = found.stopped.ID.Time()
	}
	if f.Cursor != "" {
		p.Pager.FirstURL = address(f, "")
	}
	return httpx.Render(c, http.StatusOK, instances.List(p))
}

// madeWords says the span in which the instances were made, in the reader's zone.
func madeWords(ctx context.Context, f filter) string {
	from, err := moment("made_from", f.MadeFrom)
	to, bad := moment("made_to", f.MadeTo)
	if err != nil || bad != nil || from.IsZero() && to.IsZero() {
		return ""
	}
	return i18n.T(ctx, "inst.made", "from", i18n.DateTime(ctx, from), "to", i18n.DateTime(ctx, to))
}

// address is the list's address with the filter and a cursor.
func address(f filter, cursor string) string {
	q := f.query()
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	if len(q) == 0 {
		return "/instances"
	}
	return "/instances?" + q.Encode()
}

// chipsOf are the quick filters; choosing the one in force takes it away.
func chipsOf(f filter) []instances.Chip {
	out := make([]instances.Chip, len(chips))
	for i, name := range chips {
		to := f
		to.State, to.Label, to.Place, to.Cursor = name, "", "", ""
		if f.State == name {
			to.State = ""
		}
		out[i] = instances.Chip{Key: name, URL: address(to, ""), Count: -1, Active: f.State == name}
	}
	return out
}

// labelOptions are the labels that fit the state chosen.
func labelOptions(ctx context.Context, state string) []ui.Option {
	var labels []domain.Label
	for _, s := range domain.States {
		for _, l := range domain.Labels[s] {
			if state == "" || state == string(s) || slices.Contains(phases, state) && slices.Contains(labelsOf(state), l) {
				labels = append(labels, l)
			}
		}
	}
	out := make([]ui.Option, len(labels))
	for i, l := range labels {
		out[i] = ui.Option{Value: string(l), Text: i18n.T(ctx, "label."+string(l))}
	}
	return out
}

// targets is where the attempts in force of the instances were sent.
func (h *Handlers) targets(ctx context.Context, ins []domain.Instance) (map[domain.ID]domain.Attempt, error) {
	ids := make([]domain.ID, 0, len(ins))
	for _, in := range ins {
		if in.AttemptID != 0 {
			ids = append(ids, in.AttemptID)
		}
	}
	return h.Records.Store.Attempts(ctx, ids)
}

func rowOf(ctx context.Context, in domain.Instance, names map[domain.ID]domain.JobName, targets map[domain.ID]domain.Attempt) instances.Row {
	var a *domain.Attempt
	if sent, ok := targets[in.AttemptID]; ok {
		a = &sent
	}
	ran := ranOf(i18n.Now(ctx), in, a)
	r := instances.Row{ID: in.ID.String(), URL: instanceURL(in.ID), Job: jobRef(names, in), BizDate: in.BizDate.String(), Status: status(in.Status),
		Trigger: string(in.Trigger), Attempt: in.Attempts, Expected: in.Expected, Started: in.StartedAt, Duration: ran.took, AtLeast: ran.atLeast, Target: targetRef(ran.target), Trace: in.TraceID}
	r.Delay, _ = in.Delay()
	if in.Label == domain.HeldPool {
		r.Why = instance.Why(instance.Facts{Instance: in, Now: i18n.Now(ctx)}).In(ctx)
	}
	if a != nil && (in.Label == domain.Dispatched || in.Label == domain.Stopping || in.Label == domain.Orphan) {
		r.Why = instance.Why(instance.Facts{Instance: in, Attempt: a, Now: i18n.Now(ctx)}).In(ctx)
	}
	if in.State == domain.Failed || in.State == domain.Cancelled {
		r.Why = i18n.Retell(ctx, in.Message)
	}
	return r
}

func status(s domain.Status) ui.Status {
	return ui.Status{State: string(s.State), Label: string(s.Label)}
}

func instanceURL(id domain.ID) string { return "/instances/" + id.String() }

func jobRef(names map[domain.ID]domain.JobName, in domain.Instance) ui.Ref {
	n, known := names[in.JobID]
	r := ui.Ref{ID: key(names, in), Title: n.Title, Gone: n.DeletedAt}
	if !known || n.DeletedAt.IsZero() {
		r.URL = jobURL(in.JobID)
	}
	return r
}

// namesakes lead to the same list of the other jobs of the name.
func namesakes(f filter, others []domain.JobName) []ui.Namesake {
	f.Cursor = ""
	var out []ui.Namesake
	for _, n := range others {
		f.Job = n.ID.String()
		out = append(out, ui.Namesake{ID: f.Job, URL: address(f, ""), Gone: n.DeletedAt})
	}
	return out
}

// jobURL is the page of a job; "" for one that is gone.
func jobURL(id domain.ID) string {
	if id <= 0 {
		return ""
	}
	return "/jobs/" + id.String()
}

func targetRef(name string) ui.Ref {
	if name == "" {
		return ui.Ref{}
	}
	return ui.Ref{ID: name, URL: "/workers"}
}

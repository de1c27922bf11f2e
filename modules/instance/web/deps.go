package web

import (
	"bytes"
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/instances"
	"github.com/axsched/ax/views/ui"
)

// mostDetailed is how many of an instance's dependencies are shown fire by fire.
const mostDetailed = 50

// neighbours are what the instance waited for, and what waits for its job and date.
func (h *Handlers) neighbours(ctx context.Context, w whole) (up, down []instances.Dep, err error) {
	in := w.facts.Instance
	waiters, err := h.Records.Deps.Waiters(ctx, in.JobID, in.BizDate)
	if err != nil {
		return nil, nil, err
	}
	var ids []domain.ID
	for _, d := range w.deps {
		ids = append(ids, decisive(d))
	}
	for _, d := range waiters {
		ids = append(ids, d.InstanceID)
	}
	others, err := h.Records.Store.ByIDs(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	seen := httpx.Visible(ctx, domain.ActInstanceRead)
	for i, d := range w.deps {
		v := upView(ctx, d, others[decisive(d)], seen)
		if by := decisive(d); i < mostDetailed && (by == 0 || seen.Has(others[by].ProjectID)) {
			v.Parts, v.MoreParts = partsOf(ctx, d)
		}
		up = append(up, v)
	}
	for _, d := range waiters {
		o, ok := others[d.InstanceID]
		if !ok || !seen.Has(o.ProjectID) {
			continue
		}
		v := depView(o, seen)
		v.Job, v.BizDate, v.Rule, v.Met = ui.Ref{ID: o.JobName, URL: v.URL}, o.BizDate.String(), ruleOf(d).In(ctx), d.State.Lets()
		v.State = i18n.T(ctx, "dep.state."+string(d.State))
		down = append(down, v)
	}
	return up, down, nil
}

// decisive is the one instance by which a dependency is shown: what met or failed it, else what
// decides as things stand, else the first that stands in the way.
func decisive(d instance.Dependency) domain.ID {
	if d.By != 0 {
		return d.By
	}
	if d.Standing.By.ID != 0 {
		return d.Standing.By.ID
	}
	var done domain.ID
	for _, p := range d.Standing.Parts {
		if p.Instance != 0 && p.Kind != domain.PartDone {
			return p.Instance
		}
		if p.Instance != 0 {
			done = p.Instance
		}
	}
	return done
}

func upView(ctx context.Context, d instance.Dependency, by domain.Instance, seen domain.ProjectSet) instances.Dep {
	v := depView(by, seen)
	v.Job = ui.Ref{ID: d.Name, URL: jobURL(d.Upstream)}
	v.BizDate = worded(ctx, instance.DatesOf(d.InstanceDep))
	v.Rule, v.Met = ruleOf(d.InstanceDep).In(ctx), d.State.Lets()
	v.State = i18n.T(ctx, "dep.state."+string(d.State))
	if d.State != domain.DepWaiting {
		return v
	}
	v.Note = instance.Standing(d).In(ctx)
	switch lost := d.Standing.State == domain.DepFailed; {
	case d.Standing.Nothing:
		v.Warning = i18n.T(ctx, "dep.nothing")
	case lost && d.OnFailure == domain.FailureHold:
		v.Warning = i18n.T(ctx, "dep.held")
	case lost && d.OnFailure == domain.FailureRun:
		v.Warning = i18n.T(ctx, "dep.run_after")
	}
	return v
}

func ruleOf(d domain.InstanceDep) ui.DepRule {
	r := ui.DepRule{Check: d.Check, Require: d.Require}
	r.Set, r.N, r.Unit = d.Rule.Parts()
	return r
}

// worded says a date, or a range of them.
func worded(ctx context.Context, v any) string {
	switch v := v.(type) {
	case instance.Sentence:
		return v.In(ctx)
	case domain.BizDate:
		return v.String()
	}
	return ""
}

// partsOf are the fires that a dependency is about, and how many are not shown.
func partsOf(ctx context.Context, d instance.Dependency) ([]instances.DepPart, int) {
	if d.Standing.Planned < 2 {
		return nil, 0
	}
	out := make([]instances.DepPart, len(d.Standing.Parts))
	for i, p := range d.Standing.Parts {
		v := instances.DepPart{Kind: string(p.Kind), Text: p.BizDate.String()[5:], Status: status(p.Status)}
		at := p.BizDate.String()
		if !d.Several() && !p.At.IsZero() {
			v.Text, at = i18n.Clock(ctx, p.At), i18n.DateTime(ctx, p.At)
		}
		switch p.Kind {
		case domain.PartOpen, domain.PartSpoiled:
			v.Title = instance.Part(d, p).In(ctx)
		default:
			v.Title = i18n.T(ctx, "dep.part."+string(p.Kind), "at", at)
		}
		if p.Instance != 0 {
			v.URL = instanceURL(p.Instance)
		}
		out[i] = v
	}
	return out, d.Standing.Planned - len(out)
}

// depView is a neighbour, without what the reader may not see.
func depView(in domain.Instance, seen domain.ProjectSet) instances.Dep {
	if in.ID == 0 || !seen.Has(in.ProjectID) {
		return instances.Dep{}
	}
	return instances.Dep{Status: status(in.Status), URL: instanceURL(in.ID)}
}

// staleText says of an instance that it is stale; "" if it is not.
func staleText(ctx context.Context, m domain.StaleMark) string {
	if m.Instance == 0 {
		return ""
	}
	return i18n.T(ctx, "dep.stale", "job", m.Name, "date", m.BizDate.String(), "at", i18n.DateTime(ctx, m.At)+" "+i18n.ZoneName(ctx, m.At))
}

// releaseOf is the button that releases an instance which waits for its dependencies.
func releaseOf(ctx context.Context, in domain.Instance) ui.Action {
	if in.Label != domain.WaitingDeps {
		return ui.Action{}
	}
	return offered(ctx, in, domain.ActInstanceRelease, "release")
}

func mayRelease(ctx context.Context) func(domain.Instance) error {
	return func(in domain.Instance) error { return httpx.Allow(ctx, in.ProjectID, domain.ActInstanceRelease) }
}

func (h *Handlers) releaseForm(c echo.Context) error {
	ctx := c.Request().Context()
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	if _, err := h.Requests.Release(ctx, id, strings.TrimSpace(form.Get("reason")), mayRelease(ctx)); err != nil {
		return err
	}
	return httpx.Redirect(c, instanceURL(id))
}

func (h *Handlers) apiRelease(c echo.Context) error {
	ctx := c.Request().Context()
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	var a asked
	if len(bytes.TrimSpace(httpx.Body(c))) > 0 {
		if a, err = readAsked(c); err != nil {
			return err
		}
	}
	in, err := h.Requests.Release(ctx, id, a.Reason, mayRelease(ctx))
	if err != nil {
		return err
	}
	return h.answerBrief(c, http.StatusOK, in)
}

// dep is one dependency as the API answers it.
type dep struct {
	Job     string `json:"job"`
	BizDate string `json:"bizDate"` // the first date that it is about
	To      string `json:"bizDateTo"`
	Rule    string `json:"rule"`
	Check   string `json:"check"`
	Require string `json:"require"`
	State   string `json:"state"`
	Said    string `json:"said"` // of one that waits: what is missing
	// How the planned fires stand; of one that waits only.
	Planned int `json:"planned"`
	Done    int `json:"done"`
	// Nothing says that nothing is planned that could ever meet it.
	Nothing  bool      `json:"nothing"`
	Missing  []depPart `json:"missing"`
	Instance domain.ID `json:"instance"` // the one that met or failed it, or decides as things stand; "" = none
}

// depPart is one planned fire that is not as it is waited for.
type depPart struct {
	Kind     string    `json:"kind"` // open, missing, missed, spoiled
	BizDate  string    `json:"bizDate"`
	At       stamp     `json:"at"` // null: not by time
	Instance domain.ID `json:"instance"`
	State    string    `json:"state"`
}

func depOf(d instance.Dependency) dep {
	out := dep{Job: d.Name, BizDate: d.BizDate.String(), To: d.To.String(), Rule: string(d.Rule), Check: d.Check, Require: d.Require,
		State: string(d.State), Instance: d.By, Missing: []depPart{}}
	if d.State != domain.DepWaiting {
		return out
	}
	s := d.Standing
	out.Said, out.Planned, out.Done, out.Nothing = instance.Standing(d).English(), s.Planned, s.Done, s.Nothing
	out.Instance = s.By.ID
	for _, p := range s.Parts {
		if p.Kind != domain.PartDone {
			out.Missing = append(out.Missing, depPart{string(p.Kind), p.BizDate.String(), stamp(p.At), p.Instance, string(p.Status.State)})
		}
	}
	return out
}

// stale says of an instance in an answer that an upstream ran again since it began.
type stale struct {
	Job      string    `json:"job"`
	BizDate  string    `json:"bizDate"`
	Instance domain.ID `json:"instance"`
	At       stamp     `json:"at"`
}

func staleOf(m domain.StaleMark) *stale {
	if m.Instance == 0 {
		return nil
	}
	return &stale{m.Name, m.BizDate.String(), m.By, stamp(m.At)}
}

// stales reads which of the instances are stale.
func (h *Handlers) stales(ctx context.Context, ins []domain.Instance) (map[domain.ID]domain.StaleMark, error) {
	ids := make([]domain.ID, 0, len(ins))
	for _, in := range ins {
		if !in.StartedAt.IsZero() {
			ids = append(ids, in.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return h.Records.Deps.Stale(ctx, ids)
}

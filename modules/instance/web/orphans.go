package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/instances"
	"github.com/axsched/ax/views/ui"
)

// orphansOf is the list's filter for the orphans that an address asks for.
func orphansOf(q url.Values) filter {
	f := readFilter(url.Values{"job": q["job"], "cursor": q["cursor"]})
	f.State, f.Label = string(domain.Running), string(domain.Orphan)
	return f
}

func orphansURL(job, cursor string) string {
	q := url.Values{}
	if job != "" {
		q.Set("job", job)
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	if len(q) == 0 {
		return "/orphans"
	}
	return "/orphans?" + q.Encode()
}

func (h *Handlers) orphansPage(c echo.Context) error {
	return h.showOrphans(c, instances.OrphansPage{})
}

// showOrphans fills the list in round what the page has to say already.
func (h *Handlers) showOrphans(c echo.Context, p instances.OrphansPage) error {
	ctx := c.Request().Context()
	f := orphansOf(c.QueryParams())
	p.Shell, p.Key, p.Job = httpx.Shell(c), rand.Text(), f.Job
	p.Choices = choices(ctx, !httpx.Visible(ctx, domain.ActOrphanSucceed).Empty())
	p.Settle = ui.Action{URL: "/orphans/settle"}
	if httpx.Visible(ctx, domain.ActOrphanSettle).Empty() {
		p.Settle = ui.Action{Denied: i18n.T(ctx, "http.denied", "action", string(domain.ActOrphanSettle))}
	}
	status := http.StatusOK
	if p.FormError != "" {
		status = http.StatusUnprocessableEntity
	}
	if err := h.fillOrphans(ctx, &p, f); err != nil {
		var text string
		var ok bool
		if status, text, ok = httpx.Explain(c, err); !ok {
			return err
		}
		p.Error = text
	}
	return httpx.Render(c, status, instances.Orphans(p))
}

func (h *Handlers) fillOrphans(ctx context.Context, p *instances.OrphansPage, f filter) error {
	found, err := h.list(ctx, f, pageSize)
	if err != nil {
		return err
	}
	names, err := h.namesOf(ctx, found.ins...)
	if err != nil {
		return err
	}
	lost, err := h.targets(ctx, found.ins)
	if err != nil {
		return err
	}
	for _, in := range found.ins {
		p.Rows = append(p.Rows, orphanRow(ctx, in, names, lost[in.AttemptID]))
	}
	if found.next != "" {
		p.Pager.NextURL = orphansURL(f.Job, found.next)
	}
	if found.stopped.ID != 0 {
		p.Pager.PartialUntil = found.stopped.ID.Time()
	}
	if f.Cursor != "" {
		p.Pager.FirstURL = orphansURL(f.Job, "")
	}
	return nil
}

func orphanRow(ctx context.Context, in domain.Instance, names map[domain.ID]domain.JobName, lost domain.Attempt) instances.Orphan {
	heard, at := lost.Lost()
	return instances.Orphan{Pick: pickText(in), URL: instanceURL(in.ID), LogURL: tabURL(in.ID, "log", in.AttemptID.String()), Job: jobRef(names, in),
		BizDate: in.BizDate.String(), Run: in.RunNo, Attempt: in.Attempts, Target: targetRef(lost.Target), Started: in.StartedAt, Heard: heard, Lost: at, Note: i18n.Retell(ctx, lost.Message)}
}

// pickText names an orphan and the attempt that was judged, as a form carries it.
func pickText(in domain.Instance) string { return in.ID.String() + "." + in.AttemptID.String() }

func readPick(text string) (instance.Pick, error) {
	id, attempt, _ := strings.Cut(text, ".")
	var p instance.Pick
	var err error
	if p.ID, err = domain.ParseID(id); err == nil && attempt != "" {
		p.Attempt, err = domain.ParseID(attempt)
	}
	if err != nil {
		return p, domain.Fail(domain.Invalid, "%q names no orphan", text).At("instances")
	}
	return p, nil
}

func readPicks(texts []string) ([]instance.Pick, error) {
	out := make([]instance.Pick, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = readPick(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// choices are the verdicts with what each does.
func choices(ctx context.Context, maySucceed bool) []instances.Verdict {
	out := make([]instances.Verdict, len(instance.Verdicts))
	for i, v := range instance.Verdicts {
		key := "orphan.as." + string(v)
		out[i] = instances.Verdict{Value: string(v), Text: i18n.T(ctx, key), Help: i18n.T(ctx, key+"_text")}
		if v == instance.VerdictSuccess && !maySucceed {
			out[i].Denied = i18n.T(ctx, "orphan.success_denied")
		}
	}
	return out
}

func maySettle(ctx context.Context, v instance.Verdict) func(domain.Instance) error {
	return func(in domain.Instance) error { return httpx.Allow(ctx, in.ProjectID, instance.SettleAction(v)) }
}

// settleForm settles what was chosen in the list and tells what became of each.
func (h *Handlers) settleForm(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	v, reason := instance.Verdict(form.Get("as")), strings.TrimSpace(form.Get("reason"))
	var done []instance.Settled
	err = httpx.OncePage(c, func(ctx context.Context) (string, error) {
		picks, err := readPicks(form["pick"])
		if err == nil {
			done, err = h.Requests.Settle(ctx, picks, v, reason, maySettle(ctx, v))
		}
		return orphansURL(form.Get("job"), ""), err
	}, func() error { return h.showOrphans(c, told(c.Request().Context(), done)) })
	if domain.Is(err, domain.Invalid) {
		p := instances.OrphansPage{Open: true, As: string(v), Reason: reason, Picked: map[string]bool{}, FormError: httpx.Say(c.Request().Context(), err)}
		for _, pick := range form["pick"] {
			p.Picked[pick] = true
		}
		return h.showOrphans(c, p)
	}
	return err
}

// told is what became of each pick, for the page.
func told(ctx context.Context, done []instance.Settled) instances.OrphansPage {
	var p instances.OrphansPage
	for _, d := range done {
		if d.Err == nil {
			p.Done++
			continue
		}
		left := instances.Left{Name: d.ID.String(), Why: httpx.Say(ctx, d.Err)}
		if d.Instance.ID != 0 {
			left.Name, left.URL = d.Instance.JobName+" "+d.Instance.BizDate.String(), instanceURL(d.ID)
		}
		p.Left = append(p.Left, left)
	}
	return p
}

// settleOneForm settles the instance of the path.
func (h *Handlers) settleOneForm(c echo.Context) error {
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	v, pick := instance.Verdict(form.Get("as")), instance.Pick{ID: id}
	if text := form.Get("attempt"); text != "" {
		if pick.Attempt, err = domain.ParseID(text); err != nil {
			return domain.Fail(domain.Invalid, "%v", err).At("attempt")
		}
	}
	return httpx.OnceForm(c, func(ctx context.Context) (string, error) {
		_, err := h.Requests.SettleOne(ctx, pick, v, strings.TrimSpace(form.Get("reason")), maySettle(ctx, v))
		return instanceURL(id), err
	})
}

// settleOf is what the reader may do with an orphan on its own page.
func settleOf(ctx context.Context, in domain.Instance) (settle ui.Action, verdicts []instances.Verdict) {
	if in.Label != domain.Orphan || in.IsSplit() {
		return settle, nil
	}
	return offered(ctx, in, domain.ActOrphanSettle, "settle"), choices(ctx, httpx.Can(ctx, in.ProjectID, domain.ActOrphanSucceed))
}

package web

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

// asked is what a backfill is asked with. The dates are from to to, both counted, or a list.
type asked struct {
	Job         string            `json:"job"`
	Reach       string            `json:"reach,omitempty"` // alone (default), downstream or upstream
	From        string            `json:"from,omitempty"`
	To          string            `json:"to,omitempty"`
	Dates       []string          `json:"dates,omitempty"`
	Fires       []time.Time       `json:"fires,omitempty"`  // only these planned moments of the dates
	Since       time.Time         `json:"since,omitzero"`   // only planned moments from this one on
	Until       time.Time         `json:"until,omitzero"`   // only planned moments up to this one, counted
	Wanted      string            `json:"wanted,omitempty"` // missing (default), failed, or all, which runs successes again
	Degree      int               `json:"degree,omitempty"` // how much is under way at a time; 1
	NewestFirst bool              `json:"newestFirst,omitempty"`
	GoesOn      bool              `json:"goesOn,omitempty"`     // after a failure; else it pauses
	NotBetween  string            `json:"notBetween,omitempty"` // 08:00-20:00 in the project's zone: nothing begins
	Params      map[string]string `json:"params,omitempty"`
	Reason      string            `json:"reason,omitempty"`
}

// started is asked, with the hash of the preview that it follows.
type started struct {
	asked
	Hash string `json:"hash"`
}

// request makes of it what the planner reads. The caller must see the job.
func (h *Handlers) request(ctx context.Context, a asked) (plan.Request, error) {
	if a.Job == "" {
		return plan.Request{}, domain.Fail(domain.Invalid, "say of which job").At("job").Coded("backfill.no_job")
	}
	if a.Degree < 0 {
		return plan.Request{}, domain.Fail(domain.Invalid, "the degree is %d and must be 1 or more", a.Degree).At("degree").
			Coded("backfill.bad_degree", "given", fmt.Sprint(a.Degree), "max", fmt.Sprint(plan.MaxDegree))
	}
	j, err := h.job(ctx, a.Job, domain.ActInstanceRead)
	if err != nil {
		return plan.Request{}, err
	}
	r := plan.Request{Job: j.ID, Reach: plan.Reach(a.Reach), Fires: slices.Clone(a.Fires), Since: a.Since, Until: a.Until, Wanted: plan.Wanted(a.Wanted), Degree: a.Degree, NewestFirst: a.NewestFirst,
		GoesOn: a.GoesOn, Params: a.Params, Reason: a.Reason, Seen: httpx.Visible(ctx, domain.ActInstanceRead)}
	if r.Not, err = plan.ParseWindow(a.NotBetween); err != nil {
		return r, err
	}
	if r.From, err = date("from", a.From); err != nil {
		return r, err
	}
	if r.To, err = date("to", a.To); err != nil {
		return r, err
	}
	for _, text := range a.Dates {
		d, err := date("dates", text)
		if err != nil {
			return r, err
		}
		if !d.IsZero() {
			r.Dates = append(r.Dates, d)
		}
	}
	return r, nil
}

func date(field, text string) (domain.BizDate, error) {
	if text == "" {
		return domain.BizDate{}, nil
	}
	d, err := domain.ParseBizDate(text)
	if err != nil {
		return d, domain.Fail(domain.Invalid, "%v", err).At(field).Coded("backfill.bad_date", "given", text)
	}
	return d, nil
}

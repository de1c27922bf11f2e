package web

import (
	"context"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
)

type stamp = httpx.Stamp

// planDoc is what a backfill would do.
type planDoc struct {
	Job         string       `json:"job"`
	Reach       string       `json:"reach"`
	Wanted      string       `json:"wanted"`
	Degree      int          `json:"degree"`
	NewestFirst bool         `json:"newestFirst"`
	GoesOn      bool         `json:"goesOn"`
	NotBetween  string       `json:"notBetween"`
	Zone        string       `json:"zone"`  // of notBetween
	Needs       string       `json:"needs"` // the permission that a start takes
	Runs        int          `json:"runs"`  // make + again: the number that is confirmed
	Make        int          `json:"make"`
	Again       int          `json:"again"`
	Forced      int          `json:"forced"` // successes among those that run again
	Leave       int          `json:"leave"`
	Dates       int          `json:"dates"`      // on which something runs
	Steps       int          `json:"steps"`      // what is made together; degree counts these
	EstimateMs  int64        `json:"estimateMs"` // 0: no history to tell by
	Hash        string       `json:"hash"`
	Items       []itemDoc    `json:"items"`
	Effects     []effectDoc  `json:"effects"`
	MoreEffects int          `json:"moreEffects"`
	Warnings    []warningDoc `json:"warnings"`
}

// itemDoc is one fire. State is "" in a preview.
type itemDoc struct {
	No       int    `json:"no"`
	Step     int    `json:"step"` // 0: it is left alone
	Job      string `json:"job"`
	BizDate  string `json:"bizDate"`
	Expected stamp  `json:"expected"` // null: the job has no schedule
	Act      string `json:"act"`
	Why      string `json:"why"`
	Said     string `json:"said"` // why, in words
	Was      string `json:"was"`  // how the instance stood that was there
	Version  int    `json:"version"`
	Instance string `json:"instance"` // "": there is none yet
	Run      int    `json:"run"`
	State    string `json:"state"`
}

type effectDoc struct {
	Kind     string `json:"kind"`
	Job      string `json:"job"`
	BizDate  string `json:"bizDate"`
	Instance string `json:"instance"`
	Because  string `json:"because"` // the job of the list
}

type warningDoc struct {
	Kind  string `json:"kind"`
	Job   string `json:"job"`
	Other string `json:"other"`
	N     int    `json:"n"`
	Text  string `json:"text"`
}

func planDocOf(ctx context.Context, p plan.Plan) planDoc {
	r := p.Request
	d := planDoc{Job: p.JobName, Reach: string(r.Reach), Wanted: string(r.Wanted), Degree: r.Degree, NewestFirst: r.NewestFirst, GoesOn: r.GoesOn,
		NotBetween: r.Not.String(), Zone: p.Zone.String(), Needs: string(r.Action()), Runs: p.Works(), Make: p.Make, Again: p.Again, Forced: p.Forced,
		Leave: p.Leave, Dates: p.Dates, Steps: p.Steps, EstimateMs: p.Estimate.Milliseconds(), Hash: p.Hash, Items: itemDocs(ctx, p.Items),
		Effects: make([]effectDoc, len(p.Effects)), MoreEffects: p.MoreEffects, Warnings: make([]warningDoc, len(p.Warnings))}
	for i, e := range p.Effects {
		d.Effects[i] = effectDoc{string(e.Kind), e.JobName, e.BizDate.String(), e.Instance.String(), e.Because}
	}
	for i, w := range p.Warnings {
		d.Warnings[i] = warningDoc{string(w.Kind), w.Job, w.Other, w.N, warningText(ctx, w)}
	}
	return d
}

// warningText says a warning in the reader's language.
func warningText(ctx context.Context, w plan.Warning) string {
	return i18n.T(ctx, "backfill.warn."+string(w.Kind), "job", w.Job, "other", w.Other, "n", w.N)
}

// whySaid says the reason of an item in the reader's language.
func whySaid(ctx context.Context, w plan.Why) string { return i18n.T(ctx, "backfill.why."+string(w)) }

func itemDocs(ctx context.Context, items []plan.Item) []itemDoc {
	out := make([]itemDoc, len(items))
	for i, it := range items {
		out[i] = itemDoc{No: it.No, Step: it.Step, Job: it.JobName, BizDate: it.BizDate.String(), Expected: stamp(it.Expected), Act: string(it.Act),
			Why: string(it.Why), Said: whySaid(ctx, it.Why), Version: it.Version, Run: it.RunNo, State: string(it.State)}
		if it.Was.State != "" {
			out[i].Was = it.Was.String()
		}
		if it.Instance != 0 {
			out[i].Instance = it.Instance.String()
		}
	}
	return out
}

// backfillDoc is a backfill and how far it is.
type backfillDoc struct {
	ID          domain.ID         `json:"id"`
	Job         string            `json:"job"`
	Reach       string            `json:"reach"`
	Wanted      string            `json:"wanted"`
	From        string            `json:"from"`
	To          string            `json:"to"`
	Dates       int               `json:"dates"`
	Degree      int               `json:"degree"`
	NewestFirst bool              `json:"newestFirst"`
	GoesOn      bool              `json:"goesOn"`
	NotBetween  string            `json:"notBetween"`
	Zone        string            `json:"zone"`
	Params      map[string]string `json:"params"`
	Reason      string            `json:"reason"`
	EstimateMs  int64             `json:"estimateMs"`
	State       string            `json:"state"`
	Pause       string            `json:"pause"`   // why it is paused: person, failure or deleted
	PauseBy     string            `json:"pauseBy"` // who, or what failed or was deleted
	Runs        int               `json:"runs"`    // in all
	Waiting     int               `json:"waiting"`
	Running     int               `json:"running"`
	Success     int               `json:"success"`
	Failed      int               `json:"failed"`
	Killed      int               `json:"killed"` // ended because it was stopped
	Left        int               `json:"left"`
	Dropped     int               `json:"dropped"`
	CreatedBy   string            `json:"createdBy"`
	CreatedAt   stamp             `json:"createdAt"`
	FinishedAt  stamp             `json:"finishedAt"`
}

func backfillDocOf(b plan.Backfill) backfillDoc {
	params := b.Params
	if params == nil {
		params = map[string]string{}
	}
	c := b.Counts
	return backfillDoc{ID: b.ID, Job: b.JobName, Reach: string(b.Reach), Wanted: string(b.Wanted), From: b.First.String(), To: b.Last.String(), Dates: b.Dates,
		Degree: b.Degree, NewestFirst: b.NewestFirst, GoesOn: b.GoesOn, NotBetween: b.Not.String(), Zone: b.Zone, Params: params, Reason: b.Reason,
		EstimateMs: b.Estimate.Milliseconds(), State: string(b.State), Pause: string(b.Pause), PauseBy: b.PauseBy, Runs: c.Works(), Waiting: c.Waiting,
		Running: c.Running, Success: c.Success, Failed: c.Failed, Killed: c.Killed, Left: c.Left, Dropped: c.Dropped, CreatedBy: b.CreatedBy, CreatedAt: stamp(b.CreatedAt),
		FinishedAt: stamp(b.FinishedAt)}
}

// backfillsDoc is one page. The list ends where the cursor is empty.
type backfillsDoc struct {
	Backfills []backfillDoc `json:"backfills"`
	Cursor    string        `json:"cursor"`
}

// itemsDoc is one page.
type itemsDoc struct {
	Items  []itemDoc `json:"items"`
	Cursor string    `json:"cursor"`
}

// missedDay is planned fires of one job and business date.
type missedDay struct {
	Job     string `json:"job"`
	BizDate string `json:"bizDate"`
	First   stamp  `json:"first"` // the first and the last expected time
	Last    stamp  `json:"last"`
	Fires   int    `json:"fires"` // that made no instance when they were due
	Open    int    `json:"open"`  // of them, without one by now
	Kind    string `json:"kind"`
	Reason  string `json:"reason"`
}

// missedDoc is one page; it may be short before the end.
type missedDoc struct {
	Missed []missedDay `json:"missed"`
	Cursor string      `json:"cursor"`
}

// pauseDoc is what lies in a pause. Resuming makes nothing of it up.
type pauseDoc struct {
	Paused bool   `json:"paused"`
	Since  stamp  `json:"since"`
	Fires  int    `json:"fires"` // that the schedule would have had since
	More   bool   `json:"more"`  // there are more than could be counted
	From   string `json:"from"`  // their first and last business date
	To     string `json:"to"`
}

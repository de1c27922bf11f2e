package web

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
)

// apiProblem is one thing wrong with a job file, or worth a warning. Line and column
// count from 1; 0 is about no place.
type apiProblem struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Path     string `json:"path"`
	ID       string `json:"id"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
	Excerpt  string `json:"excerpt"`
	Severity string `json:"severity"` // error or warning
}

// lookup says catalog keys in the reader's language.
func lookup(ctx context.Context) job.Lookup {
	return func(key string, args map[string]string) string {
		pairs := make([]any, 0, 2*len(args))
		for k, v := range args {
			pairs = append(pairs, k, v)
		}
		return i18n.T(ctx, key, pairs...)
	}
}

func problemsOf(c echo.Context, ps job.Problems) []apiProblem {
	say := lookup(c.Request().Context())
	out := make([]apiProblem, len(ps))
	for i, p := range ps {
		severity := "error"
		if p.Warning {
			severity = "warning"
		}
		out[i] = apiProblem{p.File, p.Line, p.Column, p.Path, p.ID, p.Message(say), p.HintText(say), p.Excerpt(), severity}
	}
	return out
}

// refused is the error of files with problems; none of them was taken.
func refused(c echo.Context, ps job.Problems) error {
	errs := ps.Errors()
	first := errs[0].Message(lookup(c.Request().Context()))
	said := domain.Fail(domain.Invalid, "nothing was changed: %s", first)
	if len(errs) > 1 {
		said = domain.Fail(domain.Invalid, "nothing was changed: %d problems, the first is: %s", len(errs), first)
	}
	return httpx.WithProblems(said, problemsOf(c, ps))
}

// apiSchedule is the time rule of a job. Expr is a cron expression, an interval like
// 10m0s, or a moment; empty for kind none.
type apiSchedule struct {
	Kind     domain.ScheduleKind `json:"kind"` // upstream: no time, an upstream starts it
	Expr     string              `json:"expr"`
	Dialect  string              `json:"dialect"`
	Timezone string              `json:"timezone"`
	Words    string              `json:"words"` // the same as a sentence in the caller's language
}

// exprOf is a schedule as one text.
func exprOf(s domain.Schedule) string {
	switch s.Kind {
	case domain.ScheduleEvery:
		return (time.Duration(s.EveryMs) * time.Millisecond).String()
	case domain.ScheduleAt:
		return domain.FromMillis(s.AtMs).Format(time.RFC3339Nano)
	}
	return s.Expr
}

// kindOf is what makes a job due.
func kindOf(s domain.JobSpec) domain.ScheduleKind {
	if s.Trigger == domain.TriggerUpstream {
		return domain.ScheduleKind(s.Trigger)
	}
	return s.Schedule.Kind
}

// apiDep is one dependency.
type apiDep struct {
	Name      string `json:"name"` // [project/]name
	BizDate   string `json:"bizDate"`
	Check     string `json:"check"`
	Require   string `json:"require"`
	FirstDate string `json:"firstDate"` // "" unless it is the job itself
}

// apiJob is a job as a list shows it.
type apiJob struct {
	ID           domain.ID    `json:"id"`
	Name         string       `json:"name"` // [project/]name
	Project      string       `json:"project"`
	Title        string       `json:"title"`
	Owner        string       `json:"owner"`
	Version      int          `json:"version"`
	Enabled      bool         `json:"enabled"`
	Type         string       `json:"type"`
	Schedule     apiSchedule  `json:"schedule"`
	Next         *time.Time   `json:"next"` // null: not by itself, or paused
	Timeout      int          `json:"timeout"`
	TimeoutGiven bool         `json:"timeoutGiven"`
	Lane         domain.Lane  `json:"lane"`
	Tags         []string     `json:"tags"`
	Deps         []apiDep     `json:"deps"`
	UpdatedAt    time.Time    `json:"updatedAt"`
	LastState    domain.State `json:"lastState"` // "" = never ran
}

func shape(j domain.Job, next time.Time, last domain.State) apiJob {
	s := j.Spec
	out := apiJob{ID: j.ID, Name: s.Key().String(), Project: s.Project, Title: j.Title, Owner: j.Owner, Version: j.Version, Enabled: j.Enabled,
		Type: s.Exec.Type, Schedule: apiSchedule{Kind: kindOf(s), Expr: exprOf(s.Schedule), Dialect: s.Schedule.Dialect, Timezone: s.Timezone}, Timeout: s.TimeoutSec,
		TimeoutGiven: s.TimeoutGiven, Lane: s.Priority, Tags: append([]string{}, s.Tags...), Deps: make([]apiDep, len(s.Deps)),
		UpdatedAt: j.UpdatedAt, LastState: last}
	if !next.IsZero() {
		out.Next = &next
	}
	for i, d := range s.Deps {
		out.Deps[i] = apiDep{d.Key().String(), string(d.BizDate), d.Check, d.Require, d.FirstDate.String()}
	}
	return out
}

// shapes adds to jobs what others know of them.
func (h *Handlers) shapes(ctx context.Context, jobs []domain.Job) ([]apiJob, error) {
	all := idsOf(jobs)
	next, err := h.Fires.NextFires(ctx, all)
	if err != nil {
		return nil, err
	}
	days, err := h.Days.LatestDays(ctx, all, 1)
	if err != nil {
		return nil, err
	}
	out := make([]apiJob, len(jobs))
	for i, j := range jobs {
		out[i] = shape(j, next[j.ID], lastOf(days[j.ID]).State)
		out[i].Schedule.Words = h.scheduleWords(ctx, j.Spec)
	}
	return out, nil
}

func idsOf(jobs []domain.Job) []domain.ID {
	out := make([]domain.ID, len(jobs))
	for i, j := range jobs {
		out[i] = j.ID
	}
	return out
}

func lastOf(days []domain.JobDay) domain.JobDay {
	if len(days) == 0 {
		return domain.JobDay{}
	}
	return days[0]
}

// apiVersion is a saved definition.
type apiVersion struct {
	Version   int       `json:"version"`
	CreatedBy string    `json:"createdBy"`
	CreatedAt time.Time `json:"createdAt"`
}

// apiVersionText is one of them with its text as it was written.
type apiVersionText struct {
	Job string `json:"job"`
	apiVersion
	Source string `json:"source"`
}

// apiComing is one fire that is to come.
type apiComing struct {
	At        time.Time   `json:"at"`
	BizDate   string      `json:"bizDate"`
	MovedFrom string      `json:"movedFrom"` // the day that its calendar moved it from; "" = none
	Passed    []apiPassed `json:"passed"`    // days before it on which the calendar let none happen
}

// apiPassed is such a day.
type apiPassed struct {
	Day     string `json:"day"`
	Label   string `json:"label"`
	MovedTo string `json:"movedTo"` // "" = skipped
}

func comingOf(fires []domain.Coming) []apiComing {
	out := make([]apiComing, len(fires))
	for i, c := range fires {
		out[i] = apiComing{At: c.At, BizDate: c.BizDate.String(), MovedFrom: c.From.String(), Passed: make([]apiPassed, len(c.Passed))}
		for n, p := range c.Passed {
			out[i].Passed[n] = apiPassed{p.Day.String(), p.Label, p.To.String()}
		}
	}
	return out
}

func momentsOf(fires []domain.Coming) []time.Time {
	out := make([]time.Time, len(fires))
	for i, c := range fires {
		out[i] = c.At
	}
	return out
}

// apiWhole is one job with everything about its definition.
type apiWhole struct {
	apiJob
	Source     string       `json:"source"`
	NextFires  []time.Time  `json:"nextFires"` // at most five
	Coming     []apiComing  `json:"coming"`    // the same, with what the job's calendar makes of them
	Cautions   []string     `json:"cautions"`  // what people may not expect of the schedule
	Versions   []apiVersion `json:"versions"`  // newest first
	Dependents []string     `json:"dependents"`
	// Pause is what lies in the pause of one that is paused, none of which resuming makes up; else null.
	Pause *apiPause `json:"pause"`
}

// apiPause is a pause so far.
type apiPause struct {
	Since time.Time   `json:"since"`
	Until httpx.Stamp `json:"until"` // up to which they were counted; null: there are more than could be
	Begin time.Time   `json:"begin"` // from where they are counted: behind since, or the first of untaken
	Fires int         `json:"fires"` // that its schedule would have planned behind since and up to until
	// Untaken are those of them that were due before the pause, and taken by nobody until then.
	Untaken int  `json:"untaken"`
	More    bool `json:"more"` // there are more than could be counted
	// From and To are the business dates of the fires; "" when there are none.
	From string `json:"from"`
	To   string `json:"to"`
}

// paused tells what lies in the pause of a job; nil when it is in none.
func (h *Handlers) paused(ctx context.Context, j domain.Job) (*apiPause, error) {
	if j.Enabled || h.Pauses == nil || !j.DeletedAt.IsZero() {
		return nil, nil
	}
	p, err := h.Pauses.Asleep(ctx, j.ID)
	if err != nil || p.Since.IsZero() {
		return nil, err
	}
	return &apiPause{Since: p.Since, Until: httpx.Stamp(p.Until), Begin: p.Begin, Fires: p.Fires, Untaken: p.Untaken, More: p.More, From: p.First.String(), To: p.Last.String()}, nil
}

func (h *Handlers) whole(ctx context.Context, j domain.Job) (apiWhole, error) {
	base, err := h.shapes(ctx, []domain.Job{j})
	if err != nil {
		return apiWhole{}, err
	}
	coming, err := h.Fires.Coming(ctx, []domain.ID{j.ID}, shownFires)
	if err != nil {
		return apiWhole{}, err
	}
	fires := coming[j.ID]
	out := apiWhole{apiJob: base[0], Source: j.Source, NextFires: momentsOf(fires), Coming: comingOf(fires), Cautions: h.cautions(ctx, j.Spec), Versions: []apiVersion{}}
	versions, err := h.Jobs.Store.Versions(ctx, j.ID, shownVersions)
	if err != nil {
		return out, err
	}
	for _, v := range versions {
		out.Versions = append(out.Versions, apiVersion{v.Version, v.CreatedBy, v.CreatedAt})
	}
	if out.Pause, err = h.paused(ctx, j); err != nil {
		return out, err
	}
	out.Dependents, err = h.dependents(ctx, j)
	return out, err
}

// dependents names the jobs that depend on j, those that the caller may see.
func (h *Handlers) dependents(ctx context.Context, j domain.Job) ([]string, error) {
	_, down, err := h.Jobs.Neighbours(ctx, j.ID)
	out := []string{}
	seen := httpx.Visible(ctx, domain.ActJobRead)
	for _, n := range down {
		if seen.Has(n.Job.ProjectID) {
			out = append(out, n.Job.Key.String())
		}
	}
	return out, err
}

// withDependents puts the names of what depends on a job beside the refusal to delete it.
func (h *Handlers) withDependents(ctx context.Context, j domain.Job, refusal error) error {
	if !domain.Is(refusal, domain.Conflict) {
		return refusal
	}
	names, err := h.dependents(ctx, j)
	if err != nil || len(names) == 0 {
		return refusal
	}
	list := make([]map[string]string, len(names))
	for i, n := range names {
		list[i] = map[string]string{"job": n}
	}
	return httpx.WithProblems(refusal, list)
}

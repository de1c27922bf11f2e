package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/instances"
	"github.com/axsched/ax/views/ui"
)

var tabs = []string{"log", "dispatch", "params", "deps", "history"}

// shownLines is how much of a log a page holds; the rest comes as it is asked for.
const shownLines = 500

func (h *Handlers) showPage(c echo.Context) error {
	ctx := c.Request().Context()
	in, err := h.instance(c, domain.ActInstanceRead)
	if err != nil {
		return err
	}
	w, err := h.whole(ctx, in)
	if err != nil {
		return err
	}
	names, err := h.namesOf(ctx, in)
	if err != nil {
		return err
	}
	p := head(ctx, w, names)
	p.Shell, p.Key = httpx.Shell(c), rand.Text()
	p.Tab = c.QueryParam("tab")
	if !slices.Contains(tabs, p.Tab) {
		p.Tab = "log"
	}
	p.Kill, p.Rerun, p.RerunNote = actions(ctx, in)
	if !in.IsShard() {
		p.FromHere = httpx.FromHere(ctx, names[in.JobID], in.BizDate, in.State)
	}
	p.Settle, p.Verdicts = settleOf(ctx, in)
	p.Release, p.Stale = releaseOf(ctx, in), staleText(ctx, w.stale)
	if p.Shards, p.MoreShards, err = h.shardsOf(ctx, w); err != nil {
		return err
	}
	p.LostAttempt = in.AttemptID.String()
	asked := c.QueryParam("attempt")
	p.Runs = runsOf(ctx, w, asked)
	of := in // whose output is shown
	if in.IsSplit() && asked == "" {
		if of, err = logShard(w, c.QueryParam("shard")); err != nil {
			return err
		}
		p.LogShards, p.LogShard = shardTabs(w, of), of.Shard
	}
	p.TabURLs = map[string]string{}
	for _, t := range tabs {
		p.TabURLs[t] = tabURL(in.ID, t, asked)
	}
	if p.Up, p.Down, err = h.neighbours(ctx, w); err != nil {
		return err
	}
	p.History = historyOf(ctx, w)
	if p.Tab == "log" {
		if p.Log, err = h.logView(ctx, of, asked); err != nil {
			return err
		}
	}
	return httpx.Render(c, http.StatusOK, instances.Show(p))
}

func tabURL(id domain.ID, tab, attempt string) string {
	q := url.Values{"tab": {tab}}
	if attempt != "" {
		q.Set("attempt", attempt)
	}
	return instanceURL(id) + "?" + q.Encode()
}

// head is what stands above the tabs, and the params.
func head(ctx context.Context, w whole, names map[domain.ID]domain.JobName) instances.ShowPage {
	in, spec := w.facts.Instance, w.facts.Spec
	ran := ranOf(i18n.Now(ctx), in, w.facts.Attempt)
	p := instances.ShowPage{ID: in.ID.String(), Job: jobRef(names, in), BizDate: in.BizDate.String(), Trigger: string(in.Trigger),
		Status: status(in.Status), Why: instance.Why(w.facts).In(ctx), Expected: in.Expected, Started: in.StartedAt, Finished: in.FinishedAt,
		Elapsed: ran.took, AtLeast: ran.atLeast, Target: targetRef(ran.target), Progress: -1, Timeout: time.Duration(spec.TimeoutSec) * time.Second, TimeoutDefault: !spec.TimeoutGiven,
		Version: in.Version, Trace: in.TraceID, Steps: stepsOf(ctx, w),
		GraphURL: "/dag?" + url.Values{"biz_date": {in.BizDate.String()}, "job": {key(names, in)}}.Encode()}
	p.Delay, p.HasDelay = in.Delay()
	if in.IsShard() {
		p.HasDelay = false // its instance has one
		p.ShardNo = fmt.Sprintf("%d/%d", in.Shard, in.Shards)
		p.Whole = ui.Ref{ID: in.PartOf.String(), URL: instanceURL(in.PartOf)}
	}
	p.Command = commandText(spec.Exec)
	for _, x := range w.params() {
		origin := "param.job"
		if x.own {
			origin = "param.run"
		}
		p.Params = append(p.Params, instances.Param{Name: x.name, Value: x.value, Origin: i18n.T(ctx, origin)})
	}
	p.Result, p.ResultMore = resultOf(w)
	return p
}

// commandText is what an executor is given, its templates unrendered: the command
// where there is one, else all of it.
func commandText(e domain.Exec) string {
	var shell struct{ Command string }
	if json.Unmarshal(e.Spec, &shell) == nil && shell.Command != "" {
		return shell.Command
	}
	var all bytes.Buffer
	if len(e.Spec) <= len("{}") || json.Indent(&all, e.Spec, "", "  ") != nil {
		return ""
	}
	return all.String()
}

// actions are what the reader may do with the instance as it stands.
func actions(ctx context.Context, in domain.Instance) (kill, rerun ui.Action, note string) {
	if in.IsShard() {
		only := ui.Action{Denied: i18n.T(ctx, "inst.shard_only")}
		return only, only, ""
	}
	if !in.State.Terminal() {
		if in.Label != domain.Stopping {
			kill = offered(ctx, in, domain.ActInstanceKill, "kill")
		}
		return kill, ui.Action{Denied: i18n.T(ctx, "inst.not_ended")}, ""
	}
	rerun = offered(ctx, in, instance.RerunAction(in), "rerun")
	switch {
	case in.State == domain.Success:
		note = i18n.T(ctx, "inst.rerun_done")
	case in.Label == domain.UpstreamFailed || in.Label == domain.DepsTimeout:
		note = i18n.T(ctx, "inst.rerun_waits")
	default:
		note = i18n.T(ctx, "inst.rerun_restores")
	}
	return kill, rerun, note
}

func offered(ctx context.Context, in domain.Instance, action domain.Action, verb string) ui.Action {
	if !httpx.Can(ctx, in.ProjectID, action) {
		return ui.Action{Denied: i18n.T(ctx, "http.denied", "action", string(action))}
	}
	return ui.Action{URL: instanceURL(in.ID) + "/" + verb}
}

// runsOf are the rounds with their attempts; the one asked for, or the newest, is
// selected.
func runsOf(ctx context.Context, w whole, asked string) []instances.Run {
	if asked == "" && len(w.attempts) > 0 && !w.facts.Instance.IsSplit() {
		asked = w.attempts[len(w.attempts)-1].ID.String()
	}
	var out []instances.Run
	for _, r := range w.runs {
		run := instances.Run{No: r.No, Status: status(r.Status), Trace: r.TraceID, Reason: runReason(ctx, r)}
		for _, a := range w.attempts {
			if a.RunID == r.ID {
				run.Attempts = append(run.Attempts, attemptView(ctx, a, w.facts.Instance, asked))
			}
		}
		out = append(out, run)
	}
	return out
}

func runReason(ctx context.Context, r domain.Run) string {
	switch {
	case r.RequestedBy == "":
		return i18n.T(ctx, "run.first")
	case r.No == 1 && r.Reason == "":
		return i18n.T(ctx, "run.by_hand", "who", r.RequestedBy)
	case r.No == 1:
		return i18n.T(ctx, "run.by_hand_because", "who", r.RequestedBy, "reason", r.Reason)
	case r.Reason == "":
		return i18n.T(ctx, "run.again", "who", r.RequestedBy)
	}
	return i18n.T(ctx, "run.again_because", "who", r.RequestedBy, "reason", r.Reason)
}

func attemptView(ctx context.Context, a domain.Attempt, in domain.Instance, asked string) instances.Attempt {
	v := instances.Attempt{No: a.Ordinal, URL: tabURL(a.InstanceID, "log", a.ID.String()), Selected: a.ID.String() == asked,
		Status: attemptStatus(a, in), Target: targetRef(a.Target), Dispatched: a.DispatchedAt, Acked: a.AckedAt, Granted: a.GrantedAt,
		Started: a.StartedAt, Finished: a.FinishedAt, Unreported: a.Unreported(), Outcome: string(a.Outcome), Message: i18n.Retell(ctx, bare(a))}
	if a.State == domain.AttemptLost { // when it ended nobody knows
		v.Finished = time.Time{}
		v.Heard, v.Lost = a.Lost()
	}
	if a.ExitCode != nil {
		v.ExitCode = strconv.Itoa(*a.ExitCode)
	}
	if a.Late != "" {
		v.Message += " · " + i18n.Retell(ctx, a.Late)
	}
	return v
}

// bare is the message without the exit code, which stands beside it.
func bare(a domain.Attempt) string {
	if a.ExitCode == nil {
		return a.Message
	}
	rest, ok := strings.CutPrefix(a.Message, "exit code "+strconv.Itoa(*a.ExitCode))
	if !ok {
		return a.Message
	}
	return strings.TrimLeft(rest, ":;, ")
}

// attemptStatus is how an attempt looks in the words of instances.
func attemptStatus(a domain.Attempt, in domain.Instance) ui.Status {
	switch {
	case a.ID == in.AttemptID && in.State == domain.Running:
		return status(in.Status)
	case a.State == domain.AttemptSent:
		return status(domain.Status{State: domain.Running, Label: domain.Dispatched})
	case a.State == domain.AttemptGranted:
		return status(domain.Status{State: domain.Running, Label: domain.Executing})
	case a.Outcome == domain.OutcomeSuccess:
		return status(domain.Status{State: domain.Success})
	case a.State == domain.AttemptLost || a.Outcome == domain.OutcomeWorkerLost:
		return status(domain.Status{State: domain.Failed, Label: domain.WorkerLost})
	case a.Outcome == domain.OutcomeTimeout:
		return status(domain.Status{State: domain.Failed, Label: domain.Timeout})
	case a.Outcome == domain.OutcomeKilled:
		return status(domain.Status{State: domain.Cancelled, Label: domain.Killed})
	case a.State == domain.AttemptWithdrawn || a.Outcome == domain.OutcomeRefused:
		return status(domain.Status{State: domain.Cancelled})
	}
	return status(domain.Status{State: domain.Failed, Label: domain.ErrorLabel})
}

func historyOf(ctx context.Context, w whole) []instances.Event {
	out := make([]instances.Event, len(w.events))
	for i, e := range w.events {
		out[i] = instances.Event{At: e.At, Who: e.Actor, Text: i18n.T(ctx, moveKey(e)), Note: i18n.Retell(ctx, e.Note)}
	}
	return out
}

// moveKey is the catalog's entry for a move; what a person said of an orphan goes by the
// state that it led to.
func moveKey(e domain.Event) string {
	key := "move." + string(e.Move)
	if e.Move == domain.MoveSettle {
		to, _, _ := strings.Cut(e.To, "/")
		key += "." + to
	}
	return key
}

// logView is the log of the attempt asked for, or of the newest.
func (h *Handlers) logView(ctx context.Context, in domain.Instance, asked string) (instances.Log, error) {
	if !httpx.Can(ctx, in.ProjectID, domain.ActLogRead) {
		return instances.Log{Reason: i18n.T(ctx, "http.denied", "action", string(domain.ActLogRead))}, nil
	}
	a, ok, err := h.logOf(ctx, in, asked)
	if err != nil {
		return instances.Log{}, err
	}
	api := "/api/v1/instances/" + in.ID.String() + "/logs/"
	if !ok {
		if in.State.Terminal() {
			return instances.Log{Reason: i18n.T(ctx, "log.never_sent")}, nil
		}
		return instances.Log{Reason: i18n.T(ctx, "log.not_sent"), Live: true, StreamURL: api + "stream"}, nil
	}
	a.StartedAt = instance.StartOf(in, a)
	page, err := h.Records.LogTail(ctx, a, shownLines)
	if err != nil {
		return instances.Log{}, err
	}
	q := "?" + url.Values{"attempt": {a.ID.String()}}.Encode()
	v := instances.Log{Live: !page.Complete, RangeURL: instanceURL(in.ID) + "/log" + q, RawURL: api + "raw" + q}
	if v.Live {
		v.StreamURL = api + "stream" + q
	}
	for _, l := range page.Lines {
		v.Lines = append(v.Lines, instances.Line{No: l.No, At: l.At, Stream: streamOf(l), Text: textOf(ctx, l)})
	}
	if len(v.Lines) == 0 {
		v.Reason = i18n.T(ctx, noLines(a, page))
	}
	return v, nil
}

// noLines is why there is no output.
func noLines(a domain.Attempt, p instance.LogPage) string {
	switch {
	case a.State == domain.AttemptWithdrawn:
		return "log.withdrawn"
	case a.State == domain.AttemptSent || a.State == domain.AttemptGranted && a.StartedAt.IsZero():
		return "log.not_started"
	case a.State == domain.AttemptGranted:
		return "log.silent_yet"
	case a.LogLines > 0 && !p.Complete:
		return "log.on_its_way"
	case a.LogLines > 0:
		return "log.gone"
	case a.State == domain.AttemptLost || a.Outcome == domain.OutcomeWorkerLost:
		return "log.lost"
	}
	return "log.silent"
}

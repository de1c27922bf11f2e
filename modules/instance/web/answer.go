package web

import (
	"encoding/json"
	"strings"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/httpx"
)

type stamp = httpx.Stamp

// brief is an instance in a list. Fields that do not apply are null or "".
type brief struct {
	ID           domain.ID `json:"id"`
	Job          string    `json:"job"`
	JobID        domain.ID `json:"jobId"`        // tells jobs of one name apart
	JobDeletedAt stamp     `json:"jobDeletedAt"` // null: it is there
	Project      string    `json:"project"`
	TraceID      string    `json:"traceId"`
	BizDate      string    `json:"bizDate"`
	ExpectedTime stamp     `json:"expectedTime"`
	State        string    `json:"state"`
	Label        string    `json:"label"`
	Trigger      string    `json:"trigger"`
	Run          int       `json:"run"`
	Version      int       `json:"version"`
	Lane         string    `json:"lane"`
	RequestedBy  string    `json:"requestedBy"`
	Reason       string    `json:"reason"`
	CreatedAt    stamp     `json:"createdAt"`
	ReadyAt      stamp     `json:"readyAt"`
	StartedAt    stamp     `json:"startedAt"`
	FinishedAt   stamp     `json:"finishedAt"`
	Message      string    `json:"message"`
	DelayMs      *int64    `json:"delayMs"`
	Stale        *stale    `json:"stale"` // null: it is not, or it was not looked after here
	Shard        *shard    `json:"shard"` // null: it is no shard
}

func briefOf(in domain.Instance, names map[domain.ID]domain.JobName) brief {
	b := brief{ID: in.ID, Job: key(names, in), JobID: in.JobID, JobDeletedAt: stamp(names[in.JobID].DeletedAt), Project: names[in.JobID].Key.Project, TraceID: in.TraceID, BizDate: in.BizDate.String(),
		ExpectedTime: stamp(in.Expected), State: string(in.State), Label: string(in.Label), Trigger: string(in.Trigger), Run: in.RunNo,
		Version: in.Version, Lane: string(in.Lane), RequestedBy: in.RequestedBy, Reason: in.Reason, CreatedAt: stamp(in.CreatedAt),
		ReadyAt: stamp(in.ReadyAt), StartedAt: stamp(in.StartedAt), FinishedAt: stamp(in.FinishedAt), Message: in.Message, Shard: shardOf(in)}
	if d, ok := in.Delay(); ok && !in.IsShard() {
		ms := d.Milliseconds()
		b.DelayMs = &ms
	}
	return b
}

// full is an instance with all that is known of it.
type full struct {
	brief
	Why         string            `json:"why"`
	Params      map[string]string `json:"params"`
	CancelledBy *cancelled        `json:"cancelledBy"`
	Attempts    []attempt         `json:"attempts"`
	Shards      []shardBrief      `json:"shards"` // of the run in force; [] where it was not split
	Runs        []run             `json:"runs"`
	Deps        []dep             `json:"deps"`
	History     []event           `json:"history"`
}

type cancelled struct {
	Instance domain.ID `json:"instance"`
	Run      domain.ID `json:"run"`
}

type attempt struct {
	ID           domain.ID       `json:"id"`
	Ordinal      int             `json:"ordinal"`
	Run          int             `json:"run"`
	State        string          `json:"state"`
	Target       string          `json:"target"`
	Boot         int64           `json:"boot"`
	Lane         string          `json:"lane"`
	DispatchedAt stamp           `json:"dispatchedAt"`
	AckedAt      stamp           `json:"ackedAt"`
	GrantedAt    stamp           `json:"grantedAt"`
	StartedAt    stamp           `json:"startedAt"`
	FinishedAt   stamp           `json:"finishedAt"` // when the task had ended; null: that is not known
	HeardAt      stamp           `json:"heardAt"`    // of a lost one, the last that anyone heard of it: it ran until then at least
	LostAt       stamp           `json:"lostAt"`     // when it came to count as lost; null: it did not
	ReportedAt   stamp           `json:"reportedAt"` // when that was in the database; null: no worker reported it
	ExitCode     *int            `json:"exitCode"`
	Outcome      string          `json:"outcome"`
	Message      string          `json:"message"`
	Result       json.RawMessage `json:"result"`
	Late         string          `json:"late"`
}

type run struct {
	No          int    `json:"no"`
	TraceID     string `json:"traceId"`
	Version     int    `json:"version"`
	State       string `json:"state"`
	Label       string `json:"label"`
	RequestedBy string `json:"requestedBy"`
	Reason      string `json:"reason"`
	Message     string `json:"message"`
	CreatedAt   stamp  `json:"createdAt"`
	StartedAt   stamp  `json:"startedAt"`
	FinishedAt  stamp  `json:"finishedAt"`
}

type event struct {
	At    stamp  `json:"at"`
	Move  string `json:"move"`
	From  string `json:"from"`
	To    string `json:"to"`
	Actor string `json:"actor"`
	Note  string `json:"note"`
}

// fullOf is a whole instance as the API answers it; sent are the newest attempts of its shards.
func fullOf(w whole, names map[domain.ID]domain.JobName, sent map[domain.ID]domain.Attempt) full {
	in := w.facts.Instance
	out := full{brief: briefOf(in, names), Why: instance.Why(w.facts).English(), Params: map[string]string{},
		Attempts: []attempt{}, Shards: shardBriefs(w.facts.Shards, sent), Runs: []run{}, Deps: []dep{}, History: []event{}}
	out.Stale = staleOf(w.stale)
	for _, p := range w.params() {
		out.Params[p.name] = p.value
	}
	if in.CancelledBy.InstanceID != 0 {
		out.CancelledBy = &cancelled{in.CancelledBy.InstanceID, in.CancelledBy.RunID}
	}
	for _, a := range w.attempts {
		out.Attempts = append(out.Attempts, attemptOf(a, w.runNo(a.RunID)))
	}
	for _, r := range w.runs {
		out.Runs = append(out.Runs, run{No: r.No, TraceID: r.TraceID, Version: r.Version, State: string(r.State), Label: string(r.Label),
			RequestedBy: r.RequestedBy, Reason: r.Reason, Message: r.Message, CreatedAt: stamp(r.CreatedAt), StartedAt: stamp(r.StartedAt), FinishedAt: stamp(r.FinishedAt)})
	}
	for _, d := range w.deps {
		out.Deps = append(out.Deps, depOf(d))
	}
	for _, e := range w.events {
		out.History = append(out.History, event{At: stamp(e.At), Move: string(e.Move), From: e.From, To: e.To, Actor: e.Actor, Note: e.Note})
	}
	return out
}

func attemptOf(a domain.Attempt, runNo int) attempt {
	out := attempt{ID: a.ID, Ordinal: a.Ordinal, Run: runNo, State: string(a.State), Target: a.Target, Boot: a.Boot, Lane: string(a.Lane),
		DispatchedAt: stamp(a.DispatchedAt), AckedAt: stamp(a.AckedAt), GrantedAt: stamp(a.GrantedAt), StartedAt: stamp(a.StartedAt),
		FinishedAt: stamp(a.FinishedAt), ReportedAt: stamp(a.ReportedAt), ExitCode: a.ExitCode, Outcome: string(a.Outcome), Message: a.Message, Result: a.Result,
		Late: strings.TrimSpace(a.Late)}
	if heard, at := a.Lost(); !at.IsZero() {
		out.FinishedAt, out.ReportedAt, out.HeardAt, out.LostAt = stamp{}, stamp{}, stamp(heard), stamp(at)
	}
	return out
}

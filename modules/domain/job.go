package domain

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// DefaultProject is the project of a job whose file names none.
const DefaultProject = "default"

// DefaultTimeoutSec is the time-out, in seconds, of a job that gives none.
const DefaultTimeoutSec = 60

// JobKey names a job within the whole system.
type JobKey struct {
	Project string `json:"project"`
	Name    string `json:"name"`
}

// String gives [project/]name; the default project is not written.
func (k JobKey) String() string {
	if k.Project == "" || k.Project == DefaultProject {
		return k.Name
	}
	return k.Project + "/" + k.Name
}

// ParseJobKey reads [project/]name. It splits and judges no characters.
func ParseJobKey(s string) JobKey {
	if project, name, ok := strings.Cut(s, "/"); ok {
		return JobKey{project, name}
	}
	return JobKey{DefaultProject, s}
}

// Compare orders keys by project, then name.
func (k JobKey) Compare(o JobKey) int {
	return cmp.Or(strings.Compare(k.Project, o.Project), strings.Compare(k.Name, o.Name))
}

// ScheduleKind is what makes a job due by time.
type ScheduleKind string

// The kinds of schedule. ScheduleNone is a job that only upstream, people or backfill start.
const (
	ScheduleNone  ScheduleKind = "none"
	ScheduleCron  ScheduleKind = "cron"
	ScheduleEvery ScheduleKind = "every"
	ScheduleAt    ScheduleKind = "at"
)

// Schedule is the time rule of a job. Only the fields of its kind are set.
type Schedule struct {
	Kind ScheduleKind `json:"kind"`
	// Expr is the cron expression as written.
	Expr string `json:"expr,omitempty"`
	// Dialect is unix, seconds or quartz: the one understood, also where the file named none.
	Dialect string `json:"dialect,omitempty"`
	// EveryMs is the grid in milliseconds, at least 100.
	EveryMs int64 `json:"every_ms,omitempty"`
	// AtMs is the one instant, UTC milliseconds.
	AtMs int64 `json:"at_ms,omitempty"`
}

// Misfire says what becomes of fires that were missed.
type Misfire string

// The misfire policies; fire_once, the default, makes up the latest missed fire of each biz_date.
const (
	MisfireOnce Misfire = "fire_once"
	MisfireSkip Misfire = "skip"
	MisfireAll  Misfire = "fire_all"
)

// Overlap says what happens when a fire falls due while an earlier one is unfinished.
type Overlap string

// The overlap policies; queue is the default.
const (
	OverlapQueue   Overlap = "queue"
	OverlapAllow   Overlap = "allow"
	OverlapSkip    Overlap = "skip"
	OverlapReplace Overlap = "replace"
)

// LossPolicy says what becomes of a granted attempt whose worker is lost.
type LossPolicy string

// The loss policies; retry is the default.
const (
	LossRetry LossPolicy = "retry"
	LossWait  LossPolicy = "wait"
	LossHold  LossPolicy = "hold"
)

// LossWaitGrace is how long after the loss of a worker an attempt whose job says
// on_worker_lost: wait is left alone: the worker's watchdog ends such tasks when no
// renewal was answered for 30 s; the rest is for the killing.
const LossWaitGrace = 35 * time.Second

// Exec is what a job runs: the executor's type and its own settings.
type Exec struct {
	Type string `json:"type"`
	// Spec is a JSON object with sorted keys, without the type, templates unrendered.
	Spec json.RawMessage `json:"spec"`
	// Needs are what it names of a worker's own set-up, as workers offer it among their tags: NeedSource, NeedUser.
	Needs []string `json:"needs,omitempty"`
}

// The beginnings of what a worker offers beside the tags that its set-up lists.
const (
	SourcePrefix = "source:"
	UserPrefix   = "user:"
)

// NeedSource is the demand for a worker that has the data source.
func NeedSource(name string) string { return SourcePrefix + name }

// NeedUser is the demand for a worker that lets tasks run as the account.
func NeedUser(name string) string { return UserPrefix + name }

// Demands are what a worker must offer to run the job: its tags, and what its exec names of the worker's set-up.
func (s JobSpec) Demands() []string {
	if len(s.Exec.Needs) == 0 {
		return s.Tags
	}
	return append(append([]string{}, s.Tags...), s.Exec.Needs...)
}

// Retry is how failures and time-outs are tried again; the zero value is no retry.
type Retry struct {
	Times int `json:"times"`
	// BackoffSec has one wait in seconds for each retry.
	BackoffSec []int `json:"backoff_sec,omitempty"`
}

// Dep is one dependency: a job, which business dates of it, and what it must have reached.
type Dep struct {
	Project string   `json:"project"`
	Name    string   `json:"name"`
	BizDate DepDates `json:"biz_date"`
	Check   string   `json:"check"`   // CheckSuccess, CheckDone, CheckFailed
	Require string   `json:"require"` // RequireAll, RequireAny, RequireLatest
	// FirstDate is given where a job depends on itself: dates up to it wait for nothing.
	FirstDate BizDate `json:"first_date,omitzero"`
}

// Key names the job depended on.
func (d Dep) Key() JobKey { return JobKey{d.Project, d.Name} }

// JobSpec is the normalised meaning of one job file: defaults are filled in, the zone is
// resolved, layout and comments are gone. Two files that mean the same give equal digests.
// As JSON it has a stable order of fields. Durations are seconds; zero limits mean "none given".
type JobSpec struct {
	Project     string   `json:"project"`
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Owner       string   `json:"owner,omitempty"`
	Topics      []string `json:"topics,omitempty"`

	Timezone string      `json:"timezone"`
	Schedule Schedule    `json:"schedule"`
	Misfire  Misfire     `json:"misfire"`
	Overlap  Overlap     `json:"overlap"`
	BizDate  BizDateRule `json:"biz_date"`
	// Calendar is the calendar of the project that the job lives by, if any.
	Calendar CalendarUse `json:"calendar,omitzero"`

	Priority Lane     `json:"priority"`
	Tags     []string `json:"tags,omitempty"`
	// Pool is the pool of the project that limits the job, if any.
	Pool   string            `json:"pool,omitempty"`
	Params map[string]string `json:"params,omitempty"`
	Env    map[string]string `json:"env,omitempty"`
	// Inputs are what a run may be given; none: any params. Outputs are the keys of the result that the job promises;
	// none: it says nothing of them.
	Inputs  []Input  `json:"inputs,omitempty"`
	Outputs []string `json:"outputs,omitempty"`
	Exec    Exec     `json:"exec"`
	// Shards is into how many shards a run is split, at least 2; 0 = it is not. Broadcast splits
	// it into one for each worker that is available when it starts. At most one of both is set.
	Shards    int  `json:"shards,omitempty"`
	Broadcast bool `json:"broadcast,omitempty"`

	Idempotent      bool       `json:"idempotent,omitempty"`
	OnWorkerLost    LossPolicy `json:"on_worker_lost"`
	Retry           Retry      `json:"retry"`
	TimeoutSec      int        `json:"timeout_sec"`
	TimeoutGiven    bool       `json:"timeout_given"`
	QueueTimeoutSec int        `json:"queue_timeout_sec,omitempty"`
	DepsTimeoutSec  int        `json:"deps_timeout_sec,omitempty"`

	Deps []Dep `json:"deps,omitempty"`
	// Trigger is TriggerUpstream for a job that an end of one of its upstreams starts; else "".
	Trigger TriggerKind `json:"trigger,omitempty"`
	// OnUpstreamFailure is FailureHold or FailureRun; "" is FailureCancel.
	OnUpstreamFailure FailurePolicy `json:"on_upstream_failure,omitempty"`

	// Enabled is true unless the file says otherwise. EnabledGiven tells whether it says so:
	// a file that is silent leaves a paused job paused.
	Enabled      bool `json:"enabled"`
	EnabledGiven bool `json:"enabled_given,omitempty"`
}

// Sharded reports whether runs of the job are split into shards.
func (s JobSpec) Sharded() bool { return s.Shards > 1 || s.Broadcast }

// Key names the job.
func (s JobSpec) Key() JobKey { return JobKey{s.Project, s.Name} }

// FailurePolicy is what becomes of an instance whose upstream does not come good.
func (s JobSpec) FailurePolicy() FailurePolicy { return cmp.Or(s.OnUpstreamFailure, FailureCancel) }

// Digest is the hash of the meaning, 64 hex digits: a new version is made only when it changes.
// The order of topics, tags and dependencies does not count. Enabled is left out, since pausing
// changes the job and not its definition: whoever applies a file compares it by itself.
func (s JobSpec) Digest() string {
	s.Enabled, s.EnabledGiven = false, false
	s.Topics = sorted(s.Topics)
	s.Tags = sorted(s.Tags)
	s.Deps = slices.SortedFunc(slices.Values(s.Deps), func(a, b Dep) int {
		return cmp.Or(a.Key().Compare(b.Key()), strings.Compare(string(a.BizDate), string(b.BizDate)), strings.Compare(a.Check, b.Check))
	})
	s.Exec.Spec = canonical(s.Exec.Spec)
	text, err := json.Marshal(s)
	if err != nil {
		// Only Exec.Spec could fail, and canonical has made it valid.
		panic("job spec cannot be written as JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func sorted(in []string) []string { return slices.Sorted(slices.Values(in)) }

// canonical rewrites a JSON text with sorted keys and no blanks; what is no JSON is kept as a
// JSON string, so that a damaged row still has a digest.
func canonical(raw json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		v = string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic("decoded JSON cannot be written again: " + err.Error())
	}
	return out
}

// JobVersion names one version of a job.
type JobVersion struct {
	JobID   ID
	Version int
}

// Job is a task definition as it stands: the row with the version in force.
type Job struct {
	ID        ID
	ProjectID ID
	Name      string
	Title     string
	Owner     string
	Version   int
	Enabled   bool
	Ver       int64 // raised by every change of the row
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt time.Time // zero: not deleted
	Spec      JobSpec
	Source    string // the text as it was written
}

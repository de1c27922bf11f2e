// Package jobs shows definitions: the list, one job, and the editor.
package jobs

import (
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// Filter is the list's filter as it stands in the address. Fields of the GET
// form: q, project, enabled (true|false; empty: both).
type Filter struct {
	Query   string
	Project string
	Enabled string
}

// Set reports whether anything is filtered away.
func (f Filter) Set() bool { return f != Filter{} }

// ListPage is the list of jobs, 50 a page.
type ListPage struct {
	layout.Shell
	Total, Enabled int64
	Filter         Filter
	Views          []ui.Tab
	Projects       []ui.Option // offered when there is more than one
	Rows           []Row
	Pager          ui.Pager
	ClearURL       string
	New            ui.Action // the form
	Import         ui.Action // the YAML editor
	Error          string
}

// Row is one job in the list.
type Row struct {
	Job      ui.Ref // Title: title, ID: [project/]name
	Type     string
	Enabled  bool
	Schedule string // in words
	Cautions []string
	Expr     string // as written; empty when upstream or hand start it
	Zone     string
	Next     time.Time // zero: none
	Runs     []ui.Run  // oldest first, at most 14
	Last     ui.Status
	LastAt   time.Time
	LastURL  string
	Average  time.Duration // 0: unknown
	Owner    string
	Invalid  string // why the definition in force can't be used
	Trigger  ui.Action
	Logs     ui.Action
}

// JobPage is one job. Tab is overview, instances, deps, versions or yaml.
type JobPage struct {
	layout.Shell
	Tab      string
	TabURLs  map[string]string
	Job      ui.Ref
	Type     string
	Enabled  bool
	Paused   string // who paused it, when and why
	Invalid  string
	Schedule string   // in words
	Cautions []string // what people may not expect of it
	Expr     string
	Zone     string
	Next     []ui.Fire
	NoNext   string // why there is no next fire
	Owner    string
	Topics   []string
	Facts    []Fact
	Version  int
	Text     string // YAML as written
	Runs     []ui.Run
	Last     ui.Status
	Average  time.Duration

	Instances []InstanceRow
	Up, Down  []Dep
	GraphURL  string
	Versions  []Version

	Trigger TriggerForm
	Edit    ui.Action
	Pause   ui.Action // posts; Enabled says which of both it is
	Slept   Slept     // of a paused one
	Delete  ui.Action // posts
	// Backfill leads to the form of runs for past business dates.
	Backfill ui.Action
	Key      string // idempotency key for the forms of this page
}

// Slept is what lies in the pause of a paused job. Zero Since: its schedule was never in force.
type Slept struct {
	Since    time.Time
	Fires    int
	Untaken  int  // of them: due before the pause, and taken by nobody until then
	More     bool // more than could be counted
	From, To string
	Backfill ui.Action // of these fires
}

// Fact is a name and a value of the definition, said in words.
type Fact struct {
	Name  string
	Value string
	URL   string // of the page of what Value names; "" = none
	Note  string
}

// TriggerForm starts a job by hand. Fields posted: biz_date, params (one k=v a line).
type TriggerForm struct {
	ui.Action
	Page    string // where the form is, of a job with inputs; "": the dialog of this page
	BizDate string // the date that a fire now would have
	Params  string
	Errors  []ui.FieldError
	Open    bool // shown at once, after a refused try
}

// InstanceRow is one instance of this job.
type InstanceRow struct {
	URL      string
	BizDate  string
	Status   ui.Status
	Why      string
	Expected time.Time
	Started  time.Time
	Duration time.Duration
	Delay    time.Duration
	Attempts int
}

// Dep is one neighbour: upstream or downstream, with its newest state.
type Dep struct {
	Job     ui.Ref
	Rule    string // "same business date, success, all planned fires"
	Status  ui.Status
	BizDate string
}

// Version is one saved definition.
type Version struct {
	No      int
	At      time.Time
	By      string
	Change  string // the keys that changed
	Current bool
	URL     string
}

// EditPage is the editor. Mode is "yaml" or "form". Fields posted in yaml mode:
// text, base_version; in form mode those of ShortForm. Both: mode, csrf, idempotency_key.
// The values typed survive an error. With the field preview nothing is saved and the page
// comes back with its Check, for those who have no script.
type EditPage struct {
	layout.Shell
	Mode        string
	ModeURLs    map[string]string // by mode; empty: that mode is not offered
	Job         ui.Ref            // zero: a new job
	BaseVersion int
	Text        string
	Form        ShortForm
	Check       CheckResult
	CheckURL    string // POST: the same fields, answers the fragment Check
	SaveURL     string
	CancelURL   string
	Conflict    string // someone saved a version meanwhile: which, who
	ConflictURL string
	JobNames    []string     // for the dependency list
	Types       []TypeChoice // that are offered; any other word can be typed
	Key         string
}

// ShortForm is the form for the ordinary job. All values are as typed. Fields posted: name,
// title, deps (one a line, behind it its dates), type, command (of type shell) or settings (of any other), timeout, timezone, calendar, calendar_on,
// calendar_else, biz_date, misfire, overlap, pool, when and the fields of its kind:
// minutes, minute, time, weekdays, day, nth, weekday, at, every, cron.
type ShortForm struct {
	Name, Title, Deps, Type, Command, Settings, Timeout, Timezone string
	When                                                          When
	DefaultZone                                                   string   // of jobs that name none
	Saved                                                         bool     // the job is there: its name stays
	Beyond                                                        []string // keys of it that the form does not show in full; they stay as written
	Errors                                                        []ui.FieldError

	Calendar, CalendarOn, CalendarElse, BizDate, Misfire, Overlap, Pool string
	BizDates                                                            []string // rules that are offered
}

// TypeChoice is a type that is offered. Known says that its Fields are all that it takes; Rest are settings that none of them is
// for, as YAML. Fields are posted under their names, Rest as rest.NAME.
type TypeChoice struct {
	Name, About, Rest string
	Known             bool
	Fields            []TypeField
}

// TypeField is one key of a type. Kind is text, number, boolean, list or map.
type TypeField struct {
	Name, Key, Label, Help, Kind, Default, Value string
	Choices                                      []string
	Required                                     bool
}

// When is what the builder shows, in the words of domain.Choice.
type When struct {
	Kind                                                      string
	Minutes, Minute, Time, Day, Nth, Weekday, At, Every, Cron string
	Weekdays                                                  []string
}

// locked tells whether a key stays as it is written in the text.
func (f ShortForm) locked(key string) bool { return slices.Contains(f.Beyond, key) }

// shell tells whether the form is of a shell job.
func (f ShortForm) shell() bool { return f.Type == "shell" }

// asRun is what the job runs as text.
func (f ShortForm) asRun() string {
	if f.shell() {
		return f.Command
	}
	return strings.TrimSuffix("type: "+f.Type+"\n"+f.Settings, "\n")
}

// part is the part of the form that is for the type: its own, or the one for all others.
func (p EditPage) part() string {
	if p.Form.shell() {
		return p.Form.Type
	}
	for _, t := range p.Types {
		if t.Known && t.Name == p.Form.Type {
			return t.Name
		}
	}
	return ""
}

// kept are the keys that the form has no field for.
func (f ShortForm) kept() []string {
	return slices.DeleteFunc(slices.Clone(f.Beyond), func(key string) bool { return key == "schedule" || key == "deps" || key == "exec" })
}

// CheckResult is what the validator says of a text.
type CheckResult struct {
	Checked        bool // false: nothing was checked yet
	Problems       []Problem
	Schedule       string // in words
	Expr, Dialect  string // of a cron expression
	Zone           string
	Next           []ui.Fire
	NoNext         string
	NextWas        string // when the job was due next before the edit, where that is another moment now
	Timeout        time.Duration
	TimeoutDefault bool   // not given: the platform's default holds
	TimeoutAdvice  string // 1.5–2 × the usual duration
	Jobs           int    // how many jobs the text holds
}

// Problem is one fault of a text. Line and Column count from 1; 0 is "the whole text".
// Warning is set for what may be saved all the same.
type Problem struct {
	Line, Column int
	Path         string
	Message      string
	Hint         string
	Excerpt      string
	Warning      bool
}

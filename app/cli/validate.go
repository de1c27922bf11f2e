package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/client"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/scheduler"
	"github.com/axsched/ax/modules/scheduler/words"
)

// checked is a job that is sound, as validate reports it.
type checked struct {
	Job      string      `json:"job"`
	File     string      `json:"file"`
	Line     int         `json:"line"`
	Dialect  string      `json:"dialect,omitempty"`
	Words    string      `json:"words"` // the schedule as a sentence
	Timezone string      `json:"timezone"`
	Next     []time.Time `json:"next"`
	// Unchecked are the dependencies that stand in none of the files.
	Unchecked []string `json:"unchecked"`
	// Calendar is the one that the job names and that stands in none of the files, so that no next
	// fires are told; "" = none.
	Calendar string `json:"uncheckedCalendar,omitempty"`

	// Type is that of its exec where AX does not know it, so that its settings are unchecked; "" = it is built in.
	Type string `json:"uncheckedType,omitempty"`

	trigger domain.TriggerKind // what starts it by itself; "" = nothing
}

// report is all that validate has to say.
type report struct {
	Valid    bool             `json:"valid"`
	Jobs     []checked        `json:"jobs"`
	Problems []client.Problem `json:"problems"`
}

func (p *process) validate() *cobra.Command {
	var zone string
	var calendars []string
	cmd := &cobra.Command{Use: "validate FILE...", Short: "judge job files offline, as apply would",
		Long: `Judges job files offline, with the code that the server uses: FILE is a file, a folder (every *.yaml and *.yml
below it) or - for the standard input. Cycles among the files are found. A dependency on a job that is in none of
them is no error here, since the server may have it: it is listed as unchecked, and apply checks it. So is a calendar,
unless --calendar FILE gives it: then the next fires are told by it.`,
		Args: cobra.MinimumNArgs(1), RunE: p.do(func(_ context.Context, args []string) error {
			if _, err := (scheduler.Times{}).Zone(zone); err != nil {
				return usage("--tz: %v", err)
			}
			files, err := p.files(args)
			if err != nil {
				return err
			}
			given, err := p.readCalendars(calendars)
			if err != nil {
				return err
			}
			r, err := judgeFiles(files, given, job.Options{DefaultZone: zone, Now: p.now(), Schedules: scheduler.Times{}})
			if err != nil {
				return err
			}
			return p.report(r)
		})}
	cmd.Flags().StringArrayVar(&calendars, "calendar", nil, "a calendar `file` that jobs name; may be given several times")
	cmd.Flags().StringVar(&zone, "tz", "UTC", "the zone of jobs that name none; a server has its own default")
	return cmd
}

// judgeFiles reads all files and judges each job and how they fit together.
func judgeFiles(files []file, calendars calendarFiles, opts job.Options) (report, error) {
	var parsed []job.Parsed
	var problems job.Problems
	where := map[domain.JobKey]string{}
	for _, f := range files {
		opts.File = f.Name
		jobs, found := job.ParseFile([]byte(f.Text), opts)
		parsed, problems = append(parsed, jobs...), append(problems, found...)
		for _, j := range jobs {
			where[j.Spec.Key()] = f.Name
		}
	}
	problems = append(problems, job.CheckGraph(elsewhere(parsed), parsed)...)
	gates, unknown, err := foretell(parsed, calendars, opts)
	if err != nil {
		return report{}, err
	}
	problems = append(problems, gates...)
	r := report{Valid: len(problems.Errors()) == 0, Jobs: []checked{}, Problems: wordedAll(problems)}
	for _, j := range parsed {
		c := checked{Job: j.Spec.Key().String(), File: where[j.Spec.Key()], Line: j.Line, Dialect: j.Spec.Schedule.Dialect,
			Words: sentenceOf(j.Spec, opts.Now), Timezone: j.Spec.Timezone, Next: j.Next, Unchecked: []string{}, Calendar: unknown[j.Spec.Key()]}
		if !domain.BuiltIn(j.Spec.Exec.Type) {
			c.Type = j.Spec.Exec.Type
		}
		if c.trigger = j.Spec.Trigger; j.Spec.Schedule.Kind != domain.ScheduleNone {
			c.trigger = domain.TriggerKind(j.Spec.Schedule.Kind)
		}
		for _, d := range j.Spec.Deps {
			if _, here := where[d.Key()]; !here {
				c.Unchecked = append(c.Unchecked, d.Key().String())
			}
		}
		if c.Next == nil {
			c.Next = []time.Time{}
		}
		r.Jobs = append(r.Jobs, c)
	}
	return r, nil
}

// sentenceOf says when a job fires.
func sentenceOf(s domain.JobSpec, now time.Time) string {
	zone, err := (scheduler.Times{}).Zone(s.Timezone)
	if err != nil {
		zone = time.UTC // a job that is sound has a zone
	}
	use := s.Calendar
	if s.Schedule.Kind == domain.ScheduleNone {
		use.On = domain.GateAny // no fire that it could gate
		if s.Trigger == domain.TriggerUpstream {
			return words.Wording{}.WithCalendar(i18n.English, i18n.In(i18n.English, "schedule.upstream"), use)
		}
	}
	sentence, _ := inWords(s.Schedule, use, zone, now)
	return sentence
}

// elsewhere supposes that every job that is depended on and not given is on the server.
func elsewhere(given []job.Parsed) job.Graph {
	var g job.Graph
	for _, j := range given {
		for _, d := range j.Spec.Deps {
			g.Jobs = append(g.Jobs, d.Key())
		}
	}
	slices.SortFunc(g.Jobs, domain.JobKey.Compare)
	g.Jobs = slices.Compact(g.Jobs)
	return g
}

func (p *process) report(r report) error {
	if err := p.printReport(r); err != nil {
		return err
	}
	if r.Valid {
		return nil
	}
	n := 0
	for _, one := range r.Problems {
		if one.Severity != "warning" {
			n++
		}
	}
	p.note("ax: %s; nothing of this could be applied\n", counted(n, "error"))
	return &failure{code: exitFailed, told: true, err: fmt.Errorf("the files are not valid")}
}

func (p *process) printReport(r report) error {
	if !p.json || !r.Valid { // what is wrong is told to people in any case, as apply does
		if _, err := io.WriteString(p.err, renderProblems(r.Problems)); err != nil {
			return err
		}
	}
	if p.json {
		return p.value(r)
	}
	if !r.Valid {
		return nil
	}
	for _, j := range r.Jobs {
		next := "never by itself"
		switch {
		case j.trigger == domain.TriggerUpstream:
			next = whenUpstreamEnds
		case j.trigger != "" && j.Calendar != "":
			next = "next as calendar " + j.Calendar + " lets it"
		case len(j.Next) > 0:
			next = "next " + j.Next[0].Format(time.RFC3339)
		}
		if j.Calendar != "" {
			p.note("%s:%d: note: %s lives by calendar %s, which is in none of these files (--calendar FILE): unchecked\n", printable(j.File), cmp.Or(j.Line, 1), j.Job, j.Calendar)
		}
		if j.Dialect != "" {
			next += " (" + j.Words + "; " + j.Dialect + " cron, " + j.Timezone + ")"
		}
		if err := p.printf("%s:%d: %s: good, %s\n", printable(j.File), cmp.Or(j.Line, 1), j.Job, next); err != nil {
			return err
		}
		if j.Type != "" {
			p.note("%s:%d: note: %s runs type %s, which a plug-in or an external executor would have to announce: its settings are unchecked\n",
				printable(j.File), cmp.Or(j.Line, 1), j.Job, j.Type)
		}
		for _, on := range j.Unchecked {
			p.note("%s:%d: note: %s depends on %s, which is in none of these files: unchecked\n", printable(j.File), cmp.Or(j.Line, 1), j.Job, on)
		}
	}
	return nil
}

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/client"
	"github.com/axsched/ax/modules/calendar"
	"github.com/axsched/ax/modules/domain"
)

func (p *process) calendars() *cobra.Command {
	var project string
	cmd := &cobra.Command{Use: "calendars", Short: "list calendars of working days", Args: cobra.NoArgs, RunE: p.do(func(ctx context.Context, _ []string) error {
		head := []string{"CALENDAR", "TITLE", "VERSION", "YEARS", "KNOWN UP TO", "JOBS", "CHANGED"}
		return p.list(ctx, listing{name: "calendars", query: url.Values{"project": {project}}, head: head, cells: func(r row) []string {
			return []string{r.text("name"), r.text("title"), r.text("version"), r.text("years"), r.text("coveredTo"), r.text("jobs"), p.when(r.moment("updatedAt"))}
		}})
	})}
	cmd.Flags().StringVar(&project, "project", "", "only of this project")
	cmd.AddCommand(p.showCalendar(), p.applyCalendar(), p.setCalendarDays(), p.deleteCalendar())
	return cmd
}

func calendarPath(name string) string { return "/api/v1/calendars/" + url.PathEscape(name) }

func (p *process) showCalendar() *cobra.Command {
	var text bool
	cmd := &cobra.Command{Use: "show CALENDAR", Short: "show a calendar: its special days, versions and the jobs that live by it", Args: cobra.ExactArgs(1),
		RunE: p.do(func(ctx context.Context, args []string) error {
			c, err := p.connect()
			if err != nil {
				return err
			}
			doc, err := c.Get(ctx, calendarPath(args[0]), nil)
			if err != nil {
				return err
			}
			if p.json {
				return p.document(doc)
			}
			r, err := decode(doc)
			if err != nil {
				return err
			}
			if text {
				return p.printf("%s", r.text("text"))
			}
			return p.oneCalendar(r)
		})}
	cmd.Flags().BoolVar(&text, "yaml", false, "print it as the YAML file that apply takes")
	return cmd
}

func (p *process) oneCalendar(r row) error {
	newest := row{}
	if all := r.rows("versions"); len(all) > 0 {
		newest = all[0]
	}
	if err := p.facts("calendar", r.text("name"), "title", r.text("title"), "version", r.text("version")+" by "+newest.text("createdBy")+", "+p.when(newest.moment("createdAt")),
		"rest days", r.text("rest"), "years", r.text("years"), "known up to", r.text("coveredTo"), "jobs", r.text("users")); err != nil {
		return err
	}
	var rows [][]string
	for _, d := range r.rows("days") {
		rows = append(rows, []string{d.text("date"), d.text("kind"), d.text("label")})
	}
	return p.table([]string{"DATE", "KIND", "LABEL"}, rows)
}

// calendarCall is the body of an apply.
type calendarCall struct {
	File    string `json:"file"`
	Text    string `json:"text"`
	Format  string `json:"format,omitempty"`
	Project string `json:"project,omitempty"`
	Name    string `json:"name,omitempty"`
	Base    *int   `json:"base,omitempty"`
	DryRun  bool   `json:"dryRun"`
}

func (p *process) applyCalendar() *cobra.Command {
	var in calendarCall
	var base int
	var name string
	cmd := &cobra.Command{Use: "apply -f FILE", Short: "take a calendar from a YAML, CSV or ICS file",
		Long: `Takes a calendar from a file, whole or not at all. YAML is the whole calendar; CSV and ICS hold days, and replace those of
the years in which they lie. It prints which days change and which jobs' fires move; with --dry-run nothing else happens.
- is the standard input.`,
		Args: cobra.NoArgs, RunE: p.do(func(ctx context.Context, _ []string) error {
			if in.File == "" {
				return usage("calendars apply wants -f FILE")
			}
			if base >= 0 {
				in.Base = &base
			}
			in.Name = name
			if key := domain.ParseJobKey(name); strings.Contains(name, "/") {
				in.Project, in.Name = key.Project, key.Name
			}
			return p.putCalendar(ctx, in)
		})}
	f := cmd.Flags()
	f.StringVarP(&in.File, "file", "f", "", "the `file`, or - for the standard input")
	f.StringVar(&name, "name", "", "[project/]name of the calendar, where the file does not say it")
	f.StringVar(&in.Format, "format", "", "yaml, csv or ics; else the name of the file or its beginning tells")
	f.IntVar(&base, "base", -1, "the version that you saw, 0 for none yet: refused when another stands there")
	f.BoolVar(&in.DryRun, "dry-run", false, "judge on the server and tell what would change; change nothing")
	return cmd
}

// dayCall is the body of a change of single days.
type dayCall struct {
	Kind    string `json:"kind"`
	Label   string `json:"label"`
	AddYear bool   `json:"addYear"`
	Base    *int   `json:"base,omitempty"`
	DryRun  bool   `json:"dryRun"`
}

func (p *process) setCalendarDays() *cobra.Command {
	var in dayCall
	var base int
	cmd := &cobra.Command{Use: "set CALENDAR DATE[..DATE] workday|holiday|rule [LABEL]", Short: "say of a day, or of a stretch of days, that it is worked or off",
		Long: `Says of one day, or of each day of a stretch, that it is a working day or a holiday; with rule the weekly rest days decide
again. All other days stay. It prints which days change and which jobs' fires move; with --dry-run nothing else happens.`,
		Args: cobra.RangeArgs(3, 4), RunE: p.do(func(ctx context.Context, args []string) error {
			in.Kind = args[2]
			if len(args) > 3 {
				in.Label = args[3]
			}
			if base >= 0 {
				in.Base = &base
			}
			return p.sendCalendar(ctx, http.MethodPut, calendarPath(args[0])+"/days/"+url.PathEscape(args[1]), in)
		})}
	f := cmd.Flags()
	f.BoolVar(&in.AddYear, "add-year", false, "count the year as known from now on, where it is not yet: its other days follow the weekly rest days")
	f.IntVar(&base, "base", -1, "the version that you saw: refused when another stands there")
	f.BoolVar(&in.DryRun, "dry-run", false, "judge on the server and tell what would change; change nothing")
	return cmd
}

// calendarText reads a file, at most a byte more than a calendar may hold.
func (p *process) calendarText(path string) (name, text string, err error) {
	in := p.in
	name = "stdin"
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return "", "", err
		}
		defer func() { _ = opened.Close() }()
		in, name = opened, filepath.Base(path)
	}
	read, err := io.ReadAll(io.LimitReader(in, calendar.MaxBytes+1))
	return name, string(read), err
}

func (p *process) putCalendar(ctx context.Context, in calendarCall) (err error) {
	if in.File, in.Text, err = p.calendarText(in.File); err != nil {
		return err
	}
	if len(in.Text) > calendar.MaxBytes || !utf8.ValidString(in.Text) || strings.ContainsRune(in.Text, 0) { // can't travel as JSON text
		_, problems := calendar.Read(in.File, in.Text, calendar.Format(in.Format))
		return p.report(report{Jobs: []checked{}, Problems: calendarProblems(problems)})
	}
	return p.sendCalendar(ctx, http.MethodPost, "/api/v1/calendars", in)
}

// sendCalendar asks for a change and tells what came of it.
func (p *process) sendCalendar(ctx context.Context, method, path string, body any) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	doc, err := c.Large().Send(ctx, method, path, body)
	if err != nil {
		return err
	}
	if p.json {
		return p.document(doc)
	}
	r, err := decode(doc)
	if err != nil {
		return err
	}
	return p.appliedCalendar(r)
}

// calendarProblems are problems found here in the words in which the server tells them.
func calendarProblems(all []calendar.Problem) []client.Problem {
	out := make([]client.Problem, len(all))
	for i, q := range all {
		out[i] = client.Problem{File: q.File, Line: q.Line, Column: q.Column, ID: q.ID, Message: q.Message(english), Excerpt: q.Excerpt(), Severity: "error"}
	}
	return out
}

// movedMost is how many fires of a job are printed.
const movedMost = 10

func (p *process) appliedCalendar(r row) error {
	if r["dryRun"] == true {
		p.note("dry run: nothing was changed\n")
	}
	if err := p.printf("%s: %s, version %s; %s live by it, the fires of %d move\n", printable(r.text("calendar")), r.text("change"), r.text("version"),
		counted(number(r, "jobs"), "job"), len(r.rows("moves"))); err != nil {
		return err
	}
	if days := r.rows("days"); len(days) > 0 {
		var rows [][]string
		for _, d := range days {
			rows = append(rows, []string{d.text("date"), d.text("was"), d.text("is"), d.text("label")})
		}
		if err := p.table([]string{"DATE", "WAS", "IS", "LABEL"}, rows); err != nil {
			return err
		}
	}
	for _, m := range r.rows("moves") {
		if err := p.printf("%s: %s no more, %s new\n", printable(m.text("job")), m.text("goneCount"), m.text("addedCount")); err != nil {
			return err
		}
		for _, list := range []struct{ name, mark string }{{"gone", "-"}, {"added", "+"}} {
			fires := m.rows(list.name)
			fires = fires[:min(len(fires), movedMost)]
			for _, f := range fires {
				if err := p.printf("  %s %s  biz_date %s%s\n", list.mark, f.text("at"), f.text("bizDate"), movedFrom(f)); err != nil {
					return err
				}
			}
			if n := number(m, list.name+"Count"); n > len(fires) {
				if err := p.printf("  %s and %d more\n", list.mark, n-len(fires)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func movedFrom(fire row) string {
	if from := fire.text("movedFrom"); from != "" {
		return ", moved from " + from
	}
	return ""
}

func number(r row, name string) int {
	n, _ := r[name].(json.Number)
	v, _ := n.Int64() // what is no number counts as none
	return int(v)
}

func (p *process) deleteCalendar() *cobra.Command {
	return &cobra.Command{Use: "delete CALENDAR", Short: "delete a calendar; refused while jobs live by it", Args: cobra.ExactArgs(1),
		RunE: p.do(func(ctx context.Context, args []string) error {
			return p.change(ctx, http.MethodDelete, calendarPath(args[0]), fmt.Sprintf("%s: deleted\n", args[0]))
		})}
}

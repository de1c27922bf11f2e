package jobs

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// List is the list of jobs.
func List(p ListPage) templ.Component {
	return layout.Page(p.Shell, layout.Meta{Nav: "jobs", Title: "jobs.title"}, list(p))
}

// Job is the page of one job.
func Job(p JobPage) templ.Component {
	return layout.Page(p.Shell, layout.Meta{Nav: "jobs", Title: "jobs.title", Name: p.Job.Name()}, job(p))
}

// Edit is the editor of a definition: YAML, or the short form.
func Edit(p EditPage) templ.Component {
	title := "edit.new"
	if p.Job.ID != "" {
		title = "edit.title"
	}
	return layout.Page(p.Shell, layout.Meta{Nav: "jobs", Title: title, Name: p.Job.Name()}, edit(p))
}

// Check is the answer to EditPage.CheckURL: the fragment that the page shows
// beside the editor. s gives language and clock.
func Check(s layout.Shell, c CheckResult) templ.Component {
	return layout.Fragment(s, check(c))
}

// jobTabs are the views of one job, with the active one marked.
func jobTabs(ctx context.Context, p JobPage) []ui.Tab {
	var tabs []ui.Tab
	for _, name := range []string{"overview", "instances", "deps", "versions", "yaml"} {
		if p.TabURLs[name] != "" {
			tabs = append(tabs, ui.Tab{Text: i18n.T(ctx, "job.tab."+name), URL: p.TabURLs[name], Count: -1, Active: p.Tab == name})
		}
	}
	return tabs
}

func modeTabs(ctx context.Context, p EditPage) []ui.Tab {
	var tabs []ui.Tab
	for _, name := range []string{"form", "yaml"} {
		if p.ModeURLs[name] != "" {
			tabs = append(tabs, ui.Tab{Text: i18n.T(ctx, "edit.mode."+name), URL: p.ModeURLs[name], Count: -1, Active: p.Mode == name})
		}
	}
	return tabs
}

// scheduleTitle is the schedule in words with what people may not expect of it.
func scheduleTitle(r Row) string {
	return strings.Join(append([]string{r.Schedule}, r.Cautions...), "\n")
}

// numbered splits a text into lines for a numbered view.
func numbered(text string) []string {
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

func problemPlace(ctx context.Context, p Problem) string {
	if p.Line == 0 {
		return p.Path
	}
	return i18n.T(ctx, "check.line", "line", p.Line, "column", max(p.Column, 1))
}

func errorsIn(problems []Problem) int {
	n := 0
	for _, p := range problems {
		if !p.Warning {
			n++
		}
	}
	return n
}

func lineID(n int) string { return "y" + strconv.Itoa(n) }

// sleptText says what lies in the pause of a job.
func sleptText(ctx context.Context, s Slept) string {
	switch since := i18n.DateTime(ctx, s.Since); {
	case s.Since.IsZero():
		return i18n.T(ctx, "resume.never")
	case s.Fires == 0:
		return i18n.T(ctx, "resume.none", "since", since)
	case s.More:
		return i18n.T(ctx, "resume.very_many", "since", since, "n", s.Fires)
	default:
		return sleptDates(ctx, s, since)
	}
}

// sleptDates says which fires a pause keeps from happening, and which of them were due before it.
func sleptDates(ctx context.Context, s Slept, since string) string {
	text := i18n.T(ctx, "resume.many", "since", since, "n", s.Fires, "from", s.From, "to", s.To)
	if s.From == s.To {
		text = i18n.T(ctx, "resume.one_date", "since", since, "n", s.Fires, "from", s.From)
	}
	if s.Untaken > 0 {
		text += " " + i18n.T(ctx, "resume.untaken", "n", s.Untaken)
	}
	return text
}

func pausedText(ctx context.Context, p JobPage) string {
	if p.Paused != "" {
		return p.Paused
	}
	return i18n.T(ctx, "job.is_paused")
}

func editTitle(ctx context.Context, p EditPage) string {
	if p.Job.ID == "" {
		return i18n.T(ctx, "edit.new")
	}
	return i18n.T(ctx, "edit.of", "job", p.Job.Name())
}

func editContext(ctx context.Context, p EditPage) string {
	if p.BaseVersion == 0 {
		return i18n.T(ctx, "edit.new_text")
	}
	return i18n.T(ctx, "edit.based_on", "n", p.BaseVersion)
}

// allInstances is the list of instances of the job.
func (p JobPage) allInstances() string {
	return (&url.URL{Path: "/instances", RawQuery: url.Values{"job": {p.Job.ID}}.Encode()}).String()
}

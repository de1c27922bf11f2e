package web

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/jobs"
	"github.com/axsched/ax/views/ui"
)

// typed is what somebody typed: a text, or a form that means one.
type typed struct {
	mode string
	text string
	form job.Form
	when domain.Choice

	exec   json.RawMessage // of a job as it opens
	fields []job.Setting   // of the type, as posted
	rest   string          // the settings beside them
	beyond []string        // keys of the job that the form leaves as they are written
	faults []fault         // what of the form can't be written as a file
}

// fault is a field of the form, and the catalog key of what is wrong with it.
type fault struct{ field, key string }

func (t typed) files() []job.File { return []job.File{{Text: t.text}} }

// wrong says the faults.
func (t typed) wrong(ctx context.Context) []ui.FieldError {
	var out []ui.FieldError
	for _, f := range t.faults {
		out = append(out, ui.FieldError{Field: f.field, Message: i18n.T(ctx, f.key)})
	}
	return out
}

// readNew reads what was posted of a new job.
func (h *Handlers) readNew(form url.Values) typed {
	t := readFields(form)
	if t.mode != modeForm {
		return t
	}
	h.writeSchedule(&t)
	t.text = t.form.YAML()
	return t
}

func readFields(form url.Values) typed {
	if form.Get("mode") != modeForm {
		return typed{mode: modeYAML, text: form.Get("text")}
	}
	kind := domain.ChoiceKind(form.Get("when"))
	if kind == "" && form.Get("cron") != "" {
		kind = domain.ChoiceOwn // posted by hand, without the builder
	}
	t := typed{mode: modeForm,
		form: job.Form{Name: form.Get("name"), Title: form.Get("title"), Timezone: form.Get("timezone"), Deps: form.Get("deps"), Command: form.Get("command"), Timeout: form.Get("timeout"),
			Calendar: form.Get("calendar"), CalendarOn: form.Get("calendar_on"), CalendarElse: form.Get("calendar_else"), BizDate: form.Get("biz_date"),
			Misfire: form.Get("misfire"), Overlap: form.Get("overlap"), Pool: form.Get("pool"), Type: typeOf(form.Get("type")), Settings: form.Get("settings")},
		when: domain.Choice{Kind: kind, Minutes: form.Get("minutes"), Minute: form.Get("minute"), Time: form.Get("time"), Weekdays: form["weekdays"], Day: form.Get("day"),
			Nth: form.Get("nth"), Weekday: form.Get("weekday"), At: form.Get("at"), Every: form.Get("every"), Cron: form.Get("cron")}}
	t.readSettings(form)
	return t
}

// whenOf is a choice as the builder shows it.
func whenOf(c domain.Choice) jobs.When {
	return jobs.When{Kind: string(c.Kind), Minutes: c.Minutes, Minute: c.Minute, Time: c.Time, Weekdays: c.Weekdays, Day: c.Day, Nth: c.Nth, Weekday: c.Weekday, At: c.At, Every: c.Every, Cron: c.Cron}
}

// writeSchedule puts the choice into the form as it stands in a file.
func (h *Handlers) writeSchedule(t *typed) {
	if t.when.Kind == domain.ChoiceUpstream {
		setSchedule(&t.form, "trigger", string(domain.TriggerUpstream))
		return
	}
	key, value, wrong := h.Words.Written(t.when)
	if wrong != "" {
		t.faults = append(t.faults, fault{wrong, value})
		return
	}
	setSchedule(&t.form, key, value)
}

func setSchedule(f *job.Form, key, value string) {
	f.Cron, f.Every, f.At, f.Trigger = "", "", "", ""
	switch key {
	case "cron":
		f.Cron = value
	case "every":
		f.Every = value
	case "at":
		f.At = value
	case "trigger":
		f.Trigger = value
	}
}

// opened is a job as its editor opens: in the form where that shows all of it, or where it is
// asked for.
func (h *Handlers) opened(j domain.Job, mode string) typed {
	t := typed{mode: modeYAML, text: j.Source}
	if mode == modeYAML || !job.Patchable(j.Source) {
		return t
	}
	form, when, beyond := h.formOf(j)
	if mode == modeForm || len(beyond) == 0 {
		t.mode, t.form, t.when, t.beyond, t.exec = modeForm, form, when, beyond, j.Spec.Exec.Spec
	}
	return t
}

// formOf shows a job in the form.
func (h *Handlers) formOf(j domain.Job) (job.Form, domain.Choice, []string) {
	when := h.Words.Choice(j.Spec.Schedule, h.zoneOf(j.Spec))
	if j.Spec.Trigger == domain.TriggerUpstream {
		when.Kind = domain.ChoiceUpstream
	}
	form, beyond := h.Jobs.FormOf(j, when.Every, when.At)
	return form, when, beyond
}

// readOld reads what was posted of a job that is there. What the form does not show stays as
// it is written; so does a schedule of which the choice is the one that was shown.
func (h *Handlers) readOld(form url.Values, j domain.Job) typed {
	t := readFields(form)
	if t.mode != modeForm {
		return t
	}
	was, when, beyond := h.formOf(j)
	t.form.Name, t.beyond = was.Name, beyond
	if slices.Contains(beyond, "deps") {
		t.form.Deps = was.Deps
	}
	if slices.Contains(beyond, "exec") {
		t.form.Command, t.form.Type, t.form.Settings = was.Command, was.Type, was.Settings
	}
	keepUnasked(&t.form, was, form)
	t.keepSettings(was, j.Spec.Exec, form)
	locked := slices.Contains(beyond, "schedule")
	if locked {
		t.when = when
	}
	if locked || h.sameChoice(t.when, when) {
		t.form.Cron, t.form.Every, t.form.At, t.form.Trigger = was.Cron, was.Every, was.At, was.Trigger
	} else {
		h.writeSchedule(&t)
	}
	var ok bool
	if t.text, ok = job.Patch(j.Source, was, t.form); !ok {
		t.faults = append(t.faults, fault{"when", "edit.unpatchable"})
	}
	return t
}

// keepUnasked leaves what was not posted at all, as by a program, as it was.
func keepUnasked(f *job.Form, was job.Form, posted url.Values) {
	for name, one := range map[string]struct {
		is  *string
		was string
	}{"calendar": {&f.Calendar, was.Calendar}, "calendar_on": {&f.CalendarOn, was.CalendarOn}, "calendar_else": {&f.CalendarElse, was.CalendarElse},
		"type": {&f.Type, was.Type}, "biz_date": {&f.BizDate, was.BizDate}, "misfire": {&f.Misfire, was.Misfire}, "overlap": {&f.Overlap, was.Overlap}, "pool": {&f.Pool, was.Pool}} {
		if !posted.Has(name) {
			*one.is = one.was
		}
	}
}

// sameChoice tells whether two choices are written alike.
func (h *Handlers) sameChoice(a, b domain.Choice) bool {
	if a.Kind != b.Kind || a.Kind == domain.ChoiceUpstream {
		return a.Kind == b.Kind
	}
	var x, y [3]string
	x[0], x[1], x[2] = h.Words.Written(a)
	y[0], y[1], y[2] = h.Words.Written(b)
	return x == y && x[2] == ""
}

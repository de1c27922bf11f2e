package web

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/jobs"
)

// shellType is the type whose command has a field of its own.
const shellType = "shell"

// typeOf is a type as the form keeps it: "" for a shell job.
func typeOf(posted string) string {
	if posted = strings.TrimSpace(posted); posted != shellType {
		return posted
	}
	return ""
}

// fieldOf names the field of a key of a type: it carries all that is needed to read it, whoever announces the type by then.
func fieldOf(kind string, p domain.TypeParam) string {
	return "x." + kind + "." + p.Kind + "." + p.Name
}

// readSettings takes the fields of the type that was posted, if there are any, as its settings.
func (t *typed) readSettings(form url.Values) {
	prefix := "x." + t.form.Type + "."
	for _, name := range slices.Sorted(maps.Keys(form)) {
		kind, key, ok := strings.Cut(strings.TrimPrefix(name, prefix), ".")
		if ok && strings.HasPrefix(name, prefix) {
			t.fields = append(t.fields, job.Setting{Key: key, Kind: kind, Text: form.Get(name)})
		}
	}
	if t.fields != nil {
		t.rest = form.Get("rest." + t.form.Type)
		t.form.Settings = job.SettingsYAML(t.fields, t.rest)
	}
}

// keepSettings leaves settings as they are written where the fields say what they said, or nothing was posted of them.
func (t *typed) keepSettings(was job.Form, exec domain.Exec, posted url.Values) {
	if t.form.Type != was.Type {
		return
	}
	if t.fields == nil {
		if !posted.Has("settings") {
			t.form.Settings = was.Settings
		}
		return
	}
	bare := make([]job.Setting, len(t.fields))
	for i, f := range t.fields {
		bare[i] = job.Setting{Key: f.Key, Kind: f.Kind}
	}
	if filled, rest := job.SettingsOf(exec.Spec, bare); job.SettingsYAML(filled, rest) == t.form.Settings {
		t.form.Settings = was.Settings
	}
}

// types are those that the form offers: what AX knows and what targets announce to the job's project, with the fields of
// those that say what they take.
func (h *Handlers) types(ctx context.Context, t typed) ([]jobs.TypeChoice, error) {
	offers := map[string]domain.TypeOffer{}
	if h.Jobs.Types != nil {
		var err error
		if offers, err = h.Jobs.Types.Offered(ctx, domain.ParseJobKey(strings.TrimSpace(t.form.Name)).Project); err != nil {
			return nil, err
		}
	}
	names := domain.BuiltInTypes()
	for _, kind := range slices.Sorted(maps.Keys(offers)) {
		if !domain.BuiltIn(kind) {
			names = append(names, kind)
		}
	}
	out := make([]jobs.TypeChoice, len(names))
	for i, kind := range names {
		out[i] = choiceOf(i18n.Lang(ctx), kind, offers[kind].Description, t)
	}
	return out, nil
}

// choiceOf is one type with its fields, filled in where it is the one that was chosen.
func choiceOf(lang, kind string, d domain.TypeDescription, t typed) jobs.TypeChoice {
	out := jobs.TypeChoice{Name: kind, About: d.About.In(lang), Known: d.Params != nil && kind != shellType}
	if !out.Known {
		return out
	}
	filled := make([]job.Setting, len(d.Params))
	for i, p := range d.Params {
		filled[i] = job.Setting{Key: p.Name, Kind: p.Kind}
	}
	if chosen := kind == t.form.Type; chosen && t.fields == nil {
		filled, out.Rest = job.SettingsOf(t.exec, filled)
	} else if chosen {
		out.Rest = t.rest
		for i, f := range filled {
			if at := slices.IndexFunc(t.fields, func(g job.Setting) bool { return g.Key == f.Key }); at >= 0 {
				filled[i].Text = t.fields[at].Text
			}
		}
	}
	for i, p := range d.Params {
		out.Fields = append(out.Fields, jobs.TypeField{Name: fieldOf(kind, p), Key: p.Name, Label: p.LabelIn(lang), Help: p.HelpIn(lang), Kind: p.Kind, Default: p.Default,
			Choices: p.Choices, Required: p.Required, Value: filled[i].Text})
	}
	return out
}

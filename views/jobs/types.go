package jobs

import (
	"context"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/kit/i18n"
)

// options are what a field may be, where it is chosen from a list; one that holds something else, as a template, is typed.
func (f TypeField) options() []string {
	all := f.Choices
	if f.Kind == "boolean" {
		all = []string{"true", "false"}
	}
	if f.Value != "" && !slices.Contains(all, f.Value) {
		return nil
	}
	return all
}

// none is the choice of nothing.
func (f TypeField) none(ctx context.Context) string {
	if f.Default != "" {
		return i18n.T(ctx, "param.default", "value", f.Default)
	}
	return "–"
}

// input is the kind of input that a field is typed into.
func (f TypeField) input() string {
	if f.Kind == "list" || f.Kind == "map" || strings.Contains(f.Value, "\n") {
		return "textarea"
	}
	return "text"
}

func (f TypeField) rows() int { return max(2, min(10, strings.Count(f.Value, "\n")+1)) }

// help says what a field is for, and how a list or map is typed.
func (f TypeField) help(ctx context.Context) string {
	how := ""
	if f.Kind == "list" || f.Kind == "map" {
		how = i18n.T(ctx, "form.how."+f.Kind)
	}
	return strings.TrimSpace(f.Help + " " + how)
}

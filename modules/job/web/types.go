package web

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
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

// types are the words that the form offers: those that AX knows, and those that targets announce to the job's project.
func (h *Handlers) types(ctx context.Context, f job.Form) ([]string, error) {
	out := domain.BuiltInTypes()
	if h.Jobs.Types == nil {
		return out, nil
	}
	offers, err := h.Jobs.Types.Offered(ctx, domain.ParseJobKey(strings.TrimSpace(f.Name)).Project)
	for _, kind := range slices.Sorted(maps.Keys(offers)) {
		if !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return out, err
}

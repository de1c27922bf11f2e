package search

import (
	"context"

	"github.com/axsched/ax/modules/kit/i18n"
)

// summary is the line under the title.
func summary(ctx context.Context, p Page) string {
	if p.empty() {
		return ""
	}
	return i18n.T(ctx, "search.near", "text", p.Text)
}

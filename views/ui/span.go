package ui

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/kit/i18n"
)

// RanText says how long something ran, which is the least where nobody knows when it ended.
func RanText(ctx context.Context, d time.Duration, atLeast bool) string {
	if atLeast {
		return i18n.T(ctx, "time.at_least", "d", i18n.Duration(ctx, d))
	}
	return i18n.Duration(ctx, d)
}

package workers

import (
	"context"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/layout"
)

// List is the page of workers.
func List(p ListPage) templ.Component {
	return layout.Page(p.Shell, layout.Meta{Nav: "workers", Title: "workers.title"}, list(p))
}

func alive(rows []Row) int {
	n := 0
	for _, r := range rows {
		if r.Availability != "lost" {
			n++
		}
	}
	return n
}

// refuses reports whether it is alive and takes no work.
func refuses(r Row) bool { return r.SkewRefused || r.Disk != "" && r.Availability != "lost" }

// standing is the word beside the name: where it refuses, what for.
func standing(r Row) string {
	if r.Availability == "refusing" && r.Disk != "" {
		return "refusing_disk"
	}
	return r.Availability
}

func skewText(ctx context.Context, d time.Duration) string {
	sign := "+"
	if d < 0 {
		sign = "−"
	}
	return sign + i18n.Duration(ctx, d)
}

func score(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// domID makes a worker's place in the list into an id for its dialogs.
func domID(what string, i int) string { return what + "-" + strconv.Itoa(i) }

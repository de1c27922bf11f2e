package workers

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/layout"
)

// List is the page of workers.
func List(p ListPage) templ.Component {
	return layout.Page(p.Shell, layout.Meta{Nav: "workers", Title: "workers.title"}, list(p))
}

// count says how many workers there are, and how many of them are heard.
func count(ctx context.Context, rows []Row) string {
	alive, silent := 0, 0
	for _, r := range rows {
		switch r.Availability {
		case "lost":
		case "silent":
			silent++
		default:
			alive++
		}
	}
	if silent > 0 {
		return i18n.T(ctx, "workers.count_silent", "n", len(rows), "alive", alive, "silent", silent)
	}
	return i18n.T(ctx, "workers.count", "n", len(rows), "alive", alive)
}

// refuses reports whether it is alive and takes no work.
func refuses(r Row) bool { return r.SkewRefused || r.Disk != "" && r.Availability != "lost" }

// tone is the colour of the word beside the name: a silent one is not given up yet, as one that drains is not.
func tone(r Row) string {
	if r.Availability == "silent" {
		return "draining"
	}
	return r.Availability
}

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

// pluginName names a plug-in with its version.
func pluginName(p Plugin) string { return strings.TrimSpace(p.Name + " " + p.Version) }

// paramWords says of a parameter what it is, whether it must be there and what it may be.
func paramWords(ctx context.Context, p Param) string {
	said := []string{i18n.T(ctx, "param.kind."+p.Kind)}
	if p.Required {
		said = append(said, i18n.T(ctx, "param.required"))
	}
	if p.Default != "" {
		said = append(said, i18n.T(ctx, "param.default", "value", p.Default))
	}
	if len(p.Choices) > 0 {
		said = append(said, i18n.T(ctx, "param.choices", "values", strings.Join(p.Choices, ", ")))
	}
	return strings.Join(said, ", ")
}

// domID makes a worker's place in the list into an id for its dialogs.
func domID(what string, i int) string { return what + "-" + strconv.Itoa(i) }

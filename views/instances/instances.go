package instances

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// List is the list of instances.
func List(p ListPage) templ.Component {
	return layout.Page(p.Shell, layout.Meta{Nav: "instances", Title: "inst.title"}, list(p))
}

// Show is the page of one instance.
func Show(p ShowPage) templ.Component {
	m := layout.Meta{Nav: "instances", Title: "inst.title", Name: p.Job.Name() + " " + p.BizDate}
	return layout.Page(p.Shell, m, show(p))
}

// poolText says which instances of a pool are listed.
func poolText(ctx context.Context, f Filter) string {
	if f.Place == "holds" || f.Place == "waits" {
		return i18n.T(ctx, "inst.in_pool."+f.Place, "pool", f.Pool)
	}
	return i18n.T(ctx, "inst.in_pool", "pool", f.Pool)
}

func showTabs(ctx context.Context, p ShowPage) []ui.Tab {
	counts := map[string]int64{"dispatch": int64(p.attempts()), "params": -1, "log": -1, "deps": int64(len(p.Up) + len(p.Down)), "history": int64(len(p.History))}
	var tabs []ui.Tab
	for _, name := range []string{"log", "dispatch", "params", "deps", "history"} {
		if p.TabURLs[name] != "" {
			tabs = append(tabs, ui.Tab{Text: i18n.T(ctx, "inst.tab."+name), URL: p.TabURLs[name], Count: counts[name], Active: p.Tab == name})
		}
	}
	return tabs
}

func (p ShowPage) attempts() int {
	n := 0
	for _, r := range p.Runs {
		n += len(r.Attempts)
	}
	return n
}

// selected is the attempt whose log is shown; ok is false when there is none yet.
func (p ShowPage) selected() (a Attempt, ok bool) {
	for _, r := range p.Runs {
		for _, a := range r.Attempts {
			if a.Selected {
				return a, true
			}
		}
	}
	return Attempt{}, false
}

// elapsedText compares how long it took so far with what is usual.
func elapsedText(ctx context.Context, p ShowPage) string {
	elapsed := ui.RanText(ctx, p.Elapsed, p.AtLeast)
	if p.Usual <= 0 {
		return i18n.T(ctx, "inst.elapsed", "d", elapsed)
	}
	return i18n.T(ctx, "inst.elapsed_usual", "d", elapsed, "usual", i18n.Duration(ctx, p.Usual))
}

// logConfig is the words that the script says about the log; {n} is for it to fill.
func logConfig(ctx context.Context) string {
	words := map[string]string{}
	for _, key := range []string{"lines", "reconnecting", "ended"} {
		words[key] = i18n.T(ctx, "log."+key, "n", "{n}")
	}
	data, err := json.Marshal(words)
	if err != nil {
		return "{}" // a map of texts can't fail
	}
	return string(data)
}

func lastNo(lines []Line) string {
	if len(lines) == 0 {
		return "0"
	}
	return strconv.FormatInt(lines[len(lines)-1].No, 10)
}

func lineTime(ctx context.Context, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(i18n.Zone(ctx)).Format("15:04:05.000")
}

// gap is the time between two moments of the dispatch record; "" when one is missing.
func gap(ctx context.Context, from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	return "+" + i18n.Duration(ctx, to.Sub(from))
}

// lostText says of a lost attempt how long it ran at least, and when that came to be known.
func lostText(ctx context.Context, a Attempt) string {
	switch {
	case a.Heard.IsZero():
		return i18n.T(ctx, "inst.lost_at", "at", i18n.DateTime(ctx, a.Lost))
	case a.Started.IsZero():
		return i18n.T(ctx, "inst.lost_heard", "heard", i18n.DateTime(ctx, a.Heard), "at", i18n.DateTime(ctx, a.Lost))
	}
	return i18n.T(ctx, "inst.lost_ran", "d", i18n.Duration(ctx, a.Heard.Sub(a.Started)), "heard", i18n.DateTime(ctx, a.Heard), "at", i18n.DateTime(ctx, a.Lost))
}

type moment struct {
	name   string
	at     time.Time
	before time.Time
}

// moments are the stations of an attempt, each with the one before it.
func (a Attempt) moments() []moment {
	all := []moment{
		{name: "dispatched", at: a.Dispatched}, {name: "acked", at: a.Acked}, {name: "granted", at: a.Granted},
		{name: "started", at: a.Started}, {name: "finished", at: a.Finished},
	}
	var last time.Time
	for i := range all {
		all[i].before = last
		if !all[i].at.IsZero() {
			last = all[i].at
		}
	}
	return all
}

func attemptName(ctx context.Context, a Attempt) string {
	name := i18n.T(ctx, "inst.attempt_n", "n", a.No)
	if a.Shard != "" {
		name += " · " + i18n.T(ctx, "inst.shard", "shard", a.Shard)
	}
	return name
}

func progressText(ctx context.Context, p ShowPage) string {
	if p.Estimate {
		return i18n.T(ctx, "inst.progress_estimate", "n", p.Progress)
	}
	return i18n.T(ctx, "inst.progress", "n", p.Progress)
}

func triggerText(ctx context.Context, trigger string) string {
	key := "trigger." + trigger
	if !i18n.Has(i18n.Lang(ctx), key) {
		return trigger
	}
	return i18n.T(ctx, key)
}

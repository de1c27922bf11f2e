package web

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/axsched/ax/modules/board"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	view "github.com/axsched/ax/views/board"
	"github.com/axsched/ax/views/ui"
)

// inTrouble is the share of failures among those that ended from which a day is bad.
const inTrouble = 0.1

// verdict is what is wrong with all of AX, the worst of it first, or else the day.
func (h *Handlers) verdict(ctx context.Context, d board.Day) view.Verdict {
	if h.NoWrites != nil {
		if said := h.NoWrites(); said != "" {
			return view.Verdict{Kind: "bad", Text: i18n.T(ctx, "dash.verdict_no_writes", "said", said)}
		}
	}
	v := h.stuck(ctx, d)
	if said := h.unfired(ctx); said != "" {
		v.Kind, v.Text = "bad", strings.TrimSpace(v.Text+i18n.T(ctx, "dash.verdict_then")+said)
	}
	if v.Text != "" {
		return v
	}
	return verdict(ctx, d)
}

// stuck says why nothing can run; without text nothing of the kind is known. What can't be read is logged: the rest is
// told then.
func (h *Handlers) stuck(ctx context.Context, d board.Day) view.Verdict {
	if h.Broker != nil {
		there, err := h.Broker.Present(ctx)
		switch {
		case err != nil:
			slog.Warn("whether a broker is active could not be read; the next refresh tries again", "error", err)
		case !there:
			return view.Verdict{Kind: "bad", Text: i18n.T(ctx, "dash.verdict_no_broker")}
		}
	}
	if h.Unreached != nil {
		since, said, err := h.Unreached(ctx)
		switch {
		case err != nil:
			slog.Warn("whether workers are reached could not be read; the next refresh tries again", "error", err)
		case !since.IsZero():
			return toWorkers(ctx, "bad", i18n.T(ctx, "dash.verdict_unreached", "at", inZone(ctx, since), "said", i18n.Retell(ctx, said)))
		}
	}
	if h.Workers == nil {
		return view.Verdict{}
	}
	all, err := h.Workers.List(ctx)
	switch {
	case err != nil:
		slog.Warn("the workers could not be read for the overview; the next refresh tries again", "error", err)
		return view.Verdict{}
	case len(all) == 0 && !d.Ever: // the first worker may be about to come
		return toWorkers(ctx, "attention", i18n.T(ctx, "dash.verdict_no_worker"))
	case len(all) == 0:
		return toWorkers(ctx, "bad", i18n.T(ctx, "dash.verdict_no_worker"))
	}
	if said := noneTakes(ctx, all, h.Now()); said != "" {
		return toWorkers(ctx, "bad", said)
	}
	return view.Verdict{}
}

func toWorkers(ctx context.Context, kind, said string) view.Verdict {
	return view.Verdict{Kind: kind, Text: said, Link: ui.Ref{Title: i18n.T(ctx, "dash.verdict_workers"), URL: "/workers"}}
}

func inZone(ctx context.Context, at time.Time) string {
	return i18n.DateTime(ctx, at) + " " + i18n.ZoneName(ctx, at)
}

// namedMost is how many workers a sentence names.
const namedMost = 3

// noneTakes says why none of the workers takes work; "" = one does.
func noneTakes(ctx context.Context, all []domain.Worker, now time.Time) string {
	lost, silent := 0, 0
	var refuse []string
	for _, w := range all {
		switch w.StandingAt(now, false) {
		case domain.WorkerGone:
			lost++
		case domain.WorkerSilent:
			silent++
		default:
			why := refuses(ctx, w)
			if why == "" {
				return ""
			}
			refuse = append(refuse, why)
		}
	}
	switch {
	case len(refuse) > 0:
		list := strings.Join(refuse[:min(len(refuse), namedMost)], i18n.T(ctx, "dash.verdict_and"))
		if len(refuse) > namedMost {
			list += "…"
		}
		return i18n.T(ctx, "dash.verdict_none_takes", "n", len(refuse), "list", list)
	case silent == 0:
		return i18n.T(ctx, "dash.verdict_all_lost", "n", lost)
	}
	return i18n.T(ctx, "dash.verdict_all_silent", "n", len(all), "lost", lost)
}

// refuses says why a worker that is alive takes no work; "" = it takes some.
func refuses(ctx context.Context, w domain.Worker) string {
	switch {
	case w.State == domain.WorkerDraining || w.Drain:
		return i18n.T(ctx, "dash.refuses_drain", "worker", w.Name)
	case w.Disk != "":
		return i18n.T(ctx, "dash.refuses_disk", "worker", w.Name, "said", i18n.Retell(ctx, w.Disk))
	case w.Refuses():
		return i18n.T(ctx, "dash.refuses_clock", "worker", w.Name, "d", i18n.Duration(ctx, w.Skew.Abs().Round(100*time.Millisecond)))
	}
	return ""
}

// unfired says that due fires are not taken; "" = they are, as far as can be read.
func (h *Handlers) unfired(ctx context.Context) string {
	if h.Untaken == nil {
		return ""
	}
	first, err := h.Untaken(ctx)
	switch {
	case err != nil:
		slog.Warn("whether fires are taken could not be read for the overview; the next refresh tries again", "error", err)
		return ""
	case first.IsZero():
		return ""
	}
	return i18n.T(ctx, "dash.verdict_unfired", "at", inZone(ctx, first))
}

// verdict is the day in one sentence; none when failures could not be read.
func verdict(ctx context.Context, d board.Day) view.Verdict {
	switch {
	case d.Failures == nil:
		return view.Verdict{}
	case d.Failures.Total <= 0:
		return view.Verdict{Kind: "good", Text: i18n.T(ctx, "dash.verdict_none")}
	}
	v := view.Verdict{Kind: "attention", Text: i18n.T(ctx, "dash.verdict_failed", "n", d.Failures.Total),
		Link: ui.Ref{Title: i18n.T(ctx, "dash.verdict_list"), URL: madeToday(d, "state", "failed")}}
	if d.Failures.Rate >= inTrouble {
		v.Kind = "bad"
	}
	for _, f := range d.Top {
		if f.Blocks > 0 {
			name := ui.Ref{ID: f.Job.Key.String(), Title: f.Job.Title}.Name()
			v.Text += " " + i18n.T(ctx, "dash.verdict_job", "job", name, "times", f.Failed, "n", f.Blocks)
			v.Link = ui.Ref{Title: i18n.T(ctx, "dash.verdict_chain"), URL: "/dag?failing=1"}
			break
		}
	}
	return v
}

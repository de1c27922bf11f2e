package instance

import (
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// whyQueued says what the broker would have to find and does not: itself, a worker
// alive, one with the type, with the tags, one that takes work, one that can write its
// journal, one whose clock is right, threads in the lane.
func whyQueued(f Facts) Sentence {
	since := f.Instance.ReadyAt
	if f.BrokerKnown && !f.BrokerThere {
		return say("why.no_broker", "at", since)
	}
	if f.Outage.NoWrites != "" {
		return say("why.no_writes_queued", "at", since, "said", f.Outage.NoWrites)
	}
	switch r := f.Outage.Redis; {
	case r.Answers:
		return say("why.redis_refuses", "at", since, "seen", r.Since, "said", r.Said)
	case !r.Since.IsZero() && r.Broker != "":
		return say("why.no_redis_of", "at", since, "seen", r.Since, "broker", r.Broker, "said", r.Said)
	case !r.Since.IsZero():
		return say("why.no_redis", "at", since, "seen", notBefore(r.Since, since))
	}
	if seen, deaf := unheard(f); deaf {
		return say("why.unheard", "at", since, "seen", notBefore(seen, since))
	}
	alive := slices.DeleteFunc(slices.Clone(f.Workers), gone)
	if len(alive) == 0 {
		if lost := len(f.Workers); lost > 0 {
			return say("why.all_lost", "n", lost, "at", since)
		}
		return say("why.no_worker", "at", since)
	}
	if only := f.Instance.Worker; only != "" {
		if alive = having(alive, func(w domain.Worker) bool { return w.Name == only }); len(alive) == 0 {
			return say("why.shard_worker", "worker", only, "at", since)
		}
	}
	typed := having(alive, func(w domain.Worker) bool { return slices.Contains(w.Types, f.Spec.Exec.Type) })
	lost := having(f.Workers, func(w domain.Worker) bool { return gone(w) && fits(w, f) })
	if len(typed) == 0 && len(lost) > 0 {
		return say("why.fit_lost", "n", len(lost), "workers", nameAll(lost), "alive", nameAll(alive), "at", since)
	}
	if len(typed) == 0 && !domain.BuiltIn(f.Spec.Exec.Type) {
		return say("why.no_open_type", "type", f.Spec.Exec.Type, "workers", nameAll(alive), "at", since)
	}
	if len(typed) == 0 {
		return say("why.no_type", "type", f.Spec.Exec.Type, "workers", nameAll(alive), "at", since)
	}
	tagged := having(typed, func(w domain.Worker) bool { return len(lacking(w, f.Spec.Demands())) == 0 })
	if len(tagged) == 0 {
		return whyNoTags(f, typed, lost)
	}
	taking := having(tagged, func(w domain.Worker) bool { return w.State == domain.WorkerAvailable && !w.Drain })
	if len(taking) == 0 {
		return say("why.draining", "workers", nameAll(tagged), "at", since)
	}
	writing := having(taking, func(w domain.Worker) bool { return w.Disk == "" })
	if len(writing) == 0 {
		return say("why.disk", "list", disks(taking), "at", since)
	}
	timely := having(writing, func(w domain.Worker) bool { return w.Skew.Abs() <= protocol.MaxSkewMs*time.Millisecond })
	if len(timely) == 0 {
		return say("why.clock", "list", clocks(writing), "at", since)
	}
	return whyNoRoom(f, timely)
}

// gone reports whether a worker counts as lost.
func gone(w domain.Worker) bool { return w.State == domain.WorkerGone || !w.LostAt.IsZero() }

// fits reports whether a worker is one that the instance waits for, by its name, type and tags.
func fits(w domain.Worker, f Facts) bool {
	only := f.Instance.Worker
	return (only == "" || only == w.Name) && slices.Contains(w.Types, f.Spec.Exec.Type) && len(lacking(w, f.Spec.Demands())) == 0
}

// whyNoTags says that none of the workers alive that run the type has all tags, or that those which have them are lost.
func whyNoTags(f Facts, typed, lost []domain.Worker) Sentence {
	since, demands := f.Instance.ReadyAt, f.Spec.Demands()
	tags := strings.Join(demands, ", ")
	if len(lost) > 0 {
		return say("why.fit_lost", "n", len(lost), "workers", nameAll(lost), "alive", nameAll(typed), "at", since)
	}
	if nobody := unoffered(typed, f.Spec.Exec.Needs); len(nobody) > 0 {
		return say("why.no_need", "type", f.Spec.Exec.Type, "needs", needed(nobody), "workers", nameAll(typed), "at", since)
	}
	if len(unoffered(typed, demands)) == len(demands) {
		return say("why.no_tag", "type", f.Spec.Exec.Type, "tags", tags, "workers", nameAll(typed), "at", since)
	}
	return say("why.no_tags", "type", f.Spec.Exec.Type, "tags", tags, "nearest", nearest(typed, demands), "at", since)
}

// needed says what is missing in workers' own set-up.
func needed(needs []string) []Sentence {
	var out []Sentence
	for _, need := range needs {
		if name, ok := strings.CutPrefix(need, domain.SourcePrefix); ok {
			out = append(out, say("why.need_source", "name", name))
		} else {
			out = append(out, say("why.need_user", "name", strings.TrimPrefix(need, domain.UserPrefix)))
		}
	}
	return out
}

// disks says of each worker what its disk says, the first few of them.
func disks(ws []domain.Worker) []Sentence {
	var out []Sentence
	for _, w := range ws[:min(len(ws), maxNamed)] {
		out = append(out, say("why.disk_of", "worker", w.Name, "said", told(w.Disk)))
	}
	return out
}

// clocks says of each worker how far its clock is off, the first few of them.
func clocks(ws []domain.Worker) []Sentence {
	var out []Sentence
	for _, w := range ws[:min(len(ws), maxNamed)] {
		id := "why.clock_ahead"
		if w.Skew < 0 {
			id = "why.clock_behind"
		}
		out = append(out, say(id, "worker", w.Name, "by", w.Skew.Abs().Round(100*time.Millisecond)))
	}
	return out
}

// soonFor is how long a ready instance with room for it may wait for the broker's next round: beyond that something keeps
// the broker, of which nobody knows yet.
const soonFor = 3 * time.Second

// whyNoRoom says that the threads of the lane are taken, as far as the workers'
// own figures tell.
func whyNoRoom(f Facts, taking []domain.Worker) Sentence {
	lane, since := f.Instance.Lane, f.Instance.ReadyAt
	threads, full := 0, 0
	for _, w := range taking {
		all := 0
		for _, n := range w.Lanes {
			all += n
		}
		threads += w.Lanes[lane]
		if w.Lanes[lane] > 0 && w.Running >= min(all, w.Lanes[lane]) {
			full += w.Lanes[lane]
		}
	}
	switch {
	case threads == 0:
		return say("why.no_lane", "lane", string(lane), "workers", nameAll(taking), "at", since)
	case full == threads:
		return say("why.busy", "lane", string(lane), "n", threads, "workers", nameAll(taking), "at", since)
	}
	if late := f.Now.Sub(since); !f.Now.IsZero() && late >= soonFor {
		return say("why.not_yet", "lane", string(lane), "at", since, "took", late)
	}
	return say("why.soon", "lane", string(lane), "at", since)
}

func having(ws []domain.Worker, ok func(domain.Worker) bool) []domain.Worker {
	var out []domain.Worker
	for _, w := range ws {
		if ok(w) {
			out = append(out, w)
		}
	}
	return out
}

// lacking is which of the tags the worker does not offer.
func lacking(w domain.Worker, tags []string) []string {
	var out []string
	for _, t := range tags {
		if !slices.Contains(w.Tags, t) {
			out = append(out, t)
		}
	}
	return out
}

// unoffered is which of the tags no worker has.
func unoffered(ws []domain.Worker, tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(t string) bool {
		return slices.ContainsFunc(ws, func(w domain.Worker) bool { return slices.Contains(w.Tags, t) })
	})
}

// nearest says which of the tags no worker has at all, and of those workers that lack the fewest, which, or that they have
// all others.
func nearest(ws []domain.Worker, tags []string) []Sentence {
	var out []Sentence
	nobody := unoffered(ws, tags)
	if len(nobody) > 0 {
		out = append(out, say("why.nobody_has", "tags", strings.Join(nobody, ", ")))
	}
	fewest := len(tags)
	for _, w := range ws {
		fewest = min(fewest, len(lacking(w, tags)))
	}
	near := having(ws, func(w domain.Worker) bool { return len(lacking(w, tags)) == fewest })
	if len(nobody) > 0 && fewest == len(nobody) {
		return append(out, say("why.has_rest", "workers", nameAll(near)))
	}
	for _, w := range near[:min(len(near), maxNamed)] {
		out = append(out, say("why.lacks", "worker", w.Name, "tags", strings.Join(lacking(w, tags), ", ")))
	}
	if more := len(near) - maxNamed; more > 0 {
		out = append(out, say("why.and_more", "n", more))
	}
	return out
}

// nameAll names workers, the first few of them.
func nameAll(ws []domain.Worker) string {
	var names []string
	for _, w := range ws[:min(len(ws), maxNamed)] {
		names = append(names, w.Name)
	}
	if len(ws) > maxNamed {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

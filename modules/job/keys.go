package job

import (
	"strconv"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// jobKeys is every key that may stand under job: and how it is read.
func jobKeys() map[string]func(*draft, entry) {
	return map[string]func(*draft, entry){
		"project":     func(d *draft, e entry) { d.spec.Project = d.name(e) },
		"name":        func(d *draft, e entry) { d.spec.Name = d.name(e) },
		"title":       func(d *draft, e entry) { d.spec.Title = d.line(e, 200) },
		"description": (*draft).description,
		"owner":       func(d *draft, e entry) { d.spec.Owner = d.line(e, MaxNameRunes) },
		"topics":      func(d *draft, e entry) { d.spec.Topics = d.words(e) },
		"tags":        func(d *draft, e entry) { d.spec.Tags = d.words(e) },

		// Judged together by schedule, once all of them are read.
		"timezone": (*draft).timezone,
		"dialect":  func(d *draft, e entry) { d.spec.Schedule.Dialect, _ = d.choice(e, dialects(), nil) },
		"cron":     func(*draft, entry) {},
		"every":    func(*draft, entry) {},
		"at":       func(*draft, entry) {},
		"trigger":  (*draft).trigger,

		"misfire": func(d *draft, e entry) {
			take(d, e, &d.spec.Misfire, domain.MisfireOnce, domain.MisfireSkip, domain.MisfireAll)
		},
		"overlap": func(d *draft, e entry) {
			take(d, e, &d.spec.Overlap, domain.OverlapQueue, domain.OverlapAllow, domain.OverlapSkip, domain.OverlapReplace)
		},
		"biz_date": (*draft).bizDate,
		"calendar": (*draft).calendar,
		"pool":     func(d *draft, e entry) { d.spec.Pool = d.name(e) },
		"priority": func(d *draft, e entry) {
			take(d, e, &d.spec.Priority, domain.LaneHigh, domain.LaneDefault, domain.LaneLow)
		},
		"on_worker_lost": func(d *draft, e entry) {
			take(d, e, &d.spec.OnWorkerLost, domain.LossRetry, domain.LossWait, domain.LossHold)
		},

		"params":              func(d *draft, e entry) { d.spec.Params = d.variables(e, idParamName) },
		"env":                 func(d *draft, e entry) { d.spec.Env = d.variables(e, idEnvName) },
		"inputs":              (*draft).inputs,
		"outputs":             (*draft).outputs,
		"shards":              func(d *draft, e entry) { d.spec.Shards, _ = d.whole(e, 1, domain.MaxShards) },
		"broadcast":           func(d *draft, e entry) { d.spec.Broadcast, _ = d.boolean(e) },
		"idempotent":          func(d *draft, e entry) { d.spec.Idempotent, _ = d.boolean(e) },
		"enabled":             func(d *draft, e entry) { d.spec.Enabled, d.spec.EnabledGiven = d.boolean(e) },
		"queue_timeout":       func(d *draft, e entry) { d.spec.QueueTimeoutSec, _ = d.whole(e, 1, maxLimitSec) },
		"deps_timeout":        func(d *draft, e entry) { d.spec.DepsTimeoutSec, _ = d.whole(e, 1, maxLimitSec) },
		"timeout":             func(d *draft, e entry) { d.spec.TimeoutSec, d.spec.TimeoutGiven = d.whole(e, 1, maxLimitSec) },
		"retry":               (*draft).retry,
		"deps":                (*draft).deps,
		"on_upstream_failure": (*draft).onUpstreamFailure,
		"exec":                (*draft).exec,
	}
}

func dialects() []string { return []string{"unix", "seconds", "quartz"} }

// take reads one of the words of a type; a wrong one leaves the default.
func take[T ~string](d *draft, e entry, into *T, words ...T) {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	if s, ok := d.choice(e, known, nil); ok {
		*into = T(s)
	}
}

func (d *draft) description(e entry) {
	if s, ok := d.text(e); ok {
		d.spec.Description = d.capped(e, strings.TrimSpace(s), 4000)
	}
}

// words reads a list of names, each once. A single word may stand without a list.
func (d *draft) words(e entry) []string {
	items := []entry{e}
	if _, single := scalar(e.node); !single {
		var ok bool
		if items, ok = d.items(e); !ok {
			return nil
		}
	}
	if len(items) > maxListItems {
		d.add(e.at, e.path, idListLong, "", "key", e.key, "n", strconv.Itoa(len(items)), "max", strconv.Itoa(maxListItems))
		return nil
	}
	seen := map[string]bool{}
	var out []string
	for _, it := range items {
		word := d.name(it)
		if word == "" {
			continue
		}
		if seen[word] {
			d.add(it.at, it.path, idListTwice, "", "key", e.key, "value", word)
			continue
		}
		seen[word] = true
		out = append(out, word)
	}
	return out
}

// variables reads a map of names to text. Numbers and booleans are kept as they were written.
// In env the names that AX sets itself are refused, so that a job never sees another's date.
func (d *draft) variables(e entry, nameID string) map[string]string {
	children, ok := d.entries(e)
	if !ok || len(children) == 0 {
		return nil
	}
	out := make(map[string]string, len(children))
	for _, c := range children {
		if !variableName(c.key) {
			d.add(c.keyAt, c.path, nameID, hintVariableName, "key", clip(c.key))
			continue
		}
		if nameID == idEnvName && strings.HasPrefix(c.key, "AX_") {
			d.add(c.keyAt, c.path, idEnvReserved, "", "key", c.key)
			continue
		}
		if s, ok := d.text(c); ok {
			out[c.key] = s
		}
	}
	return out
}

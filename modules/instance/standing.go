package instance

import (
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// mostMissing is how many missing fires one sentence names.
const mostMissing = 3

// saidNotMet stands between a limit that passed and what was not met then.
const saidNotMet = "; not met: "

// notMet names what an instance waited for in vain, the first few of them, as it is written down.
func notMet(missing []domain.InstanceDep) string {
	var names []string
	for _, d := range missing[:min(len(missing), maxNamed)] {
		dates := d.BizDate.String()
		if d.Several() {
			dates += ".." + d.To.String()
		}
		names = append(names, d.Name+" ("+dates+")")
	}
	if more := len(missing) - len(names); more > 0 {
		names = append(names, "+"+strconv.Itoa(more))
	}
	if len(names) == 0 {
		return ""
	}
	return saidNotMet + strings.Join(names, ", ")
}

// Standing says how a dependency stands that waits: what is missing, in numbers; dates of a
// set are told as dates, fires of one date by their times.
func Standing(d Dependency) Sentence {
	s := d.Standing
	switch {
	case d.Upstream <= 0:
		return say("dep.said.gone")
	case s.TooMany:
		return say("dep.said.too_many")
	case s.Nothing:
		return say("dep.said.nothing")
	case s.State == "":
		return say("dep.said.unknown")
	case s.Missed > 0:
		return say("dep.said.missed", "n", s.Missed, "planned", s.Planned)
	}
	list := missing(d)
	if len(list) == 0 {
		return say("dep.said.count", "done", s.Done, "planned", s.Planned)
	}
	return say("dep.said.missing", "done", s.Done, "planned", s.Planned, "list", list)
}

// missing names what is not as it is waited for.
func missing(d Dependency) []Sentence {
	var out []Sentence
	named := 0
	for _, p := range d.Standing.Parts {
		if p.Kind == domain.PartDone {
			continue
		}
		if named++; named <= mostMissing {
			out = append(out, Part(d, p))
		}
	}
	if more := d.Standing.Planned - d.Standing.Done - min(named, mostMissing); more > 0 && len(out) > 0 {
		out = append(out, say("dep.said.more", "n", more))
	}
	return out
}

// Part names one fire of a dependency, and how its instance stands.
func Part(d Dependency, p domain.DepPart) Sentence {
	at := WhenOf(d, p)
	switch {
	case p.Instance == 0 && p.Kind == domain.PartSpoiled: // its own upstream ended so that it never comes
		return say("dep.said.at_status", "at", at, "status", d.Standing.By.Status)
	case p.Instance == 0:
		return say("dep.said.at", "at", at)
	}
	return say("dep.said.at_status", "at", at, "status", p.Status)
}

// WhenOf is the date or the time by which a fire of a dependency is named.
func WhenOf(d Dependency, p domain.DepPart) any {
	if d.Several() || p.At.IsZero() {
		return p.BizDate
	}
	return p.At.Truncate(time.Millisecond)
}

// DatesOf names the dates of a dependency.
func DatesOf(d domain.InstanceDep) any {
	if d.Several() {
		return say("dep.range", "from", d.BizDate, "to", d.To)
	}
	return d.BizDate
}

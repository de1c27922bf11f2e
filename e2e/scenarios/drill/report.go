package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Report is everything in the form of the JSON file. Keys are stable; what was not measured is absent. Times are
// seconds.
type Report struct {
	At     string    `json:"at"`
	Commit string    `json:"commit"`
	Drills []*Result `json:"drills,omitempty"`
	Soak   *Soak     `json:"soak,omitempty"`
}

// Result is what one drill showed.
type Result struct {
	Key       string   `json:"key"`
	Fault     string   `json:"fault"`
	Lasted    float64  `json:"lasted"`              // 0: over at once, or for good
	Calm      float64  `json:"calm"`                // from the beginning of the fault until lateness p99 is below 2 s for good
	Recovered *float64 `json:"recovered,omitempty"` // the same from its end, where it has one
	Elsewhere *float64 `json:"elsewhere,omitempty"` // from the loss of a worker until the last of what it ran began anew
	Waited    *float64 `json:"waited,omitempty"`    // the same for jobs that say on_worker_lost: wait
	MaxLate   float64  `json:"maxLate"`
	Planned   int      `json:"planned"`
	Skipped   int      `json:"skipped"`  // by the overlap policies
	Repeated  int      `json:"repeated"` // attempts that began anew because a worker was lost
	Lost      int      `json:"lost"`
	Doubled   int      `json:"doubled"`
	Wrong     int      `json:"wrong"`
	Incidents *int     `json:"incidents,omitempty"` // told and not called for by the fault
	Findings  []string `json:"findings,omitempty"`  // the first ones
}

// mostFindings is how many findings a report lists of each kind.
const mostFindings = 12

func newResult(f fault, facts *facts, v *verdict) *Result {
	r := &Result{Key: f.key, Fault: f.name, Lasted: f.lasts.Seconds(), Calm: v.calm.Seconds(), MaxLate: v.max.Seconds(),
		Planned: v.planned, Skipped: v.skipped, Repeated: v.repeated,
		Lost: v.counts[isLost], Doubled: v.counts[isDoubled], Wrong: v.counts[isWrong], Findings: v.first()}
	if f.lasts > 0 {
		after := max(v.calm-facts.healed.Sub(facts.begun), 0).Seconds()
		r.Recovered = &after
	}
	if len(facts.victims) > 0 {
		r.Elsewhere, r.Waited = longest(v.elsewhere), longest(v.elsewhereWait)
	}
	return r
}

// first are the first findings of each kind, worst kind first.
func (v *verdict) first() (out []string) {
	for _, kind := range []string{isLost, isDoubled, isWrong} {
		n := 0
		for _, f := range v.findings {
			if f.Kind == kind && n < mostFindings {
				n++
				out = append(out, kind+": "+f.Text)
			}
		}
		if left := v.counts[kind] - n; left > 0 {
			out = append(out, fmt.Sprintf("%s: … and %d more", kind, left))
		}
	}
	return out
}

func longest(all []time.Duration) *float64 {
	if len(all) == 0 {
		return nil
	}
	s := slices.Max(all).Seconds()
	return &s
}

// harm reports whether something was lost, doubled or told wrongly.
func (r *Report) harm() bool {
	return slices.ContainsFunc(r.Drills, func(d *Result) bool { return d.Lost+d.Doubled+d.Wrong > 0 }) || r.Soak != nil && r.Soak.harm()
}

// write writes the report as JSON.
func (r *Report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func seconds(v float64) string { return fmt.Sprintf("%.1f s", v) }

func some(v *float64) string {
	if v == nil {
		return "–"
	}
	return seconds(*v)
}

// table is the drills as Markdown.
func table(drills []*Result) string {
	rows := [][]string{{"fault", "lasted", "calm after", "after its end", "elsewhere after", "with wait", "planned", "lost", "doubled", "wrong", "repeated", "skipped", "max late", "incidents not needed"}}
	for _, d := range drills {
		lasted, incidents := "–", "–"
		if d.Lasted > 0 {
			lasted = fmt.Sprintf("%.0f s", d.Lasted)
		}
		if d.Incidents != nil {
			incidents = fmt.Sprint(*d.Incidents)
		}
		rows = append(rows, []string{d.Fault, lasted, seconds(d.Calm), some(d.Recovered), some(d.Elsewhere), some(d.Waited), fmt.Sprint(d.Planned),
			fmt.Sprint(d.Lost), fmt.Sprint(d.Doubled), fmt.Sprint(d.Wrong), fmt.Sprint(d.Repeated), fmt.Sprint(d.Skipped), seconds(d.MaxLate), incidents})
	}
	return markdown(rows)
}

// markdown is a table with even columns; the first column stands left.
func markdown(rows [][]string) string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c), 3)
		}
	}
	var b strings.Builder
	line := func(row []string) {
		for i, c := range row {
			fill := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				b.WriteString("| " + c + fill + " ")
			} else {
				b.WriteString("| " + fill + c + " ")
			}
		}
		b.WriteString("|\n")
	}
	line(rows[0])
	rule := make([]string, len(width))
	for i, w := range width {
		rule[i] = strings.Repeat("-", w)
		if i > 0 {
			rule[i] = strings.Repeat("-", w-1) + ":"
		}
	}
	line(rule)
	for _, row := range rows[1:] {
		line(row)
	}
	return b.String()
}

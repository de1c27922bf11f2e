package dag

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// verdict is what the outcomes of one job on one business date mean to whoever
// requires all of its planned fires to succeed.
type verdict struct {
	State domain.DepState // waiting, met or failed
	By    domain.Instance // met: the last success; failed: the cause
	Proof []domain.ID     // met: the successes that must still stand
	Said  Said
}

// Said explains a dependency that waits, in numbers.
type Said struct {
	Planned, Done, Open int
	Missing             []time.Time // planned, not due or not made yet
	Missed              []time.Time // nobody was alive
	Nothing             bool        // nothing is planned that could ever meet it
}

// String says it in English.
func (s Said) String() string {
	switch {
	case s.Nothing:
		return "no such instance is planned"
	case len(s.Missed) > 0:
		return fmt.Sprintf("%d of %d missed: backfill or mark", len(s.Missed), s.Planned)
	case len(s.Missing) > 0:
		return fmt.Sprintf("%d of %d, not there yet: %s", s.Done, s.Planned, times(s.Missing))
	}
	return fmt.Sprintf("%d of %d", s.Done, s.Planned)
}

func times(ts []time.Time) string {
	const most = 3
	var out []string
	for _, t := range ts[:min(len(ts), most)] {
		out = append(out, t.UTC().Format("2006-01-02T15:04:05Z"))
	}
	if len(ts) > most {
		out = append(out, fmt.Sprintf("and %d more", len(ts)-most))
	}
	return strings.Join(out, ", ")
}

// decideAll applies require: all. Planned fires count under the definition that
// was in force; a manual success stands in for planned fires that have no
// instance, or for a schedule that planned none; a manual failure counts only
// where nothing else could ever meet the date; skipped ones count as not planned.
func decideAll(plan domain.Plan, ins []domain.Instance) verdict {
	byKey := map[string]domain.Instance{}
	var scheduled, manual []domain.Instance
	for _, in := range ins {
		byKey[in.FireKey] = in
		if strings.HasPrefix(in.FireKey, "m:") {
			manual = append(manual, in)
		} else if strings.HasPrefix(in.FireKey, "u:") {
			scheduled = append(scheduled, in)
		}
	}
	var v verdict
	for _, t := range plan.Fires {
		if contains(plan.Skipped, t) {
			continue
		}
		in, ok := byKey[domain.ScheduleFireKey(t)]
		switch {
		case ok:
			scheduled = append(scheduled, in)
		case contains(plan.Missed, t):
			v.Said.Missed = append(v.Said.Missed, t)
			v.Said.Planned++
		default:
			v.Said.Missing = append(v.Said.Missing, t)
			v.Said.Planned++
		}
	}
	v.count(scheduled)
	standIn := last(manual, func(in domain.Instance) bool { return in.State == domain.Success })
	if len(v.Said.Missing)+len(v.Said.Missed) > 0 && standIn != nil {
		v.Said.Missing, v.Said.Missed = nil, nil
		v.succeed(*standIn)
	}
	if v.Said.Planned == 0 {
		return v.manualOnly(manual, standIn)
	}
	return v.close()
}

// count adds up instances that count as planned.
func (v *verdict) count(ins []domain.Instance) {
	for _, in := range ins {
		if in.Label == domain.Skipped {
			continue
		}
		v.Said.Planned++
		switch {
		case in.State == domain.Success:
			v.Said.Done++
			v.succeed(in)
		case in.State.Terminal():
			v.State, v.By = domain.DepFailed, in
		default:
			v.Said.Open++
		}
	}
}

func (v *verdict) succeed(in domain.Instance) {
	v.Proof = append(v.Proof, in.ID)
	if v.State != domain.DepFailed && in.ID > v.By.ID {
		v.By = in
	}
}

// manualOnly decides a date for which no schedule planned anything.
func (v *verdict) manualOnly(manual []domain.Instance, success *domain.Instance) verdict {
	newest := last(manual, func(in domain.Instance) bool { return in.Label != domain.Skipped })
	switch {
	case success != nil:
		return verdict{State: domain.DepMet, By: *success, Proof: []domain.ID{success.ID}, Said: Said{Planned: 1, Done: 1}}
	case newest == nil:
		return verdict{State: domain.DepWaiting, Said: Said{Nothing: true}}
	case newest.State.Terminal():
		return verdict{State: domain.DepFailed, By: *newest, Said: Said{Planned: 1}}
	}
	return verdict{State: domain.DepWaiting, Said: Said{Planned: 1, Open: 1}}
}

func (v *verdict) close() verdict {
	if v.State == domain.DepFailed {
		return *v
	}
	v.State = domain.DepMet
	if v.Said.Open > 0 || len(v.Said.Missing)+len(v.Said.Missed) > 0 {
		v.State, v.By, v.Proof = domain.DepWaiting, domain.Instance{}, nil
	}
	return *v
}

func last(ins []domain.Instance, ok func(domain.Instance) bool) *domain.Instance {
	var out *domain.Instance
	for i := range ins {
		if ok(ins[i]) && (out == nil || ins[i].ID > out.ID) {
			out = &ins[i]
		}
	}
	return out
}

func contains(ts []time.Time, t time.Time) bool {
	return slices.ContainsFunc(ts, t.Equal)
}

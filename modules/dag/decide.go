package dag

import (
	"cmp"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// facts are what a decision about one job over some business dates is made from.
type facts struct {
	from, to domain.BizDate
	plan     domain.Plan
	gaps     []domain.FireGap
	outcomes []domain.DepOutcome
	listed   []domain.ListedFire // what backfills under way will still run
	// starts is set for a job that its upstreams start: what they came to, by date.
	starts map[domain.BizDate]start
}

// start says of one date whether an upstream's end is to start a fire, and which one's end
// has made that impossible.
type start struct {
	planned bool
	dead    domain.DepOutcome // zero: it may still come
}

// want is what a dependency asks of the facts.
type want struct{ require, check string }

// verdict is what the facts mean to whoever wants them so.
type verdict struct {
	domain.DepStanding
	// Proof are the instances that must still stand, each in its run and state, when rows are
	// flipped by it.
	Proof []domain.DepOutcome
}

// part is one planned fire with the instance that it became.
type part struct {
	domain.DepPart
	by domain.DepOutcome
}

// decide judges the planned fires of the dates. Those count that were planned under the
// definition in force at their time, and instances born of a schedule or an upstream besides, and what
// a backfill under way will still run; skipped ones count as not planned. An instance made by hand that ended as it is waited for stands in for planned fires of its
// date that have no instance; for dates on which nothing was planned the newest one decides.
func decide(f facts, w want) verdict {
	if f.plan.TooMany {
		return verdict{DepStanding: domain.DepStanding{State: domain.DepWaiting, TooMany: true}}
	}
	parts, manual := f.parts(w.check)
	if len(parts) == 0 {
		parts = unplanned(f, manual, w.check)
	}
	v := verdict{DepStanding: domain.DepStanding{State: domain.DepWaiting}}
	v.count(parts)
	if len(parts) == 0 {
		v.Nothing = true
		return v
	}
	switch w.require {
	case domain.RequireAny:
		v.any(parts, manual, w.check)
	case domain.RequireLatest:
		v.latest(parts)
	default:
		v.all(parts)
	}
	return v
}

// endOf is where an instance stands for whoever waits for an end of the kind: what will run
// again has not ended.
func endOf(o domain.DepOutcome, check string) domain.DepPartKind {
	if o.Again {
		return domain.PartOpen
	}
	return kindOf(o.Status, check)
}

// kindOf is what a status is to whoever waits for an end of the kind.
func kindOf(s domain.Status, check string) domain.DepPartKind {
	switch {
	case !s.State.Terminal():
		return domain.PartOpen
	case check == domain.CheckDone, (s.State == domain.Success) == (check != domain.CheckFailed):
		return domain.PartDone
	}
	return domain.PartSpoiled
}

// parts are the planned fires in order, and by date the instances made by hand, oldest first.
func (f facts) parts(check string) ([]part, map[domain.BizDate][]domain.DepOutcome) {
	byKey := make(map[string]domain.DepOutcome, len(f.outcomes))
	manual := map[domain.BizDate][]domain.DepOutcome{}
	for _, o := range f.outcomes {
		if domain.ByHand(o.FireKey) && !passedOver(o) {
			manual[o.BizDate] = append(manual[o.BizDate], o)
			continue
		}
		byKey[o.FireKey] = o
	}
	out := f.expected(byKey)
	for key, o := range byKey { // those of plans, born of upstream, or of a schedule that did not plan them: backfilled
		if !passedOver(o) {
			at, _ := domain.ScheduledAt(key)
			out = append(out, partOf(o, at, check))
		}
	}
	slices.SortFunc(out, func(a, b part) int {
		return cmp.Or(a.BizDate.Compare(b.BizDate), a.At.Compare(b.At), cmp.Compare(a.Instance, b.Instance))
	})
	return standIn(out, manual, check), manual
}

// passedOver reports whether an instance stands for a fire that policy passed over: it is not
// planned, and no gap.
func passedOver(o domain.DepOutcome) bool { return o.Label == domain.Skipped && !o.Again }

// expected are the fires that are planned and have no instance by their key.
func (f facts) expected(byKey map[string]domain.DepOutcome) []part {
	var out []part
	seen := map[string]bool{}
	expect := func(key string, p part) {
		if _, there := byKey[key]; !there && !seen[key] {
			seen[key] = true
			out = append(out, p)
		}
	}
	for _, l := range f.listed {
		if !domain.ByHand(l.FireKey) {
			expect(l.FireKey, part{DepPart: domain.DepPart{Kind: domain.PartMissing, BizDate: l.BizDate, At: l.At}})
		}
	}
	for _, p := range f.plan.Fires {
		kind := domain.PartMissing
		skipped, missed := f.gap(p.At)
		if missed {
			kind = domain.PartMissed
		}
		if !skipped {
			expect(domain.ScheduleFireKey(p.At), part{DepPart: domain.DepPart{Kind: kind, BizDate: p.BizDate, At: p.At}})
		}
	}
	for date, s := range f.starts {
		p := part{DepPart: domain.DepPart{Kind: domain.PartMissing, BizDate: date}}
		if s.dead.ID != 0 {
			p = part{DepPart: domain.DepPart{Kind: domain.PartSpoiled, BizDate: date}, by: s.dead}
		}
		if s.planned {
			expect(domain.UpstreamFireKey(date), p)
		}
	}
	return out
}

func partOf(o domain.DepOutcome, at time.Time, check string) part {
	return part{domain.DepPart{Kind: endOf(o, check), BizDate: o.BizDate, At: at, Instance: o.ID, Status: o.Status}, o}
}

func (f facts) gap(at time.Time) (skipped, missed bool) {
	for _, g := range f.gaps {
		if !at.Before(g.From) && !at.After(g.To) {
			skipped, missed = skipped || g.Skipped, missed || !g.Skipped
		}
	}
	return skipped, missed
}

// standIn lets what was made by hand and ended as it is waited for stand in for the
// planned fires of its date that have no instance.
func standIn(parts []part, manual map[domain.BizDate][]domain.DepOutcome, check string) []part {
	for i, p := range parts {
		if p.Instance != 0 {
			continue
		}
		if o, ok := good(manual[p.BizDate], check); ok {
			parts[i] = partOf(o, p.At, check)
		}
	}
	return parts
}

// good is the newest that ended as it is waited for.
func good(made []domain.DepOutcome, check string) (domain.DepOutcome, bool) {
	for _, o := range slices.Backward(made) {
		if endOf(o, check) == domain.PartDone {
			return o, true
		}
	}
	return domain.DepOutcome{}, false
}

// unplanned stands in for dates on which nothing was planned: each of them needs a good
// instance made by hand, else the newest one decides once all have ended. None at all is nothing.
func unplanned(f facts, manual map[domain.BizDate][]domain.DepOutcome, check string) []part {
	if len(manual) == 0 {
		return nil
	}
	var out []part
	for date := f.from; !f.to.Before(date); date = date.AddDays(1) {
		made := manual[date]
		o, ok := good(made, check)
		switch {
		case ok:
			out = append(out, partOf(o, time.Time{}, check))
		case len(made) > 0:
			out = append(out, partOf(unfinished(made), time.Time{}, check))
		default:
			out = append(out, part{DepPart: domain.DepPart{Kind: domain.PartMissing, BizDate: date}})
		}
	}
	return out
}

// unfinished is the newest that has not ended, else the newest.
func unfinished(made []domain.DepOutcome) domain.DepOutcome {
	for _, o := range slices.Backward(made) {
		if !o.State.Terminal() || o.Again {
			return o
		}
	}
	return made[len(made)-1]
}

// count adds the parts up and keeps those that are told.
func (v *verdict) count(parts []part) {
	inWay := 0
	for _, p := range parts {
		v.Planned++
		switch p.Kind {
		case domain.PartDone:
			v.Done++
		case domain.PartOpen:
			v.Open++
		case domain.PartMissing:
			v.Missing++
		case domain.PartMissed:
			v.Missed++
		default:
			v.Spoiled++
		}
		if p.Kind != domain.PartDone {
			inWay++
		}
	}
	room := max(domain.MaxDepParts-inWay, 0) // for those that are done
	for _, p := range parts {
		if len(v.Parts) == domain.MaxDepParts || p.Kind == domain.PartDone && room == 0 {
			continue
		}
		if p.Kind == domain.PartDone {
			room--
		}
		v.Parts = append(v.Parts, p.DepPart)
	}
}

// all wants each planned fire; one that ended otherwise decides at once.
func (v *verdict) all(parts []part) {
	for _, p := range parts {
		switch p.Kind {
		case domain.PartSpoiled:
			v.fail(p.by)
			return
		case domain.PartDone:
			v.Proof = append(v.Proof, p.by)
		}
	}
	if v.Done < v.Planned {
		v.Proof = nil
		return
	}
	v.State = domain.DepMet
	v.By = newest(v.Proof)
}

// any wants one, planned or made by hand.
func (v *verdict) any(parts []part, manual map[domain.BizDate][]domain.DepOutcome, check string) {
	for _, p := range parts {
		if p.Kind == domain.PartDone {
			v.meet(p.by)
			return
		}
	}
	var byHand []domain.DepOutcome
	for _, made := range manual {
		byHand = append(byHand, made...)
	}
	slices.SortFunc(byHand, func(a, b domain.DepOutcome) int { return cmp.Compare(a.ID, b.ID) })
	if o, ok := good(byHand, check); ok {
		v.meet(o)
		return
	}
	open := slices.ContainsFunc(byHand, func(o domain.DepOutcome) bool { return endOf(o, check) == domain.PartOpen })
	if !open && v.Settled() {
		v.fail(parts[len(parts)-1].by)
	}
}

// latest lets the last planned fire decide.
func (v *verdict) latest(parts []part) {
	switch last := parts[len(parts)-1]; last.Kind {
	case domain.PartDone:
		v.meet(last.by)
	case domain.PartSpoiled:
		v.fail(last.by)
	}
}

func (v *verdict) meet(o domain.DepOutcome) {
	v.State, v.By, v.Proof = domain.DepMet, o, []domain.DepOutcome{o}
}

func (v *verdict) fail(o domain.DepOutcome) {
	v.State, v.By, v.Proof = domain.DepFailed, o, []domain.DepOutcome{o}
}

func newest(made []domain.DepOutcome) domain.DepOutcome {
	return slices.MaxFunc(made, func(a, b domain.DepOutcome) int { return cmp.Compare(a.ID, b.ID) })
}

// act is what a row is to become by a verdict; waiting leaves it as it is.
func act(v verdict, w want, policy domain.FailurePolicy) domain.DepState {
	switch {
	case v.State != domain.DepFailed:
		return v.State
	case policy == domain.FailureHold:
		return domain.DepWaiting
	case policy == domain.FailureRun && (v.Settled() || w.require == domain.RequireLatest):
		return domain.DepPassed
	case policy == domain.FailureRun:
		return domain.DepWaiting // until what is left has ended too
	}
	return domain.DepFailed
}

package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// takenWithin is how old a fire must be before a backfill makes it: until then it is the
// scheduler's.
const takenWithin = time.Minute

// Facts is all that a plan follows from.
type Facts struct {
	Now   time.Time
	Jobs  []domain.Job                    // upstreams before those that depend on them
	Names map[domain.ID]string            // [project/]name
	Ups   map[domain.ID][]domain.ID       // of the jobs, among themselves, a job itself too
	Dates []domain.BizDate                // in order, none twice
	Fires map[domain.ID][]domain.PastFire // of the dates, in order
	There map[domain.ID][]domain.Instance // of the dates
	Mean  map[domain.ID]time.Duration     // how long a success took; absent: none is known
}

// IDOf finds a job of the facts by name; 0 if it is not among them.
func (f Facts) IDOf(key domain.JobKey) domain.ID {
	for _, j := range f.Jobs {
		if j.Spec.Key() == key {
			return j.ID
		}
	}
	return 0
}

// planner turns facts into items.
type planner struct {
	request Request
	facts   Facts
	wanted  map[int64]bool // single fires by their milliseconds; nil: all
	works   map[jobDate]bool
	others  map[domain.ID][]otherDates
}

type jobDate struct {
	job  domain.ID
	date domain.BizDate
}

// Items lists what becomes of each fire, in the order in which it is worked off.
func Items(r Request, f Facts) []Item {
	p := planner{request: r, facts: f, works: map[jobDate]bool{}, others: f.others()}
	if len(r.Fires) > 0 {
		p.wanted = map[int64]bool{}
		for _, at := range r.Fires {
			p.wanted[at.UnixMilli()] = true
		}
	}
	byDate := map[domain.BizDate][]Item{}
	for _, j := range f.Jobs {
		for date, of := range p.job(j) {
			byDate[date] = append(byDate[date], of...)
		}
	}
	dates := slices.Clone(f.Dates)
	if r.NewestFirst {
		slices.Reverse(dates)
	}
	var out []Item
	for _, date := range dates {
		out = append(out, byDate[date]...)
	}
	p.number(out)
	return out
}

// number gives each item its place and its step: of one job each works alone, else all
// of a date together.
func (p *planner) number(all []Item) {
	step := 0
	var begun domain.BizDate
	for i := range all {
		it := &all[i]
		it.No = i + 1
		if !it.Works() {
			continue
		}
		if step == 0 || p.request.Reach == Alone || it.BizDate != begun {
			step, begun = step+1, it.BizDate
		}
		it.Step = step
		it.Waits = it.Act == Again && p.waits(*it)
	}
}

// waits reports whether an item depends on others of the list that work, on its own or on other
// dates.
func (p *planner) waits(it Item) bool {
	return slices.ContainsFunc(p.facts.Ups[it.JobID], func(up domain.ID) bool {
		return up != it.JobID && p.works[jobDate{up, it.BizDate}]
	}) || slices.ContainsFunc(p.others[it.JobID], func(d otherDates) bool {
		for first, last := d.of(it.BizDate); !last.Before(first); first = first.AddDays(1) {
			if p.works[jobDate{d.up, first}] {
				return true
			}
		}
		return false
	})
}

// job judges all dates of one job.
func (p *planner) job(j domain.Job) map[domain.BizDate][]Item {
	there := map[domain.BizDate][]domain.Instance{}
	for _, in := range p.facts.There[j.ID] {
		there[in.BizDate] = append(there[in.BizDate], in)
	}
	fires := map[domain.BizDate][]domain.PastFire{}
	for _, f := range p.facts.Fires[j.ID] {
		fires[f.BizDate] = append(fires[f.BizDate], f)
	}
	out := map[domain.BizDate][]Item{}
	for _, date := range p.facts.Dates {
		var of []Item
		if Scheduled(j.Spec) {
			of = p.scheduled(j, date, fires[date], there[date])
		} else if !p.request.narrow() {
			of = []Item{p.single(j, date, there[date])}
		}
		if slices.ContainsFunc(of, Item.Works) {
			p.works[jobDate{j.ID, date}] = true
		}
		out[date] = of
	}
	return out
}

// Scheduled reports whether time makes the job due.
func Scheduled(spec domain.JobSpec) bool {
	return spec.Schedule.Kind != domain.ScheduleNone && spec.Schedule.Kind != ""
}

// scheduled judges each fire of a job with a schedule on one date.
func (p *planner) scheduled(j domain.Job, date domain.BizDate, fires []domain.PastFire, there []domain.Instance) []Item {
	byKey := map[string]domain.Instance{}
	byHand := false
	for _, in := range there {
		switch {
		case strings.HasPrefix(in.FireKey, "s:") && !p.request.Past(nil).Holds(in.Expected):
		case strings.HasPrefix(in.FireKey, "s:"):
			byKey[in.FireKey] = in
		case strings.HasPrefix(in.FireKey, "m:"):
			byHand = byHand || in.State == domain.Success
		}
	}
	held := heldBack(fires)
	fires = union(slices.DeleteFunc(slices.Clone(fires), func(f domain.PastFire) bool { return f.Held != "" }), byKey)
	var out []Item
	for _, f := range fires {
		if p.wanted != nil && !p.wanted[f.At.UnixMilli()] || !p.request.Past(nil).Holds(f.At) {
			continue
		}
		it := p.item(j, date)
		it.Expected, it.FireKey = f.At, domain.ScheduleFireKey(f.At)
		why := InForce
		if f.Present {
			why = Present
		}
		if in, ok := byKey[it.FireKey]; ok {
			p.judge(&it, in)
		} else {
			p.absent(&it, why, byHand)
		}
		out = append(out, it)
	}
	if len(fires) == 0 && !p.request.narrow() {
		it := p.item(j, date)
		it.Act, it.Why, it.Version = Leave, held, 0
		out = append(out, it)
	}
	return out
}

// heldBack is why a date without fires has none.
func heldBack(fires []domain.PastFire) Why {
	for _, f := range fires {
		switch f.Held {
		case domain.HeldSkipped:
			return CalendarSkips
		case domain.HeldMoved:
			return CalendarMoves
		}
	}
	return Nothing
}

// union adds instances that no fire of the list stands for. Where these show that the date
// was made by another definition than that of now, that of now adds nothing to it.
func union(fires []domain.PastFire, byKey map[string]domain.Instance) []domain.PastFire {
	known := map[string]bool{}
	for _, f := range fires {
		known[domain.ScheduleFireKey(f.At)] = true
	}
	var out []domain.PastFire
	for key, in := range byKey {
		if !known[key] {
			out = append(out, domain.PastFire{At: in.Expected, BizDate: in.BizDate, Present: true})
		}
	}
	others := len(out) > 0
	for _, f := range fires {
		if _, there := byKey[domain.ScheduleFireKey(f.At)]; there || !f.Present || !others {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b domain.PastFire) int { return a.At.Compare(b.At) })
	return out
}

// single judges the one instance that a job without a schedule has on a date.
func (p *planner) single(j domain.Job, date domain.BizDate, there []domain.Instance) Item {
	it := p.item(j, date)
	if j.Spec.Trigger == domain.TriggerUpstream {
		it.FireKey = domain.UpstreamFireKey(date)
	}
	if len(there) == 0 {
		p.absent(&it, Unasked, false)
		return it
	}
	p.judge(&it, slices.MaxFunc(there, func(a, b domain.Instance) int {
		return cmp.Or(cmp.Compare(weight(a), weight(b)), cmp.Compare(a.ID, b.ID))
	}))
	return it
}

// weight is how much an instance says about a date that several have: what has not ended
// before a success, that before all others.
func weight(in domain.Instance) int {
	switch {
	case !in.State.Terminal():
		return 2
	case in.State == domain.Success:
		return 1
	}
	return 0
}

func (p *planner) item(j domain.Job, date domain.BizDate) Item {
	return Item{ProjectID: j.ProjectID, JobID: j.ID, JobName: p.facts.Names[j.ID], BizDate: date, Act: Make, Version: j.Version}
}

// absent judges a fire that has no instance.
func (p *planner) absent(it *Item, why Why, byHand bool) {
	it.Why = why
	switch {
	case it.Expected.After(p.facts.Now.Add(-takenWithin)):
		it.Act, it.Why = Leave, NotDue
	case p.request.Wanted == Failed:
		it.Act, it.Why = Leave, NotFailed
	case byHand && p.request.Wanted == Missing:
		it.Act, it.Why = Leave, StandIn
	}
}

// judge judges a fire that has an instance.
func (p *planner) judge(it *Item, in domain.Instance) {
	it.Instance, it.RunNo, it.Was, it.Version, it.FireKey, it.Expected = in.ID, in.RunNo, in.Status, in.Version, in.FireKey, in.Expected
	it.Act = Leave
	switch {
	case !in.State.Terminal():
		it.Why = Unended
	case in.State == domain.Success && p.request.Wanted != All:
		it.Why = Succeeded
	case in.Label == domain.Skipped && p.request.Wanted == Failed:
		it.Why = NotFailed
	case in.State == domain.Success:
		it.Act, it.Why = Again, Succeeded
	default:
		it.Act, it.Why = Again, Ended
	}
}

// InOrder sorts jobs so that upstreams come before those that depend on them, by name where
// that leaves a choice.
func InOrder(jobs []domain.ID, ups map[domain.ID][]domain.ID, names map[domain.ID]string) []domain.ID {
	waitsFor := map[domain.ID]int{}
	downs := map[domain.ID][]domain.ID{}
	for _, id := range jobs {
		for _, up := range ups[id] {
			if up != id {
				waitsFor[id]++
				downs[up] = append(downs[up], id)
			}
		}
	}
	byName := func(a, b domain.ID) int { return cmp.Or(strings.Compare(names[a], names[b]), cmp.Compare(a, b)) }
	var free, out []domain.ID
	for _, id := range jobs {
		if waitsFor[id] == 0 {
			free = append(free, id)
		}
	}
	for len(free) > 0 {
		slices.SortFunc(free, byName)
		out = append(out, free...)
		var next []domain.ID
		for _, id := range free {
			for _, down := range downs[id] {
				if waitsFor[down]--; waitsFor[down] == 0 {
					next = append(next, down)
				}
			}
		}
		free = next
	}
	var round []domain.ID // over several dates, which is no round
	for _, id := range jobs {
		if waitsFor[id] > 0 {
			round = append(round, id)
		}
	}
	slices.SortFunc(round, byName)
	return append(out, round...)
}

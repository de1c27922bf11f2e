package plan

import "github.com/axsched/ax/modules/domain"

// otherDates is a dependency of a job of the list on other dates of one of the list, which may be
// itself.
type otherDates struct {
	up   domain.ID
	rule domain.DepDates
}

// workdayReach is how many days back the working day before a date is looked for: the list is
// planned without calendars.
const workdayReach = 31

// of is the first and the last date that an instance of the date may wait for.
func (d otherDates) of(date domain.BizDate) (first, last domain.BizDate) {
	if d.rule == domain.DepPrevWorkday {
		return date.AddDays(-workdayReach), date.AddDays(-1)
	}
	return d.rule.Of(date, nil)
}

// others are these dependencies, by the job that waits.
func (f Facts) others() map[domain.ID][]otherDates {
	byKey := make(map[domain.JobKey]domain.ID, len(f.Jobs))
	for _, j := range f.Jobs {
		byKey[j.Spec.Key()] = j.ID
	}
	out := map[domain.ID][]otherDates{}
	for _, j := range f.Jobs {
		for _, d := range j.Spec.Deps {
			if up, ok := byKey[d.Key()]; ok && d.BizDate != domain.DepCurrent {
				out[j.ID] = append(out[j.ID], otherDates{up, d.BizDate})
			}
		}
	}
	return out
}

// Behind is an item that waits for one whose turn comes only once it has ended.
type Behind struct{ Item, For Item }

// Unmet reports whether what ended so had not got what it waited for, so that its new run waits for
// it again.
func Unmet(l domain.Label) bool { return l == domain.UpstreamFailed || l == domain.DepsTimeout }

// Ahead finds the first such item: a list with one would stand still. An item waits for those of
// the dates that its job depends on, and as many steps are under way at a time as the degree says.
func Ahead(r Request, f Facts, all []Item) (Behind, bool) {
	others := f.others()
	if len(others) == 0 {
		return Behind{}, false
	}
	last := map[jobDate]Item{}
	for _, it := range all {
		if it.Works() {
			last[jobDate{it.JobID, it.BizDate}] = it
		}
	}
	for _, it := range all {
		if !it.Waits && it.Act != Make && (it.Act != Again || !Unmet(it.Was.Label)) {
			continue
		}
		for _, d := range others[it.JobID] {
			for first, end := d.of(it.BizDate); !end.Before(first); first = first.AddDays(1) {
				if up, ok := last[jobDate{d.up, first}]; ok && up.Step >= it.Step+max(r.Degree, 1) {
					return Behind{it, up}, true
				}
			}
		}
	}
	return Behind{}, false
}

package job

import (
	"context"
	"slices"
	"strconv"

	"github.com/axsched/ax/modules/domain"
)

// What is foreseen at a save is bounded: so many jobs of one apply, so many fires of each, so
// far ahead.
const (
	mostForeseen  = 50
	foreseenFires = 500
	foreseenDays  = 40
)

// foresee warns about dependencies of the parsed jobs that nothing planned could meet: by the
// schedules and calendars as they are a date comes for which the upstream has no fire on any of the
// dates waited for. Jobs without a schedule are not judged.
func (d *Definitions) foresee(ctx context.Context, parsed []Parsed, byKey map[domain.JobKey]domain.ID) error {
	if len(parsed) > mostForeseen {
		return nil
	}
	f := foresight{d: d, ctx: ctx, byKey: byKey, specs: map[domain.JobKey]domain.JobSpec{}, days: map[domain.JobKey]*horizon{}}
	for _, p := range parsed {
		f.specs[p.Spec.Key()] = p.Spec
	}
	for i := range parsed {
		own, err := f.of(parsed[i].Spec.Key())
		if err != nil {
			return err
		}
		for n, dep := range parsed[i].Spec.Deps {
			day, never, err := f.never(own, parsed[i].Spec, dep)
			if err != nil {
				return err
			}
			if !never {
				continue
			}
			first, last := dep.BizDate.Of(day, own.calendar)
			said := first.String()
			if first != last {
				said += " … " + last.String()
			}
			w := parsed[i].problem("job.deps["+strconv.Itoa(n)+"]", idDepNever, hintDepNever, pairs("on", dep.Key().String(), "date", day.String(), "dates", said))
			w.Warning = true
			parsed[i].Warnings = append(parsed[i].Warnings, w)
		}
	}
	return nil
}

// foresight is one looking ahead.
type foresight struct {
	d     *Definitions
	ctx   context.Context
	byKey map[domain.JobKey]domain.ID
	specs map[domain.JobKey]domain.JobSpec
	days  map[domain.JobKey]*horizon // nil: not judged
}

// horizon is the business dates of a job's fires, in order, as far as they were looked at: of each
// date from the first to the last all fires were. coming are those of fires to come.
type horizon struct {
	dates    []domain.BizDate
	coming   []domain.BizDate
	from, to domain.BizDate
	calendar *domain.Calendar
}

// of reads the horizon of a job.
func (f *foresight) of(key domain.JobKey) (*horizon, error) {
	if h, done := f.days[key]; done {
		return h, nil
	}
	f.days[key] = nil
	spec, there := f.specs[key]
	if id, known := f.byKey[key]; !there && known {
		j, err := f.d.Store.ByID(f.ctx, id)
		if err != nil {
			return nil, err
		}
		spec, there = j.Spec, j.Enabled
	}
	if !there || spec.Schedule.Kind == domain.ScheduleNone || spec.Schedule.Kind == "" {
		return nil, nil
	}
	calendar, err := f.d.CalendarOf(f.ctx, spec)
	if domain.Is(err, domain.NotFound) {
		return nil, nil // it is told elsewhere
	}
	if err != nil {
		return nil, err
	}
	h, err := f.d.horizon(spec, calendar)
	f.days[key] = h
	return h, err
}

// horizon asks the scheduler about a schedule as it would have been since a while ago.
func (d *Definitions) horizon(spec domain.JobSpec, calendar *domain.Calendar) (*horizon, error) {
	zone, err := d.Schedules.Zone(spec.Timezone)
	if err != nil {
		return nil, err
	}
	from := d.Now().AddDate(0, 0, -2*foreseenDays)
	end := d.Now().AddDate(0, 0, foreseenDays)
	h := &horizon{calendar: calendar, from: domain.BizDateOf(from, zone).AddDays(1), to: domain.BizDateOf(end, zone)}
	// Where there are too many to look at, each date has one.
	fires, err := d.Schedules.Coming(spec, calendar, from, foreseenFires)
	if err != nil || len(fires) == foreseenFires && fires[len(fires)-1].At.Before(end) {
		return nil, err
	}
	for _, c := range fires {
		if !c.At.Before(end) { // the dates from its own on were not looked at to their end
			if last := c.BizDate.AddDays(-1); last.Before(h.to) {
				h.to = last
			}
			break
		}
		h.dates = append(h.dates, c.BizDate)
		if c.At.After(d.Now()) {
			h.coming = append(h.coming, c.BizDate)
		}
	}
	if len(fires) > 0 { // a rule that leads on leaves the first dates to fires that were not looked at
		for at := domain.BizDateOf(fires[0].At, zone); at.Before(fires[0].BizDate); at = at.AddDays(1) {
			h.from = h.from.AddDays(1)
		}
	}
	h.dates, h.coming = inOrder(h.dates), inOrder(h.coming)
	return h, nil
}

func inOrder(dates []domain.BizDate) []domain.BizDate {
	slices.SortFunc(dates, domain.BizDate.Compare)
	return slices.Compact(dates)
}

// never finds the first date to come of a job for which its dependency has nothing planned.
func (f *foresight) never(own *horizon, spec domain.JobSpec, dep domain.Dep) (domain.BizDate, bool, error) {
	if own == nil || dep.Key() == spec.Key() {
		return domain.BizDate{}, false, nil
	}
	up, err := f.of(dep.Key())
	if err != nil || up == nil {
		return domain.BizDate{}, false, err
	}
	for _, day := range own.coming {
		first, last := dep.BizDate.Of(day, own.calendar)
		if first.Before(up.from) || up.to.Before(last) {
			continue
		}
		at, found := slices.BinarySearchFunc(up.dates, first, domain.BizDate.Compare)
		if !found && (at == len(up.dates) || last.Before(up.dates[at])) {
			return day, true, nil
		}
	}
	return domain.BizDate{}, false, nil
}

// kept warns that instances wait under the definition that a change replaces.
func (d *Definitions) kept(ctx context.Context, old domain.Job, p Parsed) (Problems, error) {
	if d.Waiting == nil || !waitsOtherwise(old.Spec, p.Spec) {
		return nil, nil
	}
	n, err := d.Waiting.CountWaiting(ctx, old.ID)
	if err != nil || n == 0 {
		return nil, err
	}
	w := p.problem("job.deps", idDepKept, "", pairs("n", strconv.Itoa(n), "job", p.Spec.Key().String()))
	w.Warning = true
	return Problems{w}, nil
}

// preview adds to parsed jobs the warnings about what is there: Submit gives them too.
func (d *Definitions) preview(ctx context.Context, parsed []Parsed, byKey map[domain.JobKey]domain.ID) (Problems, error) {
	before := make([]int, len(parsed))
	for i, p := range parsed {
		before[i] = len(p.Warnings)
	}
	if err := d.caveats(ctx, parsed, byKey); err != nil {
		return nil, err
	}
	var out Problems
	for i, p := range parsed {
		out = append(out, p.Warnings[before[i]:]...)
		id, there := byKey[p.Spec.Key()]
		if !there || i >= mostForeseen {
			continue
		}
		old, err := d.Store.ByID(ctx, id)
		if err != nil {
			return nil, err
		}
		kept, err := d.kept(ctx, old, p)
		if err != nil {
			return nil, err
		}
		out = append(out, kept...)
	}
	return out, nil
}

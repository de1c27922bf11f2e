package backfill

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
)

// surroundings adds to a plan what it means outside of the list, and what to know of it.
func (b *Backfills) surroundings(ctx context.Context, p *plan.Plan, f plan.Facts, set reached) error {
	p.Warnings = warnings(*p, f, set)
	waits, err := b.waitsOutside(ctx, *p, f, set)
	if err != nil {
		return err
	}
	p.Warnings = append(p.Warnings, waits...)
	back, err := b.comesBack(ctx, *p)
	if err != nil {
		return err
	}
	stale, err := b.getsStale(ctx, *p, set)
	if err != nil {
		return err
	}
	all := append(back, stale...)
	if err := b.nameEffects(ctx, all, p.Request.Seen); err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b plan.Effect) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), a.BizDate.Compare(b.BizDate), strings.Compare(a.JobName, b.JobName))
	})
	all = slices.DeleteFunc(all, func(e plan.Effect) bool { return e.JobName == "" }) // of a project that may not be seen
	p.Effects = all[:min(len(all), plan.MaxEffects)]
	p.MoreEffects = len(all) - len(p.Effects)
	return nil
}

// warnings are those that the definitions alone tell.
func warnings(p plan.Plan, f plan.Facts, set reached) []plan.Warning {
	var out []plan.Warning
	if set.unseen > 0 {
		out = append(out, plan.Warning{Kind: plan.WarnUnseen, N: set.unseen})
	}
	if p.Works() > 1 && p.Request.Degree > 1 && plan.AtOnce(p.Request, f) == 1 {
		out = append(out, plan.Warning{Kind: plan.WarnOneByOne, Job: p.JobName, N: p.Request.Degree})
	}
	unknown := 0
	for _, j := range f.Jobs {
		if _, ok := f.Mean[j.ID]; !ok && slices.ContainsFunc(p.Items, func(it plan.Item) bool { return it.JobID == j.ID && it.Works() }) {
			unknown++
		}
		for _, d := range j.Spec.Deps {
			if up := f.IDOf(d.Key()); up != 0 && up != j.ID && d.BizDate != domain.DepCurrent {
				out = append(out, plan.Warning{Kind: plan.WarnOtherDates, Job: f.Names[j.ID], Other: d.Key().String()})
			}
		}
	}
	if unknown > 0 {
		out = append(out, plan.Warning{Kind: plan.WarnNoHistory, N: unknown})
	}
	return out
}

// waitsOutside finds items that will wait for jobs which are not in the list and have not
// succeeded on their date.
func (b *Backfills) waitsOutside(ctx context.Context, p plan.Plan, f plan.Facts, set reached) ([]plan.Warning, error) {
	var out []plan.Warning
	for _, j := range f.Jobs {
		var dates []domain.BizDate
		for _, it := range p.Items {
			if it.JobID == j.ID && (it.Act == plan.Make || it.Waits || plan.Unmet(it.Was.Label)) && it.Works() {
				dates = append(dates, it.BizDate)
			}
		}
		if len(dates) == 0 || len(set.others[j.ID]) == 0 {
			continue
		}
		names, err := b.Jobs.NamesOf(ctx, set.others[j.ID])
		if err != nil {
			return nil, err
		}
		for _, up := range set.others[j.ID] {
			name := names[up].Key
			if !slices.ContainsFunc(j.Spec.Deps, func(d domain.Dep) bool { return d.Key() == name && d.BizDate == domain.DepCurrent }) {
				continue // other dates: its page says what it waits for
			}
			n, err := b.withoutSuccess(ctx, up, dates)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				out = append(out, plan.Warning{Kind: plan.WarnWaits, Job: f.Names[j.ID], Other: name.String(), N: n})
			}
		}
	}
	return out, nil
}

// withoutSuccess counts the dates, which may come several times, on which a job has no success.
func (b *Backfills) withoutSuccess(ctx context.Context, job domain.ID, dates []domain.BizDate) (int, error) {
	ins, err := b.there(ctx, job, slices.Compact(slices.SortedFunc(slices.Values(dates), domain.BizDate.Compare)))
	if err != nil {
		return 0, err
	}
	good := map[domain.BizDate]bool{}
	for _, in := range ins {
		good[in.BizDate] = good[in.BizDate] || in.State == domain.Success
	}
	n := 0
	for _, d := range dates {
		if !good[d] {
			n++
		}
	}
	return n, nil
}

// comesBack finds what was cancelled because of items that run again, step by step.
func (b *Backfills) comesBack(ctx context.Context, p plan.Plan) ([]plan.Effect, error) {
	listed := map[domain.ID]bool{}
	because := map[domain.ID]string{}
	var causes []domain.ID
	for _, it := range p.Items {
		if it.Instance != 0 {
			listed[it.Instance] = true
		}
		if it.Act == plan.Again {
			causes = append(causes, it.Instance)
			because[it.Instance] = it.JobName
		}
	}
	var out []plan.Effect
	for len(causes) > 0 {
		var next []domain.ID
		for part := range slices.Chunk(causes, datesAtOnce) {
			victims, err := b.Instances.CancelledBecauseOf(ctx, part)
			if err != nil {
				return nil, err
			}
			for _, v := range victims {
				if _, seen := because[v.ID]; seen || listed[v.ID] {
					continue
				}
				because[v.ID] = because[v.CancelledBy.InstanceID]
				next = append(next, v.ID)
				out = append(out, plan.Effect{Kind: plan.BringsBack, JobID: v.JobID, BizDate: v.BizDate, Instance: v.ID, Because: because[v.ID]})
			}
		}
		causes = next
	}
	return out, nil
}

// getsStale finds successes outside of the list on data that is made anew.
func (b *Backfills) getsStale(ctx context.Context, p plan.Plan, set reached) ([]plan.Effect, error) {
	dates := map[domain.ID][]domain.BizDate{}
	for _, it := range p.Items {
		if it.Act == plan.Again && it.Was.State == domain.Success {
			dates[it.JobID] = append(dates[it.JobID], it.BizDate)
		}
	}
	var out []plan.Effect
	seen := map[domain.ID]bool{}
	for _, job := range set.order {
		of := slices.Compact(slices.SortedFunc(slices.Values(dates[job]), domain.BizDate.Compare))
		if len(of) == 0 {
			continue
		}
		for _, down := range set.downs[job] {
			ins, err := b.there(ctx, down, of)
			if err != nil {
				return nil, err
			}
			for _, in := range ins {
				if in.State == domain.Success && !seen[in.ID] {
					seen[in.ID] = true
					out = append(out, plan.Effect{Kind: plan.MakesStale, JobID: down, BizDate: in.BizDate, Instance: in.ID, Because: set.names[job]})
				}
			}
		}
	}
	return out, nil
}

// nameEffects gives effects the names of their jobs, as far as these may be seen.
func (b *Backfills) nameEffects(ctx context.Context, all []plan.Effect, seen domain.ProjectSet) error {
	ids := make([]domain.ID, len(all))
	for i, e := range all {
		ids[i] = e.JobID
	}
	names, err := b.Jobs.NamesOf(ctx, ids)
	for i := range all {
		if n, ok := names[all[i].JobID]; ok && seen.Has(n.ProjectID) {
			all[i].JobName = n.Key.String()
		}
	}
	return err
}

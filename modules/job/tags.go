package job

import (
	"context"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// caveats adds to parsed jobs the warnings about what stands around them.
func (d *Definitions) caveats(ctx context.Context, parsed []Parsed, byKey map[domain.JobKey]domain.ID) error {
	if err := d.untagged(ctx, parsed); err != nil {
		return err
	}
	if err := d.unoffered(ctx, parsed); err != nil {
		return err
	}
	return d.foresee(ctx, parsed, byKey)
}

// untagged warns about jobs that demand tags which no worker that is up offers together. Where none is up at all nothing is
// said: that is no fault of the file.
func (d *Definitions) untagged(ctx context.Context, parsed []Parsed) error {
	if d.Workers == nil || !slices.ContainsFunc(parsed, func(p Parsed) bool { return len(p.Spec.Tags) > 0 }) {
		return nil
	}
	workers, err := d.Workers.List(ctx)
	if err != nil {
		return err
	}
	up := slices.DeleteFunc(slices.Clone(workers), func(w domain.Worker) bool { return w.State == domain.WorkerGone || !w.LostAt.IsZero() })
	if len(up) == 0 {
		return nil
	}
	for i, p := range parsed {
		if slices.ContainsFunc(up, func(w domain.Worker) bool { return offers(w, p.Spec.Tags) }) {
			continue
		}
		w := p.problem("job.tags", idTagsNobody, hintTagsNobody, pairs("tags", strings.Join(p.Spec.Tags, ", ")))
		w.Warning = true
		parsed[i].Warnings = append(parsed[i].Warnings, w)
	}
	return nil
}

func offers(w domain.Worker, tags []string) bool {
	return !slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(w.Tags, tag) })
}

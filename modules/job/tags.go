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

// untagged warns about jobs that demand tags, or what else, which no worker that is up offers together. Where none is up at all nothing is
// said: that is no fault of the file.
func (d *Definitions) untagged(ctx context.Context, parsed []Parsed) error {
	if d.Workers == nil || !slices.ContainsFunc(parsed, func(p Parsed) bool { return len(p.Spec.Demands()) > 0 }) {
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
		if slices.ContainsFunc(up, func(w domain.Worker) bool { return offers(w, p.Spec.Demands()) }) {
			continue
		}
		parsed[i].Warnings = append(parsed[i].Warnings, p.unoffered(up))
	}
	return nil
}

// unoffered is the warning about what no worker offers: what its exec names of the worker's set-up first.
func (p Parsed) unoffered(up []domain.Worker) Problem {
	w := p.problem("job.tags", idTagsNobody, hintTagsNobody, pairs("tags", strings.Join(p.Spec.Demands(), ", ")))
	for _, need := range p.Spec.Exec.Needs {
		if slices.ContainsFunc(up, func(w domain.Worker) bool { return offers(w, []string{need}) }) {
			continue
		}
		if name, ok := strings.CutPrefix(need, domain.SourcePrefix); ok {
			w = p.problem("job.exec.source", idSourceNobody, hintSource, pairs("name", name))
		} else {
			w = p.problem("job.exec.user", idUserNobody, hintUser, pairs("name", strings.TrimPrefix(need, domain.UserPrefix)))
		}
		break
	}
	w.Warning = true
	return w
}

func offers(w domain.Worker, tags []string) bool {
	return !slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(w.Tags, tag) })
}

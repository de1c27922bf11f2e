package board

import (
	"context"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// Search finds what a person typed into the top bar. All fields must be set. Safe
// for concurrent use.
type Search struct {
	Jobs      JobFinder
	Instances InstanceFinder
	Workers   WorkerLister
}

// Sight is what the one who searches may see: projects by kind of thing, and whether
// workers at all.
type Sight struct {
	Jobs      domain.ProjectSet
	Instances domain.ProjectSet
	Workers   bool
}

// Hit is one thing that was found; exactly one of the fields is set.
type Hit struct {
	Job      *domain.JobName
	Instance *domain.Instance
	Worker   string
}

// Found is what a search came to. Exact are the things that are called what was
// typed; the rest hold it in their names, at most MaxLike of each kind.
type Found struct {
	Exact   []Hit
	Jobs    []domain.JobName
	Workers []string
}

// MaxLike is how many things of a kind a search lists.
const MaxLike = 20

// Find looks for a job by [project/]name or id, an instance by id, a run by its trace
// id, a worker by name, and for jobs and workers that are called alike. Nothing out of
// sight is found. An empty text finds nothing.
func (s *Search) Find(ctx context.Context, text string, sight Sight) (Found, error) {
	var f Found
	if text = strings.TrimSpace(text); text == "" {
		return f, nil
	}
	for _, look := range []func(context.Context, string, Sight, *Found) error{s.jobs, s.instance, s.workers} {
		if err := look(ctx, text, sight, &f); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (s *Search) jobs(ctx context.Context, text string, sight Sight, f *Found) error {
	if sight.Jobs.Empty() {
		return nil
	}
	alike, err := s.Jobs.Alike(ctx, text, sight.Jobs, 10*MaxLike)
	if err != nil {
		return err
	}
	named, err := s.Jobs.Named(ctx, text)
	if err == nil && sight.Jobs.Has(named.ProjectID) && !slices.ContainsFunc(alike, func(n domain.JobName) bool { return n.ID == named.ID }) {
		alike = append(alike, named)
	}
	if err != nil && !domain.Is(err, domain.NotFound) {
		return err
	}
	for _, n := range alike {
		switch {
		case n.Key.Name == text || n.Key.Project+"/"+n.Key.Name == text || n.ID.String() == text:
			f.Exact = append(f.Exact, Hit{Job: &n})
		case len(f.Jobs) < MaxLike:
			f.Jobs = append(f.Jobs, n)
		}
	}
	return nil
}

func (s *Search) instance(ctx context.Context, text string, sight Sight, f *Found) error {
	id, err := domain.ParseID(text)
	if err != nil {
		if id, err = s.Instances.ByTrace(ctx, strings.ToLower(text)); err != nil || id == 0 {
			return err
		}
	}
	found, err := s.Instances.ByIDs(ctx, []domain.ID{id})
	if in, ok := found[id]; ok && sight.Instances.Has(in.ProjectID) {
		f.Exact = append(f.Exact, Hit{Instance: &in})
	}
	return err
}

func (s *Search) workers(ctx context.Context, text string, sight Sight, f *Found) error {
	if !sight.Workers {
		return nil
	}
	all, err := s.Workers.List(ctx)
	for _, w := range all {
		switch {
		case w.Name == text:
			f.Exact = append(f.Exact, Hit{Worker: w.Name})
		case strings.Contains(strings.ToLower(w.Name), strings.ToLower(text)) && len(f.Workers) < MaxLike:
			f.Workers = append(f.Workers, w.Name)
		}
	}
	return err
}

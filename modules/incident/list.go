package incident

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

// Reader reads incidents for pages and programs. Safe for concurrent use; the fields
// must be set.
type Reader struct {
	Store    *store.Store
	Projects Projects

	counts atomic.Pointer[map[domain.ID]int64]
}

// countEach is how old the counts in the frame may be.
const countEach = 3 * time.Second

// Run keeps the counts fresh until ctx ends, so that no page counts rows.
func (r *Reader) Run(ctx context.Context) error {
	for {
		if counts, err := r.Store.OpenCounts(ctx); err == nil {
			r.counts.Store(&counts)
		} else if ctx.Err() == nil {
			slog.Warn("open incidents could not be counted; trying again", "error", err)
		}
		if !pause(ctx, countEach) {
			return nil
		}
	}
}

// OpenCount is how many incidents are open that somebody may see who sees these
// projects, a few seconds old.
func (r *Reader) OpenCount(seen domain.ProjectSet) int64 {
	counts := r.counts.Load()
	if counts == nil || seen.Empty() {
		return 0
	}
	var n int64
	for project, c := range *counts {
		if project == domain.EveryProject || seen.Has(project) {
			n += c
		}
	}
	return n
}

// Channels reads how the roads fare by which notices go out; none: the active broker has
// no receiver to tell.
func (r *Reader) Channels(ctx context.Context) ([]store.Channel, error) { return r.Store.Channels(ctx) }

// Query is what is asked of the list; zero fields do not filter.
type Query struct {
	Seen    domain.ProjectSet
	Project string // by name
	Kind    string
	State   string // open, closed
	ID      domain.ID
	After   store.Place
	Limit   int
}

// States are what Query.State may be.
var States = []string{"open", "closed"}

// List reads one page: open ones first, the newest first, then those that are over,
// the last to end first.
func (r *Reader) List(ctx context.Context, q Query) ([]domain.Incident, map[domain.ID]string, error) {
	names, err := r.Projects.Names(ctx)
	if err != nil {
		return nil, nil, err
	}
	f := store.Filter{Seen: q.Seen, Kind: domain.IncidentKind(q.Kind), ID: q.ID, OpenOnly: q.State == "open", Closed: q.State == "closed", After: q.After, Limit: q.Limit}
	switch {
	case q.Kind != "" && !slices.Contains(domain.IncidentKinds, f.Kind):
		return nil, nil, domain.Fail(domain.Invalid, "there is no kind of incident %q", q.Kind).At("kind").WithHint("one of "+join(domain.IncidentKinds)).
			Coded("incident.unknown_kind", "kind", q.Kind)
	case q.State != "" && !slices.Contains(States, q.State):
		return nil, nil, domain.Fail(domain.Invalid, "an incident is open or closed, not %q", q.State).At("state").Coded("incident.unknown_state", "state", q.State)
	case q.Project != "":
		for id, name := range names {
			if name == q.Project && q.Seen.Has(id) {
				f.Project = id
			}
		}
		if f.Project == 0 {
			return nil, nil, domain.Fail(domain.NotFound, "there is no project %q, or you have no role in it", q.Project).At("project").
				Coded("incident.unknown_project", "project", q.Project)
		}
	}
	found, err := r.Store.List(ctx, f)
	return found, names, err
}

// ProjectNames are the names of the projects seen, in order.
func (r *Reader) ProjectNames(ctx context.Context, seen domain.ProjectSet) ([]string, error) {
	names, err := r.Projects.Names(ctx)
	maps.DeleteFunc(names, func(id domain.ID, _ string) bool { return !seen.Has(id) })
	return slices.Sorted(maps.Values(names)), err
}

func join[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, w := range all {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

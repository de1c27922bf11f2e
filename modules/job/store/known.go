package store

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/axsched/ax/modules/domain"
)

// Edges are the edges of the definitions in force between two different jobs, once in the order of their upstreams
// and once in that of their downstreams, and the project of each of their ends. They are
// shared: nobody may change them.
type Edges struct {
	ByUp, ByDown []domain.JobEdge
	Project      map[domain.ID]domain.ID
}

// remembered is something read from all definitions as of one version of the graph row,
// which every making and deleting of a job and every change of an edge raises: who finds
// that version still in force may use it. Its lock lets one read it while others wait.
type remembered[T any] struct {
	sync.Mutex
	there bool
	ver   int64
	value T
}

// recall gives what is remembered, or reads it anew. The version is read first: what is
// read after it is at least as new, and what was changed between the two raises the
// version that the next one finds. In a transaction nothing is remembered.
func recall[T any](ctx context.Context, s *Store, m *remembered[T], read func(context.Context) (T, error)) (T, error) {
	if s.db.InTx(ctx) {
		return read(ctx)
	}
	m.Lock()
	defer m.Unlock()
	var ver int64
	var none T
	if err := s.db.Scan(ctx, &ver, "SELECT ver FROM graph WHERE id = 1"); err != nil {
		return none, err
	}
	if m.there && m.ver == ver {
		return m.value, nil
	}
	value, err := read(ctx)
	if err != nil {
		return none, err
	}
	m.there, m.ver, m.value = true, ver, value
	return value, nil
}

// totals are how many jobs each project has.
func (s *Store) totals(ctx context.Context) (map[domain.ID]int64, error) {
	return recall(ctx, s, &s.jobs, func(ctx context.Context) (map[domain.ID]int64, error) {
		out := map[domain.ID]int64{}
		err := s.db.Each(ctx, func(scan func(...any) error) error {
			var project, n int64
			err := scan(&project, &n)
			out[domain.ID(project)] = n
			return err
		}, "SELECT project_id, COUNT(*) FROM job WHERE deleted_at = 0 GROUP BY project_id")
		return out, err
	})
}

// Edges reads all edges.
func (s *Store) Edges(ctx context.Context) (Edges, error) {
	return recall(ctx, s, &s.edges, s.readEdges)
}

func (s *Store) readEdges(ctx context.Context) (Edges, error) {
	e := Edges{Project: map[domain.ID]domain.ID{}}
	err := s.db.Each(ctx, func(scan func(...any) error) error {
		var up, down, upProject, downProject int64
		var dates string
		err := scan(&up, &down, &upProject, &downProject, &dates)
		edge := domain.JobEdge{Up: domain.ID(up), Down: domain.ID(down), Back: domain.DepDates(dates).Ahead() < 0}
		e.ByUp = append(e.ByUp, edge)
		e.Project[edge.Up], e.Project[edge.Down] = domain.ID(upProject), domain.ID(downProject)
		return err
	}, "SELECT d.upstream_job_id, d.job_id, u.project_id, d.project_id, d.biz_date FROM job_dep d JOIN job u ON u.id = d.upstream_job_id "+
		"WHERE u.deleted_at = 0 AND d.job_id <> d.upstream_job_id")
	// Of several from one job to another the one that stays on the date counts.
	slices.SortFunc(e.ByUp, func(a, b domain.JobEdge) int {
		return cmp.Or(cmp.Compare(a.Up, b.Up), cmp.Compare(a.Down, b.Down), order(a.Back)-order(b.Back))
	})
	e.ByUp = slices.CompactFunc(e.ByUp, func(a, b domain.JobEdge) bool { return a.Up == b.Up && a.Down == b.Down })
	e.ByDown = slices.Clone(e.ByUp)
	slices.SortFunc(e.ByDown, func(a, b domain.JobEdge) int { return cmp.Or(cmp.Compare(a.Down, b.Down), cmp.Compare(a.Up, b.Up)) })
	return e, err
}

func order(back bool) int {
	if back {
		return 1
	}
	return 0
}

// Starts reads the edges over which an end starts a job, in order of Down and Up.
func (s *Store) Starts(ctx context.Context) ([]domain.StartEdge, error) {
	return recall(ctx, s, &s.starts, func(ctx context.Context) ([]domain.StartEdge, error) {
		var out []domain.StartEdge
		err := s.db.Each(ctx, func(scan func(...any) error) error {
			var up, down int64
			var e domain.StartEdge
			err := scan(&up, &down, &e.Check)
			e.Up, e.Down = domain.ID(up), domain.ID(down)
			out = append(out, e)
			return err
		}, "SELECT upstream_job_id, job_id, outcome FROM job_dep WHERE starts = 1 ORDER BY job_id, upstream_job_id, no")
		return out, err
	})
}

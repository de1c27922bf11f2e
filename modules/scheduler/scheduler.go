package scheduler

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/store"
	"github.com/axsched/ax/worker/protocol"
)

// Scheduler is one node's taking of due fires. Give [New] a struct with the exported
// fields set; Fast and Takers may be left out.
type Scheduler struct {
	Store *store.Store
	IDs   *domain.IDs
	Specs Specs
	Maker Maker
	Fired Fired
	// Calendars reads those that jobs live by; nil: none does.
	Calendars Calendars
	// Fast is the fast path; nil = every node looks into the database.
	Fast FastPath
	// Clock is this node's clock, which is compared with the database's.
	Clock func() time.Time
	// Takers is how many transactions of taking run at a time; 0 = 2.
	Takers int

	loop *loop
}

// New gives the scheduler its memory.
func New(s Scheduler) *Scheduler {
	if s.Takers == 0 {
		s.Takers = 2
	}
	clock := &dbClock{own: s.Clock, db: s.Store.Now}
	marks := &marks{of: map[domain.ID]*mark{}}
	t := &taker{store: s.Store, ids: s.IDs, specs: s.Specs, maker: s.Maker, fired: s.Fired,
		fast: &fast{path: s.Fast, clock: s.Clock}, clock: clock, marks: marks, calendars: s.Calendars}
	s.loop = newLoop(s.Store.Due, t.take, clock, marks, s.Takers)
	s.loop.ahead = t.prepare
	return &s
}

// Run takes due fires until ctx ends, and then returns nil. It goes on without the
// database and without Redis, and takes up what was missed when they are back.
func (s *Scheduler) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	s.loop.run(ctx, g)
	return g.Wait()
}

// Nudge says that a trigger was committed: the coming window is read again at once.
func (s *Scheduler) Nudge(n protocol.Nudge) {
	if n == protocol.NudgeTrigger {
		s.loop.reload.ring()
	}
}

// Status is how this node stands.
func (s *Scheduler) Status() Status { return s.loop.status() }

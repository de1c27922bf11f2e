package broker

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// figures count what this process' terms did.
type figures struct {
	dispatched, unsent, granted, denied atomic.Int64
	withdrawn, lost, reports, kills     atomic.Int64
	lag, bookLag                        atomic.Int64 // of the claims answered last, and of the starts and outcomes

	mu    sync.Mutex
	ready map[domain.Lane]int
	more  map[domain.Lane]bool
}

// left notes what a lane had ready that was not assigned; more: at least that much.
func (f *figures) left(lane domain.Lane, n int, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ready == nil {
		f.ready, f.more = map[domain.Lane]int{}, map[domain.Lane]bool{}
	}
	f.ready[lane], f.more[lane] = n, more
}

func (f *figures) backlog() (ready map[domain.Lane]int, more map[domain.Lane]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.ready), maps.Clone(f.more)
}

// Stats is how a broker stands, for metrics. Counts are of this process and never
// fall; the rest is zero while no term is under way.
type Stats struct {
	Active bool
	// Ready is what was ready and not assigned when a lane was last looked at whole,
	// each 5 s; ReadyMore says that there was more than a look goes through.
	Ready     map[domain.Lane]int
	ReadyMore map[domain.Lane]bool
	InFlight  int           // attempts sent and not ended
	Unacked   int           // of these, not claimed
	Held      int           // instances that wait for their turn, of their job or of their pool
	Targets   int           // workers alive
	Room      int           // attempts that they could be sent
	Deaf      string        // why the registry cannot be relied on, so that nothing is assigned; "" = it can
	UplinkLag time.Duration // age of the oldest entry of the batch applied last; 0 = nothing waits

	Dispatched int64 // attempts committed for a target
	Unsent     int64 // messages that could not be sent
	Granted    int64 // grants answered, repetitions included
	Denied     int64 // claims of an attempt denied
	Withdrawn  int64 // attempts taken back ungranted
	Lost       int64 // attempts whose worker was lost, or knew nothing of them
	Reports    int64 // outcomes applied, repetitions included
	Kills      int64 // kills told to workers that hold what was replaced
}

// Stats is safe for concurrent use and asks no store.
func (b *Broker) Stats() Stats {
	f := &b.figures
	s := Stats{Active: b.Active(), Dispatched: f.dispatched.Load(), Unsent: f.unsent.Load(), Granted: f.granted.Load(), Denied: f.denied.Load(),
		Withdrawn: f.withdrawn.Load(), Lost: f.lost.Load(), Reports: f.reports.Load(), Kills: f.kills.Load()}
	if !s.Active {
		return s
	}
	s.UplinkLag = time.Duration(max(f.lag.Load(), f.bookLag.Load()))
	s.Ready, s.ReadyMore = f.backlog()
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	s.Deaf = b.mem.deaf
	s.InFlight, s.Targets = len(b.mem.flights), len(b.mem.targets)
	for _, l := range b.mem.lines {
		s.Held += len(l.held)
	}
	for _, p := range b.mem.pools {
		s.Held += len(p.waits)
	}
	for _, t := range b.mem.targets {
		s.Unacked += t.unacked
		for lane := range t.Lanes {
			if t.takes() {
				s.Room += max(t.room(lane, false), 0)
			}
		}
	}
	return s
}

package incident

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

// Keeper opens, raises and ends incidents, and writes the notices of them, while its
// process is the active broker. Fields that say no default must be set before Term.
type Keeper struct {
	Store *store.Store
	// IDs makes ids as the broker of this process makes those of the history.
	IDs       func() domain.ID
	History   History
	Instances Instances
	// Whys says of what waits why it does; nil: the general is said.
	Whys     Whys
	Jobs     Jobs
	Workers  Workers
	Projects Projects
	// Calendars are looked at for their end; nil: there are none.
	Calendars Calendars
	// Redis tells how each Redis stands that the broker here works with; nil: there is none
	// to be told of.
	Redis Redis
	// Process names the process of this broker for people.
	Process string
	// Hook takes the notices; nil: nobody is told, incidents are on the page alone.
	Hook Hook
	// PagesURL stands before the paths of pages in notices, such as
	// https://ax.example.com.
	PagesURL string
	// QueueLimit is how long an instance may be ready before that is wrong; 0 = 1 h.
	QueueLimit time.Duration
	// DepsLimit is how long an instance may wait for its dependencies before that is wrong;
	// 0 = 24 h.
	DepsLimit time.Duration

	active atomic.Bool
	bell   chan struct{}

	mu   sync.Mutex
	open map[domain.ID]openJob   // by job: its failures are not over
	done map[domain.ID]time.Time // jobs of these that have succeeded since they were looked at
	term *term                   // of the rounds alone
}

// openJob is the open incident of a job that failed.
type openJob struct {
	incident domain.ID
	last     time.Time
	example  domain.ID
}

// term is what the rounds of one term remember.
type term struct {
	loaded  bool
	seen    domain.ID // the history is read up to here
	late    domain.ID // the second look at what was committed late is here; 0: it rests
	rested  time.Time
	patrol  domain.ID // the look at open jobs is behind this one
	fresh   []domain.ID
	orphans store.Case
	leaving map[string]bool // workers that were seen to drain
	// redisWell says that nothing is open about any Redis.
	redisWell bool
	last      map[string]time.Time
}

// NewKeeper gives a keeper its memory.
func NewKeeper(k *Keeper) *Keeper {
	k.bell = make(chan struct{}, 1)
	if k.QueueLimit == 0 {
		k.QueueLimit = time.Hour
	}
	if k.DepsLimit == 0 {
		k.DepsLimit = 24 * time.Hour
	}
	return k
}

// Changed follows committed changes of this process; see instance.Listener. It asks no
// store: what it misses, the rounds find.
func (k *Keeper) Changed(changes []domain.Change) {
	if !k.active.Load() {
		return
	}
	ring := false
	k.mu.Lock()
	for _, c := range changes {
		switch in := c.Instance; {
		case c.Move == domain.MoveSucceed:
			if _, ok := k.open[in.JobID]; ok && in.FinishedAt.After(k.done[in.JobID]) {
				k.done[in.JobID] = in.FinishedAt
				ring = true
			}
		case tells(c.Move):
			ring = true
		}
	}
	k.mu.Unlock()
	if ring {
		select {
		case k.bell <- struct{}{}:
		default:
		}
	}
}

const (
	roundEach = 2 * time.Second
	gather    = 250 * time.Millisecond // of what rings the bell
)

// Term works until ctx, which carries the fence of the epoch, has ended. A round that
// fails is logged and repeated; it ends no term.
func (k *Keeper) Term(ctx context.Context) error {
	k.mu.Lock()
	k.open, k.done = map[domain.ID]openJob{}, map[domain.ID]time.Time{}
	k.term = &term{leaving: map[string]bool{}, last: map[string]time.Time{}}
	k.mu.Unlock()
	k.active.Store(true)
	defer k.active.Store(false)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return k.rounds(ctx) })
	if k.Redis != nil {
		g.Go(func() error { return k.mirror(ctx) })
	}
	if k.Hook == nil {
		if err := k.Store.DropChannels(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("it could not be noted that no notices go out", "error", err)
		}
	} else {
		sender := &Sender{Store: k.Store, Hook: k.Hook}
		g.Go(func() error { return sender.Run(ctx) })
	}
	return g.Wait()
}

func (k *Keeper) rounds(ctx context.Context) error {
	tick := time.NewTicker(roundEach)
	defer tick.Stop()
	for {
		if err := k.Round(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("looking after incidents failed; the next round repeats it", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-k.bell:
			if !pause(ctx, gather) {
				return nil
			}
		}
	}
}

// pause waits; false: ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// How often a round does what it does not do each time.
const (
	workersEach   = 3 * time.Second
	orphansEach   = 3 * time.Second
	waitingEach   = 10 * time.Second
	expireEach    = 5 * time.Second
	tidyEach      = time.Minute
	calendarsEach = time.Minute
)

// Round looks once at everything that is due. Each part is done whatever becomes of
// the others.
func (k *Keeper) Round(ctx context.Context) error {
	now, err := k.Store.Now(ctx)
	if err != nil {
		return err
	}
	if err := k.load(ctx, now); err != nil {
		return err
	}
	parts := []error{k.readHistory(ctx, now), k.recover(ctx, now)}
	for _, p := range []struct {
		name string
		each time.Duration
		do   func(context.Context, time.Time) error
	}{
		{"redis", redisEach, k.lookAtRedis}, {"workers", workersEach, k.lookAtWorkers}, {"orphans", orphansEach, k.lookAtOrphans}, {"waiting", waitingEach, k.lookAtWaiting},
		{"calendars", calendarsEach, k.lookAtCalendars}, {"expire", expireEach, k.expire}, {"tidy", tidyEach, k.tidy},
	} {
		if mono := time.Now(); mono.Sub(k.term.last[p.name]) >= p.each {
			k.term.last[p.name] = mono
			parts = append(parts, p.do(ctx, now))
		}
	}
	if k.Hook != nil {
		parts = append(parts, k.tell(ctx, now))
	}
	return errors.Join(parts...)
}

// firstLook is how far back the history is read when it never was.
const firstLook = 10 * time.Minute

// load reads, once a term, where the rows stand.
func (k *Keeper) load(ctx context.Context, now time.Time) error {
	if k.term.loaded {
		return nil
	}
	mark, err := k.Store.Mark(ctx, markOfHistory)
	if err != nil {
		return err
	}
	if mark == 0 {
		mark = domain.IDAt(now.Add(-firstLook))
	}
	mark = min(mark, domain.IDAt(now.Add(-lateBy)))
	for after := domain.ID(0); ; {
		page, err := k.Store.Open(ctx, domain.IncidentJobFailed, after, historyPage)
		if err != nil {
			return err
		}
		k.remember(page)
		if len(page) < historyPage {
			break
		}
		after = page[len(page)-1].ID
	}
	k.term.seen, k.term.loaded = mark, true
	return nil
}

// remember takes open incidents of failed jobs into the memory.
func (k *Keeper) remember(open []domain.Incident) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range open {
		if job, err := domain.ParseID(i.Subject); err == nil {
			k.open[job] = openJob{i.ID, i.LastAt, i.Example}
		}
	}
}

// How long what is over is kept.
const (
	keepEnded   = 90 * 24 * time.Hour
	keepTaken   = 7 * 24 * time.Hour
	keepHandled = time.Hour
	remindAfter = 24 * time.Hour
)

// tidy reminds of what stays open and deletes what is long over.
func (k *Keeper) tidy(ctx context.Context, now time.Time) error {
	return errors.Join(k.Store.Remind(ctx, now.Add(-remindAfter)),
		k.Store.Clean(ctx, now.Add(-keepEnded), now.Add(-keepTaken), now.Add(-keepHandled)))
}

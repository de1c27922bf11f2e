package center

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/backfill"
	"github.com/axsched/ax/modules/broker"
	"github.com/axsched/ax/modules/calendar"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/fleet"
	"github.com/axsched/ax/modules/incident"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/lease"
	"github.com/axsched/ax/modules/kit/seal"
	"github.com/axsched/ax/modules/scheduler"
	"github.com/axsched/ax/modules/scheduler/fastpath"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/netguard"
	"github.com/axsched/ax/worker/transport"
)

// Options of Run.
type Options struct {
	Config  config.Config
	Version string
	// Transport and Registry are Redis; the caller opens and closes them.
	Transport, Registry redis.UniversalClient
	// Ready is called once, when the first life is up, with what a person needs to
	// get in; it may be nil.
	Ready func(ctx context.Context, w Welcome)
	// Listener serves pages; Run closes it.
	Listener net.Listener
	// Worker says why a worker in the same process takes no work, "" = it does; nil = there is none.
	Worker func() string
	// Now is this machine's wall clock; nil = time.Now.
	Now func() time.Time
}

// DatabaseURL is where the configuration keeps the truth.
func DatabaseURL(c config.Config) string {
	if c.DatabaseURL == "" {
		return "sqlite:" + filepath.Join(c.Data, "ax.db")
	}
	return string(c.DatabaseURL)
}

// Run carries the roles of the mode until ctx ends; then requests under way are answered, for a
// few seconds at most, before the roles end that answer them. A lost lease ends a life and begins
// the next.
func Run(ctx context.Context, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	keeper, err := openSeal(o.Config)
	if err != nil {
		return err
	}
	s := newSite(o)
	s.seal = keeper
	serving := make(chan error, 1)
	serve, stop := context.WithCancel(ctx)
	defer stop()
	roles, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	go s.watchRedis(roles)
	go s.watchDatabase(roles)
	go func() {
		serving <- s.serve(serve, o.Listener)
		end()
	}()
	err = s.lives(roles)
	stop()
	return errors.Join(err, <-serving)
}

// lives builds one life after the other. A database that is away ends no process: the
// next life begins when it answers.
func (s *site) lives(ctx context.Context) error {
	for {
		err := s.live(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, lease.ErrLost):
			slog.Warn("the lease was lost; beginning a new life", "error", err)
		case domain.Is(err, domain.Unavailable):
			s.waits(err)
			if !pause(ctx, awayPause) {
				return nil
			}
		case err != nil:
			return err
		}
	}
}

const (
	awayPause   = time.Second // between two tries to begin
	sayAwayEach = 15 * time.Second
)

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

// life is everything that stands on one lease.
type life struct {
	o      Options
	lease  *lease.Lease
	clock  *clock
	poison *poison // of the process
	fit    *fit    // of the process
	// troubles are what the process sees of the database.
	troubles *troubles
	ids      *domain.IDs
	nudger   *nudger
	seal     *seal.Keeper   // of the process; nil seals nothing
	stores   *netguard.Book // the addresses of AX's own stores
	// versions are shared by all roles of the process.
	versions job.Versions
	// calendars are their versions, shared likewise.
	calendars calendar.Memory
	broker    *broker.Broker   // nil without the role
	office    *lease.Office    // the broker's; nil without the role
	found     *standings       // of the broker's term; nil without the role
	memo      instance.Memo    // of all roles
	keeper    *incident.Keeper // nil without the role broker
	pump      *backfill.Pump   // nil without the role broker
	sched     *scheduler.Scheduler
	fleet     *fleet.Watch
	pools     []rolePool
}

// rolePool is a role's own pool.
type rolePool struct {
	*dbx.DB
	role config.Mode
}

// live is one life.
func (s *site) live(ctx context.Context) error {
	o := s.o
	url := DatabaseURL(o.Config)
	if err := prepare(ctx, url); err != nil {
		return err
	}
	le, err := lease.Take(ctx, url, processOf(o))
	if err != nil {
		return err
	}
	defer func() {
		if err := le.Close(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, lease.ErrLost) {
			slog.Warn("the lease could not be given up; peers take it back", "error", err)
		}
	}()
	l := &life{o: o, lease: le, clock: &clock{wall: o.Now}, poison: &s.poison, fit: &s.fit, troubles: &s.troubles, seal: s.seal, nudger: newNudger(),
		stores: netguard.NewBook(o.Config.Stores()...)}
	if l.ids, err = domain.NewIDs(le.Node(), l.clock.now); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	// The lease outlives the pools, which are closed when all loops have ended.
	hold, release := context.WithCancel(context.WithoutCancel(ctx))
	held := make(chan error, 1)
	go func() { held <- le.Run(hold) }()
	defer func() {
		l.closePools()
		release()
		<-held
	}()
	g.Go(func() error {
		select {
		case <-le.Lost():
			return lease.ErrLost
		case <-ctx.Done():
			return nil
		}
	})
	g.Go(func() error { return l.nudger.run(ctx, o.Transport) })
	g.Go(func() error { return l.stores.Run(ctx) })
	if err := l.start(ctx, g, s); err != nil {
		g.Go(func() error { return err })
	}
	// After the start, which makes what hears them; what is missed meanwhile is found in the rows.
	g.Go(func() error { return transport.Hints(ctx, o.Transport, l.nudged) })
	if len(l.pools) > 0 {
		g.Go(func() error { return l.clock.follow(ctx, l.pools[0].Now) })
		g.Go(func() error { return l.newLookout().Run(ctx) })
	}
	err = g.Wait()
	s.down()
	return err
}

// migratePatience is for one statement of a migration, which may copy a table. One cut
// off is repeated by the next start.
const migratePatience = 10 * time.Minute

// prepare brings the tables up to date over connections of its own.
func prepare(ctx context.Context, url string) error {
	db, err := dbx.Open(ctx, url, dbx.Options{Pool: 2, Patience: migratePatience})
	if err != nil {
		return err
	}
	return errors.Join(db.Migrate(ctx), db.Close())
}

// How long the database may take to answer one statement: a lock is waited for 3 s, and
// pages answer within 5 s.
const (
	webPatience  = 4 * time.Second
	loopPatience = 10 * time.Second
)

// pool opens a role's own pool under the lease.
func (l *life) pool(ctx context.Context, role config.Mode, size int) (*dbx.DB, error) {
	opened, closed := l.lease.Hooks()
	patience := loopPatience
	if role == config.ModeWeb {
		patience = webPatience
	}
	db, err := dbx.Open(ctx, DatabaseURL(l.o.Config), dbx.Options{Pool: size, Patience: patience, OnConnect: opened, OnClose: closed,
		OnTrouble: func(err error) { l.troubles.heard(err, time.Now()) }})
	if err != nil {
		return nil, err
	}
	l.pools = append(l.pools, rolePool{db, role})
	if len(l.pools) > 1 {
		return db, nil
	}
	if err := l.clock.measure(ctx, db.Now); err != nil { // no row of this life is written by the machine's clock
		return nil, domain.Fail(domain.Unavailable, "reading the database's clock: %v", err)
	}
	return db, nil
}

func (l *life) closePools() {
	for _, p := range l.pools {
		if err := p.Close(); err != nil {
			slog.Warn("a pool could not be closed", "error", err)
		}
	}
}

// start builds and starts the roles. The broker's stands before the others, so
// that what these commit finds it.
func (l *life) start(ctx context.Context, g *errgroup.Group, s *site) error {
	mode, pools := l.o.Config.Mode, l.o.Config.Pools
	if mode.Carries(config.ModeBroker) {
		db, err := l.pool(ctx, config.ModeBroker, pools.Broker)
		if err != nil {
			return err
		}
		l.startBroker(ctx, g, l.newCore(db))
	}
	if mode.Carries(config.ModeScheduler) {
		db, err := l.pool(ctx, config.ModeScheduler, pools.Scheduler)
		if err != nil {
			return err
		}
		l.startScheduler(ctx, g, l.newCore(db))
	}
	if mode.Carries(config.ModeWeb) {
		db, err := l.pool(ctx, config.ModeWeb, pools.Web)
		if err != nil {
			return err
		}
		return l.startWeb(ctx, g, s, l.newCore(db))
	}
	s.up(l, nil)
	return nil
}

func (l *life) startBroker(ctx context.Context, g *errgroup.Group, c *core) {
	o := l.o
	found := &standings{}
	l.found = found
	l.fleet = fleet.New(newRegistry(o, l.lease.Holder(), l.clock, found), c.workers, o.Config.Worker.LostAfter, time.Now, l.clock.now)
	post := newMail(o.Transport, l.lease.Holder(), l.clock, l.poison)
	l.broker = broker.New(&broker.Broker{Queue: queue{c}, Judge: c.lifecycle, Overlaps: c.lifecycle, Shards: c.lifecycle, Clock: c.lifecycle, Rows: c.instances,
		Pools: c.pools.Store, Specs: c.jobs, Mail: post, Sender: sender{transport.NewSender(o.Transport)}, Fleet: l.fleet, IDs: l.ids, Mono: time.Now, Now: l.clock.now})
	l.keeper = l.newKeeper(c, newRedisWatch(o.Config, found, l.fit, l.clock))
	l.pump = backfill.NewPump(c.backfills)
	office := l.lease.Office(lease.Broker)
	l.office = office
	g.Go(func() error {
		return office.Run(ctx, func(ctx context.Context, epoch int64) error {
			post.adopt = true
			found.forget()
			ctx = dbx.WithFence(ctx, office.Fence(c.db, epoch))
			term, ctx := errgroup.WithContext(ctx)
			term.Go(func() error { return l.broker.Term(ctx, epoch) })
			term.Go(func() error { return l.keeper.Term(ctx) })
			term.Go(func() error { return l.pump.Term(ctx) })
			term.Go(func() error { return each(ctx, sweepEach, "dependency sweep", c.graph.Sweep) })
			return term.Wait()
		})
	})
	g.Go(func() error { return c.graph.Run(ctx) })
	g.Go(func() error { return each(ctx, warmEach, "definitions of what is due soon", c.warm) })
	sink := &logSink{c: o.Transport, group: transport.NewLogsGroup(o.Transport, l.lease.Holder()), lives: c.lifecycle, poison: l.poison}
	g.Go(func() error { return sink.run(ctx) })
}

// sweepEach is the pause between two sweeps of dependencies.
const sweepEach = 5 * time.Second

// queue is the broker's view of ready instances.
type queue struct{ c *core }

// Ready pages them.
func (q queue) Ready(ctx context.Context, lane domain.Lane, after domain.Instance, limit int) ([]domain.Instance, error) {
	return q.c.instances.Ready(ctx, lane, after, limit)
}

// Dispatch commits attempts.
func (q queue) Dispatch(ctx context.Context, as []domain.Assignment) ([]domain.Attempt, error) {
	return q.c.lifecycle.Dispatch(ctx, as)
}

// Withdraw takes attempts back.
func (q queue) Withdraw(ctx context.Context, ids []domain.ID, outcome domain.Outcome, note string) ([]domain.ID, error) {
	return q.c.lifecycle.Withdraw(ctx, ids, outcome, note)
}

func (l *life) startScheduler(ctx context.Context, g *errgroup.Group, c *core) {
	if l.broker != nil {
		c.lifecycle.Early = early{l.broker, l.office, c.db}
	}
	l.sched = scheduler.New(scheduler.Scheduler{Store: c.triggers.Store, IDs: l.ids, Specs: c.jobs, Calendars: c.calendars, Maker: c.lifecycle, Fired: c.instances,
		Fast: fastpath.New(l.o.Transport, scheduler.KeyTTL), Clock: l.o.Now})
	g.Go(func() error { return l.sched.Run(ctx) })
	g.Go(func() error { return each(ctx, warmEach, "definitions of what is due soon", c.warm) })
	g.Go(func() error { return c.graph.Run(ctx) })
}

// each calls round at once and then with the pause between two rounds, until ctx
// ends. A round that fails is logged and repeated.
func each(ctx context.Context, every time.Duration, name string, round func(context.Context) error) error {
	for {
		if err := round(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("a round failed; the next one repeats it", "loop", name, "error", err)
		}
		if !pause(ctx, every) {
			return nil
		}
	}
}

// heard hands what this process committed to its own broker, and hints at it to the
// active one where that is another's.
func (l *life) heard(changes []domain.Change) {
	if l.broker != nil {
		l.broker.Changed(changes)
		whole := domain.OfInstances(changes)
		l.keeper.Changed(whole)
		l.pump.Changed(whole)
		if l.broker.Active() {
			return
		}
	}
	for _, c := range changes {
		switch in := c.Instance; {
		case in.Label == domain.Queued:
			l.nudger.Nudge(protocol.NudgeReady)
		case in.Label == domain.Stopping:
			l.nudger.Nudge(protocol.NudgeKill)
		case in.State.Terminal():
			l.nudger.Nudge(protocol.NudgeEnded)
		}
	}
}

// unsure hands what may have been committed to this process' own broker; others find
// it in the rows.
func (l *life) unsure(ids []domain.ID) {
	if l.broker != nil {
		l.broker.Unsure(ids)
	}
}

// nudged hears hints of other processes, and of this one.
func (l *life) nudged(n protocol.Nudge) {
	if !slices.Contains(nudges, n) {
		l.poison.nudges.Add(1)
		return
	}
	if l.broker != nil {
		l.broker.Nudge(n)
	}
	if l.sched != nil && n == protocol.NudgeTrigger {
		l.sched.Nudge(n)
	}
}

var _ instance.Listener = listener{}

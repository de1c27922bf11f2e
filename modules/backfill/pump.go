package backfill

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/zone"
	"github.com/axsched/ax/worker/protocol/crash"
)

// Pump works the lists off while its process is the active broker. Make it with NewPump.
// Safe for concurrent use.
type Pump struct {
	*Backfills

	bell chan struct{}
	mu   sync.Mutex
	open map[domain.ID]bool // instances of items that run, as of the last look
}

// pollEach is how often the rows are looked at when nobody rings.
const pollEach = time.Second

// batchItems is how many items one transaction begins.
const batchItems = 500

// NewPump gives a pump its memory.
func NewPump(b *Backfills) *Pump {
	return &Pump{Backfills: b, bell: make(chan struct{}, 1), open: map[domain.ID]bool{}}
}

// Ring lets it look at once.
func (p *Pump) Ring() {
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

// Changed follows committed changes of this process; see instance.Listener.
func (p *Pump) Changed(changes []domain.Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range changes {
		if c.Instance.State.Terminal() && p.open[c.Instance.ID] {
			p.Ring()
			return
		}
	}
}

// Term works until ctx ends, which carries the fence of the broker's epoch.
func (p *Pump) Term(ctx context.Context) error {
	tick := time.NewTicker(pollEach)
	defer tick.Stop()
	for {
		if err := p.Round(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("a round of the backfills failed; the next one repeats it", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-p.bell:
		}
	}
}

// Round looks at each backfill under way, once. What concerns one of them does not hold up
// the others.
func (p *Pump) Round(ctx context.Context) error {
	ids, err := p.Store.Active(ctx)
	if err != nil {
		return err
	}
	open := map[domain.ID]bool{}
	for _, id := range ids {
		more := true
		for more && ctx.Err() == nil {
			if more, err = p.one(ctx, id, open); err != nil {
				slog.Warn("a backfill could not be looked at; the next round does", "backfill", id, "error", err)
				p.Ring()
				break
			}
		}
	}
	p.mu.Lock()
	p.open = open
	p.mu.Unlock()
	return nil
}

// turn is one look at one backfill, in one transaction.
type turn struct {
	*Backfills
	b       plan.Backfill
	was     plan.Backfill
	running []plan.Item // as they stand after the look
	changed map[int]plan.Item
	now     time.Time
}

// one looks at a backfill: what has ended, what may begin, whether it is over. It reports
// whether more may begin at once.
func (p *Pump) one(ctx context.Context, id domain.ID, open map[domain.ID]bool) (more bool, err error) {
	var t *turn
	err = p.Store.Tx(ctx, func(ctx context.Context) error {
		t = &turn{Backfills: p.Backfills, changed: map[int]plan.Item{}, now: p.Now()}
		var err error
		if t.b, err = p.Store.Lock(ctx, id); err != nil || t.b.State.Over() {
			return err
		}
		t.was = t.b
		if err := t.look(ctx); err != nil {
			return err
		}
		if more, err = t.begin(ctx); err != nil {
			return err
		}
		t.close()
		return t.save(ctx)
	})
	if err != nil {
		return false, err
	}
	crash.At("backfill.committed")
	for _, it := range t.running {
		open[it.Instance] = true
	}
	if t.b.State == plan.Stopping && t.b.Kills {
		p.kill(ctx, t)
	}
	return more, nil
}

// look judges what runs.
func (t *turn) look(ctx context.Context) error {
	running, err := t.Store.Items(ctx, t.b.ID, plan.ItemRunning, 0, 0)
	if err != nil {
		return err
	}
	changed, err := t.judged(ctx, running, t.b.State == plan.Stopping && t.b.Kills)
	if err != nil {
		return err
	}
	for _, it := range changed {
		t.move(plan.ItemRunning, it)
	}
	for _, it := range running {
		if _, ended := t.changed[it.No]; !ended {
			t.running = append(t.running, it)
		}
	}
	return nil
}

// move notes where an item stands now, and pauses the backfill for a failure.
func (t *turn) move(from plan.ItemState, it plan.Item) {
	t.changed[it.No] = it
	t.b.Counts.Move(from, it.State)
	if it.State == plan.ItemFailed && t.b.State == plan.Running && !t.b.GoesOn {
		t.b.State, t.b.Pause, t.b.PauseBy = plan.Paused, plan.ByFailure, it.JobName+" "+it.BizDate.String()
	}
}

// begin opens the runs of what may begin now.
func (t *turn) begin(ctx context.Context) (more bool, err error) {
	if t.b.State != plan.Running || t.b.Counts.Waiting == 0 {
		return false, nil
	}
	loc, err := zone.Load(t.b.Zone)
	if err != nil {
		return false, fmt.Errorf("the zone of backfill %s: %w", t.b.ID, err)
	}
	if t.b.Not.Holds(t.now, loc) {
		return false, nil
	}
	waiting, err := t.Store.Items(ctx, t.b.ID, plan.ItemWaiting, 0, batchItems)
	if err != nil {
		return false, err
	}
	next := plan.Next(t.b.Degree, t.running, waiting, batchItems)
	if len(next) == 0 {
		return false, nil
	}
	gone, names, err := t.names(ctx, next)
	if err != nil {
		return false, err
	}
	if gone != "" {
		t.b.State, t.b.Pause, t.b.PauseBy = plan.Paused, plan.ByDeletion, gone
		return false, nil
	}
	if err := t.open(ctx, next, names); err != nil {
		return false, err
	}
	return t.b.State == plan.Running && len(next) == batchItems, nil
}

// names reads the names of the items' jobs; gone is one that was deleted.
func (t *turn) names(ctx context.Context, items []plan.Item) (gone string, names map[domain.ID]domain.JobName, err error) {
	ids := make([]domain.ID, len(items))
	for i, it := range items {
		ids[i] = it.JobID
	}
	if names, err = t.Jobs.NamesOf(ctx, ids); err != nil {
		return "", nil, err
	}
	for _, it := range items {
		if n, ok := names[it.JobID]; !ok || !n.DeletedAt.IsZero() {
			return it.JobName, nil, nil
		}
	}
	return "", names, nil
}

// close ends a backfill of which nothing is left.
func (t *turn) close() {
	switch {
	case t.b.Counts.Running > 0:
	case t.b.State == plan.Stopping:
		t.b.State, t.b.FinishedAt = plan.Stopped, t.now
	case t.b.Counts.Waiting == 0 && t.b.State != plan.Stopping:
		t.b.State, t.b.Pause, t.b.PauseBy, t.b.FinishedAt = plan.Done, "", "", t.now
	}
}

func (t *turn) save(ctx context.Context) error {
	if len(t.changed) == 0 && t.b.State == t.was.State {
		return nil
	}
	t.b.ChangedAt = t.now
	if err := t.Store.SaveItems(ctx, t.b.ID, sorted(t.changed)); err != nil {
		return err
	}
	return t.Store.Save(ctx, t.b)
}

// kill ends what runs of a backfill that is stopped so. What has ended meanwhile is over
// anyway.
func (p *Pump) kill(ctx context.Context, t *turn) {
	for _, it := range t.running {
		_, err := p.Lifecycle.Kill(ctx, it.Instance, t.b.PauseBy, "backfill "+t.b.ID.String()+" was stopped")
		if err != nil && !domain.Is(err, domain.Conflict) && !domain.Is(err, domain.NotFound) && ctx.Err() == nil {
			slog.Warn("an instance of a stopped backfill could not be killed; the next round tries again", "backfill", t.b.ID, "instance", it.Instance, "error", err)
		}
	}
}

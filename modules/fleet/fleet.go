package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/fleet/store"
	"github.com/axsched/ax/worker/protocol"
)

// Registry is where workers say that they are alive.
type Registry interface {
	// Beats returns the last heartbeat of every worker.
	Beats(ctx context.Context) ([]protocol.Heartbeat, error)
	// Forget removes the queues, the inbox and the place of a life that is over.
	Forget(ctx context.Context, worker string, boot int64) error
}

// Watch judges the heartbeats. It is for one goroutine; make it with New.
type Watch struct {
	registry  Registry
	store     *store.Store
	lostAfter time.Duration
	mono      func() time.Time // monotonic: silence is measured on it
	now       func() time.Time // of the rows
	lives     map[string]*life // by worker name
	away      bool
	saved     time.Time
}

// life is one boot of a worker as it was last seen.
type life struct {
	boot int64
	seq  int64
	at   time.Time // when seq last moved
	lost bool
	beat *protocol.Heartbeat // nil: expected, never seen
}

// New is a watch that counts a worker as lost after that long in silence.
func New(registry Registry, s *store.Store, lostAfter time.Duration, mono, now func() time.Time) *Watch {
	return &Watch{registry: registry, store: s, lostAfter: lostAfter, mono: mono, now: now, lives: map[string]*life{}}
}

// Expect names lives that hold attempts; one that is never seen is lost like any
// other. All clocks begin anew.
func (w *Watch) Expect(boots []domain.Boot) {
	w.lives = map[string]*life{}
	for _, b := range boots {
		if l := w.lives[b.Name]; l == nil || l.boot < b.Boot {
			w.lives[b.Name] = &life{boot: b.Boot, at: w.mono()}
		}
	}
}

// Look reads the registry once and judges. An error says that it is away; at its
// return every clock begins anew.
func (w *Watch) Look(ctx context.Context) (domain.FleetView, error) {
	beats, err := w.registry.Beats(ctx)
	if err != nil {
		w.away = true
		return domain.FleetView{}, err
	}
	mono := w.mono()
	if w.away {
		w.away = false
		for _, l := range w.lives {
			l.at = mono
		}
	}
	gone := w.observe(beats, mono)
	gone = append(gone, w.silent(mono)...)
	drains, err := w.store.Drains(ctx)
	if err != nil {
		return domain.FleetView{}, err
	}
	v := domain.FleetView{Gone: gone}
	for name, l := range w.lives {
		if l.beat != nil && !l.lost {
			v.Workers = append(v.Workers, worker(*l.beat, drains[name]))
		}
	}
	slices.SortFunc(v.Workers, func(a, b domain.Worker) int { return strings.Compare(a.Name, b.Name) })
	return v, w.save(ctx, mono, len(gone) > 0)
}

// observe takes over what the heartbeats say; it returns lives that were followed
// by a later one.
func (w *Watch) observe(beats []protocol.Heartbeat, mono time.Time) []domain.Boot {
	var gone []domain.Boot
	for i := range beats {
		hb := &beats[i]
		l := w.lives[hb.Name]
		switch {
		case l == nil:
			w.lives[hb.Name] = &life{boot: hb.Boot, seq: hb.Seq, at: mono, beat: hb}
		case l.boot < hb.Boot:
			if !l.lost {
				gone = append(gone, domain.Boot{Name: hb.Name, Boot: l.boot, Reason: "was restarted"})
			}
			w.lives[hb.Name] = &life{boot: hb.Boot, seq: hb.Seq, at: mono, beat: hb}
		case l.boot == hb.Boot && (l.seq != hb.Seq || l.beat == nil):
			l.seq, l.at, l.lost, l.beat = hb.Seq, mono, false, hb
		}
	}
	return gone
}

// silent declares lost whoever has not been heard of for too long. The life stays
// known, so that its return is seen.
func (w *Watch) silent(mono time.Time) []domain.Boot {
	var gone []domain.Boot
	for name, l := range w.lives {
		if !l.lost && mono.Sub(l.at) > w.lostAfter {
			l.lost = true
			gone = append(gone, domain.Boot{Name: name, Boot: l.boot, Reason: fmt.Sprintf("has been silent for %s", w.lostAfter)})
		}
	}
	return gone
}

// saveEach is how often the rows are written when nothing changed but figures.
const saveEach = 3 * time.Second

// save keeps the rows that pages show.
func (w *Watch) save(ctx context.Context, mono time.Time, changed bool) error {
	if !changed && mono.Sub(w.saved) < saveEach {
		return nil
	}
	w.saved = mono
	var rows []domain.Worker
	for _, l := range w.lives {
		if l.beat == nil {
			continue
		}
		row := worker(*l.beat, false)
		row.SeenAt = w.now().Add(-mono.Sub(l.at))
		if l.lost {
			row.State, row.LostAt = domain.WorkerGone, w.now()
		}
		rows = append(rows, row)
	}
	return w.store.Save(ctx, rows)
}

// Bury removes what is left of a life that is over.
func (w *Watch) Bury(ctx context.Context, b domain.Boot) error {
	return w.registry.Forget(ctx, b.Name, b.Boot)
}

func worker(hb protocol.Heartbeat, drain bool) domain.Worker {
	out := domain.Worker{Name: hb.Name, Boot: hb.Boot, State: domain.WorkerState(hb.State), Host: hb.Host, IP: hb.IP, Version: hb.Version,
		Types: hb.Types, Tags: hb.Tags, Lanes: map[domain.Lane]int{}, Cores: hb.Cores, Running: hb.Running,
		Mean: time.Duration(hb.MeanMs) * time.Millisecond, Skew: time.Duration(hb.SkewMs) * time.Millisecond, Seq: hb.Seq, Drain: drain,
		Started: domain.FromMillis(hb.Started), SeenAt: domain.FromMillis(hb.Stamp)}
	for lane, n := range hb.Lanes {
		out.Lanes[domain.Lane(lane)] = n
	}
	for _, id := range hb.Held {
		out.Held = append(out.Held, domain.ID(id))
	}
	return out
}

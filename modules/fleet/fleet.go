package fleet

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/fleet/store"
	"github.com/axsched/ax/worker/protocol"
)

// Registry is where workers say that they are alive.
type Registry interface {
	// Beats returns the last heartbeat of every worker, after a write of its own was read
	// back: where nothing can be written, heartbeats stand still and mean nothing, which is
	// an error. emptied says that what the call before had written is gone.
	Beats(ctx context.Context) (beats []protocol.Heartbeat, emptied bool, err error)
	// Forget removes the queues, the inbox and the place of a life that is over.
	Forget(ctx context.Context, worker string, boot int64) error
	// Catalog reads what a worker told of its types; false: nothing is there.
	Catalog(ctx context.Context, worker string) (protocol.Catalog, bool, error)
}

// Watch judges the heartbeats. It is for one goroutine; make it with New.
type Watch struct {
	registry  Registry
	store     *store.Store
	lostAfter time.Duration
	mono      func() time.Time // monotonic: silence is measured on it
	now       func() time.Time // of the rows
	lives     map[string]*life // by worker name
	gone      []domain.Boot    // found by Expect, told at the next look
	drains    map[string]bool  // as last read
	looked    bool             // a look has succeeded since the start or the last outage
	last      time.Time        // of the last look, on mono
	recalled  bool             // the rows of workers thought alive were read
	saved     time.Time
}

// life is one boot of a worker as it was last seen.
type life struct {
	boot   int64
	seq    int64
	at     time.Time // since when its silence counts: when seq last moved, or the registry was back
	heard  time.Time // on mono: when seq last moved, whatever was away since; zero: not known
	lost   bool
	lostAt time.Time // of the rows
	told   bool      // the row says that it is lost
	// proven says that it was seen to live: a heartbeat that was there at the first
	// look may be a dead worker's last.
	proven   bool
	beat     *protocol.Heartbeat // nil: expected, never seen
	refusing time.Time           // of the rows: since when it refuses work; zero: it does not
	there    bool                // it stood in the registry, which has lost nothing since
	missing  int                 // for how many looks it has not stood there any more
	catalog  string              // what is kept of its types
}

// refuses is since when a life refuses work, by its newest heartbeat; changed says that it
// began or ended to.
func (w *Watch) refuses(since time.Time, hb *protocol.Heartbeat) (at time.Time, changed bool) {
	switch {
	case !worker(*hb, false).Refuses():
		return time.Time{}, !since.IsZero()
	case since.IsZero():
		return w.now(), true
	}
	return since, false
}

// New is a watch that counts a worker as lost after that long in silence.
func New(registry Registry, s *store.Store, lostAfter time.Duration, mono, now func() time.Time) *Watch {
	w := &Watch{registry: registry, store: s, lostAfter: lostAfter, mono: mono, now: now}
	w.Expect(nil)
	return w
}

// Expect names lives that hold attempts; one that is never seen is lost like any
// other, and one that another boot of the same name has followed is gone. All else is
// forgotten and all clocks begin anew.
func (w *Watch) Expect(boots []domain.Boot) {
	w.lives, w.gone, w.drains, w.looked, w.recalled, w.saved = map[string]*life{}, nil, nil, false, false, time.Time{}
	for _, b := range boots {
		l := w.lives[b.Name]
		switch {
		case l == nil:
			w.lives[b.Name] = w.expected(b.Boot)
		case l.boot < b.Boot:
			w.gone = append(w.gone, domain.Boot{Name: b.Name, Boot: l.boot, Reason: restarted})
			w.lives[b.Name] = w.expected(b.Boot)
		case l.boot > b.Boot:
			w.gone = append(w.gone, domain.Boot{Name: b.Name, Boot: b.Boot, Reason: restarted})
		}
	}
}

const restarted = "was restarted"

func (w *Watch) expected(boot int64) *life { return &life{boot: boot, at: w.mono()} }

// Look reads the registry once and judges. An error says that it is away; at its
// return every clock begins anew, as after a pause in which this process did not look
// itself: workers may have stood still with it. So they do where the registry was emptied,
// which swept away heartbeats that nobody has read. What the database refuses is logged and made good
// at a later look: it loses nobody and hides nobody.
func (w *Watch) Look(ctx context.Context) (domain.FleetView, error) {
	beats, emptied, err := w.registry.Beats(ctx)
	if err != nil {
		w.looked = false
		return domain.FleetView{}, err
	}
	mono := w.mono()
	w.looked = w.looked && mono.Sub(w.last) <= max(blindLeast, w.lostAfter/2)
	w.last = mono
	w.recall(ctx)
	if !w.looked || emptied {
		for _, l := range w.lives {
			l.at = mono
		}
	}
	gone, fresh := w.observe(beats, mono)
	fresh = w.part(beats, w.looked && !emptied) || fresh
	gone = slices.Concat(w.gone, gone, w.silent(mono))
	w.looked, w.gone = true, nil
	if drains, err := w.store.Drains(ctx); err == nil {
		w.drains = drains
	} else {
		slog.Warn("who is to drain could not be read; going on with what was known", "error", err)
	}
	w.save(ctx, mono, fresh || len(gone) > 0)
	w.describe(ctx)
	w.forget(beats)
	return domain.FleetView{Workers: w.workers(), Gone: gone, Emptied: emptied, Partial: w.partial()}, nil
}

// partial reports whether it is not known yet of some life whether it lives.
func (w *Watch) partial() bool {
	for _, l := range w.lives {
		if !l.lost && (l.beat == nil || !l.proven) {
			return true
		}
	}
	return !w.recalled
}

// blindLeast is the shortest pause between two looks after which clocks begin anew; the
// broker looks each second.
const blindLeast = 3 * time.Second

func (w *Watch) workers() []domain.Worker {
	var out []domain.Worker
	for name, l := range w.lives {
		if l.beat != nil && l.proven && !l.lost {
			out = append(out, worker(*l.beat, w.drains[name]))
		}
	}
	slices.SortFunc(out, func(a, b domain.Worker) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// recall expects whoever the rows call alive, so that a worker that ended together
// with the broker before, and with the registry, is found lost.
func (w *Watch) recall(ctx context.Context) {
	if w.recalled {
		return
	}
	rows, err := w.store.List(ctx)
	if err != nil {
		slog.Warn("the workers known so far could not be read; trying again", "error", err)
		return
	}
	w.recalled = true
	for _, r := range rows {
		if r.State != domain.WorkerGone && w.lives[r.Name] == nil {
			w.lives[r.Name] = w.expected(r.Boot)
		}
		if l := w.lives[r.Name]; l != nil && l.boot == r.Boot {
			l.refusing = r.RefusingAt
			if since := w.now().Sub(r.SeenAt); l.heard.IsZero() && !r.SeenAt.IsZero() && since > 0 {
				l.heard = w.mono().Add(-since)
			}
		}
	}
}

// observe takes over what the heartbeats say. It returns lives that were followed by
// another one, and whether a life was seen for the first time.
func (w *Watch) observe(beats []protocol.Heartbeat, mono time.Time) (gone []domain.Boot, fresh bool) {
	for i := range beats {
		hb := &beats[i]
		l := w.lives[hb.Name]
		var since time.Time
		if l != nil && l.boot == hb.Boot {
			since = l.refusing
		}
		refusing, changed := w.refuses(since, hb)
		switch {
		case l == nil || w.follows(*hb, l):
			if l != nil && !l.lost {
				gone = append(gone, domain.Boot{Name: hb.Name, Boot: l.boot, Reason: restarted, Heard: w.heardAt(l, mono)})
			}
			stale := l != nil && hb.Boot < l.boot && l.beat == nil // it stood there all the time
			w.lives[hb.Name] = &life{boot: hb.Boot, seq: hb.Seq, at: mono, heard: mono, beat: hb, proven: w.looked && !stale, refusing: refusing}
			fresh = true
		case l.boot != hb.Boot:
			// an older boot of the same directory: its heartbeat means nothing
		case l.beat == nil:
			l.seq, l.beat, l.proven, l.refusing = hb.Seq, hb, w.looked, refusing
			if w.looked {
				l.at, l.heard, l.lost = mono, mono, false
			}
			fresh = true
		case l.seq != hb.Seq:
			fresh = fresh || l.lost || !l.proven || changed || l.beat.State != hb.State || l.beat.Running > 0 && hb.Running == 0 && hb.State == protocol.WorkerDraining || l.beat.Catalog != hb.Catalog
			*l = life{boot: hb.Boot, seq: hb.Seq, at: mono, heard: mono, beat: hb, proven: true, refusing: refusing, catalog: l.catalog}
		}
	}
	return gone, fresh
}

// part finds who has left, and reports whether somebody just has. whole says that the registry has lost nothing since the
// look before. Who has left counts as alive until its silence is over: what it last reported may be on its way.
func (w *Watch) part(beats []protocol.Heartbeat, whole bool) (fresh bool) {
	there := make(map[domain.Boot]bool, len(beats))
	for _, hb := range beats {
		there[domain.Boot{Name: hb.Name, Boot: hb.Boot}] = true
	}
	for name, l := range w.lives {
		switch here := there[domain.Boot{Name: name, Boot: l.boot}]; {
		case here || !whole:
			l.there, l.missing = here, 0
		case l.there:
			l.missing++
			fresh = fresh || l.missing == leftAfter
		}
	}
	return fresh
}

// leftAfter is for how many looks who has left is missing: the registry may lose all between the two questions of one look,
// which is seen at the next.
const leftAfter = 2

// left says that a life took itself off the registry, as a worker does when nothing of its tasks is alive any more.
func (l *life) left() bool { return l.missing >= leftAfter }

// follows reports whether the heartbeat is of a life after l: a later boot, or a boot
// of another data directory, which may have the name once the holder is gone.
func (w *Watch) follows(hb protocol.Heartbeat, l *life) bool {
	if l.boot == hb.Boot {
		return false
	}
	return hb.Boot > l.boot || l.beat != nil && l.beat.UID != hb.UID || l.beat == nil && l.lost
}

// silent declares lost whoever has not been heard of for too long. The life stays
// known, so that its return is seen.
func (w *Watch) silent(mono time.Time) []domain.Boot {
	var gone []domain.Boot
	for name, l := range w.lives {
		if !l.lost && mono.Sub(l.at) > w.lostAfter {
			l.lost, l.lostAt = true, w.now()
			reason := "has not been heard since " + w.unheardSince(l, mono).UTC().Format(time.RFC3339)
			if l.beat != nil && l.beat.Disk != "" {
				reason += ", and could not write its journal before that: " + l.beat.Disk
			}
			gone = append(gone, domain.Boot{Name: name, Boot: l.boot, Reason: reason, Heard: w.heardAt(l, mono)})
		}
	}
	return gone
}

// heardAt is when a life was heard for the last time, by the clock of the rows; zero: that is not known.
func (w *Watch) heardAt(l *life, mono time.Time) time.Time {
	if l.heard.IsZero() {
		return time.Time{}
	}
	return w.now().Add(-mono.Sub(l.heard))
}

// unheardSince is since when nothing was heard of a life, whatever was away meanwhile; of one that never was heard, since
// when it is waited for.
func (w *Watch) unheardSince(l *life, mono time.Time) time.Time {
	if at := w.heardAt(l, mono); !at.IsZero() {
		return at
	}
	return w.now().Add(-mono.Sub(l.at))
}

// forget drops lives that are lost, told and no longer in the registry.
func (w *Watch) forget(beats []protocol.Heartbeat) {
	there := make(map[string]bool, len(beats))
	for _, hb := range beats {
		there[hb.Name] = true
	}
	for name, l := range w.lives {
		if l.lost && l.told && !there[name] {
			delete(w.lives, name)
		}
	}
}

// saveEach is how often the rows are written when nothing changed but figures.
const saveEach = 3 * time.Second

// save keeps the rows that pages show. What fails is written at the next look.
func (w *Watch) save(ctx context.Context, mono time.Time, changed bool) {
	if !changed && !w.saved.IsZero() && mono.Sub(w.saved) < saveEach {
		return
	}
	var rows []domain.Worker
	var told []*life
	var err error
	for name, l := range w.lives {
		switch {
		case l.lost && l.told:
		case l.lost:
			told = append(told, l)
			err = errors.Join(err, w.store.Lost(ctx, domain.Worker{Name: name, Boot: l.boot, LostAt: l.lostAt}))
		case l.beat != nil && l.proven:
			row := worker(*l.beat, false)
			row.SeenAt, row.RefusingAt = w.now().Add(-mono.Sub(l.heard)), l.refusing
			if l.left() {
				row.Running = 0
			}
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b domain.Worker) int { return strings.Compare(a.Name, b.Name) })
	if err = errors.Join(err, w.store.Save(ctx, rows)); err != nil {
		w.saved = time.Time{}
		slog.Warn("the workers' rows could not be written; trying again", "error", err)
		return
	}
	w.saved = mono
	for _, l := range told {
		l.told = true
	}
}

// Bury removes what is left of a life that is over.
func (w *Watch) Bury(ctx context.Context, b domain.Boot) error {
	return w.registry.Forget(ctx, b.Name, b.Boot)
}

func worker(hb protocol.Heartbeat, drain bool) domain.Worker {
	out := domain.Worker{Name: hb.Name, Boot: hb.Boot, State: domain.WorkerState(hb.State), Host: hb.Host, IP: hb.IP, Version: hb.Version,
		Types: hb.Types, Threadless: hb.Threadless, Tags: hb.Tags, Lanes: map[domain.Lane]int{}, Cores: hb.Cores, Running: hb.Running,
		Mean: time.Duration(hb.MeanMs) * time.Millisecond, Skew: time.Duration(hb.SkewMs) * time.Millisecond, Seq: hb.Seq, Drain: drain, Disk: cut(hb.Disk),
		Started: domain.FromMillis(hb.Started), SeenAt: domain.FromMillis(hb.Stamp)}
	for lane, n := range hb.Lanes {
		out.Lanes[domain.Lane(lane)] = n
	}
	for _, id := range hb.Held {
		out.Held = append(out.Held, domain.ID(id))
	}
	return out
}

// diskMost bounds what is kept of what a worker says of its disk, in bytes: the column's width.
const diskMost = 255

// cut bounds a worker's words; a character at the end goes whole or not at all.
func cut(text string) string {
	if len(text) > diskMost {
		text = text[:diskMost]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}

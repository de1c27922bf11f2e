package scheduler

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// known is a trigger with its job's spans as of one ver: at least all that end after
// its Next. Whatever changes a span raises the ver in the same transaction.
type known struct {
	plan.Trigger
	spans []plan.Span
}

// memo remembers triggers of the near future, read before they are due or left by the
// taking before, so that a taking only locks and compares vers. A memo of another ver
// than that of the locked row is not looked at. Safe for concurrent use.
type memo struct {
	mu sync.Mutex
	of map[domain.ID]known
}

// take hands out what is known of the triggers and forgets it.
func (m *memo) take(ids []domain.ID) map[domain.ID]known {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[domain.ID]known, len(ids))
	for _, id := range ids {
		if k, ok := m.of[id]; ok {
			out[id] = k
			delete(m.of, id)
		}
	}
	return out
}

// put remembers triggers, each unless a newer state of it is known.
func (m *memo) put(ks []known) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[domain.ID]known{}
	}
	for _, k := range ks {
		if k.Ver >= m.of[k.ID].Ver {
			m.of[k.ID] = k
		}
	}
}

// keep forgets all but the triggers given and lists those of them of which nothing
// current is known.
func (m *memo) keep(near []plan.Due) (missing []domain.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := make(map[domain.ID]known, len(near))
	for _, d := range near {
		k, ok := m.of[d.ID]
		if ok {
			kept[d.ID] = k
		}
		if !ok || k.Ver < d.Ver {
			missing = append(missing, d.ID)
		}
	}
	m.of = kept
	return missing
}

// prepareMost is how many triggers are read in one statement before they are due.
const prepareMost = 500

// prepare reads the triggers of the coming window of which nothing is known yet. What
// it fails to read is read by the taking.
func (t *taker) prepare(ctx context.Context, near []plan.Due) {
	for part := range slices.Chunk(t.memo.keep(near), prepareMost) {
		ks, _, err := t.read(ctx, part)
		if err != nil {
			if ctx.Err() == nil {
				slog.Debug("coming triggers could not be read ahead", "error", err)
			}
			return
		}
		t.memo.put(slices.Collect(maps.Values(ks)))
	}
}

// read reads triggers, and after them the spans of their jobs: if a row's ver is still
// the same when it is locked, then so are its spans. Those that can't be read are in
// broken with the reason.
func (t *taker) read(ctx context.Context, ids []domain.ID) (ks map[domain.ID]known, broken map[domain.ID]error, err error) {
	found, broken, err := t.store.Read(ctx, ids)
	if err != nil || len(found) == 0 {
		return nil, broken, err
	}
	jobs := make([]domain.ID, len(found))
	oldest := found[0].Next
	for i, f := range found {
		jobs[i] = f.JobID
		if f.Next.Before(oldest) {
			oldest = f.Next
		}
	}
	spans, torn, err := readSpans(ctx, t.store, t.calendars, jobs, oldest)
	if err != nil {
		return nil, nil, err
	}
	ks = make(map[domain.ID]known, len(found))
	for _, f := range found {
		if err := torn[f.JobID]; err != nil {
			broken[f.ID] = err
			continue
		}
		of := spans[f.JobID]
		for i := range of {
			of[i].Prepare()
		}
		ks[f.ID] = known{f, of}
	}
	return ks, broken, nil
}

// later is how the trigger stands after a taking that was committed.
func (k known) later(t plan.Trigger, next time.Time) known {
	t.Next, t.Ver = next, k.Ver+1
	spans := slices.DeleteFunc(slices.Clone(k.spans), func(s plan.Span) bool { return !s.Open() && s.To.Before(next) })
	return known{t, spans}
}

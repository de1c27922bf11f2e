package broker

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol/crash"
)

// parts are the instances one of whose shards has moved since they were made to stand as
// their shards do. What is missed here, they find themselves at their next waking. Safe
// for concurrent use.
type parts struct {
	mu   sync.Mutex
	of   map[domain.ID]bool
	came bell
}

// gatherPause is how long a round of gathering waits for more shards to move: many of one
// instance move together, and each look reads all of them.
const gatherPause = 30 * time.Millisecond

// hear notes whose shards have moved, and what was split just now.
func (p *parts) hear(changes []domain.Change) {
	var ids []domain.ID
	for _, c := range changes {
		switch {
		case c.Instance.IsShard() && c.Move != "":
			ids = append(ids, c.Instance.PartOf)
		case c.Move == domain.MoveSplit:
			ids = append(ids, c.Instance.ID)
		}
	}
	p.add(ids)
}

func (p *parts) add(ids []domain.ID) {
	if len(ids) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[domain.ID]bool{}
	}
	for _, id := range ids {
		p.of[id] = true
	}
	p.came.ring()
}

// take takes away all.
func (p *parts) take() []domain.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := slices.Sorted(maps.Keys(p.of))
	p.of = nil
	return ids
}

// gatherParts gathers what was heard of until ctx ends.
func (b *Broker) gatherParts(ctx context.Context) error {
	var said complaint
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.parts.came:
		}
		pause(ctx, gatherPause)
		for ids := range slices.Chunk(b.parts.take(), pageSize) {
			crash.At("gather.heard")
			if err := b.Shards.Gather(ctx, ids); err != nil && ctx.Err() == nil {
				if said.due(err, b.Mono()) {
					slog.Warn("instances could not be gathered from their shards; once more", "instances", len(ids), "error", err)
				}
				pause(ctx, retryPause)
				b.parts.add(ids)
				continue
			}
			crash.At("gather.committed")
		}
	}
}

// mostShards bounds what one page is split into, and so the transaction that makes the
// shards; one instance of any size is.
const mostShards = domain.MaxShards

// split plans that a ready instance is split; false: nobody is there to whom a broadcast
// could go, or the next page does it.
func (d *decider) split(in domain.Instance, spec domain.JobSpec) bool {
	s := domain.Split{Instance: in, Shards: spec.Shards}
	if spec.Broadcast {
		if s.Workers = d.audience(spec); len(s.Workers) == 0 {
			d.m.stick(in)
			return false
		}
		s.Shards = len(s.Workers)
	}
	if d.p.shards > 0 && d.p.shards+s.Shards > mostShards {
		return false
	}
	d.p.shards += s.Shards
	d.p.split = append(d.p.split, s)
	return true
}

// audience are the workers to which a broadcast goes: all that could run the job now, in
// the order of their names.
func (d *decider) audience(spec domain.JobSpec) []string {
	var names []string
	for name, t := range d.m.targets {
		if d.m.fresh && t.fits(spec) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// nameTag is a tag that the worker of the name alone offers, since no tag begins so.
func nameTag(worker string) string { return "\x00" + worker }

// onlyOn is the definition of a job whose task may run on one worker alone.
func onlyOn(spec *domain.JobSpec, worker string) *domain.JobSpec {
	if worker == "" || spec == nil {
		return spec
	}
	own := *spec
	own.Tags = append(slices.Clone(spec.Tags), nameTag(worker))
	return &own
}

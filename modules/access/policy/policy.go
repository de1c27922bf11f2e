// Package policy answers who may do what, from the table of roles below and the
// memberships in force. It is the only importer of casbin, and it changes nothing:
// memberships are changed by access.
package policy

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

// Source gives all memberships.
type Source interface {
	Memberships(ctx context.Context) ([]access.Membership, error)
}

const (
	fresh    = 5 * time.Second  // younger answers come as they are
	stale    = 30 * time.Second // up to here they come at once while newer ones are fetched
	patience = 3 * time.Second  // for the source, while nothing is known
	again    = time.Second      // for the source, while the last memberships hold
)

// Policy answers from memory. A change by this process counts from Invalidate on,
// one by another process after 5 s, or 30 s where nobody asks in between. While the
// source is away the last memberships hold; before it has ever answered nobody may
// do anything. Safe for concurrent use.
type Policy struct {
	source Source
	now    func() time.Time
	log    *slog.Logger
	dirty  atomic.Int64 // raised by Invalidate
	load   sync.Mutex
	behind atomic.Bool // a fetch is running behind
	last   atomic.Pointer[snapshot]
}

// New makes a policy over the source. now is the clock by which answers age.
func New(source Source, now func() time.Time) *Policy {
	return &Policy{source: source, now: now, log: slog.Default()}
}

// Invalidate makes the next answer come from the rows as they are then.
func (p *Policy) Invalidate() { p.dirty.Add(1) }

// Known reports whether any role grants the action.
func (p *Policy) Known(action domain.Action) bool {
	return slices.ContainsFunc(grants, func(g grant) bool { return g.action == action })
}

// Allowed reports whether the account may do the action in the project. Project
// domain.EveryProject asks for a role that holds everywhere.
func (p *Policy) Allowed(_ context.Context, account, project domain.ID, action domain.Action) bool {
	s := p.current()
	return s != nil && s.allowed(account, project, action)
}

// Visible is the projects in which the account may do the action.
func (p *Policy) Visible(_ context.Context, account domain.ID, action domain.Action) domain.ProjectSet {
	s := p.current()
	if s == nil {
		return domain.ProjectSet{}
	}
	if s.allowed(account, domain.EveryProject, action) {
		return domain.ProjectSet{All: true}
	}
	var set domain.ProjectSet
	for _, project := range s.projects[account] {
		if s.allowed(account, project, action) {
			set.IDs = append(set.IDs, project)
		}
	}
	return set
}

// current is the newest snapshot that may be used. It asks the source by a context
// of its own: the asker's may carry a transaction whose rows are not committed.
func (p *Policy) current() *snapshot {
	s := p.last.Load()
	if s == nil || s.dirty != p.dirty.Load() {
		return p.fetch()
	}
	switch age := p.now().Sub(s.at); {
	case age < fresh:
		return s
	case age < stale:
		if p.behind.CompareAndSwap(false, true) {
			go func() {
				defer p.behind.Store(false)
				p.fetch()
			}()
		}
		return s
	}
	return p.fetch()
}

func (p *Policy) fetch() *snapshot {
	p.load.Lock()
	defer p.load.Unlock()
	old, dirty, now := p.last.Load(), p.dirty.Load(), p.now()
	if old != nil && old.dirty == dirty && now.Sub(old.at) < fresh {
		return old // somebody else has just done it
	}
	wait := patience
	if old != nil && old.dirty == dirty {
		wait = again // a page waits for it
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	s, err := p.build(ctx)
	if err != nil {
		p.log.Warn("memberships cannot be read; the last known ones hold", "error", err)
		if old == nil {
			return nil
		}
		s = old.again()
	}
	s.at, s.dirty = now, dirty
	p.last.Store(s)
	return s
}

func (p *Policy) build(ctx context.Context) (*snapshot, error) {
	rows, err := p.source.Memberships(ctx)
	if err != nil {
		return nil, err
	}
	return newSnapshot(rows)
}

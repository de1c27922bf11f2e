package pool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/pool/store"
)

// Pools has the use cases. All fields must be set. Safe for concurrent use.
type Pools struct {
	Store     *store.Store
	IDs       *domain.IDs
	Now       func() time.Time
	Projects  Projects
	Instances Instances
	Jobs      Jobs
	Audit     Audit
	// Nudge lets the active broker look again at what waits; it must not block.
	Nudge func()
}

// View is a pool with how it is used.
type View struct {
	domain.Pool
	domain.PoolUse
	Project string
}

// List reads the pools of the projects in sight, by project and name.
func (p *Pools) List(ctx context.Context, seen domain.ProjectSet) ([]View, error) {
	found, err := p.Store.List(ctx, seen)
	if err != nil {
		return nil, err
	}
	out, err := p.views(ctx, found)
	slices.SortStableFunc(out, func(a, b View) int { return strings.Compare(a.Project, b.Project) })
	return out, err
}

// Get reads one pool; NotFound if there is none.
func (p *Pools) Get(ctx context.Context, key domain.PoolKey) (View, error) {
	found, err := p.Store.ByKeys(ctx, []domain.PoolKey{key})
	if err != nil {
		return View{}, err
	}
	one, ok := found[key]
	if !ok {
		return View{}, none(key.Name)
	}
	out, err := p.views(ctx, []domain.Pool{one})
	if err != nil {
		return View{}, err
	}
	return out[0], nil
}

func none(name string) error {
	return domain.Fail(domain.NotFound, "there is no pool %q in this project", name).WithHint("ax pools list").Coded("pool.none", "name", name)
}

func (p *Pools) views(ctx context.Context, pools []domain.Pool) ([]View, error) {
	projects := map[domain.ID]bool{}
	for _, one := range pools {
		projects[one.ProjectID] = true
	}
	ids := slices.Sorted(maps.Keys(projects))
	names, err := p.Projects.Names(ctx)
	if err != nil {
		return nil, err
	}
	uses, err := p.Instances.PoolUse(ctx, ids)
	if err != nil {
		return nil, err
	}
	jobs, err := p.Jobs.PoolJobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]View, len(pools))
	for i, one := range pools {
		out[i] = View{Pool: one, PoolUse: uses[one.Key()], Project: names[one.ProjectID]}
		out[i].Jobs = jobs[one.Key()]
	}
	return out, nil
}

// Change asks for how a pool shall be; nil fields stay as they are.
type Change struct {
	Project string // its name; a new one is made with its first pool, where the caller may
	Name    string
	Limit   *int // required for a new pool
	Title   *string
	// Base is the ver that the caller saw: Conflict if there is another now. 0 = whatever it is.
	Base int64
	// Whether there must be none, or one, of the name; both false: either.
	New, Known bool
	Reason     string
}

// Set makes a pool or changes one. What runs goes on when the limit is lowered below it; nothing
// more is sent to a worker once Set has returned, until there is room under the new limit.
// allow is asked for the right that the change needs, with the pool locked; first for that to read it.
func (p *Pools) Set(ctx context.Context, c Change, allow Allow) (pool domain.Pool, err error) {
	if err := c.check(); err != nil {
		return domain.Pool{}, err
	}
	err = p.Store.Tx(ctx, func(ctx context.Context) error {
		project, err := p.Projects.Ensure(ctx, c.Project)
		if err == nil {
			err = allow(ctx, project, domain.ActPoolRead)
		}
		if err != nil {
			return err
		}
		key := domain.PoolKey{Project: project, Name: c.Name}
		was, there, err := p.Store.Lock(ctx, key)
		if err != nil {
			return err
		}
		if !there {
			pool, err = p.make(ctx, c, key, allow)
		} else {
			pool, err = p.change(ctx, c, was, allow)
		}
		return err
	})
	return pool, err
}

// Allow asks whether the caller may do something in a project.
type Allow func(ctx context.Context, project domain.ID, action domain.Action) error

func (p *Pools) make(ctx context.Context, c Change, key domain.PoolKey, allow Allow) (domain.Pool, error) {
	if err := allow(ctx, key.Project, domain.ActPoolWrite); err != nil {
		return domain.Pool{}, err
	}
	if c.Known || c.Base != 0 {
		return domain.Pool{}, none(c.Name)
	}
	if c.Limit == nil {
		return domain.Pool{}, domain.Fail(domain.Invalid, "a new pool needs a limit").At("limit").Coded("pool.no_limit")
	}
	now := p.Now()
	one := domain.Pool{ID: p.IDs.Next(), ProjectID: key.Project, Name: key.Name, Limit: *c.Limit, Ver: 1, CreatedAt: now, UpdatedAt: now}
	if c.Title != nil {
		one.Title = strings.TrimSpace(*c.Title)
	}
	if err := p.Store.Insert(ctx, one); domain.Is(err, domain.Exists) {
		return one, taken(one.Name)
	} else if err != nil {
		return one, err
	}
	p.nudge(ctx)
	return one, p.Audit.Changed(ctx, one.ProjectID, string(domain.ActPoolWrite), object(one), "", standing(one, c.Reason))
}

func taken(name string) error {
	return domain.Fail(domain.Exists, "there is a pool %q already", name).WithHint("edit it, or choose another name").At("name").Coded("pool.taken", "name", name)
}

func (p *Pools) change(ctx context.Context, c Change, was domain.Pool, allow Allow) (domain.Pool, error) {
	is := was
	if c.Limit != nil {
		is.Limit = *c.Limit
	}
	if c.Title != nil {
		is.Title = strings.TrimSpace(*c.Title)
	}
	action := domain.ActPoolLimit
	if is.Title != was.Title {
		action = domain.ActPoolWrite
	}
	if err := allow(ctx, was.ProjectID, action); err != nil {
		return was, err
	}
	if c.New {
		return was, taken(was.Name)
	}
	if c.Base != 0 && c.Base != was.Ver {
		return was, domain.Fail(domain.Conflict, "pool %s was changed meanwhile: its limit is %d now", was.Name, was.Limit).
			WithHint("look at it again and repeat").Coded("pool.overtaken", "name", was.Name, "limit", strconv.Itoa(was.Limit))
	}
	if is == was {
		return was, nil
	}
	is.UpdatedAt = p.Now()
	if err := p.Store.Update(ctx, is); err != nil {
		return was, err
	}
	is.Ver++
	p.nudge(ctx)
	return is, p.Audit.Changed(ctx, is.ProjectID, string(action), object(is), standing(was, ""), standing(is, c.Reason))
}

func (p *Pools) nudge(ctx context.Context) { p.Store.AfterCommit(ctx, p.Nudge) }

// Delete removes a pool. Conflict, with their names, while jobs name it, and while instances have
// a place in it or wait for one: they would all start at once.
func (p *Pools) Delete(ctx context.Context, key domain.PoolKey, reason string, allow Allow) error {
	return p.Store.Tx(ctx, func(ctx context.Context) error {
		one, there, err := p.Store.Lock(ctx, key)
		if err != nil {
			return err
		}
		if err := allow(ctx, key.Project, domain.ActPoolWrite); err != nil {
			return err
		}
		if !there {
			return none(key.Name)
		}
		const named = 5
		jobs, err := p.Jobs.NamePool(ctx, key, named+1)
		if err != nil {
			return err
		}
		if len(jobs) > 0 {
			return inUse(one, jobs, named)
		}
		uses, err := p.Instances.PoolUse(ctx, []domain.ID{key.Project})
		if err != nil {
			return err
		}
		if u := uses[key]; u.Used+u.Waiting > 0 {
			return domain.Fail(domain.Conflict, "pool %s cannot be deleted: %d instances have a place in it and %d wait for one", one.Name, u.Used, u.Waiting).
				WithHint("wait for their end, or kill them").Coded("pool.busy", "name", one.Name, "used", strconv.Itoa(u.Used), "waiting", strconv.Itoa(u.Waiting))
		}
		if err := p.Store.Delete(ctx, one.ID); err != nil {
			return err
		}
		p.nudge(ctx)
		return p.Audit.Changed(ctx, one.ProjectID, string(domain.ActPoolWrite), object(one), standing(one, ""), gone(reason))
	})
}

func inUse(one domain.Pool, jobs []string, most int) error {
	names := strings.Join(jobs[:min(len(jobs), most)], ", ")
	if len(jobs) > most {
		names += ", …"
	}
	return domain.Fail(domain.Conflict, "pool %s cannot be deleted: these jobs name it: %s", one.Name, names).
		WithHint("take pool: out of their files first").Coded("pool.in_use", "name", one.Name, "jobs", names)
}

// check judges a change by itself.
func (c Change) check() error {
	if err := checkName(c.Name); err != nil {
		return err
	}
	if c.Limit != nil && (*c.Limit < 0 || *c.Limit > domain.MaxPoolLimit) {
		return BadLimit(strconv.Itoa(*c.Limit))
	}
	if c.Title != nil && (utf8.RuneCountInString(*c.Title) > maxTitle || strings.ContainsFunc(*c.Title, unicode.IsControl)) {
		return domain.Fail(domain.Invalid, "a title is one line of at most %d characters", maxTitle).At("title").Coded("pool.bad_title", "max", strconv.Itoa(maxTitle))
	}
	return nil
}

const (
	maxName  = 100
	maxTitle = 200
)

// BadLimit says what a limit is.
func BadLimit(given string) error {
	most := strconv.Itoa(domain.MaxPoolLimit)
	return domain.Fail(domain.Invalid, "a limit is a whole number from 0 (paused) to %s, not %q", most, given).At("limit").Coded("pool.bad_limit", "given", given, "max", most)
}

// checkName holds a name against the rule for names of jobs.
func checkName(name string) error {
	good := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.", r) }
	if name == "" || utf8.RuneCountInString(name) > maxName || strings.ContainsRune("-.", rune(name[0])) || strings.ContainsFunc(name, func(r rune) bool { return !good(r) }) {
		return domain.Fail(domain.Invalid, "%q is no name of a pool", name).At("name").WithHint("1 to 100 letters and digits, and _ - . inside").Coded("pool.bad_name", "name", name)
	}
	return nil
}

// object names a pool in the audit trail.
func object(p domain.Pool) string { return "pool/" + p.Name }

// standing is how a pool stands, for the trail.
func standing(p domain.Pool, reason string) string {
	text := fmt.Sprintf("limit: %d", p.Limit)
	if p.Title != "" {
		text += fmt.Sprintf("\ntitle: %q", p.Title)
	}
	if reason != "" {
		text += fmt.Sprintf("\nreason: %q", reason)
	}
	return text
}

func gone(reason string) string {
	if reason == "" {
		return ""
	}
	return fmt.Sprintf("deleted, reason: %q", reason)
}

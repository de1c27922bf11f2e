package policy

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
	"github.com/casbin/casbin/v2/persist"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

// rules: a role that holds in project 0 holds in every project.
const rules = `
[request_definition]
r = sub, dom, act
[policy_definition]
p = sub, act
[role_definition]
g = _, _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.act == p.act && (g(r.sub, p.sub, r.dom) || g(r.sub, p.sub, "0"))
`

// snapshot is the memberships of one moment, with the answers given from them.
type snapshot struct {
	at       time.Time
	dirty    int64
	enforcer *casbin.Enforcer
	projects map[domain.ID][]domain.ID // where an account has any role, ascending
	mu       *sync.Mutex               // casbin's enforcer caches matchers while it answers
	answers  *sync.Map                 // question → bool
}

type question struct {
	account, project domain.ID
	action           domain.Action
}

func newSnapshot(rows []access.Membership) (*snapshot, error) {
	m, err := model.NewModelFromString(rules)
	if err != nil {
		return nil, err
	}
	e, err := casbin.NewEnforcer(m, adapter{rows})
	if err != nil {
		return nil, err
	}
	s := &snapshot{enforcer: e, projects: map[domain.ID][]domain.ID{}, mu: &sync.Mutex{}, answers: &sync.Map{}}
	for _, r := range rows {
		if r.ProjectID != domain.EveryProject && !slices.Contains(s.projects[r.UserID], r.ProjectID) {
			s.projects[r.UserID] = append(s.projects[r.UserID], r.ProjectID)
		}
	}
	for _, ids := range s.projects {
		slices.Sort(ids)
	}
	return s, nil
}

// again is the same memberships for another while.
func (s *snapshot) again() *snapshot {
	c := *s
	return &c
}

func (s *snapshot) allowed(account, project domain.ID, action domain.Action) bool {
	if account == 0 {
		return false
	}
	q := question{account, project, action}
	if yes, ok := s.answers.Load(q); ok {
		return yes.(bool)
	}
	s.mu.Lock()
	yes, err := s.enforcer.Enforce(subject(account), project.String(), string(action))
	s.mu.Unlock()
	yes = yes && err == nil
	s.answers.Store(q, yes)
	return yes
}

func subject(account domain.ID) string { return "account:" + account.String() }

// adapter feeds casbin the table of grants and the membership rows.
type adapter struct{ rows []access.Membership }

var errReadOnly = errors.New("rights are changed by access, not through casbin")

// LoadPolicy gives casbin everything it knows.
func (a adapter) LoadPolicy(m model.Model) error {
	for _, g := range grants {
		if err := persist.LoadPolicyArray([]string{"p", string(g.role), string(g.action)}, m); err != nil {
			return err
		}
	}
	for _, r := range a.rows {
		if err := persist.LoadPolicyArray([]string{"g", subject(r.UserID), string(r.Role), r.ProjectID.String()}, m); err != nil {
			return err
		}
	}
	return nil
}

// SavePolicy refuses.
func (adapter) SavePolicy(model.Model) error { return errReadOnly }

// AddPolicy refuses.
func (adapter) AddPolicy(string, string, []string) error { return errReadOnly }

// RemovePolicy refuses.
func (adapter) RemovePolicy(string, string, []string) error { return errReadOnly }

// RemoveFilteredPolicy refuses.
func (adapter) RemoveFilteredPolicy(string, string, int, ...string) error { return errReadOnly }

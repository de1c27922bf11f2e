package web_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/idem"
)

// Who may what: 1 is admin of all, 2 operates project 7, 3 looks at it, 4 operates project 8.
func (w *world) may(account, project domain.ID, action domain.Action) bool {
	looking := []domain.Action{domain.ActProjectRead, domain.ActInstanceRead, domain.ActLogRead}
	operating := append([]domain.Action{domain.ActInstanceTrigger, domain.ActInstanceKill, domain.ActInstanceRerun, domain.ActOrphanSettle, domain.ActBackfillStart}, looking...)
	switch account {
	case 1:
		return true
	case 2:
		return project == mine && slices.Contains(operating, action)
	case 3:
		return project == mine && slices.Contains(looking, action)
	case 4:
		return project == theirs && slices.Contains(operating, action)
	}
	return false
}

// Allowed asks may.
func (w *world) Allowed(_ context.Context, account, project domain.ID, action domain.Action) bool {
	return w.may(account, project, action)
}

// Visible asks may of both projects.
func (w *world) Visible(_ context.Context, account domain.ID, action domain.Action) domain.ProjectSet {
	if account == 1 {
		return domain.ProjectSet{All: true}
	}
	var s domain.ProjectSet
	for _, p := range []domain.ID{mine, theirs} {
		if w.may(account, p, action) {
			s.IDs = append(s.IDs, p)
		}
	}
	return s
}

// Known knows every action.
func (w *world) Known(domain.Action) bool { return true }

// Account is person number id.
func (w *world) Account(_ context.Context, id domain.ID) (domain.Principal, error) {
	return domain.Principal{ID: id, Name: "person" + id.String(), Kind: domain.PrincipalUser}, nil
}

// Bearer reads token-of-N.
func (w *world) Bearer(_ context.Context, secret string) (domain.Principal, error) {
	id, err := domain.ParseID(strings.TrimPrefix(secret, "token-of-"))
	if err != nil {
		return domain.Principal{}, domain.Fail(domain.Unauthentic, "no such token")
	}
	return domain.Principal{ID: id, TokenID: id, Name: "person" + id.String(), Kind: domain.PrincipalToken}, nil
}

// FindCtx finds a session.
func (w *world) FindCtx(_ context.Context, token string) ([]byte, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, ok := w.sessions[token]
	return b, ok, nil
}

// CommitCtx keeps a session.
func (w *world) CommitCtx(_ context.Context, token string, data []byte, _ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[token] = data
	return nil
}

// DeleteCtx ends a session.
func (w *world) DeleteCtx(_ context.Context, token string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sessions, token)
	return nil
}

// Once runs an effect in a transaction, once per key.
func (w *world) Once(ctx context.Context, k idem.Key, effect func(ctx context.Context) (idem.Answer, error)) (a idem.Answer, replayed bool, err error) {
	key := k.Principal + k.Route + k.Hash
	w.mu.Lock()
	a, replayed = w.answers[key]
	body := w.bodies[key]
	w.mu.Unlock()
	if replayed && k.Hash != "" {
		if body != k.Body {
			return a, false, domain.Fail(domain.Conflict, "this key was used for another request")
		}
		return a, true, nil
	}
	err = w.db.Tx(ctx, func(ctx context.Context) error {
		a, err = effect(ctx)
		return err
	})
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.answers[key], w.bodies[key] = a, k.Body
	}
	return a, false, err
}

// Denied remembers refusals.
func (w *world) Denied(_ context.Context, _ domain.ID, action domain.Action, object string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.denied = append(w.denied, string(action)+" "+object)
	return nil
}

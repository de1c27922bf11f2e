package store_test

import (
	"testing"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/access/store"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

func each(t *testing.T, fn func(t *testing.T, s *store.Store)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		db, err := dbx.Open(t.Context(), url, dbx.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		fn(t, store.New(db, time.Now, time.Hour))
	})
}

func TestATokenIsUsedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		now := time.Now().UTC().Truncate(time.Millisecond)
		tok := access.Token{ID: 5, Kind: access.TokenLogin, UserID: 1, Name: "link", Hash: "h", CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
		if err := s.InsertToken(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		got, err := s.TokenByHash(t.Context(), access.TokenLogin, "h")
		if err != nil || got != tok {
			t.Errorf("read %+v, %v; wrote %+v", got, err, tok)
		}
		if _, err := s.TokenByHash(t.Context(), access.TokenAPI, "h"); !domain.Is(err, domain.NotFound) {
			t.Errorf("found under another kind: %v", err)
		}
		for _, want := range []bool{true, false} {
			if first, err := s.UseToken(t.Context(), tok.ID, now); err != nil || first != want {
				t.Errorf("used: %v, %v, want %v", first, err, want)
			}
		}
	})
}

func TestNamesAreUniqueAndTellUpperFromLowerCase(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		acc := access.Account{ID: 1, Name: "Ann", CreatedAt: time.UnixMilli(1).UTC()}
		if err := s.InsertAccount(t.Context(), acc); err != nil {
			t.Fatal(err)
		}
		acc.ID = 2
		if err := s.InsertAccount(t.Context(), acc); !domain.Is(err, domain.Exists) {
			t.Errorf("a second Ann: %v", err)
		}
		if _, err := s.AccountByName(t.Context(), "ann"); !domain.Is(err, domain.NotFound) {
			t.Errorf("ann is taken for Ann: %v", err)
		}
		for range 2 {
			if err := s.InsertMembership(t.Context(), access.Membership{UserID: 1, ProjectID: 7, Role: access.Viewer}); err != nil {
				t.Errorf("membership: %v", err)
			}
		}
		if all, err := s.Memberships(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("memberships %v, %v", all, err)
		}
	})
}

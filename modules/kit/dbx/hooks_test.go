package dbx_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

func TestConnectionHooks(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		watcher := open(t, url, dbx.Options{})
		var mu sync.Mutex
		var opened, closed []int64
		db, err := dbx.Open(t.Context(), url, dbx.Options{
			Pool: 3,
			OnConnect: func(_ context.Context, id int64) error {
				mu.Lock()
				defer mu.Unlock()
				opened = append(opened, id)
				return nil
			},
			OnClose: func(id int64) { mu.Lock(); defer mu.Unlock(); closed = append(closed, id) },
		})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				err := db.Tx(t.Context(), func(ctx context.Context) error {
					var id int64
					err := db.Scan(ctx, &id, "SELECT CONNECTION_ID()")
					mu.Lock()
					defer mu.Unlock()
					if !slices.Contains(opened, id) {
						t.Errorf("connection %d is used and was not reported", id)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		killed := opened[0]
		if err := watcher.KillConnection(t.Context(), killed); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(opened)
		slices.Sort(closed)
		if len(opened) == 0 || len(opened) > 3 || !slices.Equal(opened, closed) {
			t.Fatalf("opened %v, closed %v", opened, closed)
		}
	})
}

func TestOnCloseAloneKnowsTheID(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		var closed []int64
		db, err := dbx.Open(t.Context(), dbtest.MariaDB(t), dbx.Options{Pool: 1, OnClose: func(id int64) { closed = append(closed, id) }})
		if err != nil {
			t.Fatal(err)
		}
		var id int64
		if err := db.Scan(t.Context(), &id, "SELECT CONNECTION_ID()"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil || !slices.Equal(closed, []int64{id}) {
			t.Fatalf("closed %v, want %d (%v)", closed, id, err)
		}
	})
}

func TestOnConnectRefuses(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		closed := 0
		_, err := dbx.Open(t.Context(), dbtest.MariaDB(t), dbx.Options{
			OnConnect: func(context.Context, int64) error { return errWanted },
			OnClose:   func(int64) { closed++ },
		})
		if !errors.Is(err, errWanted) || closed != 0 {
			t.Fatalf("%v, %d closings of connections that never were", err, closed)
		}
	})
}

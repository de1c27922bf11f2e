package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

func TestASuccessorFollowsAResignationAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		terms := make(chan int64, 2)
		hold := func(ctx context.Context, epoch int64) error {
			terms <- epoch
			<-ctx.Done()
			return nil
		}
		ctx, stop := context.WithCancel(t.Context())
		first, second := running(t, url).Office(Broker), running(t, url).Office(Broker)
		ended := make(chan error, 2)
		go func() { ended <- first.Run(ctx, hold) }()
		if epoch := <-terms; epoch != 1 {
			t.Fatalf("first epoch %d", epoch)
		}
		ctx2, stop2 := context.WithCancel(t.Context())
		defer func() { stop2(); <-ended }()
		go func() { ended <- second.Run(ctx2, hold) }()
		select {
		case epoch := <-terms:
			t.Fatalf("a second term %d began beside the first", epoch)
		case <-time.After(2 * time.Second):
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		select {
		case epoch := <-terms:
			if epoch != 2 {
				t.Errorf("epoch %d, want 2", epoch)
			}
		case <-time.After(2 * time.Second):
			t.Fatal("no successor 2 s after the resignation")
		}
	})
}

func TestATermThatFailsComesAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var epochs []int64
		err := running(t, url).Office(Broker).Run(ctx, func(ctx context.Context, epoch int64) error {
			if epochs = append(epochs, epoch); len(epochs) == 2 {
				stop()
			}
			return errors.New("something broke")
		})
		if err != nil || fmt.Sprint(epochs) != "[1 2]" {
			t.Fatalf("%v, epochs %v", err, epochs)
		}
	})
}

func TestATermEndsWhenTheEpochMoved(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		l := running(t, url)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		err := l.Office(Broker).Run(ctx, func(termCtx context.Context, epoch int64) error {
			if _, err := l.side.Exec(ctx, "UPDATE epoch SET epoch = epoch + 1, holder = 'other'"); err != nil {
				t.Error(err)
			}
			select {
			case <-termCtx.Done():
				if cause := context.Cause(termCtx); !errors.Is(cause, ErrFenced) {
					t.Errorf("the term ended because %v", cause)
				}
			case <-time.After(5 * time.Second):
				t.Error("the term goes on though the epoch moved")
			}
			stop()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var holder string
		if err := l.side.Scan(t.Context(), &holder, "SELECT holder FROM epoch"); err != nil || holder != "other" {
			t.Fatalf("the late resignation took the office from %q (%v)", holder, err)
		}
	})
}

// Somebody deletes the row of the office under its holder: the term ends, and the office can be taken again, in an epoch
// beyond all that there were. (J-B5)
func TestADeletedOfficeIsMadeAnew(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		l := running(t, url)
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		var epochs []int64
		err := l.Office(Broker).Run(ctx, func(termCtx context.Context, epoch int64) error {
			if epochs = append(epochs, epoch); len(epochs) == 2 {
				stop()
				return nil
			}
			if _, err := l.side.Exec(ctx, "DELETE FROM epoch"); err != nil {
				t.Error(err)
			}
			select {
			case <-termCtx.Done():
				if cause := context.Cause(termCtx); !errors.Is(cause, ErrFenced) {
					t.Errorf("the term ended because %v", cause)
				}
			case <-time.After(5 * time.Second):
				t.Error("the term goes on without its row")
			}
			return nil
		})
		if err != nil || len(epochs) != 2 || epochs[1] <= epochs[0] {
			t.Fatalf("epochs %v, %v", epochs, err)
		}
	})
}

func TestNoOfficeOfThatName(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		if _, _, err := running(t, url).Office("barber").try(t.Context()); err == nil {
			t.Fatal("an office that is not in the table was taken")
		}
	})
}

func TestTheFenceNeedsItsOwnTransaction(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		l := running(t, url)
		mine, foreign := pool(t, url, l, 1), pool(t, url, l, 1)
		o := l.Office(Broker)
		epoch, err := o.Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fenced := dbx.WithFence(t.Context(), o.Fence(mine, epoch))
		if _, err := mine.Exec(fenced, "UPDATE graph SET ver = ver + 1"); err != nil {
			t.Fatal(err)
		}
		if _, err := foreign.Exec(fenced, "UPDATE graph SET ver = ver + 1"); err == nil {
			t.Fatal("a write passed on a pool where the fence locks nothing")
		}
		o.Resign(t.Context(), epoch)
		if _, err := mine.Exec(fenced, "UPDATE graph SET ver = ver + 1"); !errors.Is(err, ErrFenced) {
			t.Fatalf("a write after the resignation: %v", err)
		}
	})
}

// While the epoch is torn to and fro, no transaction that passed the fence ever sees another epoch before it commits,
// and none passes after its epoch ended.
func TestFenceRace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		ctx, stop := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		var offices []*Office
		var epochs [2]atomic.Int64
		var mu sync.Mutex
		passed, refused := 0, 0
		for i := range 2 {
			l := running(t, url)
			office := l.Office(Broker)
			offices = append(offices, office)
			db := pool(t, url, l, 3)
			for range 3 {
				writers.Go(func() {
					for ctx.Err() == nil {
						epoch := epochs[i].Load()
						err := raceOnce(t, db, office, epoch)
						mu.Lock()
						if err == nil {
							passed++
						} else if errors.Is(err, ErrFenced) {
							refused++
						} else {
							t.Errorf("writer of epoch %d: %v", epoch, err)
						}
						mu.Unlock()
					}
				})
			}
		}
		for turn := range 30 {
			o := offices[turn%2]
			var epoch int64
			until(t, 10*time.Second, "the epoch is raised", func() bool {
				s, err := o.look(ctx)
				if err != nil {
					return false
				}
				ok, _ := o.raise(ctx, s) // whoever sits there
				epoch = s.Epoch + 1
				return ok
			})
			epochs[turn%2].Store(epoch)
			mu.Lock()
			before := passed
			mu.Unlock()
			until(t, 10*time.Second, "the new epoch writes", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return passed > before
			})
		}
		stop()
		writers.Wait()
		t.Logf("%d passed, %d refused", passed, refused)
		if refused == 0 {
			t.Error("nothing was ever refused: the race was none")
		}
	})
}

func raceOnce(t *testing.T, db *dbx.DB, o *Office, epoch int64) error {
	ctx := dbx.WithFence(context.WithoutCancel(t.Context()), o.Fence(db, epoch))
	return db.Tx(ctx, func(ctx context.Context) error {
		time.Sleep(rand.N(3 * time.Millisecond)) // widens the window between the fence and the commit
		var now int64
		if err := db.Scan(ctx, &now, "SELECT epoch FROM epoch WHERE name = ?", Broker); err != nil {
			return err
		}
		if now != epoch {
			t.Errorf("a transaction of epoch %d is under way in epoch %d", epoch, now)
		}
		return nil
	})
}

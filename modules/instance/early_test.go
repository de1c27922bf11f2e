package instance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/wire"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

// giver gives every ready instance a target, and notes how each giving was settled.
type giver struct {
	w       *world
	fails   error
	settled [][]domain.Attempt
	known   []bool
	heard   []int // how many changes had been heard of when it was settled
}

// Assign gives all of them w1.
func (g *giver) Assign(_ context.Context, ready []domain.Instance, specs []domain.JobSpec) ([]domain.Assignment, func([]domain.Attempt, bool), error) {
	if g.fails != nil || len(ready) == 0 {
		return nil, nil, g.fails
	}
	as := make([]domain.Assignment, len(ready))
	for i, in := range ready {
		if specs[i].Name != in.JobName {
			g.w.t.Errorf("instance of %s comes with the definition of %s", in.JobName, specs[i].Name)
		}
		as[i] = domain.Assignment{Instance: in, Attempt: g.w.life.IDs.Next(), Target: "w1", Boot: 1, MessageID: "m1"}
	}
	return as, func(committed []domain.Attempt, known bool) {
		g.settled, g.known = append(g.settled, committed), append(g.known, known)
		g.heard = append(g.heard, len(g.w.heard))
	}, nil
}

func (w *world) gives() *giver {
	g := &giver{w: w}
	w.life.Early = g
	return g
}

// The database found the fire due, and AX's clock follows the database's a few milliseconds behind.
func TestNoFireStandsAsMadeBeforeItWasDue(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.gives()
		due := w.now().Add(3 * time.Millisecond)
		ins, err := w.life.Create(t.Context(), []domain.NewInstance{w.newOf(jobA, w.now()), w.newOf(jobB, due)})
		w.ok(err)
		for _, in := range ins {
			at, err := w.life.Store.AttemptsOf(t.Context(), in.ID)
			w.ok(err)
			for _, moment := range []time.Time{in.CreatedAt, at[0].DispatchedAt} {
				if moment.Before(due) {
					t.Errorf("%s is due at %s and has a moment of %s", in.JobName, due, moment)
				}
			}
		}
	})
}

// An instance that is given a target as it is made stands as one that was made and dispatched.
func TestWhatIsDispatchedAsItIsMadeStandsAsAnyOther(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.specs[jobB] = func() domain.JobSpec { s := w.specs[jobB]; s.QueueTimeoutSec = 30; return s }()
		due := w.now()
		two := func(shift time.Duration) []domain.NewInstance {
			return []domain.NewInstance{w.newOf(jobA, due.Add(shift)), w.newOf(jobB, due.Add(shift))}
		}
		plain, err := w.life.Create(t.Context(), two(0))
		w.ok(err)
		for _, in := range plain {
			w.dispatch(in.ID)
		}
		g := w.gives()
		ins, err := w.life.Create(t.Context(), two(-time.Millisecond))
		w.ok(err)
		for i, in := range ins {
			is, was := w.get(in.ID), w.get(plain[i].ID)
			if a, b := w.attempt(is.AttemptID), w.attempt(was.AttemptID); a.InstanceID != is.ID || a.RunID != is.RunID || a.Ordinal != b.Ordinal || a.State != b.State || a.Target != b.Target ||
				a.Boot != b.Boot || a.Lane != b.Lane || a.MessageID != b.MessageID || !a.DispatchedAt.Equal(b.DispatchedAt) || a.Deadline != b.Deadline {
				t.Errorf("the attempt is %+v, want as %+v", a, b)
			}
			was.ID, was.RunID, was.TraceID, was.AttemptID, was.FireKey, was.Expected = is.ID, is.RunID, is.TraceID, is.AttemptID, is.FireKey, is.Expected
			if got, want := fmt.Sprintf("%+v", is), fmt.Sprintf("%+v", was); got != want {
				t.Errorf("the instance is\n%s, want\n%s", got, want)
			}
		}
		if len(g.settled) != 1 || len(g.settled[0]) != 2 || g.heard[0] != len(w.heard) {
			t.Fatalf("settled %v, when %v of %d changes had been heard of", g.settled, g.heard, len(w.heard))
		}
		w.bothEnd(ins, g.settled[0])
	})
}

// bothEnd brings both to their ends in different ways.
func (w *world) bothEnd(ins []domain.Instance, sent []domain.Attempt) {
	w.t.Helper()
	w.grant(sent[0])
	w.start(sent[0])
	w.report(sent[0], domain.OutcomeSuccess, "")
	w.is(ins[0].ID, success)
	_, err := w.life.Kill(w.t.Context(), ins[1].ID, "ann", "")
	w.ok(err)
	if task, why := w.claim(w.life, sent[1]); task != nil || why == "" {
		w.t.Errorf("a killed attempt was granted: %v %q", task, why)
	}
}

func TestOnlyWhatIsReadyIsOffered(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		g := w.gives()
		w.deps[jobB] = 1
		skipped := w.newOf(jobA, w.now())
		skipped.Skip = "no"
		ins, err := w.life.Create(t.Context(), []domain.NewInstance{skipped, w.newOf(jobB, w.now())})
		w.ok(err)
		w.is(ins[0].ID, cancelled(domain.Skipped))
		w.is(ins[1].ID, running(domain.WaitingDeps))
		if len(g.settled) != 0 {
			t.Errorf("settled %v", g.settled)
		}
		g.fails = errors.New("the fence is down")
		if _, err := w.life.Create(t.Context(), []domain.NewInstance{w.newOf(jobA, w.now().Add(time.Second))}); !errors.Is(err, g.fails) {
			t.Errorf("made all the same: %v", err)
		}
	})
}

// What was not committed is given back, once, and leaves nothing behind, also in the memory.
func TestAGivingThatIsUndone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		g := w.gives()
		due := w.now()
		_, err := w.life.Create(t.Context(), []domain.NewInstance{w.newOf(jobA, due)})
		w.ok(err)
		if _, err := w.life.Create(t.Context(), []domain.NewInstance{w.newOf(jobA, due)}); !domain.Is(err, domain.Exists) {
			t.Fatalf("the same fire twice: %v", err)
		}
		wanted := errors.New("wanted")
		var made []domain.Instance
		err = w.db.Tx(t.Context(), func(ctx context.Context) error {
			if made, err = w.life.Create(ctx, []domain.NewInstance{w.newOf(jobA, due.Add(time.Second))}); err != nil {
				return err
			}
			return wanted
		})
		if !errors.Is(err, wanted) {
			t.Fatal(err)
		}
		if len(g.settled) != 3 || len(g.settled[0]) != 1 || g.settled[1] != nil || g.settled[2] != nil || slices.Contains(g.known, false) {
			t.Fatalf("settled %v", g.settled)
		}
		there, err := w.st.ByIDs(t.Context(), []domain.ID{made[0].ID})
		w.ok(err)
		as, err := w.st.Attempts(t.Context(), []domain.ID{made[0].AttemptID})
		w.ok(err)
		if len(there)+len(as) != 0 {
			t.Errorf("there is %v %v", there, as)
		}
		if task, why := w.claim(w.life, domain.Attempt{ID: made[0].AttemptID, Target: "w1", Boot: 1}); task != nil || why == "" {
			t.Errorf("what was undone was granted: %v", task)
		}
	})
}

// The answer to the commit is lost: it counts as given back, and the broker hears that it must look.
func TestAGivingThatNobodyKnowsOf(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		line, url := wire.Through(t, dbtest.MariaDB(t))
		w := newWorld(t, url, dbx.Options{Pool: 1})
		g := w.gives()
		var unsure []domain.ID
		w.life.Unsure = func(ids []domain.ID) { unsure = append(unsure, ids...) }
		line.Judge(func(sql string) wire.Deed {
			if sql == "COMMIT" {
				return wire.LoseAnswer
			}
			return wire.Pass
		})
		if _, err := w.life.Create(t.Context(), []domain.NewInstance{w.newOf(jobA, w.now())}); !domain.Is(err, domain.Unavailable) {
			t.Fatalf("it was answered: %v", err)
		}
		line.Judge(nil)
		if len(g.settled) != 1 || g.settled[0] != nil || g.known[0] || len(unsure) != 1 || len(w.heard) != 0 {
			t.Fatalf("settled %v, unsure %v, heard %v", g.settled, unsure, w.heard)
		}
		in := w.is(unsure[0], running(domain.Dispatched))
		if task, why := w.claim(w.life, w.attempt(in.AttemptID)); task == nil {
			t.Errorf("what stands is denied: %s", why)
		}
	})
}

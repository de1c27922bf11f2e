package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/modules/scheduler/store"
)

// A database that answers and takes no writes is no trigger's fault: none is put off for longer and longer, and what is
// due is taken as soon as it takes writes again.
func TestADatabaseThatTakesNoWritesPutsNoTriggerOff(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBed(t, url, "2026-05-01T10:00:00Z")
		db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 1}) // what its one connection is told counts
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		b.db, b.st = db, store.New(db)
		off, on := "SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ WRITE"
		if strings.HasPrefix(url, "sqlite") {
			off, on = "PRAGMA query_only = ON", "PRAGMA query_only = OFF"
		}
		say := func(order string) {
			t.Helper()
			if _, err := db.Exec(t.Context(), order); err != nil {
				t.Fatal(err)
			}
		}
		b.mustPut(1, 1, everySpec(time.Second))
		b.mustPut(2, 1, everySpec(time.Second))
		b.pass(time.Second)
		node := b.node(nil)
		say(off)
		batch := b.due()
		for try := range 6 {
			looks := node.take(t.Context(), batch)
			if len(looks) != 2 {
				t.Fatalf("try %d: %+v", try, looks)
			}
			var again []plan.Due
			for _, l := range looks {
				if wait := l.at.Sub(b.now()); wait > awayPause {
					t.Errorf("try %d: trigger %s is put off by %s", try, l.due.ID, wait)
				}
				again = append(again, l.due)
			}
			batch = again
			b.pass(awayPause)
		}
		if s := node.marks.status(); len(s.Poisoned) != 0 || s.Failures == 0 {
			t.Errorf("the triggers are blamed: %+v", s)
		}
		say(on)
		node.take(t.Context(), batch)
		for _, job := range []domain.ID{1, 2} {
			if len(b.fires(job)) == 0 {
				t.Errorf("job %d has not fired", job)
			}
		}
	})
}

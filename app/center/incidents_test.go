package center

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident"
	"github.com/axsched/ax/modules/kit/dbtest"
)

// watch is a bench with a keeper of incidents in its term.
type watch struct {
	*bench
	keeper *incident.Keeper
}

func newWatch(t *testing.T, url string) *watch {
	b := newBench(t, url)
	ids, err := domain.NewIDs(1, time.Now)
	b.must(err)
	l := &life{o: Options{Config: config.Default()}, ids: ids}
	return &watch{b, l.newKeeper(b.core, newRedisWatch(l.o.Config, &standings{}, &fit{}, &clock{wall: time.Now}))}
}

// open are the open incidents as "kind name×count".
func (w *watch) open() string {
	w.t.Helper()
	all, _, err := w.incidents.List(w.ctx, incident.Query{Seen: domain.ProjectSet{All: true}, State: "open", Limit: 100})
	w.must(err)
	var out []string
	for _, i := range all {
		out = append(out, fmt.Sprintf("%s %s×%d", i.Kind, i.Name, i.Count))
	}
	return strings.Join(out, "; ")
}

// until waits for the keeper's rounds to come to it.
func (w *watch) until(want string) {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); w.open() != want; {
		if time.Now().After(deadline) {
			w.t.Fatalf("open are %q, want %q", w.open(), want)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// From the real history to the incident and its end, through the stores of all modules.
func TestAFailureBecomesAnIncidentAndASuccessEndsIt(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		w := newWatch(t, url)
		w.apply([]string{"pay"}, []string{"other"})
		ended := make(chan error, 1)
		ctx, stop := context.WithCancel(w.ctx)
		go func() { ended <- w.keeper.Term(ctx) }()
		w.end(w.fire("other").ID, domain.OutcomeSuccess)
		w.end(w.fire("pay").ID, domain.OutcomeError)
		w.until("job_failed pay×1")
		w.end(w.fire("pay").ID, domain.OutcomeTimeout)
		w.until("job_failed pay×2")
		w.end(w.fire("pay").ID, domain.OutcomeSuccess) // heard by nobody here: found in the rows
		w.until("")
		stop()
		if err := <-ended; err != nil && !errors.Is(err, ctx.Err()) {
			t.Error(err)
		}
	})
}

// A schedule that is due and that nobody takes is seen in the rows of triggers.
func TestUntakenTriggersAreSeen(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.apply([]string{"a"}, []string{"b"})
		for i, name := range []string{"a", "b", "c"} {
			_, err := b.db.Exec(b.ctx, "INSERT INTO `trigger` (id, project_id, job_id, version, kind, expr, dialect, timezone, biz_date_rule, misfire, anchor_at, enabled, next_fire_at, ver, updated_at) "+
				"VALUES (?, 1, ?, 1, 'cron', '* * * * *', 'unix', 'UTC', 'T', 'fire_once', 0, 1, ?, 0, ?)", i+1, i+1, map[string]int64{"a": 1000, "b": 5000, "c": 9000}[name], map[string]int64{"a": 0, "b": 7000, "c": 0}[name])
			b.must(err)
		}
		for before, want := range map[int64]string{999: "0 0", 1000: "1 1000", 6999: "1 1000", 7000: "2 1000", 9000: "3 1000"} {
			n, first, err := b.triggers.Store.Untaken(b.ctx, domain.FromMillis(before), 10)
			b.must(err)
			if got := fmt.Sprint(n, " ", domain.Millis(first)); got != want {
				t.Errorf("before %d: %s, want %s", before, got, want)
			}
		}
	})
}

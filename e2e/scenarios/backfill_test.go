package scenarios

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/worker/protocol/crash"
)

// pastDates gives the pump of backfills something to do while a process dies.
func pastDates(d *drill) {
	c := d.s.Client(d.t, d.p[centerB])
	c.Apply(noopJob("past", `cron: "0 2 * * *"`))
	c.Must("backfill", "past", "--from", "2026-01-01", "--to", "2026-01-20", "--degree", "4", "--yes")
}

// progress is a backfill as the API shows it.
type progress struct {
	ID, State, Pause                                       string
	Runs, Waiting, Running, Success, Failed, Left, Dropped int
}

// backfilled starts a backfill and returns its id.
func backfilled(c *setup.Client, args ...string) string {
	c.T().Helper()
	var b progress
	c.JSON(&b, append(append([]string{"backfill"}, args...), "--yes")...)
	return b.ID
}

func progressOf(c *setup.Client, id string) (progress, error) {
	var b progress
	err := c.Get("/api/v1/backfills/"+id, &b)
	return b, err
}

// awaitBackfill waits for a state of it.
func awaitBackfill(t *testing.T, c *setup.Client, id, state string) progress {
	t.Helper()
	var b progress
	var err error
	setup.Until(t, 3*awaited, "backfill "+id+" is "+state, func() bool {
		b, err = progressOf(c, id)
		return err == nil && b.State == state
	}, func() string { return fmt.Sprintf("%+v %v", b, err) })
	return b
}

// J-E4: 60 dates, 8 at a time, while the center is killed twice, once between the making of a batch and its commit. Each
// date has one instance, and each ends well.
func TestABackfillOutlivesItsCenters(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		reached := filepath.Join(s.Dir(), "reached")
		o := setup.Opts{Env: []string{crash.Variable + "=backfill.made:3:" + reached}}
		var center *setup.Process
		if s.IsEmbedded() {
			center = s.All(t, o)
		} else {
			center = s.Center(t, o)
			s.Worker(t, setup.Opts{})
		}
		c, d := s.Client(t, center), s.Diary(t)
		c.Apply(shellJob("daily", d.Command("daily {{biz_date}}", "sleep 0.1"), `cron: "0 2 * * *"`, "overlap: allow"))
		id := backfilled(c, "daily", "--from", "2026-01-01", "--to", "2026-03-01", "--degree", "8")
		setup.Until(t, awaited, "the center comes to the point", func() bool { return !center.Alive() }, func() string { return center.Tail(20) })
		center.Restart()
		setup.Until(t, awaited, "half of it is done", func() bool {
			b, err := progressOf(c, id)
			return err == nil && b.Success >= 30
		}, func() string { return center.Tail(20) })
		center.Kill()
		center.Restart()
		b := awaitBackfill(t, c, id, "done")
		if b.Runs != 60 || b.Success != 60 || b.Failed != 0 {
			t.Errorf("it ended as %+v", b)
		}
		dates := map[string]bool{}
		ins := c.Instances("--job", "daily")
		for _, in := range ins {
			dates[in.BizDate] = true
			if in.State != "success" {
				t.Errorf("%s", in)
			}
		}
		if len(ins) != 60 || len(dates) != 60 {
			t.Errorf("%d instances of %d dates", len(ins), len(dates))
		}
		// What is over is never begun again.
		center.Kill()
		center.Restart()
		if again := c.Instances("--job", "daily"); len(again) != 60 {
			t.Errorf("after another start there are %d instances", len(again))
		}
		if s := c.Run("backfill", "daily", "--from", "2026-01-01", "--to", "2026-03-01", "--yes"); s.Code != 0 || !strings.Contains(s.Err, "nothing to do") {
			t.Errorf("the same again: %+v", s)
		}
	})
}

// J-E7: seven dates in series while the job's own fire falls due. The job lets one instance run at a time: the
// live fire has the next turn, the dates after it, and all eight end.
func TestALiveFireGoesBeforeTheDatesOfThePast(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c, d := s.Up(t, setup.Opts{}), s.Diary(t)
		due := time.Now().UTC().Add(8 * time.Second)
		cron := fmt.Sprintf("cron: \"%d %d %d * * *\"\ndialect: seconds\ntimezone: UTC", due.Second(), due.Minute(), due.Hour())
		c.Apply(shellJob("daily", d.Command("daily", "sleep 2"), cron))
		to := due.AddDate(0, 0, -1)
		id := backfilled(c, "daily", "--from", to.AddDate(0, 0, -6).Format(time.DateOnly), "--to", to.Format(time.DateOnly), "--degree", "7")
		if b := awaitBackfill(t, c, id, "done"); b.Success != 7 {
			t.Errorf("it ended as %+v", b)
		}
		live := c.AwaitOf("daily", "success", "--biz-date", due.Format(time.DateOnly))
		lives := d.Lives()
		if len(lives) != 8 {
			t.Fatalf("%d ran", len(lives))
		}
		slices.SortFunc(lives, func(a, b setup.Life) int { return a.From.Compare(b.From) })
		after := 0
		for i, l := range lives {
			if i > 0 && l.From.Before(lives[i-1].To) {
				t.Errorf("%s began before the one before it had ended", l.Trace)
			}
			if l.Trace == live.TraceID {
				after = len(lives) - 1 - i
				if late := l.From.Sub(due); late > 6*time.Second {
					t.Errorf("the live fire began %s late, behind the past", late)
				}
			}
		}
		if after == 0 {
			t.Error("the live fire came last: nothing of the past was left to go before")
		}
	})
}

// A start follows a preview of what it starts, and one key starts one backfill.
func TestStartsByTheAPI(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		c.Apply(noopJob("daily", `cron: "0 2 * * *"`))
		ask := `"job":"daily","from":"2026-03-01","to":"2026-03-03"`
		preview := func(more string) (runs int, hash string) {
			t.Helper()
			a, err := c.Call("POST", "/api/v1/backfills/preview", "{"+ask+more+"}")
			if err != nil || a.Status != 200 {
				t.Fatalf("%v %+v", err, a)
			}
			var p struct {
				Runs int
				Hash string
			}
			if err := json.Unmarshal([]byte(a.Body), &p); err != nil {
				t.Fatal(err)
			}
			return p.Runs, p.Hash
		}
		runs, hash := preview("")
		if runs != 3 {
			t.Fatalf("%d runs", runs)
		}
		begin := "{" + ask + `,"hash":"` + hash + `"}`
		first, err := c.Call("POST", "/api/v1/backfills", begin, "Idempotency-Key", "one")
		second, err2 := c.Call("POST", "/api/v1/backfills", begin, "Idempotency-Key", "one")
		if err != nil || err2 != nil || first.Status != 201 || strings.TrimSpace(first.Body) != strings.TrimSpace(second.Body) {
			t.Fatalf("%+v %+v", first, second)
		}
		var b progress
		if err := json.Unmarshal([]byte(first.Body), &b); err != nil {
			t.Fatal(err)
		}
		awaitBackfill(t, c, b.ID, "done")
		if a, _ := c.Call("POST", "/api/v1/backfills", begin, "Idempotency-Key", "two"); a.Status != 409 || !strings.Contains(a.Body, `"runs":0`) {
			t.Errorf("what was previewed is over: %+v", a)
		}
		if runs, hash = preview(`,"wanted":"all"`); runs != 3 {
			t.Fatalf("%d runs are forced", runs)
		}
		forced := "{" + ask + `,"wanted":"all","hash":"` + hash + `"}`
		if a, _ := c.Call("POST", "/api/v1/backfills", forced); a.Status != 201 {
			t.Errorf("the admin: %+v", a)
		}
		if a, _ := c.Call("POST", "/api/v1/backfills", "{"+ask+"}"); a.Status != 400 {
			t.Errorf("without a preview: %+v", a)
		}
	})
}

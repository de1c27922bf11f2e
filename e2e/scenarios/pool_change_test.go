package scenarios

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/worker/protocol/crash"
)

// poolChange is what somebody does to a pool of three places while places in it are being taken.
type poolChange struct {
	deed  string
	waits int // how many wait for a place before
	// places are those of the pool afterwards; -1: it limits nothing.
	places int
	do     func(c *setup.Client, job func(more ...string) string)
}

func poolChanges() []poolChange {
	set := func(c *setup.Client, limit int) { insist(c, "pools", "set", "db", fmt.Sprint(limit)) }
	remove := func(c *setup.Client, job func(more ...string) string) {
		c.Apply(job())
		insist(c, "pools", "delete", "db")
	}
	return []poolChange{
		{"lowered", 5, 1, func(c *setup.Client, _ func(...string) string) { set(c, 1) }},
		{"paused", 5, 0, func(c *setup.Client, _ func(...string) string) { set(c, 0) }},
		{"deleted", 3, -1, remove},
		{"remade", 3, 1, func(c *setup.Client, job func(more ...string) string) {
			remove(c, job)
			set(c, 1)
		}},
	}
}

// insist repeats a command of pools until it is done, or until a pool that is in use is refused to be deleted.
func insist(c *setup.Client, args ...string) {
	var said setup.Said
	setup.Until(c.T(), awaited, strings.Join(args, " "), func() bool {
		said = c.Run(args...)
		return said.Code == 0 || strings.Contains(said.Err, "cannot be deleted")
	}, func() string { return said.Err })
}

// A pool is lowered, paused, deleted, deleted and made anew while places in it are promised and while they are taken, by
// a broker that goes on, dies or is frozen there. What is answered is in force: whoever had no place then starts only where
// the pool has one for him now. All of them run, once.
func TestAPoolIsChangedWhilePlacesAreBeingTaken(t *testing.T) {
	t.Parallel()
	for _, change := range poolChanges() {
		for _, point := range []string{"place.promised", "place.taken"} {
			for _, action := range []string{"delay=2s", "kill", "freeze"} {
				going := action == "delay=2s"
				if !*long && (point == "place.taken") != (change.deed == "paused") || !*long && !going && change.deed != "lowered" && change.deed != "paused" {
					continue
				}
				t.Run(change.deed+"_"+point+"_"+action, func(t *testing.T) {
					t.Parallel()
					on := setup.Real
					if going {
						on = setup.Each
					}
					on(t, func(t *testing.T, s *setup.Site) { change.prove(t, s, point, action) })
				})
			}
		}
	}
}

func (p poolChange) prove(t *testing.T, s *setup.Site, point, action string) {
	reached := filepath.Join(s.Dir(), "reached")
	d := &drill{t: t, s: s, diary: s.Diary(t), done: reached}
	order, roomy := fmt.Sprintf("%s=%s:%s:%s", crash.Variable, point, action, reached), "AX_WORKER_LANES_DEFAULT=8"
	var active *setup.Process
	var c *setup.Client
	if s.IsEmbedded() {
		active = s.All(t, setup.Opts{Name: centerA, Env: []string{order, roomy}})
		c = s.Client(t, active)
	} else {
		active = s.Center(t, setup.Opts{Name: centerA, Env: []string{order}})
		c = s.Client(t, s.Center(t, setup.Opts{Name: centerB}))
		s.Worker(t, setup.Opts{Name: workerA, Env: []string{roomy}})
	}
	d.db = tables(t, s.DatabaseURL(active))
	gate := c.Path("go")
	job := func(more ...string) string {
		return shellJob("w", d.diary.Command("w", "while ! test -e "+gate+"; do sleep 0.1; done; sleep 0.3"), append([]string{"overlap: allow", "timeout: 120"}, more...)...)
	}
	c.Must("pools", "set", "db", "0")
	c.Apply(job("pool: db"))
	for range p.waits {
		c.Trigger("w")
	}
	setup.Until(t, awaited, "all wait for a place", func() bool { return d.count("label = 'held_pool'") == p.waits }, d.stand)
	c.Must("pools", "set", "db", "3")
	setup.Until(t, reachLimit, "places are being taken", d.reached, func() string { return active.Tail(20) })
	if action == "kill" {
		setup.Until(t, reachLimit, "it is dead", func() bool { return !active.Alive() }, d.stand)
	}
	p.do(c, job)
	p.after(d, c, active, action, gate)
}

// after lets the broker go on, and holds what runs against the pool as it is now.
func (p poolChange) after(d *drill, c *setup.Client, active *setup.Process, action, gate string) {
	t := d.t
	answered := time.Now()
	had := strings.Fields(d.db.lines("SELECT trace_id FROM instance WHERE job_name = 'w' AND label IN ('dispatched', 'executing')"))
	places := p.places
	if d.db.number("SELECT COUNT(*) FROM pool WHERE name = 'db' AND places = 3") == 1 {
		places = 3 // it could not be deleted, since somebody had a place by then
	}
	if action == "freeze" {
		until(answered.Add(6 * time.Second))
		active.Thaw()
	}
	if action == "kill" {
		active.Restart()
	}
	want := max(places, len(had))
	if places < 0 {
		want = p.waits
	}
	runs := func() bool { return len(d.diary.Of("start", "")) == want }
	setup.Until(t, awaited, fmt.Sprint(want, " run"), runs, d.stand)
	until(time.Now().Add(2 * time.Second)) // for one too many to come
	if !runs() {
		t.Errorf("%d have started in a pool of %d in which %d had a place when it was changed", len(d.diary.Of("start", "")), places, len(had))
	}
	if places == 0 {
		places = 2
		c.Must("pools", "set", "db", fmt.Sprint(places))
	}
	if err := touch(gate); err != nil {
		t.Fatal(err)
	}
	setup.Until(t, awaited, "all run", func() bool { return d.count("state = 'success'") == p.waits }, d.stand)
	lives := d.diary.Lives()
	for _, one := range lives {
		if n := alive(lives, one.From); places >= 0 && n > places && !slices.Contains(had, one.Trace) {
			t.Errorf("it began as one of %d in a pool of %d: %+v", n, places, one)
		}
	}
	if len(lives) != p.waits {
		t.Errorf("%d ran %d times", p.waits, len(lives))
	}
	t.Logf("%d had a place when the change was answered", len(had))
	c.Must("pools", "set", "db", "2")
	placesFree(d.db, c, "db", 2)
}

func (d *drill) count(as string) int {
	return int(d.db.number("SELECT COUNT(*) FROM instance WHERE job_name = 'w' AND " + as))
}

func (d *drill) stand() string {
	return d.db.lines("SELECT CONCAT_WS(' ', id, job_name, state, label, pool) FROM instance") + d.db.lines("SELECT CONCAT_WS(' ', name, places, ver) FROM pool")
}

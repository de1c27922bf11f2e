package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup"
)

// part is one shard as the API tells it.
type part struct {
	ID     string `json:"id"`
	Index  int    `json:"index"`
	State  string `json:"state"`
	Label  string `json:"label"`
	Worker string `json:"worker"`
}

func partsOf(t *testing.T, c *setup.Client, id string) []part {
	t.Helper()
	var in struct {
		Shards []part `json:"shards"`
	}
	if err := c.Get("/api/v1/instances/"+id, &in); err != nil {
		t.Logf("not answered: %v", err)
	}
	return in.Shards
}

// standing are the shards of the instance that stand so.
func standing(t *testing.T, c *setup.Client, id, label string) []part {
	t.Helper()
	return slices.DeleteFunc(partsOf(t, c, id), func(p part) bool { return p.Label != label && p.State != label })
}

// parted is a job each of whose shards writes its index into the diary and waits for the gate.
func parted(d *setup.Diary, name, gate string, more ...string) string {
	return shellJob(name, d.Command("part-{{shard.index}}-$AX_SHARD_TOTAL", "while ! test -e "+gate+"; do sleep 0.2; done"), append([]string{"timeout: 300"}, more...)...)
}

// ends tells for each shard how often it came to its end.
func ends(d *setup.Diary, trace string) map[string]int {
	out := map[string]int{}
	for _, e := range d.Of("end", trace) {
		out[e.Job]++
	}
	return out
}

// Eight shards run on two workers. One worker is killed, then the center while the lost shards run again. Each shard
// comes to its end once, and the instance with the last of them.
func TestShardsOutliveTheirWorkerAndTheCenter(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		center := s.Center(t, setup.Opts{Env: hurried})
		c, d := s.Client(t, center), s.Diary(t)
		roomy := append(slices.Clone(hurried), "AX_WORKER_LANES_DEFAULT=8")
		workers := map[string]*setup.Process{"first": s.Worker(t, setup.Opts{Name: "first", Env: roomy}), "second": s.Worker(t, setup.Opts{Name: "second", Env: roomy})}
		gate := c.Path("go")
		c.Apply(files(parted(d, "parts", gate, "shards: 8", "overlap: allow")))
		in := c.Trigger("parts")
		all := func(what string) {
			t.Helper()
			setup.Until(t, awaited, what, func() bool { return len(standing(t, c, in.ID, "executing")) == 8 }, func() string { return c.Instance(in.ID).String() })
		}
		all("all shards run")
		c.Await(in.ID, "running/executing")
		on := map[string][]string{} // worker → shards
		for _, p := range partsOf(t, c, in.ID) {
			shard := c.Instance(p.ID)
			on[shard.Attempts[0].Target] = append(on[shard.Attempts[0].Target], p.ID)
		}
		victim := "first"
		if len(on[victim]) == 0 { // by chance
			victim = "second"
		}
		t.Logf("shards on first: %d, on second: %d", len(on["first"]), len(on["second"]))
		workers[victim].Kill()
		setup.Until(t, awaited, "the lost shards run again", func() bool {
			return len(d.Of("start", in.TraceID)) == 8+len(on[victim]) && len(standing(t, c, in.ID, "executing")) == 8
		}, func() string { return c.Instance(in.ID).String() })
		if why := c.Must("why", in.ID); !strings.Contains(why, "8 shards") {
			t.Errorf("why: %s", why)
		}
		center.Kill()
		if err := touch(gate); err != nil {
			t.Fatal(err)
		}
		center.Restart()
		c.Await(in.ID, "success")
		for i := range 8 {
			if n := ends(d, in.TraceID)[fmt.Sprintf("part-%d-8", i)]; n != 1 {
				t.Errorf("shard %d came to its end %d times", i, n)
			}
		}
		for _, p := range partsOf(t, c, in.ID) {
			shard, want := c.Instance(p.ID), 1
			if slices.Contains(on[victim], p.ID) {
				want = 2
			}
			if len(shard.Attempts) != want || shard.State != "success" {
				t.Errorf("shard %d, which %s lost: %v, of another's: %v", p.Index, victim, want == 2, shard)
			}
		}
		if list := c.Instances("--job", "parts"); len(list) != 1 || list[0].ID != in.ID {
			t.Errorf("the list shows %v", list)
		}
	})
}

// A shard that fails fails the instance, once the others have ended; run again, only that one runs. What waits for the
// instance fires once, after the last. A kill ends all. (J-D7)
func TestAFailedShardRunsAgainAloneAndAKillEndsAll(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c, d := s.Up(t, setup.Opts{}), s.Diary(t)
		mended, gate := c.Path("mended"), c.Path("go")
		c.Apply(files(
			shellJob("sum", d.Command("part-{{shard.index}}", `echo "says $AX_SHARD_INDEX"; test "$AX_SHARD_INDEX/$AX_SHARD_TOTAL" != 1/3 || test -e `+mended), "shards: 3"),
			noopJob("child", "trigger: upstream\ndeps:\n  - name: sum"),
			parted(d, "long", gate, "shards: 3")))
		in := c.Trigger("sum")
		failed := c.Await(in.ID, "failed/error")
		if !strings.Contains(failed.Why, "1 of 3 shards failed; shard 1") {
			t.Errorf("why: %s", failed.Why)
		}
		const each = "[shard 0] says 0\n[shard 1] says 1\n[shard 2] says 2\n"
		followed := strings.Split(strings.TrimSpace(c.Must("logs", in.ID, "-f")), "\n") // to the end of what is on its way
		if slices.Sort(followed); strings.Join(followed, "\n")+"\n" != each {
			t.Errorf("followed: %q", followed)
		}
		if got := c.Must("logs", in.ID); got != each {
			t.Errorf("the output of all: %q", got)
		}
		if got := c.Must("logs", in.ID, "--shard", "2", "-f"); got != "says 2\n" {
			t.Errorf("of one: %q", got)
		}
		if err := touch(mended); err != nil {
			t.Fatal(err)
		}
		c.Must("rerun", in.ID)
		c.Await(in.ID, "success")
		starts := map[string]int{}
		for _, e := range d.Of("start", "") {
			starts[e.Job]++
		}
		if starts["part-0"] != 1 || starts["part-1"] != 2 || starts["part-2"] != 1 {
			t.Errorf("they ran %v times", starts)
		}

		setup.Until(t, awaited, "what waited for all shards runs", func() bool {
			all := c.Instances("--job", "child")
			return len(all) == 1 && all[0].State == "success"
		}, func() string { return fmt.Sprint(c.Instances("--job", "child")) })

		long := c.Trigger("long")
		setup.Until(t, awaited, "one runs", func() bool { return len(standing(t, c, long.ID, "executing")) > 0 }, func() string { return c.Instance(long.ID).String() })
		if one := c.Run("kill", partsOf(t, c, long.ID)[0].ID); one.Code == 0 || !strings.Contains(one.Err, long.ID) {
			t.Errorf("a shard was killed by itself: %+v", one)
		}
		c.Must("kill", long.ID)
		c.Await(long.ID, "cancelled/killed")
		if all := c.Instances("--job", "child"); len(all) != 1 {
			t.Errorf("the child fired %d times", len(all))
		}
		if left := standing(t, c, long.ID, "killed"); len(left) != 3 {
			t.Errorf("after the kill they stand as %v", partsOf(t, c, long.ID))
		}
	})
}

// A broadcast runs once on each worker that has the tags when it starts, and waits where there is none.
func TestABroadcastRunsOnceOnEachWorkerWithTheTags(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		c, d := s.Client(t, s.Center(t, setup.Opts{})), s.Diary(t)
		for _, name := range []string{"north", "south"} {
			s.Worker(t, setup.Opts{Name: name, Env: []string{"AX_WORKER_TAGS=branch"}})
		}
		s.Worker(t, setup.Opts{Name: "head"})
		setup.Until(t, awaited, "all are there", func() bool { return strings.Count(c.Must("workers"), "available") == 3 }, func() string { return c.Must("workers") })
		c.Apply(files(
			shellJob("sweep", d.Command("at-$AX_WORKER", ""), "broadcast: true", "tags: [branch]"),
			shellJob("nowhere", "true", "broadcast: true", "tags: [mars]", "queue_timeout: 3")))
		in, none := c.Trigger("sweep"), c.Trigger("nowhere")
		c.Await(in.ID, "success")
		var at []string
		for _, p := range partsOf(t, c, in.ID) {
			shard := c.Instance(p.ID)
			if at = append(at, p.Worker); len(shard.Attempts) != 1 || shard.Attempts[0].Target != p.Worker {
				t.Errorf("for %s: %v", p.Worker, shard)
			}
		}
		if !slices.Equal(at, []string{"north", "south"}) || len(d.Of("end", in.TraceID)) != 2 {
			t.Errorf("it ran on %v, %d times", at, len(d.Of("end", in.TraceID)))
		}
		if gone := c.Await(none.ID, "failed/queue_timeout"); len(gone.Attempts) != 0 {
			t.Errorf("nobody has the tag: %v", gone)
		}
	})
}

package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/scheduler/cron"
)

func TestPercentileIsAValueThatWasMeasured(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for _, c := range []struct {
		values []float64
		share  float64
		want   float64
	}{
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1}, {hundred, 0.991, 100},
		{[]float64{7}, 0.99, 7}, {[]float64{1, 2}, 0.5, 1}, {[]float64{1, 2}, 0.51, 2}, {[]float64{1, 2, 3}, 0.5, 2},
	} {
		if got := percentile(c.values, c.share); got != c.want {
			t.Errorf("the %v of %d values is %v, want %v", c.share, len(c.values), got, c.want)
		}
	}
	if !math.IsNaN(percentile(nil, 0.5)) || !math.IsNaN(median(nil)) {
		t.Error("nothing measured has a percentile")
	}
}

func TestSpreadSortsACopy(t *testing.T) {
	values := []float64{3, 1, 2}
	if sp := spreadOf(values); sp.p50 != 2 || sp.max != 3 || sp.n != 3 {
		t.Errorf("got %+v", sp)
	}
	if values[0] != 3 || median(values) != 2 || values[0] != 3 {
		t.Error("the caller's values were moved")
	}
	if got := median([]float64{4, 1, 2, 3}); got != 2.5 {
		t.Errorf("the median of an even number is %v", got)
	}
}

func TestBillTakesIdlenessOff(t *testing.T) {
	at := time.Unix(1000, 0)
	from := meter{at: at, cpu: map[string]time.Duration{"mariadb": time.Second, "center": 2 * time.Second, "worker": time.Second}, writes: 100}
	to := meter{at: at.Add(10 * time.Second), cpu: map[string]time.Duration{"mariadb": 3 * time.Second, "center": 3 * time.Second, "redis": time.Hour}, writes: 800}
	c := bill(from, to, 1000, map[string]time.Duration{"mariadb": 100 * time.Millisecond})
	if c.cpu["mariadb"] != 1000 || c.cpu["center"] != 1000 || c.all != 2000 || c.writes != 0.7 {
		t.Errorf("got %+v", c)
	}
	if len(c.cpu) != 2 {
		t.Errorf("a process that was not there all the time has a share: %v", c.cpu)
	}
	if none := bill(from, to, 0, nil); none.all != 0 || len(none.cpu) != 0 {
		t.Errorf("nothing done costs %+v", none)
	}
}

func TestProcessorTimeOfATree(t *testing.T) {
	const line = "12 (a (strange) name) S 7 12 12 0 -1 4194560 1 2 3 4 100 20 3 1 20 0 5 0 9 10 11"
	s, err := parseStat(line)
	if err != nil || s.parent != 7 || s.ticks != 124 {
		t.Fatalf("got %+v, %v", s, err)
	}
	for _, bad := range []string{"", "12 (x) S 1 2", "no bracket"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	all := map[int]stat{1: {0, 1000}, 7: {1, 10}, 12: {7, 124}, 13: {12, 1}, 20: {1, 500}}
	if got := treeTicks(7, all); got != 135 {
		t.Errorf("the tree took %d ticks, want 135", got)
	}
	own := cpuOf(map[string]int{"me": os.Getpid(), "nobody": 1 << 30})
	if _, there := own["nobody"]; there || own["me"] < 0 {
		t.Errorf("got %v", own)
	}
	if memoryOf(os.Getpid()) < 1 {
		t.Error("this process has no memory")
	}
}

// sample has a row with everything and one with a gap.
func sample(p99 float64) *Part {
	p := &Part{Key: "a", Title: "Late", Measured: "Start − expected.", Lost: 1}
	t := p.table("late", "due", Column{"p50", "p50 ms", 1}, Column{"p99", "p99 ms", 0}, Column{"unused", "unused", 0})
	t.row("n_100", "100 × noop").put("p50", 1.25).aim("p99", p99, atMost(50))
	t.row("n_1000", "1,000").put("p50", math.NaN()).put("p99", 1234567)
	return p
}

func TestTableShowsWhatWasMeasured(t *testing.T) {
	want := strings.Join([]string{
		"| due        | p50 ms |    p99 ms |       aim |",
		"| ---------- | -----: | --------: | --------: |",
		"| 100 × noop |    1.2 |        50 | ≤ 50: met |",
		"| 1,000      |      – | 1,234,567 |           |", ""}, "\n")
	if got := sample(50).Tables[0].Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := sample(50.1).Tables[0].Text(); !strings.Contains(got, "≤ 50: not met") {
		t.Errorf("an aim that is missed reads\n%s", got)
	}
	if a := atLeast(4000).judged(3999); a.Met || a.text() != "≥ 4,000: not met" {
		t.Errorf("got %+v %s", a, a.text())
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{{999, 0, "999"}, {1000, 0, "1,000"}, {-1234.5, 1, "-1,234.5"}, {1.3, -1, "1.3"}, {1500, -1, "1,500"}, {0, 2, "0.00"}, {123456, 0, "123,456"}} {
		if got := number(c.v, c.digits); got != c.want {
			t.Errorf("%v with %d digits is %q, want %q", c.v, c.digits, got, c.want)
		}
	}
}

func TestMediansOverTheRunsThatHaveThem(t *testing.T) {
	runs := []Result{{[]*Part{sample(40)}}, {[]*Part{sample(90)}}, {[]*Part{sample(60)}}, {nil}}
	runs[0].Parts[0].Tables[0].Rows[0].Figures["p50"] = Figure{Value: 9}
	got := medians(runs)
	if len(got.Parts) != 1 || len(got.Parts[0].Tables[0].Rows) != 2 {
		t.Fatalf("got %+v", got)
	}
	p, row := got.Parts[0], got.Parts[0].Tables[0].Rows[0]
	if f := row.Figures["p99"]; f.Value != 60 || f.Aim == nil || f.Aim.Met {
		t.Errorf("the median is judged anew: %+v", f)
	}
	if row.Figures["p50"].Value != 1.25 || p.Lost != 3 {
		t.Errorf("got %+v, lost %d", row.Figures, p.Lost)
	}
	if _, there := p.Tables[0].Rows[1].Figures["p50"]; there {
		t.Error("a figure that no run has was made up")
	}
	if runs[0].Parts[0].Tables[0].Rows[0].Figures["p99"].Aim.Met != true {
		t.Error("judging the median changed a run's own verdict")
	}
}

func TestReportAsJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	r := &Report{Machine: Machine{Cores: 2}, Runs: []Result{{[]*Part{sample(50)}}}}
	if err := r.Write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Runs []struct {
			Parts []struct {
				Key    string
				Tables []struct {
					Key  string
					Rows []struct {
						Key     string
						Figures map[string]struct {
							Value float64
							Aim   *struct {
								AtMost float64
								Met    bool
							}
						}
					}
				}
			}
		}
		Medians any
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	rows := back.Runs[0].Parts[0].Tables[0].Rows
	if f := rows[0].Figures["p99"]; f.Value != 50 || f.Aim.AtMost != 50 || !f.Aim.Met || len(rows[1].Figures) != 1 || back.Medians != nil {
		t.Errorf("got %+v", back)
	}
	if lost, doubled := r.harm(); lost != 1 || doubled != 0 {
		t.Errorf("harm is %d, %d", lost, doubled)
	}
}

func TestFlags(t *testing.T) {
	o, err := parse([]string{"-parts", "b, a", "-quick", "-rate", "500"})
	if err != nil || !o.quick || o.rate != 500 || o.runs != 1 {
		t.Fatalf("got %+v, %v", o, err)
	}
	if parts, err := o.chosen(); err != nil || len(parts) != 2 || parts[0].key != "b" {
		t.Errorf("got %v, %v", parts, err)
	}
	for _, bad := range [][]string{{"-parts", "z"}, {"-runs", "0"}, {"-rate", "0"}, {"extra"}, {"-parts", ""}} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestJobFilesNameEachJobOnce(t *testing.T) {
	text := jobs{prefix: "late", kind: "shell", schedule: "cron: \"5 * * * * *\"\ndialect: seconds", n: 2}.yaml(0, 2)
	for _, want := range []string{"name: late_00000", "name: late_00001", "  dialect: seconds\n", "command: \"true\"", "overlap: allow"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Count(text, "---\n") != 1 {
		t.Errorf("two documents expected:\n%s", text)
	}
}

func TestOverdueFiresAreThoseOfTheirCron(t *testing.T) {
	o := newOverdue(jobs{prefix: "ready", kind: "noop", lane: "low", n: 20})
	lines := strings.Split(o.schedule, "\n")
	text, err := strconv.Unquote(strings.TrimPrefix(lines[0], "cron: "))
	if err != nil {
		t.Fatalf("%q: %v", lines[0], err)
	}
	c, err := cron.Parse(text, cron.Seconds)
	if err != nil {
		t.Fatal(err)
	}
	at := o.first.Add(-time.Second)
	for i := range perJob {
		at, _ = c.Next(at, time.UTC)
		if want := o.first.Add(time.Duration(i) * dueApart); !at.Equal(want) {
			t.Fatalf("fire %d of %q is %s, want %s", i, text, at, want)
		}
	}
	if !at.Equal(o.last()) || o.last().After(time.Now()) || o.fires() != 2000 {
		t.Errorf("the last of %d fires is %s, by the cron %s", o.fires(), o.last(), at)
	}
	if next, _ := c.Next(at, time.UTC); next.Before(time.Now().AddDate(0, 11, 0)) {
		t.Errorf("it fires again at %s", next)
	}
	if text := o.yaml(0, 1); !strings.Contains(text, "\n  priority: low\n") || !strings.Contains(text, "\n  timezone: UTC\n") {
		t.Errorf("the job file is\n%s", text)
	}
}

func TestTheLongestStandstillCounts(t *testing.T) {
	var w worst
	w.see(map[string]int64{"a": 1000, "b": 900}, 1100)
	w.see(map[string]int64{"a": 1500, "b": 900}, 1600)
	if w.gap != 700 {
		t.Errorf("b is 700 old, got %d", w.gap)
	}
	w.see(map[string]int64{"a": 3000, "b": 3000}, 3010)
	if w.gap != 2100 {
		t.Errorf("b stood still for 2100, got %d", w.gap)
	}
	w.see(map[string]int64{"a": 3100}, 6000)
	w.see(map[string]int64{"a": 6000}, 6010)
	if w.gap != 3010 {
		t.Errorf("b has been away for 3010, got %d", w.gap)
	}
}

func TestBenchmarkLine(t *testing.T) {
	const out = "goos: linux\nBenchmarkOverBare/sh/at=1-2 \t 20\t 1.20 bare-ms\t 1.00 latency-over-ms\t 0.90 over-ms\t 2.10 task-ms\nBenchmarkOverBare/sh/at=8-2 \t 20\t 3 bare-ms\nPASS\n"
	got, err := benchmarkLine(out, "BenchmarkOverBare/sh/at=1")
	if err != nil || got["bare-ms"] != 1.2 || got["over-ms"] != 0.9 || got["task-ms"] != 2.1 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"BenchmarkOverBare/sh/at=8", "BenchmarkOverBare/sh"} {
		if got, err := benchmarkLine(out, bad); err == nil {
			t.Errorf("%s has %v", bad, got)
		}
	}
}

func TestTheFirstFiringStandsApartWhereItDiffers(t *testing.T) {
	same := func(ms float64) []float64 { return []float64{ms, ms, ms} }
	cold := tallied{late: map[int64][]float64{1000: same(400), 2000: same(100), 3000: same(120)}}
	row := (&Table{}).row("x", "x")
	cold.put(row, atMost(150))
	if f := row.Figures["p99"]; f.Value != 120 || !f.Aim.Met || row.Figures["first_p99"].Value != 400 {
		t.Errorf("got %+v", row.Figures)
	}
	even := tallied{late: map[int64][]float64{1000: same(130), 2000: same(100), 3000: same(120)}}
	row = (&Table{}).row("x", "x")
	even.put(row, nil)
	if _, apart := row.Figures["first_p99"]; apart || row.Figures["max"].Value != 130 || row.Figures["firings"].Value != 3 {
		t.Errorf("got %+v", row.Figures)
	}
}

func TestAPartThatFailsTakesDownWhatItStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var order []string
	b := &bench{ctx: ctx}
	out, err := b.part(part{"x", "fails", func(b *bench) *Part {
		b.Cleanup(func() { order = append(order, "first") })
		b.Cleanup(func() { order = append(order, "last") })
		b.Fatalf("no %s", "luck")
		return &Part{}
	}})
	if out != nil || err == nil || err.Error() != "no luck" || strings.Join(order, " ") != "last first" {
		t.Errorf("got %v, %v, clean-ups %q", out, err, order)
	}
	cancel()
	b = &bench{ctx: ctx}
	if _, err := b.part(part{"x", "is interrupted", func(b *bench) *Part { b.pause(time.Hour); return &Part{} }}); err == nil || err.Error() != "interrupted" || b.Failed() {
		t.Errorf("got %v, failed %v", err, b.Failed())
	}
	b = &bench{ctx: t.Context()}
	if out, err := b.part(part{"x", "measures, and leaves something behind", func(b *bench) *Part {
		b.Cleanup(func() { b.Errorf("left behind") })
		return &Part{}
	}}); out == nil || out.Key != "x" || err == nil {
		t.Errorf("what was measured is lost: %v, %v", out, err)
	}
}

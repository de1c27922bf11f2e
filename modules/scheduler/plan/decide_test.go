package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v.UTC()
}

func cronOf(expr, zone string, rule domain.BizDateRule) Timing {
	return Timing{Schedule: domain.Schedule{Kind: domain.ScheduleCron, Expr: expr}, Zone: zone, Rule: rule}
}

func every(d time.Duration, anchor time.Time) Timing {
	return Timing{Schedule: domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: d.Milliseconds()}, Zone: "UTC", Rule: domain.BizDateT, Anchor: anchor}
}

// plenty is a budget that no test case uses up.
func plenty() *Budget { return &Budget{Fires: 1 << 30, Scan: 1 << 30} }

// said writes a decision in short: what fires with its date, what is a gap and why.
func said(d Decision) []string {
	var out []string
	for _, f := range d.Fires {
		out = append(out, fmt.Sprintf("fire %s of %s", f.Expected.Format("02T15:04"), f.BizDate))
	}
	for _, g := range d.Gaps {
		out = append(out, fmt.Sprintf("%s %d of %s, %s to %s: %s", g.Kind, g.Fires, g.BizDate, g.From.Format("02T15:04"), g.To.Format("02T15:04"), g.Reason))
	}
	return out
}

func TestMisfire(t *testing.T) {
	const T, T1 = domain.BizDateT, domain.BizDateTMinus1
	for _, c := range []struct {
		name      string
		timing    Timing
		misfire   domain.Misfire
		next, now string
		want      []string
		then      string
	}{
		{"on time", cronOf("0 2 * * *", "UTC", T), domain.MisfireOnce, "2026-05-02T02:00:00Z", "2026-05-02T02:00:00Z",
			[]string{"fire 02T02:00 of 2026-05-02"}, "2026-05-03T02:00:00Z"},
		{"60 s late is no misfire", cronOf("0 2 * * *", "UTC", T), domain.MisfireSkip, "2026-05-02T02:00:00Z", "2026-05-02T02:01:00Z",
			[]string{"fire 02T02:00 of 2026-05-02"}, "2026-05-03T02:00:00Z"},
		{"one ms more is", cronOf("0 2 * * *", "UTC", T), domain.MisfireSkip, "2026-05-02T02:00:00Z", "2026-05-02T02:01:00.001Z",
			[]string{"skipped 1 of 2026-05-02, 02T02:00 to 02T02:00: misfire: skip"}, "2026-05-03T02:00:00Z"},
		{"half an hour down, skip (G-B4)", cronOf("*/10 * * * *", "UTC", T), domain.MisfireSkip, "2026-05-02T10:10:00Z", "2026-05-02T10:35:00Z",
			[]string{"skipped 3 of 2026-05-02, 02T10:10 to 02T10:30: misfire: skip"}, "2026-05-02T10:40:00Z"},
		{"half an hour down, once (G-B4)", cronOf("*/10 * * * *", "UTC", T), domain.MisfireOnce, "2026-05-02T10:10:00Z", "2026-05-02T10:35:00Z",
			[]string{"fire 02T10:30 of 2026-05-02", "missed 2 of 2026-05-02, 02T10:10 to 02T10:20: misfire: fire_once took 10:30 of that day"}, "2026-05-02T10:40:00Z"},
		{"half an hour down, all (G-B4)", cronOf("*/10 * * * *", "UTC", T), domain.MisfireAll, "2026-05-02T10:10:00Z", "2026-05-02T10:35:00Z",
			[]string{"fire 02T10:10 of 2026-05-02", "fire 02T10:20 of 2026-05-02", "fire 02T10:30 of 2026-05-02"}, "2026-05-02T10:40:00Z"},
		{"daily after an outage, once (J-H9)", cronOf("0 2 * * *", "UTC", T), domain.MisfireOnce, "2026-05-02T02:00:00Z", "2026-05-02T02:30:00Z",
			[]string{"fire 02T02:00 of 2026-05-02"}, "2026-05-03T02:00:00Z"},
		{"two days down: each day's own date (G-B5)", cronOf("0 2 * * *", "Asia/Shanghai", T1), domain.MisfireOnce, "2026-05-01T18:00:00Z", "2026-05-03T03:00:00Z",
			[]string{"fire 01T18:00 of 2026-05-01", "fire 02T18:00 of 2026-05-02"}, "2026-05-03T18:00:00Z"},
		{"30 min of a minutely job, skip (J-B8)", cronOf("* * * * *", "UTC", T), domain.MisfireSkip, "2026-05-02T10:00:00Z", "2026-05-02T10:30:30Z",
			[]string{"fire 02T10:30 of 2026-05-02", "skipped 30 of 2026-05-02, 02T10:00 to 02T10:29: misfire: skip"}, "2026-05-02T10:31:00Z"},
		{"over midnight in the job's zone", cronOf("0 * * * *", "Asia/Shanghai", T), domain.MisfireOnce, "2026-05-01T14:00:00Z", "2026-05-01T17:30:00Z",
			[]string{"fire 01T15:00 of 2026-05-01", "fire 01T17:00 of 2026-05-02",
				"missed 1 of 2026-05-01, 01T14:00 to 01T14:00: misfire: fire_once took 23:00 of that day",
				"missed 1 of 2026-05-02, 01T16:00 to 01T16:00: misfire: fire_once took 01:00 of that day"}, "2026-05-01T18:00:00Z"},
		{"older than a week", cronOf("0 12 * * *", "UTC", T), domain.MisfireAll, "2026-05-01T12:00:00Z", "2026-05-10T00:00:00Z",
			[]string{"fire 03T12:00 of 2026-05-03", "fire 04T12:00 of 2026-05-04", "fire 05T12:00 of 2026-05-05", "fire 06T12:00 of 2026-05-06",
				"fire 07T12:00 of 2026-05-07", "fire 08T12:00 of 2026-05-08", "fire 09T12:00 of 2026-05-09",
				"missed 1 of 2026-05-01, 01T12:00 to 01T12:00: older than 7 days", "missed 1 of 2026-05-02, 02T12:00 to 02T12:00: older than 7 days"}, "2026-05-10T12:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			trigger := Trigger{Timing: c.timing, Misfire: c.misfire, Enabled: true, Next: at(t, c.next)}
			spans := []Span{{Timing: c.timing, From: at(t, "2026-01-01T00:00:00Z")}}
			got, err := Decide(trigger, spans, at(t, c.now), plenty())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(said(got), c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(said(got), "\n  "), strings.Join(c.want, "\n  "))
			}
			if !got.Next.Equal(at(t, c.then)) || got.More {
				t.Errorf("next %s, more %t; want %s", got.Next, got.More, c.then)
			}
		})
	}
}

func TestPausedFiresAreNotMadeUp(t *testing.T) {
	timing := cronOf("*/10 * * * *", "UTC", domain.BizDateT)
	trigger := Trigger{Timing: timing, Misfire: domain.MisfireAll, Enabled: true, Next: at(t, "2026-05-02T10:10:00Z")}
	spans := []Span{
		{Timing: timing, From: at(t, "2026-05-01T00:00:00Z"), To: at(t, "2026-05-02T10:15:00Z")},
		{Timing: timing, From: at(t, "2026-05-02T11:00:00Z")},
	}
	got, err := Decide(trigger, spans, at(t, "2026-05-02T11:10:00Z"), plenty())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"fire 02T11:10 of 2026-05-02", "skipped 1 of 2026-05-02, 02T10:10 to 02T10:10: " + ReasonPaused}
	if !slices.Equal(said(got), want) {
		t.Errorf("got %q, want %q", said(got), want)
	}
}

func TestFiresBeforeAChangeKeepTheirPlan(t *testing.T) {
	before, after := cronOf("*/10 * * * *", "UTC", domain.BizDateT), cronOf("0 0 * * *", "UTC", domain.BizDateT)
	trigger := Trigger{Timing: after, Version: 2, Misfire: domain.MisfireAll, Enabled: true, Next: at(t, "2026-05-02T10:10:00Z")}
	change := at(t, "2026-05-02T10:20:00Z") // the fire of that very moment is still the old plan's
	got, err := Decide(trigger, []Span{{Timing: before, Version: 1, From: at(t, "2026-05-01T00:00:00Z"), To: change}, {Timing: after, Version: 2, From: change}},
		at(t, "2026-05-02T10:20:30Z"), plenty())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"fire 02T10:10 of 2026-05-02", "fire 02T10:20 of 2026-05-02"}; !slices.Equal(said(got), want) {
		t.Errorf("got %q, want %q", said(got), want)
	}
	if got.Fires[0].Version != 1 || !got.Next.Equal(at(t, "2026-05-03T00:00:00Z")) {
		t.Errorf("version %d, next %s", got.Fires[0].Version, got.Next)
	}
}

// A job each 100 ms that slept for a week has 6 million fires behind it: they are settled
// in few steps of little memory.
func TestLongSleepIsBounded(t *testing.T) {
	start := at(t, "2026-05-01T00:00:00Z")
	timing := every(100*time.Millisecond, start)
	trigger := Trigger{Timing: timing, Misfire: domain.MisfireOnce, Enabled: true, Next: start.Add(100 * time.Millisecond)}
	now := start.Add(7 * 24 * time.Hour)
	fires, gaps, steps := 0, 0, 0
	for more := true; more; steps++ {
		d, err := Decide(trigger, []Span{{Timing: timing, From: start}}, now, &Budget{Fires: 200, Scan: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Fires) > 201 || len(d.Gaps) > 10 {
			t.Fatalf("step %d made %d fires and %d gaps", steps, len(d.Fires), len(d.Gaps))
		}
		if !d.Next.After(trigger.Next) {
			t.Fatalf("step %d went from %s to %s", steps, trigger.Next, d.Next)
		}
		fires += len(d.Fires)
		for _, g := range d.Gaps {
			gaps += g.Fires
		}
		trigger.Next, more = d.Next, d.More
	}
	if want := 7 * 24 * 36_000; fires+gaps != want || steps > 20 {
		t.Errorf("%d fires and %d in gaps are %d, want %d; %d steps", fires, gaps, fires+gaps, want, steps)
	}
	if want := 601 + 7; fires != want { // a minute on time, and the last of each missed day
		t.Errorf("%d fires, want %d", fires, want)
	}
}

// Whatever the spans, the policy, the budget and the moments of looking: each planned fire
// up to now is settled exactly once, in order, and Next is the first that is left.
func TestDecideSettlesEachFireOnce(t *testing.T) {
	base := at(t, "2026-03-27T00:00:00Z") // Berlin's clocks change two days later
	rapid.Check(t, func(rt *rapid.T) {
		spans := drawSpans(rt, base)
		misfire := rapid.SampledFrom([]domain.Misfire{domain.MisfireOnce, domain.MisfireSkip, domain.MisfireAll}).Draw(rt, "misfire")
		end := base.Add(time.Duration(rapid.IntRange(1, 12*24*60).Draw(rt, "end")) * time.Minute)
		planned, err := Between(spans, base, end.Add(time.Millisecond))
		if err != nil {
			rt.Fatal(err)
		}
		settled := map[string]int{}
		done := 0 // planned fires that must be settled, in order
		for now := base; now.Before(end); {
			now = now.Add(time.Duration(rapid.IntRange(1, 3*24*3600_000).Draw(rt, "pause")) * time.Millisecond)
			if now.After(end) {
				now = end
			}
			known := asOf(spans, now)
			for done < len(planned) && !planned[done].Expected.After(now) {
				trigger := Trigger{Misfire: misfire, Enabled: known[len(known)-1].Open(), Next: planned[done].Expected}
				d, err := Decide(trigger, known, now, &Budget{Fires: rapid.IntRange(1, 50).Draw(rt, "fires"), Scan: rapid.IntRange(1, 2000).Draw(rt, "scan")})
				if err != nil {
					rt.Fatal(err)
				}
				tally(rt, settled, known, d)
				if d.More == (d.Next.IsZero() || d.Next.After(now)) || !d.More && d.Next.IsZero() == trigger.Enabled {
					rt.Fatalf("now %s: next %s, more %t, enabled %t", now, d.Next, d.More, trigger.Enabled)
				}
				before := done
				for done < len(planned) && !planned[done].Expected.After(now) && !(d.More && planned[done].Expected.Equal(d.Next)) {
					if k := planned[done].Key(); settled[k] != 1 {
						rt.Fatalf("at %s the fire of %s was settled %d times", now, planned[done].Expected, settled[k])
					}
					done++
				}
				if done == before {
					rt.Fatalf("at %s a step settled nothing", now)
				}
			}
		}
		if done != len(settled) {
			rt.Fatalf("%d fires were planned and %d settled", done, len(settled))
		}
	})
}

// asOf is what the spans looked like at a moment.
func asOf(spans []Span, now time.Time) []Span {
	var out []Span
	for _, s := range spans {
		if s.From.After(now) {
			break
		}
		if s.To.After(now) {
			s.To = time.Time{}
		}
		out = append(out, s)
	}
	return out
}

func drawSpans(rt *rapid.T, base time.Time) []Span {
	timings := []Timing{
		cronOf("*/7 * * * *", "UTC", domain.BizDateT), cronOf("30 2 * * *", "Europe/Berlin", domain.BizDateT),
		cronOf("0 */3 * * *", "Europe/Berlin", domain.BizDateTMinus1), cronOf("15 0 1-30 * *", "Asia/Shanghai", domain.BizDateT),
		every(97*time.Second, base), every(11*time.Minute, base.Add(5*time.Second)),
	}
	var spans []Span
	from := base
	for i, n := 0, rapid.IntRange(1, 4).Draw(rt, "spans"); i < n; i++ {
		s := Span{Timing: rapid.SampledFrom(timings).Draw(rt, "timing"), Version: i + 1, From: from}
		if i+1 < n || rapid.Bool().Draw(rt, "closed") {
			s.To = from.Add(time.Duration(rapid.IntRange(0, 4*24*60).Draw(rt, "length")) * time.Minute)
			from = s.To
			if rapid.Bool().Draw(rt, "pause") {
				from = from.Add(time.Duration(rapid.IntRange(1, 24*60).Draw(rt, "paused")) * time.Minute)
			}
		}
		spans = append(spans, s)
	}
	return spans
}

func tally(rt *rapid.T, settled map[string]int, spans []Span, d Decision) {
	for _, f := range d.Fires {
		settled[f.Key()]++
	}
	for _, g := range d.Gaps {
		in, err := Between(spans, g.From, g.To.Add(time.Millisecond))
		if err != nil {
			rt.Fatal(err)
		}
		if len(in) != g.Fires {
			rt.Fatalf("a gap of %d fires has %d from %s to %s", g.Fires, len(in), g.From, g.To)
		}
		for _, f := range in {
			if f.BizDate != g.BizDate {
				rt.Fatalf("a gap of %s has the fire %s of %s", g.BizDate, f.Expected, f.BizDate)
			}
			settled[f.Key()]++
		}
	}
}

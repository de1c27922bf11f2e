package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/axsched/ax/modules/kit/wheel"
	"github.com/axsched/ax/modules/kit/zone"
	"github.com/axsched/ax/modules/scheduler/cron"
)

// stepsPart measures single steps of the way of an instance.
func (b *bench) stepsPart() *Part {
	p := &Part{Title: "Single steps",
		Measured: "Round trips: a minimal worker inside the bench, on MariaDB and Redis, one manual run after the other, from the writing of the claim until its answer is read, and from the writing of the report until its confirmation is read. Fan-out: by the rows' own times, from the end of one upstream until its 1,000 waiting downstreams are ready and have started on an ordinary worker. Shell: `go test -bench OverBare ./worker/runner`, elapsed time for each of a round of 40. Wheel and cron: calls in the bench's own process."}
	b.wheel(p)
	b.cron(p)
	b.overBare(p)
	s := b.stores()
	s.startCenter()
	s.roundTrips(p)
	s.fanOut(p)
	return p
}

// wheel measures the time wheel with 100,000 keys: added over the coming hour, half of them taken out again; then as
// many due within ten seconds, handed out tick by tick.
func (b *bench) wheel(p *Part) {
	const keys = 100_000
	var add, remove, fire []float64
	for round := range pick(b.options, 9, 3) {
		rng := rand.New(rand.NewPCG(1, uint64(round)))
		now := time.Unix(1_800_000_000, 0)
		delays := make([]time.Duration, keys)
		for i := range delays {
			delays[i] = time.Duration(rng.Int64N(int64(wheel.Horizon)))
		}
		w := wheel.New[int](now)
		add = append(add, rate(keys, func() {
			for i, d := range delays {
				b.must(w.Add(i, now.Add(d)), "adding to the wheel")
			}
		}))
		remove = append(remove, rate(keys/2, func() {
			for i := range keys / 2 {
				w.Remove(i)
			}
		}))
		w = wheel.New[int](now)
		for i := range delays {
			b.must(w.Add(i, now.Add(delays[i]/360)), "adding to the wheel")
		}
		fired := 0
		fire = append(fire, rate(keys, func() {
			for at := now; fired < keys; at = at.Add(wheel.Tick) {
				fired += len(w.Advance(at))
			}
		}))
	}
	t := p.table("wheel", "time wheel, 100,000 keys", Column{"ops", "million/s", 2}, Column{"ns", "ns each", 0})
	for _, r := range []struct {
		key, name string
		perSecond float64
	}{{"add", "add", median(add)}, {"cancel", "cancel", median(remove)}, {"fire", "fire, 1,000 ticks", median(fire)}} {
		t.row(r.key, r.name).put("ops", r.perSecond/1e6).put("ns", 1e9/r.perSecond)
	}
	b.say("wheel measured")
}

// rate is how many of n a second f does.
func rate(n int, f func()) float64 {
	began := time.Now()
	f()
	return float64(n) / time.Since(began).Seconds()
}

// cron measures the next fire of typical expressions.
func (b *bench) cron(p *Part) {
	testing.Init() // its flags are its own; ours are in another set
	b.must(flag.Set("test.benchtime", pick(b.options, 300*time.Millisecond, 100*time.Millisecond).String()), "setting the time of a benchmark")
	t := p.table("cron", "next fire of a cron", Column{"ns", "ns", 0}, Column{"allocs", "allocations", 0})
	from := time.Date(2026, 2, 3, 0, 0, 30, 0, time.UTC)
	for _, c := range []struct {
		key, expr, zone string
		from            time.Time
	}{
		{"daily", "0 2 * * *", "Asia/Shanghai", from},
		{"daily_dst", "0 2 * * *", "America/New_York", from},
		{"minute", "* * * * *", "Europe/Berlin", from},
		{"quarter", "*/15 9-17 * * 1-5", "Europe/London", from},
		{"monthly", "0 3 1 * *", "UTC", from},
		{"last_weekday", "0 0 12 LW * ?", "Europe/Berlin", from},
		{"gap", "30 2 * * *", "America/New_York", time.Date(2026, 3, 8, 5, 0, 0, 0, time.UTC)},
		{"leap_day", "0 0 29 2 *", "America/New_York", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
	} {
		s, err := cron.Parse(c.expr, cron.Auto)
		b.must(err, "parsing "+c.expr)
		loc, err := zone.Load(c.zone)
		b.must(err, "loading "+c.zone)
		r := testing.Benchmark(func(tb *testing.B) {
			tb.ReportAllocs()
			for tb.Loop() {
				s.Next(c.from, loc)
			}
		})
		ns := float64(r.T.Nanoseconds()) / float64(r.N)
		t.row(c.key, fmt.Sprintf("`%s` in %s", c.expr, c.zone)).aim("ns", ns, atMost(1000)).aim("allocs", float64(r.AllocsPerOp()), atMost(0))
		b.pause(0)
	}
	b.say("cron measured")
}

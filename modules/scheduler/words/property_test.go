package words

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/kit/zone"
	"github.com/axsched/ax/modules/scheduler/cron"
)

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := zone.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func cronOf(expr string) domain.Schedule {
	return domain.Schedule{Kind: domain.ScheduleCron, Expr: expr}
}

var start = time.Date(2026, 1, 15, 10, 20, 30, 0, time.UTC)

// crowded writes expressions from so few words that many of them mean the same, or
// almost the same.
func crowded(rng *rand.Rand) string {
	of := func(words ...string) string { return words[rng.IntN(len(words))] }
	some := func(least, most int) string {
		n := 1 + rng.IntN(3)
		out := make([]string, n)
		for i := range out {
			out[i] = strconv.Itoa(least + rng.IntN(most-least+1))
		}
		return strings.Join(out, ",")
	}
	second := of("0", "0", "0", "0", "00", "0", "*", "*/30", "0,30", "0-59", some(0, 3))
	minute := of("0", "0", "*", "*/15", "0,15,30,45", "0-45/15", "30", "0-59", "*/30", "*/7", "0/30", some(0, 5))
	hour := of("*", "0-23", "*/2", "0-22/2", "2", "2", "9-17", "*/12", "0,12", "9-11,14-17", "9,10,11,14-17", "2/12", "1-2", some(0, 4))
	month := of("*", "*", "*", "1-12", "*/1", "JAN-DEC", "6", "*/3", "1,4,7,10", some(1, 4))
	if rng.IntN(2) == 0 {
		day := of("*", "*", "*", "1-31", "*/2", "1-31/2", "1", "1,15", "31", some(1, 4))
		weekday := of("*", "*", "*", "0-6", "*/2", "1-5", "mon-fri", "1,2,3,4,5", "0", "7", "6,0", "*/7", some(0, 7))
		return strings.Join([]string{second, minute, hour, day, month, weekday}, " ")
	}
	days := of("* ?", "? *", "L ?", "L-0 ?", "LW ?", "1W ?", "15W,L ?", "L-1 ?", "L,L-1 ?", "? L", "? 7", "? 6L", "? FRIL", "? 6#3", "? 6#5", "? 2-6", "1-31 ?", "? 1-7", "*/2 ?", "1,3,L ?")
	day, weekday, _ := strings.Cut(days, " ")
	return strings.Join([]string{second, minute, hour, day, month, weekday, of("*", "*", "*", "*", "2027", "2026-2028", "2026,2027,2028", "1970-2199")}, " ")
}

// TestSameSentenceSameFires: whatever reads alike, in either language, fires alike, through
// clock changes too.
func TestSameSentenceSameFires(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for _, name := range []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe"} {
		loc := mustZone(t, name)
		first := map[string]string{}
		same := 0
		for range 6000 {
			expr := crowded(rng)
			for _, lang := range i18n.Langs() {
				said := lang + Wording{}.Sentence(lang, cronOf(expr), loc, start)
				other, known := first[said]
				if !known {
					first[said] = expr
					continue
				}
				if other != expr {
					same++
					sameFires(t, said, other, expr, loc)
				}
			}
		}
		t.Logf("%s: %d sentences, %d expressions that share one", name, len(first)/2, same/2)
		if same < 1000 {
			t.Errorf("only %d expressions shared a sentence", same)
		}
	}
}

func sameFires(t *testing.T, said, a, b string, loc *time.Location) {
	t.Helper()
	for _, from := range []time.Time{start, time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC), time.Date(2026, 4, 4, 10, 0, 0, 0, time.UTC),
		time.Date(2026, 10, 3, 10, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 20, 0, 0, 0, time.UTC), time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)} {
		if x, y := firesOf(t, a, loc, from), firesOf(t, b, loc, from); !slices.Equal(x, y) {
			t.Fatalf("%q and %q in %s are both said %q and fire\n%v\n%v", a, b, loc, said, x, y)
		}
	}
}

func firesOf(t *testing.T, expr string, loc *time.Location, from time.Time) []string {
	t.Helper()
	s, err := cron.Parse(expr, cron.Auto)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, at := range s.Between(from, from.AddDate(3, 0, 0), loc, 24) {
		out = append(out, at.Format(time.RFC3339))
	}
	return out
}

// TestEverySentenceIsWhole: nothing is missing, doubled or left with a loose end.
func TestEverySentenceIsWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	loc := mustZone(t, "Europe/Berlin")
	for range 3000 {
		expr := crowded(rng)
		for _, lang := range i18n.Langs() {
			said := Wording{}.Sentence(lang, cronOf(expr), loc, start)
			for _, bad := range []string{"⟦", "  ", " ,", ",,", "、、", "的的", "{", "  "} {
				if strings.Contains(said, bad) {
					t.Fatalf("%q: %q holds %q", expr, said, bad)
				}
			}
			if said != strings.TrimSpace(said) || said == expr || len(said) > 600 {
				t.Fatalf("%q: %q", expr, said)
			}
		}
	}
}

// TestDistancesAreSaidExactly: no two distances read alike.
func TestDistancesAreSaidExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	seen := map[string]time.Duration{}
	for range 20_000 {
		d := time.Duration(1+rng.Int64N(1000)) * []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 61 * time.Second, 3_661_001 * time.Millisecond}[rng.IntN(7)]
		for _, lang := range i18n.Langs() {
			said := lang + Wording{}.Sentence(lang, domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: d.Milliseconds()}, time.UTC, start)
			if other, known := seen[said]; known && other != d {
				t.Fatalf("%s and %s are both %q", d, other, said)
			}
			seen[said] = d
		}
	}
}

func BenchmarkSentence(b *testing.B) {
	loc := mustZone(b, "Europe/Berlin")
	for _, expr := range []string{"30 7 * * 1-5", "*/5 9-18 * * 1-5", "5,17 3-9 2,4 * * *"} {
		b.Run(fmt.Sprint(expr), func(b *testing.B) {
			for b.Loop() {
				Wording{}.Sentence(i18n.Chinese, cronOf(expr), loc, start)
			}
		})
	}
}

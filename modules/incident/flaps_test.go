package incident

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/kit/i18n"
)

// What comes and goes is counted as one trouble for as long as it is not right for a while.
func TestFlapsAreCounted(t *testing.T) {
	began := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, c := range []struct {
		name  string
		down  []int // in which seconds it is away
		at    int
		times int
		often bool
	}{
		{"never", nil, 10, 0, false},
		{"once, for long", []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, 10, 1, false},
		{"twice", []int{1, 2, 5, 6}, 10, 2, false},
		{"three times", []int{1, 2, 5, 6, 9}, 10, 3, true},
		{"over", []int{1, 2, 5, 6, 9}, 40, 3, false},
		{"long ago and now", []int{1, 5, 40, 44}, 45, 2, false},
		{"with long rests", []int{1, 30, 59, 88}, 100, 4, true},
	} {
		var f Flaps
		for s := range c.at {
			fault := domain.IncidentKind("")
			for _, d := range c.down {
				if d == s {
					fault = away
				}
			}
			f = f.After(fault, "refused", began.Add(time.Duration(s)*time.Second))
		}
		if now := began.Add(time.Duration(c.at) * time.Second); f.Times != c.times || f.Often(now) != c.often {
			t.Errorf("%s: %d times, often %v", c.name, f.Times, f.Often(now))
		}
	}
}

// A Redis that is away for three seconds and back for three, for minutes, is one incident until it has been right for a while.
func TestARedisThatComesAndGoesIsOneIncident(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := &redises{}
		w.k.Redis = r
		began := now()
		var f Flaps
		var since time.Time
		was := domain.IncidentKind("x")
		stand := func(second int) Standing { // as the probes of each second leave it, up to this one
			fault := domain.IncidentKind("")
			if second < 120 && second%6 >= 3 {
				fault = away
			}
			at := began.Add(time.Duration(second) * time.Second)
			if fault != was {
				was, since = fault, at
			}
			f = f.After(fault, "connection refused", at)
			shift := now().Sub(at) // the keeper's clock is the database's
			s := Standing{Redis: "both", Tells: redisKinds[:2], Fault: fault, Since: since.Add(shift), Said: "connection refused", Flaps: f}
			s.Flaps.Since, s.Flaps.Seen = f.Since.Add(shift), f.Seen.Add(shift)
			return s
		}
		opened := 0
		for second := range 160 {
			r.stand(stand(second))
			if second%2 == 0 {
				w.round()
			}
			switch got := w.standing(); {
			case got == "" && second <= 16:
			case got == "redis_away "+both+"×1":
				if opened == 0 {
					opened = second
				}
			case got == "redis_away "+both+"×1→usable" && second >= 120+25:
			default:
				t.Fatalf("in second %d: %q", second, got)
			}
		}
		if opened == 0 || opened > 20 {
			t.Errorf("it was told in second %d", opened)
		}
		w.want("redis_away " + both + "×1→usable")
		all, err := w.store.List(t.Context(), store.Filter{Seen: domain.ProjectSet{All: true}, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		for lang, words := range map[string]string{i18n.English: both + " comes and goes since ", i18n.Chinese: "时断时续，至今 20 次"} {
			if said := Said(i18n.With(t.Context(), lang), all[0]); !strings.Contains(said, words) || strings.ContainsAny(said, "⟦⟧{}") {
				t.Errorf("%s: %q, want %q", lang, said, words)
			}
		}
	})
}

// What is said of a thing that is named in it is not preceded by its name.
func TestANoticeNamesItsSubjectOnce(t *testing.T) {
	s := probed("both", away, long)
	i := domain.Incident{Kind: away, Subject: "both", Count: 1, Detail: s.detail()}
	for _, what := range []store.What{store.Opening, store.Reminder, store.Recovery} {
		if text := message(what, i, 0); strings.Count(text, both) != 1 {
			t.Errorf("%q", text)
		}
	}
	if text := message(store.Opening, domain.Incident{Kind: domain.IncidentWorkerLost, Name: "w1", Count: 1, Detail: []string{"incident.said.silent", "host", "h1"}}, 0); !strings.Contains(text, ": w1: ") {
		t.Errorf("%q does not say which", text)
	}
}

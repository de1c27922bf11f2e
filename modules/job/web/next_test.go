package web_test

import (
	"html"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
)

// TestAnEditSaysWhatBecomesOfTheNextFire: the answer of apply, its dry run and the check beside the form name the
// moment before and the one after, only where they differ.
func TestAnEditSaysWhatBecomesOfTheNextFire(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.apply(edge.AdminToken, yaml("j", `cron: "0 2 1 1 *"`, "timezone: UTC"))
		if first.Results[0].NextWas != nil {
			t.Error("a new job was due before")
		}
		was := first.Results[0].Next[0]
		same := yaml("j", `cron: "0 2 1 1 *"`, "timezone: UTC", "title: other")
		moved := yaml("j", `cron: "0 2 1 1 *"`, "timezone: Asia/Tokyo")
		for _, c := range []struct {
			text string
			next []time.Time
		}{{same, nil}, {moved, []time.Time{was.Add(-9 * time.Hour)}}, {yaml("j", "timezone: UTC"), []time.Time{}}} {
			var out applied
			w.API(edge.AdminToken, "POST", "/api/v1/apply", body(t, true, c.text)).JSON(t, &out)
			r := out.Results[0]
			switch {
			case c.next == nil && r.NextWas != nil:
				t.Errorf("%s: was %s", c.text, r.NextWas)
			case c.next != nil && (r.NextWas == nil || !r.NextWas.Equal(was)):
				t.Errorf("%s: was %v, want %s", c.text, r.NextWas, was)
			case len(c.next) > 0 && !r.Next[0].Equal(c.next[0]):
				t.Errorf("%s: next %v, want %v", c.text, r.Next, c.next)
			}
		}
		b := w.Browser("admin", edge.AdminPassword)
		check := func(text string) string {
			return html.UnescapeString(b.Submit("/jobs/j/edit?mode=yaml", "/jobs/check?job=j", "mode", "yaml", "text", text).Body)
		}
		if said := check(moved); !strings.Contains(said, "The next fire was "+was.Format(time.DateTime)+" UTC (UTC). After this change it is "+was.Format(time.DateTime)+" Asia/Tokyo (UTC+9).") {
			t.Errorf("the check says %s", said)
		}
		if said := check(same); strings.Contains(said, "The next fire was") {
			t.Errorf("the check of what changes nothing says %s", said)
		}
		if said := check(yaml("j", "timezone: UTC")); !strings.Contains(said, "due by itself no more") {
			t.Errorf("the check of what takes the schedule away says %s", said)
		}
		if r := w.apply(edge.AdminToken, moved).Results[0]; r.NextWas == nil || !r.NextWas.Equal(was) {
			t.Errorf("applied: %+v", r)
		}
	})
}

// TestAPauseIsToldBeforeItEnds: the answer about a paused job counts what lies in its pause.
func TestAPauseIsToldBeforeItEnds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(edge.AdminToken, yaml("j", "every: 100ms"))
		type answer struct {
			Pause *struct {
				Since    time.Time
				Fires    int
				From, To string
			} `json:"pause"`
		}
		read := func() (out answer) {
			w.API(edge.AdminToken, "GET", "/api/v1/jobs/j", "").JSON(t, &out)
			return out
		}
		if got := read(); got.Pause != nil {
			t.Errorf("a job that is not paused: %+v", got.Pause)
		}
		w.API(edge.AdminToken, "POST", "/api/v1/jobs/j/pause", "{}")
		got := read()
		for deadline := time.Now().Add(10 * time.Second); got.Pause != nil && got.Pause.Fires == 0 && time.Now().Before(deadline); {
			got = read()
		}
		if p := got.Pause; p == nil || p.Fires == 0 || p.From == "" || p.Since.IsZero() {
			t.Fatalf("%+v", p)
		}
		w.API(edge.AdminToken, "POST", "/api/v1/jobs/j/resume", "{}")
		if got := read(); got.Pause != nil {
			t.Errorf("resumed: %+v", got.Pause)
		}
	})
}

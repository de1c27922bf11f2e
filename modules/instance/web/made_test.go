package web_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestTheListOfADay: the figures of a day lead to the instances made on it, whatever
// their business date.
func TestTheListOfADay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.fire(11, "2026-02-01")
		second := w.fire(12, "2026-02-02")
		at := first.CreatedAt
		span := func(from, to time.Time) string {
			return "?" + url.Values{"made_from": {from.Format(time.RFC3339)}, "made_to": {to.Format(time.RFC3339)}}.Encode()
		}
		day := span(at.Truncate(24*time.Hour), at.Truncate(24*time.Hour).Add(24*time.Hour))
		got := w.list(operator, day)
		want := 2
		if second.CreatedAt.Truncate(24*time.Hour) != at.Truncate(24*time.Hour) { // midnight came in between
			want = 1
		}
		if len(got.Instances) != want {
			t.Errorf("made today are %d, want %d", len(got.Instances), want)
		}
		if got := w.list(operator, span(at.Add(-48*time.Hour), at.Add(-24*time.Hour))); len(got.Instances) != 0 {
			t.Errorf("made yesterday are %d, want none", len(got.Instances))
		}
		if got := w.list(operator, span(at.Add(24*time.Hour), at.Add(48*time.Hour))); len(got.Instances) != 0 {
			t.Errorf("made tomorrow are %d, want none", len(got.Instances))
		}
		if a := w.api(operator, "GET", "/api/v1/instances?made_from=yesterday", ""); a.status != 400 || !strings.Contains(a.body, `"field":"made_from"`) {
			t.Errorf("no moment: %d %s", a.status, a.body)
		}
	})
}

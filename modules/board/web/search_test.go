package web_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

// Named finds a job by its key or id.
func (w *world) Named(_ context.Context, text string) (domain.JobName, error) {
	for id, n := range w.names {
		if n.Key == domain.ParseJobKey(text) || id.String() == text {
			return n, nil
		}
	}
	return domain.JobName{}, domain.Fail(domain.NotFound, "no job %s", text)
}

// Alike finds jobs by a part of their names.
func (w *world) Alike(_ context.Context, text string, seen domain.ProjectSet, limit int) ([]domain.JobName, error) {
	var out []domain.JobName
	for id := range domain.ID(100) {
		if n, ok := w.names[id]; ok && seen.Has(n.ProjectID) && strings.Contains(n.Key.Name, text) && len(out) < limit {
			out = append(out, n)
		}
	}
	return out, nil
}

// ByTrace knows one trace id.
func (w *world) ByTrace(_ context.Context, trace string) (domain.ID, error) {
	if trace == traceID {
		return 1000, nil
	}
	return 0, nil
}

// List is two workers.
func (w *world) List(context.Context) ([]domain.Worker, error) {
	return []domain.Worker{{Name: "beta"}, {Name: "box 1"}}, nil
}

const traceID = "019c0000-0000-7000-8000-0000000003e8"

func (w *world) rename(id domain.ID, project string, name string) {
	n := w.names[id]
	n.ID, n.ProjectID, n.Key = id, w.Project(project), domain.JobKey{Project: project, Name: name}
	w.names[id] = n
}

func TestSearchLeadsToTheOneThingOfThatName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.rename(3, "mine", "gamma")
		w.rename(4, "other", "gamma_two")
		in := w.born(1, w.now)
		b := w.Browser("admin", edge.AdminPassword)
		for text, want := range map[string]string{
			" alpha ":                "/jobs/1",
			"default/alpha":          "/jobs/1",
			"gamma":                  "/jobs/3", // in whatever project
			"mine/gamma":             "/jobs/3",
			in.ID.String():           "/instances/1000",
			strings.ToUpper(traceID): "/instances/1000",
			"box 1":                  "/workers#worker-box%201",
		} {
			if a := b.Get("/search?q=" + url.QueryEscape(text)); a.Status != 303 || a.Header.Get("Location") != want {
				t.Errorf("%q leads to %d %q, want %q", text, a.Status, a.Header.Get("Location"), want)
			}
		}
	})
}

func TestSearchListsWhatComesNear(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.Browser("admin", edge.AdminPassword)
		for text, wants := range map[string][]string{
			"beta":       {"/jobs/2", "/workers#worker-beta"}, // a job and a worker are called so
			"alp":        {"/jobs/1", `value="alp"`},
			"BOX":        {"/workers#worker-box%201"},
			"<b>nothing": {"&lt;b&gt;nothing", "project/name"},
			"":           {"project/name"},
			strings.ToUpper(strings.Replace(traceID, "8", "9", 1)): {"project/name"},
		} {
			a := b.Get("/search?q=" + url.QueryEscape(text))
			if a.Status != 200 || strings.Contains(a.Body, "<b>nothing") {
				t.Errorf("%q: %d", text, a.Status)
			}
			for _, want := range wants {
				if !strings.Contains(a.Body, want) {
					t.Errorf("%q: the page lacks %q", text, want)
				}
			}
		}
		for i := range 25 {
			w.rename(domain.ID(50+i), "mine", "many"+string(rune('a'+i)))
		}
		if a := b.Get("/search?q=many"); strings.Count(a.Body, `href="/jobs/`) != 20 || !strings.Contains(a.Body, "/jobs?q=many") {
			t.Error("of many jobs not the first 20 and the way to all are shown")
		}
	})
}

func TestSearchFindsNothingOutOfSight(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.rename(3, "mine", "gamma")
		w.rename(4, "other", "gamma_two")
		in := w.born(1, w.now)
		w.As("visitor", access.Viewer, "mine")
		b := w.Browser("visitor", "password of visitor")
		if a := b.Get("/search?q=gamma"); a.Header.Get("Location") != "/jobs/3" {
			t.Errorf("one's own job: %d %s", a.Status, a.Header.Get("Location"))
		}
		for _, text := range []string{"gamma_two", "other/gamma_two", "4", "alpha", "1", in.ID.String(), traceID} {
			a := b.Get("/search?q=" + url.QueryEscape(text))
			if a.Status != 200 || strings.Contains(a.Body, "/jobs/4") || strings.Contains(a.Body, "/jobs/1") || strings.Contains(a.Body, "/instances/1000") {
				t.Errorf("%q of another project: %d %s", text, a.Status, a.Header.Get("Location"))
			}
		}
		w.As("nobody", "", "")
		if a := w.Browser("nobody", "password of nobody").Get("/search?q=alpha"); a.Status != 403 {
			t.Errorf("without a role: %d", a.Status)
		}
	})
}

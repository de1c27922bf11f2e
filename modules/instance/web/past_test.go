package web_test

import (
	"strings"
	"testing"
	"time"
)

func TestInstancesOfADeletedJobAreToldFromThoseOfItsSuccessor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		gone := w.newJob(14, mine, "load")
		gone.DeletedAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		w.jobs = append(w.jobs, gone)
		old, young := w.fire(14, "2026-01-01"), w.fire(11, "2026-02-03")
		var list struct {
			Instances []struct{ ID, Job, JobID, JobDeletedAt string }
			Namesakes []struct{ ID, DeletedAt string }
		}
		w.api(viewer, "GET", "/api/v1/instances?job=load", "").into(t, &list)
		if len(list.Instances) != 1 || list.Instances[0].ID != young.ID.String() || list.Instances[0].JobID != "11" || list.Instances[0].JobDeletedAt != "" {
			t.Errorf("of the one that is there: %+v", list.Instances)
		}
		if len(list.Namesakes) != 1 || list.Namesakes[0].ID != "14" || list.Namesakes[0].DeletedAt != "2026-01-02T03:04:05.000Z" {
			t.Errorf("nothing tells of the one before: %+v", list.Namesakes)
		}
		list.Instances, list.Namesakes = nil, nil
		w.api(viewer, "GET", "/api/v1/instances?job=14", "").into(t, &list)
		if len(list.Instances) != 1 || list.Instances[0].ID != old.ID.String() || list.Instances[0].JobDeletedAt != "2026-01-02T03:04:05.000Z" || len(list.Namesakes) != 1 || list.Namesakes[0].ID != "11" {
			t.Errorf("of the deleted one: %+v", list)
		}
		b := w.browser("2")
		page := b.get("/instances?job=14")
		has(t, "the list", page, "deleted 2026-01-02 03:04:05", "/instances?job=11")
		lacks(t, "the list", page, "/instances/"+young.ID.String())
		page = b.get("/instances/" + old.ID.String())
		has(t, "the instance", page, "deleted 2026-01-02 03:04:05")
		if strings.Contains(page.body, `"/jobs/14"`) {
			t.Error("the page leads to a job that is gone")
		}
	})
}

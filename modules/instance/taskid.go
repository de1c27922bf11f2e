package instance

import (
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/zone"
)

// TaskID is the name of a task for people: task_ and the expected time in the
// job's zone. Identity is the trace id.
func TaskID(in domain.Instance, spec domain.JobSpec) string {
	t := in.Expected
	if loc, err := zone.Load(spec.Timezone); err == nil {
		t = t.In(loc)
	}
	return "task_" + t.Format("20060102150405")
}

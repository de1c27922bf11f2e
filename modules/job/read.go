package job

import (
	"maps"
	"slices"
	"strconv"

	"github.com/axsched/ax/modules/domain"
)

// The bounds of the seconds that a file gives.
const (
	maxLimitSec  = 366 * 86400
	maxRetries   = 10
	warnRetries  = 3
	maxListItems = 50
)

// unbuilt are keys of the job file that a later version will know.
func unbuilt() []string {
	return []string{"approval", "alerts"}
}

// draft is a job while its keys are read.
type draft struct {
	*reader
	spec   domain.JobSpec
	given  map[string]entry // the keys of job: that are there
	depAt  []entry          // where each of spec.Deps stands
	parsed Parsed
}

// read turns the document into a job; ok only when nothing is wrong with it.
func (r *reader) read() (Parsed, bool) {
	node := r.root()
	if node == nil {
		return Parsed{}, false
	}
	top, ok := r.entries(entry{key: "file", node: node, at: r.nodePlace(node)})
	if !ok {
		return Parsed{}, false
	}
	var version, job *entry
	for i, e := range top {
		switch e.key {
		case "version":
			version = &top[i]
		case "job":
			job = &top[i]
		default:
			r.unknownTop(e)
		}
	}
	r.version(version)
	if job == nil {
		if len(r.problems) == 0 {
			r.add(Place{r.doc.first, 1}, "", idJobMissing, hintJobMissing)
		}
		return Parsed{}, false
	}
	d := &draft{reader: r, given: map[string]entry{}, spec: r.defaults()}
	d.job(*job)
	if len(r.problems.Errors()) > 0 {
		return Parsed{}, false
	}
	d.parsed.Spec = d.spec
	d.parsed.Text, d.parsed.Line = r.doc.text, r.doc.first
	d.parsed.file, d.parsed.lines, d.parsed.places = r.opts.File, r.lines, r.places
	return d.parsed, true
}

func (r *reader) unknownTop(e entry) {
	if _, isJobs := map[string]bool{"jobs": true, "kind": true, "apiVersion": true}[e.key]; isJobs {
		r.add(e.keyAt, e.path, idTopUnknown, hintOneJobPerDocument, "key", e.key)
		return
	}
	if _, known := jobKeys()[e.key]; known {
		r.add(e.keyAt, e.path, idTopUnknown, hintUnderJob, "key", e.key)
		return
	}
	r.unknownKey(e, idTopUnknown, []string{"version", "job"})
}

// unknownKey reports a key that is none, with what was probably meant.
func (r *reader) unknownKey(e entry, id string, known []string) {
	slices.Sort(known)
	if near := nearest(e.key, known); near != "" {
		r.add(e.keyAt, e.path, id, hintMeant, "key", clip(e.key), "suggestion", near)
		return
	}
	r.add(e.keyAt, e.path, id, "", "key", clip(e.key))
}

func (r *reader) version(e *entry) {
	if e == nil {
		r.add(Place{r.doc.first, 1}, "version", idVersionMissing, hintVersion)
		return
	}
	if s, ok := r.text(*e); ok && s != "v1" {
		r.add(e.at, e.path, idVersionUnknown, hintVersion, "value", clip(s))
	}
}

func (r *reader) defaults() domain.JobSpec {
	return domain.JobSpec{
		Project: r.opts.DefaultProject, Timezone: r.opts.DefaultZone,
		Schedule: domain.Schedule{Kind: domain.ScheduleNone},
		Misfire:  domain.MisfireOnce, Overlap: domain.OverlapQueue, BizDate: r.opts.DefaultBizDate,
		Priority: domain.LaneDefault, OnWorkerLost: domain.LossRetry,
		TimeoutSec: domain.DefaultTimeoutSec, Enabled: true,
	}
}

// job reads the keys under job:, then judges what needs several of them.
func (d *draft) job(e entry) {
	children, ok := d.entries(e)
	if !ok {
		return
	}
	keys := jobKeys()
	for _, c := range children {
		read, known := keys[c.key]
		switch {
		case known:
			d.given[c.key] = c
			read(d, c)
		case slices.Contains(unbuilt(), c.key):
			d.add(c.keyAt, c.path, idNotBuilt, "", "key", c.key)
		default:
			d.unknownKey(c, idKeyUnknown, slices.Collect(maps.Keys(keys)))
		}
	}
	d.require(e)
	d.shards()
	d.schedule()
	d.waits()
	d.feeds()
	d.sizes(e)
	d.gate()
	d.templates()
	d.advise(e)
}

// require reports what a job can't be without.
func (d *draft) require(e entry) {
	for _, key := range []string{"name", "exec"} {
		if _, ok := d.given[key]; !ok {
			d.add(e.at, e.path, idKeyMissing, "", "key", key)
		}
	}
}

// shards judges shards and broadcast together. One shard is none.
func (d *draft) shards() {
	if at, ok := d.given["shards"]; ok && d.spec.Broadcast {
		d.add(at.keyAt, at.path, idShardsBroadcast, "")
	}
	if d.spec.Shards == 1 {
		d.spec.Shards = 0
	}
}

// sizes bounds params and env together, as the environment of a process is bounded.
func (d *draft) sizes(job entry) {
	total, largest, most := 0, "", 0
	count := func(under string, m map[string]string) {
		for k, v := range m {
			n := len(k) + len(v)
			total += n
			if path := under + "." + k; n > most || n == most && path < largest {
				largest, most = path, n
			}
		}
	}
	count("params", d.spec.Params)
	count("env", d.spec.Env)
	if total > MaxValueBytes {
		at, ok := d.places["job."+largest]
		if !ok {
			at = job.at
		}
		d.add(at, "job."+largest, idValuesTooBig, hintValuesTooBig,
			"size", size(total), "max", size(MaxValueBytes), "largest", largest, "bytes", size(most))
	}
}

// advise gives the warnings about a job that is sound.
func (d *draft) advise(job entry) {
	if !d.spec.TimeoutGiven {
		if _, wrong := d.given["timeout"]; !wrong {
			at := job.at
			if name, ok := d.given["name"]; ok {
				at = name.keyAt
			}
			d.warn(at, "job.timeout", idTimeoutDefault, hintTimeoutDefault, "n", strconv.Itoa(d.spec.TimeoutSec))
		}
	}
	if e, given := d.given["on_upstream_failure"]; given && len(d.spec.Deps) == 0 {
		d.warn(e.keyAt, e.path, idDepIdle, "", "key", e.key)
	}
	if d.spec.Retry.Times > warnRetries {
		d.warn(d.places["job.retry"], "job.retry.times", idRetryMany, "", "n", strconv.Itoa(d.spec.Retry.Times))
	}
}

package job

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// self is how a dependency names its own job.
const self = "self"

// deps reads the list of dependencies.
func (d *draft) deps(e entry) {
	items, ok := d.items(e)
	if !ok {
		return
	}
	for _, it := range items {
		if s, plain := scalar(it.node); plain {
			d.add(it.at, it.path, idDepPlain, hintDepPlain, "value", clip(s))
			continue
		}
		dep, ok := d.dep(it)
		if !ok {
			continue
		}
		d.spec.Deps = append(d.spec.Deps, dep)
		d.depAt = append(d.depAt, it)
	}
}

// dep reads one dependency. Its project is the job's own unless its name says project/name;
// an own project and self are filled in by waits, since project: and name: may stand below deps:.
func (d *draft) dep(e entry) (domain.Dep, bool) {
	dep := domain.Dep{BizDate: domain.DepCurrent, Check: domain.CheckSuccess, Require: domain.RequireAll}
	children, ok := d.entries(e)
	if !ok {
		return dep, false
	}
	named := false
	for _, c := range children {
		good := true
		switch c.key {
		case "name":
			named = true
			good = d.depName(c, &dep)
		case "biz_date":
			good = d.depDates(c, &dep)
		case "first_date":
			good = d.firstDate(c, &dep)
		case "check":
			dep.Check, good = d.choice(c, []string{domain.CheckSuccess, domain.CheckDone, domain.CheckFailed}, nil)
		case "require":
			dep.Require, good = d.choice(c, []string{domain.RequireAll, domain.RequireAny, domain.RequireLatest}, nil)
		default:
			d.unknownKey(c, idDepKey, []string{"name", "biz_date", "first_date", "check", "require"})
			good = false
		}
		ok = ok && good
	}
	if !named {
		d.add(e.at, e.path, idDepName, hintDepPlain, "value", "sync_order_daily")
	}
	return dep, ok && named
}

func (d *draft) depName(e entry, dep *domain.Dep) bool {
	s, ok := d.text(e)
	if !ok {
		return false
	}
	key := domain.ParseJobKey(s)
	dep.Project, dep.Name = key.Project, key.Name
	if key.String() == s && key.Project == domain.DefaultProject {
		dep.Project = "" // the job's own
	}
	return (dep.Project == "" || d.goodName(e, dep.Project)) && d.goodName(e, dep.Name)
}

func (d *draft) depDates(e entry, dep *domain.Dep) bool {
	s, ok := d.text(e)
	if !ok {
		return false
	}
	rule, ok := domain.ParseDepDates(s)
	if !ok {
		d.add(e.at, e.path, idDepDates, hintDepDates, "value", clip(s), "known", strings.Join(domain.DepDatesExamples(), ", "), "max", strconv.Itoa(domain.MaxDepShift))
		return false
	}
	dep.BizDate = rule
	return true
}

func (d *draft) firstDate(e entry, dep *domain.Dep) bool {
	s, ok := d.text(e)
	if !ok {
		return false
	}
	date, err := domain.ParseBizDate(s)
	if err != nil {
		d.add(e.at, e.path, idDepDate, hintDepDate, "value", clip(s))
		return false
	}
	dep.FirstDate = date
	return true
}

func (d *draft) trigger(e entry) {
	if s, ok := d.choice(e, []string{string(domain.TriggerUpstream)}, nil); ok {
		d.spec.Trigger = domain.TriggerKind(s)
	}
}

func (d *draft) onUpstreamFailure(e entry) {
	policy := domain.FailureCancel
	take(d, e, &policy, domain.FailureCancel, domain.FailureHold, domain.FailureRun)
	if policy != domain.FailureCancel { // the default is the same written or not
		d.spec.OnUpstreamFailure = policy
	}
}

// waits judges what the job waits for, once all keys are read: it gives dependencies without
// a project the job's own, and self its name.
func (d *draft) waits() {
	type named struct {
		key   domain.JobKey
		dates domain.DepDates
		check string
	}
	seen := map[named]bool{}
	starts := false
	for i := range d.spec.Deps {
		dep, at := &d.spec.Deps[i], d.depAt[i]
		if dep.Project == "" && dep.Name == self {
			dep.Name = d.spec.Name
		}
		dep.Project = cmp.Or(dep.Project, d.spec.Project)
		own := dep.Key() == d.spec.Key()
		switch {
		case own && dep.FirstDate.IsZero() && dep.BizDate.Ahead() < 0:
			d.add(at.at, at.path, idDepFirst, hintDepFirst, "value", string(dep.BizDate))
		case !own && !dep.FirstDate.IsZero():
			d.add(d.At(at.path+".first_date"), at.path+".first_date", idDepFirstOther, "")
		}
		if n := (named{dep.Key(), dep.BizDate, dep.Check}); seen[n] {
			d.add(d.At("job.deps"), "job.deps", idDepTwice, "", "value", dep.Key().String())
		} else {
			seen[n] = true
		}
		starts = starts || !own && dep.BizDate == domain.DepCurrent
	}
	e, given := d.given["trigger"]
	if !given || d.spec.Trigger == "" {
		return
	}
	for _, key := range []string{"cron", "every", "at"} {
		if other, ok := d.given[key]; ok {
			d.add(e.keyAt, e.path, idTriggerBeside, "", "key", other.key)
		}
	}
	if !starts {
		d.add(e.keyAt, e.path, idTriggerDeps, hintTriggerDeps)
	}
}

// waitsOtherwise reports whether an instance of one definition waits otherwise than one of
// the other.
func waitsOtherwise(a, b domain.JobSpec) bool {
	digest := func(s domain.JobSpec) string {
		return domain.JobSpec{Deps: s.Deps, OnUpstreamFailure: s.OnUpstreamFailure, Calendar: s.Calendar}.Digest()
	}
	return digest(a) != digest(b)
}

package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Estimate is how long the work takes by the mean of what each job took: the longest way
// through each step, over the degree. Parts of the day in which nothing begins are not
// counted, nor what the machines have to do beside.
func Estimate(r Request, f Facts, all []Item) time.Duration {
	alone := map[domain.ID]bool{} // jobs that let one instance run at a time
	for _, j := range f.Jobs {
		alone[j.ID] = j.Spec.Overlap != domain.OverlapAllow
	}
	var total, longest time.Duration
	step := 0
	ready := map[domain.ID]time.Duration{} // of the step: when the job's items have ended
	end := func() {
		total += longest
		longest = 0
		clear(ready)
	}
	for _, it := range all {
		if !it.Works() {
			continue
		}
		if it.Step != step {
			end()
			step = it.Step
		}
		var begins time.Duration
		for _, up := range f.Ups[it.JobID] {
			if up != it.JobID {
				begins = max(begins, ready[up])
			}
		}
		if alone[it.JobID] {
			begins = max(begins, ready[it.JobID])
		}
		ready[it.JobID] = max(ready[it.JobID], begins+f.Mean[it.JobID])
		longest = max(longest, ready[it.JobID])
	}
	end()
	return total / time.Duration(AtOnce(r, f))
}

// AtOnce is how many steps are really under way at a time.
func AtOnce(r Request, f Facts) int {
	if r.Reach == Alone && len(f.Jobs) == 1 && f.Jobs[0].Spec.Overlap != domain.OverlapAllow {
		return 1
	}
	return r.Degree
}

// HashOf names what a plan does: the options and each item that works. Reasons for leaving
// others alone may change without a change of what runs.
func HashOf(p Plan) string {
	type work struct {
		Job      domain.ID
		Date     domain.BizDate
		Key      string
		Act      Act
		Version  int
		Waits    bool
		Instance domain.ID
		RunNo    int
		Success  bool
	}
	r := p.Request
	doc := struct {
		Job         domain.ID
		Reach       Reach
		Wanted      Wanted
		Degree      int
		NewestFirst bool
		GoesOn      bool
		Not         string
		Params      map[string]string
		Works       []work
	}{r.Job, r.Reach, r.Wanted, r.Degree, r.NewestFirst, r.GoesOn, r.Not.String(), r.Params, nil}
	for _, it := range p.Items {
		if it.Works() {
			doc.Works = append(doc.Works, work{it.JobID, it.BizDate, it.FireKey, it.Act, it.Version, it.Waits, it.Instance, it.RunNo, it.Was.State == domain.Success})
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic("a plan cannot be written as JSON: " + err.Error()) // plain values always can
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

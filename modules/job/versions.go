package job

import (
	"context"
	"sync"

	"github.com/axsched/ax/modules/domain"
)

// Versions keeps definitions by version in memory. Versions never change. What was not
// asked for since the younger of two generations was begun goes when that is full, so
// memory holds at most two of them and nothing that is in use is dropped. The zero
// value is ready; safe for concurrent use.
type Versions struct {
	mu         sync.RWMutex
	young, old map[domain.JobVersion]domain.JobSpec
	weight     int // bytes of the young, about
}

// A generation has room for what is warmed in one reading.
const (
	generation       = 25_000
	generationWeight = 32 << 20
	specWeight       = 700 // an ordinary definition without its free texts
)

func (v *Versions) get(job domain.ID, version int) (domain.JobSpec, bool) {
	key := domain.JobVersion{JobID: job, Version: version}
	v.mu.RLock()
	s, young := v.young[key]
	old := false
	if !young {
		s, old = v.old[key]
	}
	v.mu.RUnlock()
	if old {
		v.put(job, version, s)
	}
	return s, young || old
}

func (v *Versions) put(job domain.ID, version int, s domain.JobSpec) {
	key, w := domain.JobVersion{JobID: job, Version: version}, weigh(s)
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.young[key]; ok {
		return
	}
	if v.young == nil || len(v.young) >= generation || v.weight+w > generationWeight {
		v.young, v.old, v.weight = map[domain.JobVersion]domain.JobSpec{}, v.young, 0
	}
	v.young[key] = s
	v.weight += w
}

func weigh(s domain.JobSpec) int {
	w := specWeight + len(s.Exec.Spec) + len(s.Description)
	for _, texts := range []map[string]string{s.Env, s.Params} {
		for k, t := range texts {
			w += len(k) + len(t)
		}
	}
	return w
}

func (d *Definitions) versions() *Versions {
	if d.Versions != nil {
		return d.Versions
	}
	return &d.own
}

// Warm reads, in few queries, the versions that are not in memory yet: a thousand
// jobs due in the same second must not be read one by one when they are due.
func (d *Definitions) Warm(ctx context.Context, wanted []domain.JobVersion) error {
	versions := d.versions()
	var missing []domain.JobVersion
	for _, w := range wanted {
		if _, ok := versions.get(w.JobID, w.Version); !ok {
			missing = append(missing, w)
		}
	}
	return d.Store.EachVersion(ctx, missing, func(v domain.JobVersion, spec domain.JobSpec) {
		versions.put(v.JobID, v.Version, spec)
	})
}

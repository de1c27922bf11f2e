package job

import (
	"context"
	"sync"

	"github.com/axsched/ax/modules/domain"
)

// Versions keeps definitions by version in memory, at most maxVersions of them.
// Versions never change. The zero value is ready; safe for concurrent use.
type Versions struct {
	mu sync.RWMutex
	m  map[domain.JobVersion]domain.JobSpec
}

const maxVersions = 50_000

func (v *Versions) get(job domain.ID, version int) (domain.JobSpec, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	s, ok := v.m[domain.JobVersion{JobID: job, Version: version}]
	return s, ok
}

func (v *Versions) put(job domain.ID, version int, s domain.JobSpec) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.m == nil || len(v.m) >= maxVersions {
		v.m = map[domain.JobVersion]domain.JobSpec{}
	}
	v.m[domain.JobVersion{JobID: job, Version: version}] = s
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
